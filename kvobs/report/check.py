"""The text of `kvobs check`."""

from __future__ import annotations

from itertools import groupby

from ..stack.checks.verdict import Checked, Outcome
from ..use_cases.check import CheckReport
from .lines import joined
from .text import to_text

MARKS: dict[Outcome, str] = {"passed": "√", "warning": "‼", "failed": "×", "not asked": "?"}


@to_text.register
def _(report: CheckReport, *, verbose: bool = False) -> str:
    blocks = [
        [title, *(line for each in checks for line in _lines(each, verbose=verbose))]
        for title, checks in groupby(report.checks, key=lambda each: each.category)
    ]
    return joined(*blocks, [_verdict(report)])


def _lines(each: Checked, *, verbose: bool) -> list[str]:
    good = each.outcome == "passed"
    seen = f" ({each.said})" if good and each.said and verbose else ""
    lines = [f"  {MARKS[each.outcome]} {each.title}{seen}"]
    if not good:
        lines.append(f"      {each.said}")
        lines += [f"      what to do: {each.hint}"] if each.hint else []
    return lines


def _verdict(report: CheckReport) -> str:
    counted = {mark: sum(each.outcome == mark for each in report.checks) for mark in MARKS}
    plural = "" if counted["warning"] == 1 else "s"
    warnings = f", {counted['warning']} warning{plural}" if counted["warning"] else ""
    unknown = f", {counted['not asked']} could not be asked" if counted["not asked"] else ""
    told = f"{counted['passed']} of {len(report.checks)} checks passed{warnings}{unknown}"
    ends = {
        0: "nothing keeps kvobs install from its work.",
        1: f"{counted['failed']} would stop kvobs install before its first change.",
        4: "what install would do is not known.",
    }
    return f"{told}: {ends[report.exit_code]}"
