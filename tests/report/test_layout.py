"""Where panels stand in the HTML report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.dashboard.board import Grid
from kvobs.health.verdict import PanelVerdict
from kvobs.report.html.layout import COLUMNS, sections
from tests.verify_reports import panel

Written = tuple[int, int, int, int] | None


def verdicts(*grids: Written, row: str | None = None, same: bool = False) -> list[PanelVerdict]:
    """Give panels at these places (x, y, w, h): different ones, or repeats of one."""
    return [
        panel(f"p{number}", id=1 if same else number, row=row, grid=None if grid is None else Grid(*grid))
        for number, grid in enumerate(grids)
    ]


def placed(panels: list[PanelVerdict]) -> list[list[tuple[int, int, int, int]]]:
    """Return the places of each section's panels."""
    found = [[each.grid for each in section.panels] for section in sections(panels)]
    return [[(each.x, each.y, each.w, each.h) for each in section] for section in found]


CASES: dict[str, tuple[list[PanelVerdict], list[list[tuple[int, int, int, int]]]]] = {
    "as it is written": (
        verdicts((0, 0, 12, 8), (12, 0, 12, 8), (0, 8, 24, 4)),
        [[(0, 0, 12, 8), (12, 0, 12, 8), (0, 8, 24, 4)]],
    ),
    "in reading order, whatever the order of the document": (
        verdicts((0, 8, 24, 4), (12, 0, 12, 8), (0, 0, 12, 8)),
        [[(0, 0, 12, 8), (12, 0, 12, 8), (0, 8, 24, 4)]],
    ),
    "a panel falls up into free space": (verdicts((0, 5, 6, 4), (6, 9, 6, 4)), [[(0, 0, 6, 4), (6, 0, 6, 4)]]),
    "a row begins anew": (
        [*verdicts((0, 0, 24, 4)), *verdicts((0, 5, 24, 4), row="R")],
        [[(0, 0, 24, 4)], [(0, 0, 24, 4)]],
    ),
    "tabs begin at the top again": (
        verdicts((0, 0, 12, 8), (12, 0, 12, 8), (0, 0, 24, 8), (0, 8, 24, 8)),
        [[(0, 0, 12, 8), (12, 0, 12, 8)], [(0, 0, 24, 8), (0, 8, 24, 8)]],
    ),
    "two repeats share the width": (verdicts((0, 0, 8, 4), (0, 0, 8, 4), same=True), [[(0, 0, 12, 4), (12, 0, 12, 4)]]),
    "five repeats need a second line": (
        verdicts(*[(0, 0, 8, 4)] * 5, same=True),
        [[(0, 0, 6, 4), (6, 0, 6, 4), (12, 0, 6, 4), (18, 0, 6, 4), (0, 4, 6, 4)]],
    ),
    "panels without a place flow, after those with one": (
        verdicts(None, (0, 0, 6, 3), None, None),
        [[(0, 0, 6, 3), (0, 3, 12, 8), (12, 3, 12, 8), (0, 11, 12, 8)]],
    ),
    "no panel is outside, too narrow or endless": (
        verdicts((-5, -9, 99, 10**9), (23, 10**9 + 1, 0, 0)),
        [[(0, 0, 24, 40), (22, 40, 2, 2)]],
    ),
    "nothing": ([], []),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_places(name: str) -> None:
    """Each section has its panels where Grafana would put them."""
    panels, expected = CASES[name]
    assert placed(panels) == expected


GRIDS = st.none() | st.tuples(st.integers(-3, 30), st.integers(-3, 40), st.integers(-1, 30), st.integers(-1, 12))


@given(st.lists(st.tuples(GRIDS, st.sampled_from([None, "a", "b"]), st.integers(1, 3)), max_size=25))
def test_no_two_panels_overlap_and_none_is_lost(written: list[tuple[Written, str | None, int]]) -> None:
    """Whatever a dashboard says, every panel is in one section, within its columns, on no other."""
    panels = [
        panel(str(number), id=panel_id, row=row, grid=None if grid is None else Grid(*grid))
        for number, (grid, row, panel_id) in enumerate(written)
    ]
    seen: list[int] = []
    for section in sections(panels):
        taken: set[tuple[int, int]] = set()
        for each in section.panels:
            grid = each.grid
            cells = {(x, y) for x in range(grid.x, grid.x + grid.w) for y in range(grid.y, grid.y + grid.h)}
            assert cells
            assert not cells & taken
            assert 0 <= grid.x < grid.x + grid.w <= COLUMNS
            assert grid.y >= 0
            taken |= cells
            seen.append(each.number)
            assert panels[each.number] is each.panel
            assert each.panel.row == section.row
    assert sorted(seen) == list(range(len(panels)))
