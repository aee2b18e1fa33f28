"""The text of `kvobs explain`."""

from __future__ import annotations

import textwrap

from ..use_cases.explain import CauseList, Explanation
from .lines import joined, table
from .text import to_text

WIDTH = 96
"""Characters of a line of prose."""


@to_text.register
def _(report: Explanation, *, verbose: bool = False) -> str:
    cause = report.cause
    paragraphs = map(_wrapped, cause.explanation.split("\n\n"))
    first, *more = cause.fix.splitlines() or ["nothing to mend"]
    told = [("severity", cause.severity), ("told by", cause.evidence), ("fix", first), *(("", each) for each in more)]
    return joined([f"{cause.id}: {cause.title}", *_wrapped(cause.sentence)], *paragraphs, table(told))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


@to_text.register
def _(report: CauseList, *, verbose: bool = False) -> str:
    rows = [("ID", "SEVERITY", "CAUSE"), *((each.id, each.severity, each.sentence) for each in report.causes)]
    return joined(table(rows, indent=0), ["More about one: kvobs explain ID"])
