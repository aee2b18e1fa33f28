"""Will the volumes that the values ask for come, and do metrics outlive a pod?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..merge import value_at
from .evidence import Evidence, Trouble
from .verdict import Bad, Check, Fine, NotAsked, Verdict

_TEMPLATES = (
    ("Prometheus", "prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec"),
    ("Alertmanager", "alertmanager.alertmanagerSpec.storage.volumeClaimTemplate.spec"),
)


def claims(values: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield (whose, StorageClass) of each volume that the *values* ask for; None: the default class.

    >>> list(claims({"grafana": {"persistence": {"enabled": True}}}))
    [('Grafana', None)]
    """
    for whose, path in _TEMPLATES:
        spec = value_at(values, path, None)
        if isinstance(spec, Mapping) and not spec.get("volumeName"):
            yield whose, spec.get("storageClassName")
    of = "grafana.persistence"
    if value_at(values, f"{of}.enabled", False) and not value_at(values, f"{of}.existingClaim", None):
        yield "Grafana", value_at(values, f"{of}.storageClassName", None)


def _class(evidence: Evidence) -> Verdict:
    release = evidence.plan.target.release if evidence.plan is not None else None
    found = evidence.storage_classes
    if release is None or found is None:
        return None
    if isinstance(found, Trouble):
        return NotAsked(found.said, found.hint)
    wanted = list(claims(release.values))
    there = ", ".join(sorted(found)) or "none"
    for whose, name in wanted:
        # "" and "-" (Grafana's chart) ask for a volume that somebody makes by hand.
        if name is None and not any(found.values()):
            return Bad(
                f"{whose} asks for a volume of the default StorageClass, and there is no default one (there: {there});"
                " its pod would wait for ever",
                "name one in the values (storageClassName), or make one the default: kubectl annotate storageclass"
                " NAME storageclass.kubernetes.io/is-default-class=true",
            )
        if name and name != "-" and name not in found:
            return Bad(
                f"{whose} asks for a volume of StorageClass {name}, which is not there (there: {there})",
                "kubectl get storageclass lists them; storageClassName in the values names one",
            )
    return Fine(", ".join(f"{whose}: {name or 'the default class'}" for whose, name in wanted))


def _kept(evidence: Evidence) -> Verdict:
    if evidence.plan is None:
        return None
    for note in evidence.plan.notes:
        if note.id == "metrics-not-kept":
            said, _, how = note.text.partition("; to keep them: ")
            return Bad(said, how)
    return Fine()


CHECKS = (
    Check(id="storage-class", title="the volumes that are asked for will come", severity="fatal", verdict=_class),
    Check(id="metrics-kept", title="metrics outlive the pod", severity="warning", verdict=_kept, noted=True),
)
