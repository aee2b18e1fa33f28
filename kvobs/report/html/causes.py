"""The causes, each once with all that it darkens, and what was accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ...health.causes import CAUSES
from ...use_cases.verify_report import CauseGroup, VerifyReport, shown
from ..verify import name_of, reach_of
from .markup import Markup, joined, tag
from .pieces import evidence, fix, mark, named, state_class

NAMED = 5
"""Dashboards that are named without a click."""

Link = tuple[str, str, str]
"""Name of a dashboard, title of a panel in it, the panel's anchor."""


def causes_section(report: VerifyReport) -> Markup:
    """Return what is to be mended, worst first, then what lights most."""
    groups = [each for each in report.causes if shown(each.finding.severity, report.min_severity)]
    if not groups:
        return Markup()
    dark, partly = _links(report)
    cards = (_card(group, dark.get(_key(group), ()), partly.get(_key(group), ())) for group in groups)
    return tag(
        "section",
        tag("h2", "Causes", id="causes"),
        tag("ol", *cards, class_="causes"),
        aria_labelledby="causes",
    )


def accepted_section(report: VerifyReport) -> Markup:
    """Return what `--expect` accepts, with the reasons."""
    rows = [
        tag(
            "li",
            mark(panel.state),
            " ",
            tag("a", tag("bdi", f"{name_of(board)}: {panel.title}"), href=f"#b{number}p{index}"),
            f" {panel.finding.cause}" if panel.finding else "",
            ": ",
            tag("bdi", panel.accepted),
        )
        for number, board in enumerate(report.boards)
        for index, panel in enumerate(board.panels)
        if panel.accepted is not None
    ]
    if not rows:
        return Markup()
    return tag(
        "section", tag("h2", "Accepted", id="accepted"), tag("ul", *rows, class_="plain"), aria_labelledby="accepted"
    )


def _key(group: CauseGroup) -> tuple[str, str]:
    return group.finding.cause, group.finding.subject


def _links(
    report: VerifyReport,
) -> tuple[Mapping[tuple[str, str], list[Link]], Mapping[tuple[str, str], list[Link]]]:
    """Return the panels that each cause darkens whole, and in part."""
    dark: dict[tuple[str, str], list[Link]] = {}
    partly: dict[tuple[str, str], list[Link]] = {}
    for number, board in enumerate(report.boards):
        for index, panel in enumerate(board.panels):
            if panel.accepted is not None:
                continue
            link = (name_of(board), panel.title, f"b{number}p{index}")
            if panel.finding is not None:
                dark.setdefault((panel.finding.cause, panel.finding.subject), []).append(link)
            elif panel.state == "lit":
                found = dict.fromkeys((t.finding.cause, t.finding.subject) for t in panel.targets if t.finding)
                for key in found:
                    partly.setdefault(key, []).append(link)
    return dark, partly


def _card(group: CauseGroup, dark: Sequence[Link], partly: Sequence[Link]) -> Markup:
    finding = group.finding
    return tag(
        "li",
        tag(
            "h3",
            mark(finding.severity),
            " ",
            tag("span", finding.severity, class_="state"),
            " ",
            named(finding),
            " ",
            tag("span", reach_of(group), class_="badge"),
        ),
        tag("p", finding.said, dir="auto"),
        fix(finding),
        _more(group, dark, partly),
        class_=f"cause {state_class(finding.severity)}",
    )


def _more(group: CauseGroup, dark: Sequence[Link], partly: Sequence[Link]) -> Markup:
    finding = group.finding
    parts: list[Markup] = []
    if dark or partly or group.dashboards:
        listed = joined(
            *(tag("p", "Dashboard ", tag("bdi", each)) for each in group.dashboards),
            *_listed(dark),
            *([tag("p", "Queries of these have no data, others of theirs do:")] if partly else []),
            *_listed(partly),
        )
        parts.append(tag("details", tag("summary", "Where: ", _in_short((*dark, *partly), group)), listed))
    if finding.evidence:
        parts.append(tag("details", tag("summary", "Told from"), evidence(finding)))
    known = CAUSES.get(finding.cause)
    if known is not None:
        told = (tag("p", " ".join(each.split())) for each in known.explanation.split("\n\n"))
        parts.append(tag("details", tag("summary", f"About {finding.cause}"), *told))
    return joined(*parts)


def _in_short(links: Sequence[Link], group: CauseGroup) -> Markup:
    """The dashboards, each with the number of its panels."""
    names = Counter(board for board, _, _ in links)
    told = [(board, f" ({number})") for board, number in names.items()] + [(each, "") for each in group.dashboards]
    pieces = (joined(", " if at else "", tag("bdi", each), number) for at, (each, number) in enumerate(told[:NAMED]))
    return joined(*pieces, f" and {len(told) - NAMED} more" if len(told) > NAMED else "")


def _listed(links: Sequence[Link]) -> Iterator[Markup]:
    for board, panels in groupby(links, key=lambda each: (each[0], each[2].partition("p")[0])):
        items = (tag("li", tag("a", tag("bdi", title or "untitled"), href=f"#{anchor}")) for _, title, anchor in panels)
        yield joined(tag("p", tag("bdi", board[0]), class_="of"), tag("ul", *items, class_="links"))
