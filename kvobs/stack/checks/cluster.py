"""Is there a cluster that can be asked, and is it new enough?"""

from __future__ import annotations

import re

from .evidence import Evidence
from .verdict import Bad, Check, Fine, NotAsked, Verdict

OLDEST_KUBERNETES = (1, 25)
"""What the chart asks for (`kubeVersion`), and where the API server began to refuse unknown fields by itself."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)")


def _kubeconfig(evidence: Evidence) -> Verdict:
    if evidence.kubeconfig is not None:
        return NotAsked(evidence.kubeconfig.said, evidence.kubeconfig.hint)
    return Fine(evidence.server)


def _api_server(evidence: Evidence) -> Verdict:
    if evidence.unreached is not None:
        return NotAsked(evidence.unreached.said, evidence.unreached.hint)
    return Fine() if evidence.facts is not None else None


def _version(evidence: Evidence) -> Verdict:
    if evidence.facts is None:
        return None
    running = evidence.facts.server_version
    found = _VERSION.match(running)
    if found is None:
        return NotAsked(f"the API server says that its version is {running!r}")
    if (int(found[1]), int(found[2])) < OLDEST_KUBERNETES:
        oldest = ".".join(map(str, OLDEST_KUBERNETES))
        return Bad(
            f"Kubernetes {running} is older than {oldest}, which kube-prometheus-stack and kvobs need",
            "upgrade the cluster, or use another one with --context",
        )
    return Fine(running)


def _readable(evidence: Evidence) -> Verdict:
    if evidence.facts is None:
        return None
    if not evidence.facts.unasked:
        return Fine()
    first, why = min(evidence.facts.unasked.items())
    more = len(evidence.facts.unasked) - 1
    others = f", and {more} more" if more else ""
    if all(what.partition(" ")[0] == "Secret" for what in evidence.facts.unasked):
        # The account of `kvobs render --rbac --stack reuse` may not, and does its work all the same.
        return Bad(
            f"{first} could not be read{others}, so releases and datasources that stand in Secrets are not seen: {why}",
            "nothing, where what was found is right; else the right to list Secrets, or --datasource prometheus=UID",
        )
    return NotAsked(
        f"{first} could not be read{others}: {why}",
        "what cannot be read counts as not known, never as absent; kvobs render --rbac has every right that is used",
    )


CHECKS = (
    Check(id="kubeconfig", title="a cluster is named", severity="fatal", verdict=_kubeconfig),
    Check(id="api-server", title="the API server answers", severity="fatal", verdict=_api_server),
    Check(id="version", title="Kubernetes is new enough", severity="fatal", verdict=_version),
    Check(id="readable", title="all that decides can be read", severity="warning", verdict=_readable, noted=True),
)
