"""Targets that are down, where a query names them by their labels. Pure."""

from __future__ import annotations

from dataclasses import replace

from .answers import ScrapeTarget
from .causes import found
from .evidence import DarkQuery, SelectorEvidence
from .label_matchers import any_fits
from .scrape import in_vain
from .verdict import Finding

_UP = frozenset({("==", "1"), (">", "0"), (">=", "1"), ("!=", "0")})
"""Comparisons by which a query asks for what is up."""


def nothing_up(dark: DarkQuery) -> Finding | None:
    """`up == 1` that leaves nothing says that nothing is up."""
    asked = next((each.selector for each in dark.selectors if each.selector.name == "up"), None)
    if asked is None or not any((each.part.name, each.part.bound) in _UP for each in dark.lost):
        return None
    down = [each for each in _down(dark) if any_fits(asked.filters, (each.labels,))]
    if down:
        return in_vain(_what(down[0]), down)
    said = f"nothing that {asked.text} names was up in this range: Prometheus scraped it in vain"
    finding = found(
        "KVO-406", subject=asked.text, said=said, fix="In Prometheus, Status, Target health: see the errors"
    )
    # Of a time that is over nothing is left to mend.
    return replace(finding, severity="dark", fix="") if dark.server.past else finding


def down_finding(dark: DarkQuery, evidence: SelectorEvidence) -> Finding | None:
    """Return that what a selector names by its target's labels is a target that is down; None where it is none.

    Its series are gone, so that only others have the metric.
    """
    sets, filters = evidence.label_sets, evidence.selector.filters
    down = [
        each
        for each in _down(dark)
        if any_fits([one for one in filters if one.label in each.labels], (each.labels,))
        and any(one.label in each.labels and not any_fits((one,), sets) for one in filters if one.op in ("=", "=~"))
    ]
    return in_vain(_what(down[0]), down) if down else None


def _down(dark: DarkQuery) -> list[ScrapeTarget]:
    """Targets that are down; none where the question is about a time that is over, of which they say nothing."""
    return [] if dark.server.past else [each for each in dark.server.targets or () if each.health == "down"]


def _what(target: ScrapeTarget) -> str:
    return target.labels.get("job") or target.pool
