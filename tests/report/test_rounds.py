"""What `--watch` says where nothing can be drawn over, and what it draws where it can."""

from __future__ import annotations

import io
import os
import pty
import select
from dataclasses import replace

import pytest

from kvobs.report.rounds import changes
from kvobs.terminal import Lines, redrawn
from kvobs.use_cases.verify_report import VerifyReport
from tests.verify_reports import NO_TARGET, everything, lit, panel

SUM = "4 of 11 panels lit, 3 broken, 1 unknown, 1 dark, 1 expected, 1 not checked (1 accepted)"


def with_panels(*titles_lit: tuple[str, bool]) -> VerifyReport:
    """Give a report of one dashboard."""
    panels = tuple(panel(title, None if is_lit else NO_TARGET) for title, is_lit in titles_lit)
    report = lit()
    return replace(report, boards=(replace(report.boards[0], panels=panels),))


def test_the_first_look_is_its_sum() -> None:
    """With nothing to compare, one line says how it stands."""
    assert changes(None, everything()) == [f"{SUM}: 3 panels and 1 dashboard are broken."]


def test_nothing_new_is_no_line() -> None:
    """A look like the one before says nothing."""
    assert changes(everything(), everything()) == []


def test_each_panel_that_changed_is_a_line_and_the_sum_follows() -> None:
    """What was and what is, with the cause; of repeats with one title each for itself."""
    before = with_panels(("One", False), ("One", False), ("Two", True))
    after = with_panels(("One", True), ("One", False), ("Two", False), ("New", True))
    assert changes(before, after) == [
        "A: One: broken (KVO-405) -> lit",
        "A: Two: lit -> broken (KVO-405)",
        "A: New: lit",
        "2 of 4 panels lit, 2 broken: 2 panels are broken.",
    ]


@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_is_drawn_over_where_no_terminal_is(quiet: bool) -> None:
    """A file gets what changed from look to look and no progress: it would be the same each time."""
    stream = io.StringIO()
    with redrawn(stream, quiet=quiet) as (shown, draw):
        shown.step("ask")
        shown.state("1 of 2")
    assert draw is None
    assert stream.getvalue() == ""


def test_a_title_that_would_move_the_cursor() -> None:
    """What a step works on may be called by anybody: it is shown without what a terminal would obey."""
    stream = io.StringIO()

    Lines(stream).state("dashboard \x1b[2J\x07GPU\r\n\ud800")

    assert stream.getvalue() == "  dashboard ?[2J?GPU ?\n"


def test_a_long_count_is_told_by_its_quarters() -> None:
    """Of 100 lines that differ in a number only, a log gets the five that say how far it is."""
    stream = io.StringIO()
    lines = Lines(stream)
    for step in ("ask", "find"):
        lines.step(step)
        for number in range(1, 101):
            lines.state(f"{number} of 100 queries")
    told = [f"  {number} of 100 queries" for number in (1, 25, 50, 75, 100)]
    assert stream.getvalue().splitlines() == ["ask", *told, "find", *told]


@pytest.mark.parametrize(("term", "drawn"), [("xterm", True), ("dumb", False)])
def test_a_terminal_shows_the_last_look(term: str, drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look stands in the place of the one before, cut to the window."""
    for name, value in {"TERM": term, "COLUMNS": "40", "LINES": "10"}.items():
        monkeypatch.setenv(name, value)
    main, other = pty.openpty()
    with os.fdopen(other, "w") as stream:
        with redrawn(stream, quiet=False) as (shown, draw):
            shown.step("ask what the panels ask")
            assert (draw is not None) == drawn
            if draw is not None:
                draw("first look")
                draw("\n".join(f"line {number} " + "x" * 60 for number in range(30)))
                shown.state("5 of 9")
        stream.flush()
        written = ""
        while select.select([main], [], [], 0.2)[0]:
            written += os.read(main, 65536).decode()
    os.close(main)
    assert ("ask what the panels ask" in written) == drawn
    assert ("line 5 xxx" in written) == drawn
    assert ("24 more lines" in written) == drawn
    assert "line 6 " not in written
    assert all(len(line) <= 40 for line in written.replace("\x1b", "\n").splitlines() if line.startswith("line"))
