"""The text of `kvobs verify`: the causes first, each once, then the dashboards, then the sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ..health.causes import CAUSES
from ..health.verdict import ORDER, BoardVerdict, Finding, PanelVerdict, Severity, State
from ..use_cases.verify_report import STATES, CauseGroup, Place, VerifyReport, failing, shown
from .lines import joined, notes, plain, table
from .text import to_text
from .values import counted

MARKS: Mapping[State, str] = {
    "lit": "√",
    "broken": "×",
    "unknown": "?",
    "dark": "-",
    "expected": "~",
    "not checked": ".",
}

NAMED = 4
"""Panels of one dashboard that are named below a cause; the others are counted, unless the report is verbose."""


@to_text.register
def _(report: VerifyReport, *, verbose: bool = False) -> str:
    groups = [each for each in report.causes if shown(each.finding.severity, report.min_severity)]
    return joined(
        head(report),
        _causes(groups, verbose=verbose),
        _remarks(groups, verbose=verbose),
        _accepted(report),
        _boards(report, verbose=verbose),
        ["Entries of --expect that nothing answers to", *(f"  ! {plain(each)}" for each in report.unmet)]
        if report.unmet
        else [],
        notes([replace(each, text=plain(each.text)) for each in report.notes]),
        [totals(report)],
    )


def head(report: VerifyReport) -> list[str]:
    """Who was asked, how much, and about which time."""
    server = f" ({plain(report.server)})" if report.server else ""
    asked = f": {asked_for(report)}" if report.queries else ""
    lines = [f"Asked {plain(report.prometheus)}{server}{asked}"]
    return [*lines, f"About {span(report)}"] if span(report) else lines


def asked_for(report: VerifyReport) -> str:
    """How much was asked, in words."""
    queries = "1 query" if report.queries == 1 else f"{report.queries} queries"
    return f"{queries} of panels, {counted(report.requests, 'request')}"


def span(report: VerifyReport) -> str:
    """Return the time range in words; "" where each dashboard has its own."""
    if report.start_s is None or report.end_s is None:
        return ""
    start, end = (datetime.fromtimestamp(each, UTC) for each in (report.start_s, report.end_s))
    return f"{start:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} UTC"


def name_of(board: BoardVerdict) -> str:
    """What a dashboard is called: its title, else where it was read from."""
    return board.title or board.source


def title_of(cause: str) -> str:
    """What a cause is called."""
    return CAUSES[cause].title if cause in CAUSES else ""


def counts_of(panels: Iterable[PanelVerdict]) -> Mapping[State, int]:
    """How many of the panels are in each state."""
    found = Counter(each.state for each in panels)
    return {state: found[state] for state in STATES}


def reach_of(group: CauseGroup) -> str:
    """How much one cause explains, in words."""
    told = [counted(len(group.panels), "panel")] if group.panels else []
    told += [counted(len(group.dashboards), "dashboard")] if group.dashboards else []
    told += [f"queries of {counted(len(group.partly), 'lit panel')}"] if group.partly else []
    return ", ".join(told)


def totals(report: VerifyReport) -> str:
    """Return the sum in one line, and what the run comes to."""
    if not report.boards:
        return "No dashboard was found, so nothing was verified."
    told = [f"{number} {state}" for state, number in report.counts.items() if number and state != "lit"]
    panels = [panel for _, panel in report.panels]
    accepted = sum(each.accepted is not None for each in panels)
    sum_up = f"{report.counts['lit']} of {counted(len(panels), 'panel')} lit{''.join(f', {each}' for each in told)}"
    return f"{sum_up}{f' ({accepted} accepted)' if accepted else ''}: {_end(report)}"


def _end(report: VerifyReport) -> str:
    if report.exit_code == 4:
        return "some of it could not be found out."
    if report.exit_code == 0:
        return "every panel is lit." if _all_lit(report) else f"nothing is {_failing_words(report.fail_on)}."
    panels = sum(each.accepted is None and failing(each.state, report.fail_on) for _, each in report.panels)
    boards = sum(any(failing(each.severity, report.fail_on) for each in board.findings) for board in report.boards)
    told = [counted(panels, "panel")] if panels else []
    told += [counted(boards, "dashboard")] if boards else []
    return f"{' and '.join(told)} {'is' if panels + boards == 1 else 'are'} {_failing_words(report.fail_on)}."


def _all_lit(report: VerifyReport) -> bool:
    return all(panel.state in ("lit", "not checked") for _, panel in report.panels)


def _failing_words(fail_on: Severity) -> str:
    words = [each for each in ORDER[: ORDER.index(fail_on) + 1] if each != "unknown"]
    return " or ".join(words)


def _causes(groups: Sequence[CauseGroup], *, verbose: bool) -> list[str]:
    whole = [each for each in groups if each.panels or each.dashboards]
    if not whole:
        return []
    lines = ["Causes"]
    for group in whole:
        finding = group.finding
        lines.append(f"  {MARKS[finding.severity]} {_named(finding)}, {finding.severity}: {reach_of(group)}")
        lines += [f"      {plain(finding.said)}", *_fix(finding)]
        lines += [f"      evidence: {plain(each)}" for each in finding.evidence if verbose]
        lines += [f"      dashboard {plain(each)}" for each in group.dashboards]
        lines += [f"      in {each}" for each in _where(group.panels, verbose=verbose)]
        lines += [f"      in queries of {each}" for each in _where(group.partly, verbose=verbose)]
    return lines


def _named(finding: Finding) -> str:
    return f"{finding.cause} {title_of(finding.cause)}".rstrip()


def _fix(finding: Finding) -> Iterator[str]:
    for number, line in enumerate(finding.fix.splitlines()):
        yield f"      {'fix: ' if number == 0 else '     '}{plain(line)}"


def _where(places: Sequence[Place], *, verbose: bool) -> Iterator[str]:
    by_board: dict[str, Counter[str]] = {}
    for each in places:
        by_board.setdefault(each.dashboard, Counter())[plain(each.panel) or _untitled(each.id)] += 1
    for board, titles in by_board.items():
        panels = [title if number == 1 else f"{title} ({number} times)" for title, number in titles.items()]
        named = panels if verbose or len(panels) <= NAMED + 1 else panels[:NAMED]
        more = f" and {len(panels) - len(named)} more" if len(named) < len(panels) else ""
        yield f"{plain(board)}: {'; '.join(named)}{more}"


def _untitled(panel_id: int | None) -> str:
    return "a panel without a title" if panel_id is None else f"panel {panel_id}"


def _remarks(groups: Sequence[CauseGroup], *, verbose: bool) -> list[str]:
    """What is dark in panels that are lit, where it darkens no panel whole."""
    lines: list[str] = []
    for group in groups:
        if not (group.panels or group.dashboards):
            lines.append(f"  {MARKS[group.finding.severity]} {_named(group.finding)}: {plain(group.finding.said)}")
            lines += _fix(group.finding)
            lines += [f"      in {each}" for each in _where(group.partly, verbose=verbose)]
    return ["Lit panels of which some queries have no data", *lines] if lines else []


def _accepted(report: VerifyReport) -> list[str]:
    rows = [
        (
            MARKS[panel.state],
            f"{plain(name_of(board))}: {plain(panel.title) or _untitled(panel.id)}",
            panel.finding.cause if panel.finding else panel.state,
            plain(panel.accepted),
        )
        for board, panel in report.panels
        if panel.accepted is not None
    ]
    return ["Accepted by --expect", *table(rows)] if rows else []


def _boards(report: VerifyReport, *, verbose: bool) -> list[str]:
    if not report.boards:
        return []
    states = [each for each in STATES if each == "lit" or report.counts[each]]
    headings = ("DASHBOARD", "PANELS", *(each.upper() for each in states))
    rows: list[tuple[str, ...]] = [headings]
    for board in report.boards:
        counts = counts_of(board.panels)
        numbers = (len(board.panels), *(counts[each] for each in states))
        cells = (f"{number:>{len(heading)}}" for number, heading in zip(numbers, headings[1:], strict=True))
        rows.append((plain(name_of(board)), *cells))
    heading, *lines = table(rows)
    told = [heading]
    names = Counter(map(name_of, report.boards))
    for board, line in zip(report.boards, lines, strict=True):
        told.append(line)
        if verbose or (board.title and names[board.title] > 1):
            told.append(f"    from {plain(board.source)}")
        told += _board(board, report.min_severity, verbose=verbose)
    hidden = sum(panel.state in ORDER and not shown(panel.state, report.min_severity) for _, panel in report.panels)
    return [*told, f"  {counted(hidden, 'panel')} left out by --min-severity {report.min_severity}"] if hidden else told


def _board(board: BoardVerdict, least: Severity, *, verbose: bool) -> Iterator[str]:
    for finding in board.findings:
        if shown(finding.severity, least):
            yield f"    {MARKS[finding.severity]} {_named(finding)}"
    yield from table([_row(each) for each in board.panels if _in_table(each, least, verbose=verbose)], indent=4)


def _in_table(panel: PanelVerdict, least: Severity, *, verbose: bool) -> bool:
    if panel.state == "lit" or panel.state == "not checked":
        return verbose
    return shown(panel.state, least)


def _row(panel: PanelVerdict) -> tuple[str, ...]:
    title = plain(panel.title) or _untitled(panel.id)
    state = f"{panel.state}, accepted" if panel.accepted is not None else panel.state
    return (f"{MARKS[panel.state]} {title}", state, panel.finding.cause if panel.finding else about(panel))


def about(panel: PanelVerdict) -> str:
    """What is to be said of a panel that has no cause: how much it shows, or why it was not checked."""
    if panel.state != "lit":
        return plain(panel.why)
    series = sum(each.series for each in panel.targets)
    lit = [each for each in panel.targets if each.state == "lit"]
    zero = ", all 0" if lit and all(each.zero for each in lit) else ""
    dark = sum(each.finding is not None for each in panel.targets)
    partly = f", {dark} of {len(panel.targets)} queries without data" if dark else ""
    return f"{series} series{zero}{partly}" if series else partly.removeprefix(", ")
