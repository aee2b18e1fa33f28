"""Is there something to scrape, and nothing in the stack that nobody can?"""

from __future__ import annotations

from ..control_plane import MANAGED_PARTS
from ..merge import value_at
from .evidence import Evidence
from .verdict import Bad, Check, Fine, Verdict

_NO_EXPORTER = ("dcgm-exporter-off", "no-gpu-exporter")
"""Notes of the plan that say why there are no GPU metrics."""


def _exporter(evidence: Evidence) -> Verdict:
    facts = evidence.facts
    if facts is None or evidence.plan is None or not (facts.gpu_nodes or facts.cluster_policies or facts.dcgm_pods):
        return None
    for note in evidence.plan.notes:
        if note.id in _NO_EXPORTER:
            said, _, how = note.text.partition("; to switch it on: ")
            return Bad(said, how)
    return Fine()


def _control_plane(evidence: Evidence) -> Verdict:
    if evidence.facts is None or evidence.plan is None or evidence.facts.control_plane is None:
        return None
    provider, release = evidence.facts.control_plane, evidence.plan.target.release
    if release is None:
        return None  # whose rules are in force there is not ours to say
    on = [part for part in MANAGED_PARTS if value_at(release.values, f"{part}.enabled", True) is not False]
    if on:
        return Bad(
            f"{provider} runs the control plane and shows {', '.join(on)} to nobody, but the values switch them on:"
            " their alerts fire at once",
            " ".join(f"--set {part}.enabled=false" for part in on),
        )
    return Fine(f"{provider} runs the control plane; {', '.join(MANAGED_PARTS)} are off in the release")


CHECKS = (
    Check(id="gpu-exporter", title="GPUs have an exporter", severity="warning", verdict=_exporter, noted=True),
    Check(id="control-plane", title="no alert is for what nobody can see", severity="warning", verdict=_control_plane),
)
