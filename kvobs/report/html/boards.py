"""One dashboard: its panels where Grafana has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten

from ...health.verdict import BoardVerdict, Finding, PanelVerdict, Severity, TargetVerdict
from ...use_cases.verify_report import shown
from ..verify import about, name_of
from .layout import COLUMNS, Placed, Section
from .markup import Markup, joined, tag
from .pieces import evidence, fix, mark, named, state_class

SHORT = 80
"""Characters of a reason that stand on a panel; it is whole below."""


def board_section(board: BoardVerdict, laid_out: Sequence[Section], number: int, least: Severity) -> Markup:
    """Return a dashboard; *number* makes its anchors."""
    where = board.source if board.uid is None else f"{board.source}, uid {board.uid}"
    told = where != name_of(board)
    found = (_board_finding(each) for each in board.findings if shown(each.severity, least))
    return tag(
        "section",
        tag("h2", tag("bdi", name_of(board)), id=f"b{number}"),
        tag("p", tag("bdi", where), class_="quiet") if told else "",
        *found,
        *_sections(laid_out, number),
        class_="board",
        aria_labelledby=f"b{number}",
    )


def _board_finding(finding: Finding) -> Markup:
    return tag(
        "div",
        tag("p", mark(finding.severity), " ", tag("span", finding.severity, class_="state"), " ", named(finding)),
        tag("p", finding.said, dir="auto"),
        fix(finding),
        class_=f"cause {state_class(finding.severity)}",
    )


def _sections(laid_out: Sequence[Section], number: int) -> Iterator[Markup]:
    last: str | None = None
    for section in laid_out:
        heading = tag("h3", tag("bdi", section.row)) if section.row and section.row != last else ""
        last = section.row
        grid = tag("div", *(_panel(each, number) for each in section.panels), class_="grid")
        yield tag("div", heading, grid, class_="row")


def _panel(placed: Placed, board: int) -> Markup:
    panel, grid = placed.panel, placed.grid
    anchor = f"b{board}p{placed.number}"
    side = "left" if grid.x < COLUMNS / 2 else "right"
    return tag(
        "article",
        tag("h4", tag("bdi", panel.title or "untitled"), id=f"{anchor}t"),
        tag("details", _summary(panel), tag("div", *_body(panel), class_="body"), name="panel"),
        id=anchor,
        aria_labelledby=f"{anchor}t",
        class_=f"panel {state_class(panel.state)} {side} x{grid.x} w{grid.w} y{grid.y} h{grid.h}",
        data_state=panel.state,
    )


def _summary(panel: PanelVerdict) -> Markup:
    state = f"{panel.state}, accepted" if panel.accepted is not None else panel.state
    said = named(panel.finding) if panel.finding else tag("bdi", shorten(about(panel), SHORT, placeholder=" …"))
    return tag("summary", mark(panel.state), " ", tag("span", state, class_="state"), " ", said)


def _body(panel: PanelVerdict) -> Iterator[Markup]:
    yield tag("p", tag("bdi", panel.title or "untitled"), class_="whole")
    if panel.accepted is not None:
        yield tag("p", "Accepted: ", tag("bdi", panel.accepted))
    if panel.finding is not None:
        yield joined(tag("p", panel.finding.said, dir="auto"), fix(panel.finding), evidence(panel.finding))
    if panel.why:
        yield tag("p", "Not checked: ", tag("bdi", panel.why))
    if panel.targets:
        yield tag("ul", *(_target(each, panel.finding) for each in panel.targets), class_="queries")
    yield tag("p", *([f"Panel {panel.id}, "] if panel.id is not None else ["A panel "]), panel.type, class_="quiet")


def _target(target: TargetVerdict, told: Finding | None) -> Markup:
    zero = ", all 0" if target.zero else ""
    said = f"{target.series} series{zero}" if target.state == "lit" and target.series else target.why
    own = target.finding if target.finding is not None and target.finding != told else None
    return tag(
        "li",
        tag("p", mark(target.state), " ", tag("b", target.ref_id), f" {target.state} ", tag("bdi", said)),
        tag("pre", tag("code", target.expr), dir="ltr") if target.expr else "",
        joined(tag("p", named(own), ": ", own.said, dir="auto"), fix(own)) if own else "",
    )
