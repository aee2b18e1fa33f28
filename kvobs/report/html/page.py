"""The whole page."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources

from ...health.verdict import BoardVerdict
from ...use_cases.verify_report import STATES, VerifyReport
from ..values import counted
from ..verify import asked_for, counts_of, name_of, span, totals
from .boards import board_section
from .causes import accepted_section, causes_section
from .layout import sections
from .markup import Markup, joined, tag
from .pieces import bar, mark, state_class


def to_html(report: VerifyReport) -> str:
    """Return the page. The same report gives the same bytes."""
    laid_out = [tuple(sections(board.panels)) for board in report.boards]
    style = _text("report.css") + _grid_rules(
        (placed.grid.y, placed.grid.h) for board in laid_out for section in board for placed in section.panels
    )
    script = _text("report.js")
    boards = (
        board_section(board, laid_out[number], number, report.min_severity)
        for number, board in enumerate(report.boards)
    )
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"kvobs verify: {_short(report)}"),
        tag("style", Markup(style)),
    )
    body = joined(
        tag("a", "To the dashboards", class_="skip", href="#dashboards"),
        _header(report),
        tag(
            "main",
            causes_section(report),
            accepted_section(report),
            _overview(report),
            _filters(report),
            tag("div", *boards, id="boards"),
            tag("p", "No panel is like that.", id="none", hidden=True),
        ),
        _footer(report),
        tag("script", Markup(script)),
    )
    page = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _grid_rules(places: Iterable[tuple[int, int]]) -> str:
    """Return what puts panels into their lines; the page's policy takes no style from an attribute."""
    lines: set[int] = set()
    heights: set[int] = set()
    for y, h in places:
        lines.add(y)
        heights.add(h)
    rules = [f".y{y}{{grid-row-start:{y + 1}}}" for y in sorted(lines)]
    rules += [f".h{h}{{grid-row-end:span {h}}}" for h in sorted(heights)]
    return f"@media (min-width: 700px), print {{{''.join(rules)}}}\n"


def _policy(style: str, script: str) -> str:
    """Return a policy by which the page loads nothing, sends nothing, and runs its own script alone."""
    allowed = {"style-src": style, "script-src": script}
    hashes = [f"{kind} 'sha256-{_hash(text)}'" for kind, text in allowed.items()]
    return "; ".join(["default-src 'none'", *hashes, "base-uri 'none'", "form-action 'none'"])


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _short(report: VerifyReport) -> str:
    counts = report.counts
    return f"{counts['lit']} of {counted(sum(counts.values()), 'panel')} lit"


def _header(report: VerifyReport) -> Markup:
    asked = joined(
        "Asked ",
        tag("bdi", report.prometheus),
        f" ({report.server})" if report.server else "",
        f": {asked_for(report)}." if report.queries else ".",
    )
    about = f"Time range: {span(report)}." if span(report) else "Time range: each dashboard's own."
    tiles = (
        tag("li", mark(state), " ", tag("b", str(number)), f" {state}", class_=f"tile {state_class(state)}")
        for state, number in report.counts.items()
        if number or state in ("lit", "broken")
    )
    return tag(
        "header",
        tag("h1", "kvobs verify"),
        tag("p", totals(report), class_=f"sum exit-{report.exit_code}"),
        tag("ul", *tiles, class_="tiles", aria_label="Panels by state"),
        tag("p", asked, " ", about, class_="quiet") if report.boards else "",
    )


def _overview(report: VerifyReport) -> Markup:
    states = [each for each in STATES if each == "lit" or report.counts[each]]
    headings = ("Panels", *(each.capitalize() for each in states))
    rows: list[Markup] = []
    names = Counter(map(name_of, report.boards))
    for number, board in enumerate(report.boards):
        counts = counts_of(board.panels)
        name = tag("a", tag("bdi", name_of(board)), href=f"#b{number}")
        if names[name_of(board)] > 1:
            name = joined(name, tag("div", tag("bdi", board.source), class_="quiet"))
        rows.append(
            tag(
                "tr",
                tag("th", name, *_board_causes(board), scope="row"),
                tag("td", bar(counts), class_="bars"),
                tag("td", str(len(board.panels))),
                *(tag("td", str(counts[state]), class_="" if counts[state] else "zero") for state in states),
            )
        )
    head = tag(
        "tr",
        tag("th", "Dashboard", scope="col"),
        tag("th", tag("span", "Shares", class_="hidden"), scope="col"),
        *(tag("th", each, scope="col") for each in headings),
    )
    return tag(
        "section",
        tag("h2", "Dashboards", id="dashboards"),
        tag(
            "div",
            tag("table", tag("thead", head), tag("tbody", *rows)),
            class_="wide",
            tabindex="0",
            role="region",
            aria_labelledby="dashboards",
        ),
        aria_labelledby="dashboards",
    )


def _board_causes(board: BoardVerdict) -> Iterator[Markup]:
    """What is wrong with a dashboard as a whole."""
    for cause in dict.fromkeys(each.cause for each in board.findings):
        yield joined(" ", tag("span", cause, class_="badge"))


def _filters(report: VerifyReport) -> Markup:
    """What the script shows and serves; without it the page is whole, and cannot be filtered."""
    buttons = (
        tag(
            "button",
            mark(state),
            f" {state} ",
            tag("span", str(number), class_="count"),
            type="button",
            aria_pressed="false",
            data_filter=state,
            class_=state_class(state),
        )
        for state, number in report.counts.items()
        if number
    )
    return tag(
        "div",
        tag("div", *buttons, role="group", aria_label="Show panels by state", class_="states"),
        tag("input", type="search", id="search", aria_label="Search panels", placeholder="Panel, cause, query"),
        tag("output", "", id="shown", aria_live="polite"),
        id="filters",
        role="search",
        hidden=True,
    )


def _footer(report: VerifyReport) -> Markup:
    return tag("footer", *_lines(report))


def _lines(report: VerifyReport) -> Iterator[Markup]:
    if report.unmet:
        yield tag("h2", "Entries of --expect that nothing answers to")
        yield tag("ul", *(tag("li", each) for each in report.unmet))
    if report.notes:
        yield tag("h2", "Notes")
        yield tag("ul", *(tag("li", each.text) for each in report.notes))
    yield tag(
        "p",
        "Dark: no data yet, and nothing is wrong. Expected: dark by what this cluster is or how its servers run."
        " Unknown: it could not be found out. Not checked: nothing of the panel goes to a Prometheus.",
        class_="quiet",
    )
