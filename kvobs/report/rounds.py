"""What changed from one look of `kvobs verify --watch` to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from ..health.verdict import PanelVerdict
from ..use_cases.verify_report import VerifyReport
from .lines import plain
from .verify import name_of, totals


def changes(before: VerifyReport | None, after: VerifyReport) -> list[str]:
    """Return a line for each panel that is in another state than before, and the sum where any is."""
    if before is None:
        return [totals(after)]
    was = {key: panel for key, _, panel in _panels(before)}
    lines = []
    for key, board, panel in _panels(after):
        earlier = was.get(key)
        if earlier is None or _state(earlier) != _state(panel):
            then = f"{_state(earlier)} -> " if earlier is not None else ""
            lines.append(f"{plain(board)}: {plain(panel.title)}: {then}{_state(panel)}")
    return [*lines, totals(after)] if lines or totals(before) != totals(after) else []


def _panels(report: VerifyReport) -> Iterator[tuple[Hashable, str, PanelVerdict]]:
    """Yield each panel by what it is known by from look to look: repeats may share all but their order."""
    seen: Counter[Hashable] = Counter()
    for board, panel in report.panels:
        key = (board.source, board.uid, panel.id, panel.title)
        seen[key] += 1
        yield (*key, seen[key]), name_of(board), panel


def _state(panel: PanelVerdict) -> str:
    return f"{panel.state} ({panel.finding.cause})" if panel.finding is not None else panel.state
