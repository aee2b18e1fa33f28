"""Is there a Helm that can be used, and the chart?"""

from __future__ import annotations

from .evidence import Evidence, Trouble
from .verdict import Bad, Check, Fine, NotAsked, Verdict


def _verdict(found: str | Trouble | None) -> Verdict:
    if isinstance(found, Trouble):
        return (Bad if found.asked else NotAsked)(found.said, found.hint)
    return None if found is None else Fine(found)


def _rendered(evidence: Evidence) -> Verdict:
    if evidence.rendered is None:
        return None
    if isinstance(evidence.rendered, Trouble):
        return Bad(evidence.rendered.said, evidence.rendered.hint)
    return Fine(f"{len(evidence.rendered)} objects")


CHECKS = (
    Check(id="helm", title="Helm is there and can be used", severity="fatal", verdict=lambda seen: _verdict(seen.helm)),
    Check(id="chart", title="the chart can be had", severity="fatal", verdict=lambda seen: _verdict(seen.chart)),
    Check(id="values", title="the chart takes the values", severity="fatal", verdict=_rendered),
)
