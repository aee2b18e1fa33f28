"""The text of `kvobs dashboards list` and of `kvobs dashboards pull`."""

from __future__ import annotations

from ..use_cases.dashboards import DashboardList, KnownDashboard, PulledDashboard, PullReport
from .lines import joined, table
from .text import to_text

_SHORT = 12
"""How many characters tell one commit from another, for people."""


@to_text.register
def _(report: DashboardList, *, verbose: bool = False) -> str:
    head = ("NAME", "TOPIC", "SOURCE", "REVISION", "LICENCE", "CHECKSUM", "CACHED", "TITLE")
    lines = table([head, *map(_row, report.dashboards)], indent=0)
    return joined(
        lines,
        [
            "To load one: kvobs install --dashboard NAME. A checksum that is unknown is pinned at the first download.",
            f"Cache: {report.cache}",
        ],
    )


def _row(each: KnownDashboard) -> tuple[str, ...]:
    cached = "yes" if each.cached else "no"
    return (
        each.name,
        each.topic,
        each.source,
        each.revision[:_SHORT] or "-",
        each.licence,
        each.checksum,
        "-" if each.checksum == "shipped" else cached,
        each.title or "",
    )


@to_text.register
def _(report: PullReport, *, verbose: bool = False) -> str:
    lines: list[str] = []
    for each in report.dashboards:
        lines.append(_pulled(each))
        lines += [f"  ! {warning}" for warning in each.warnings]
    return "\n".join([*lines, f"cache: {report.cache}"])


def _pulled(each: PulledDashboard) -> str:
    if each.error is not None:
        return f"! {each.name}: {each.error}" + (f" ({each.hint})" if each.hint else "")
    place = f" -> {each.written}" if each.written else ""
    return f"{each.name}: {each.outcome}, sha256 {each.sha256}{place}"
