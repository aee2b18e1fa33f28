"""The text of `kvobs verify --static`."""

from __future__ import annotations

from collections.abc import Iterator

from ..use_cases.static import Rewritten, StaticReport
from .lines import joined, plain
from .text import to_text


@to_text.register
def _(report: StaticReport, *, verbose: bool = False) -> str:
    lines = [line for each in report.rewritten for line in _rewritten(each, verbose=verbose)]
    return joined(["Names in queries", *lines] if lines else [], [to_text(report.verdicts, verbose=verbose)])


def _rewritten(each: Rewritten, *, verbose: bool) -> Iterator[str]:
    place = f", written to {plain(each.written)}" if each.written else ""
    yield f"  {plain(each.source)}: {len(each.renamed)} renamed, {len(each.left)} left{place}"
    if each.error is not None:
        yield f"    ! {plain(each.error)}" + (f" ({plain(each.hint)})" if each.hint else "")
    done = dict.fromkeys((renaming.was, renaming.now, renaming.path if verbose else "") for renaming in each.renamed)
    for was, now, path in done:
        yield f"    {plain(was)} -> {plain(now or '')}" + (f"  at {plain(path)}" if path else "")
    left = dict.fromkeys((renaming.was, renaming.why, renaming.path if verbose else "") for renaming in each.left)
    for was, why, path in left:
        yield f"    ! {plain(was)} stays: {plain(why)}" + (f"  at {plain(path)}" if path else "")
