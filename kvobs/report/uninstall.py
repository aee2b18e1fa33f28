"""The text of `kvobs uninstall`."""

from __future__ import annotations

from ..use_cases.uninstall import UninstallReport
from .lines import here, joined, table
from .text import to_text


@to_text.register
def _(report: UninstallReport, *, verbose: bool = False) -> str:
    if report.namespace is None:
        return f"kvobs is not installed {here(report.elsewhere)}; nothing to do"
    lines = [f"Removed from namespace {report.namespace}", *(f"  {each}" for each in report.removed)]
    given_back = ["Fields of other objects", *(f"  {each}" for each in report.restored)] if report.restored else []
    left = ["Left"] if report.left else []
    left += table(
        [(each.what, each.why + (f" (to remove it too: {each.how})" if each.how else "")) for each in report.left]
    )
    return joined(lines, given_back, left)
