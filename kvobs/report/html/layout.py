"""Where panels stand: Grafana's grid of 24 columns, in which a panel falls up until it meets another. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...dashboard.board import Grid
from ...health.verdict import PanelVerdict

COLUMNS = 24
FLOWING = Grid(0, 0, 12, 8)
"""Size of a panel that says none, which is Grafana's for a new one."""
NARROWEST, LOWEST, HIGHEST = 2, 2, 40
"""Sizes outside of these are mistakes, or fill pages."""
REPEATS_IN_A_LINE = 4
"""How many repeats of one panel Grafana puts beside each other where the panel does not say."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One panel, with its number in the dashboard and its place."""

    number: int
    panel: PanelVerdict
    grid: Grid


@dataclass(frozen=True, slots=True)
class Section:
    """Panels under one row (None: under none), which have a grid of their own; top down, then left to right."""

    row: str | None
    panels: tuple[Placed, ...]


def sections(panels: Sequence[PanelVerdict]) -> Iterator[Section]:
    """Yield the sections of a dashboard in its order; no two panels of one overlap.

    A new one begins with each row, and where a panel would stand on another: there a tab begins, or a repeated row.
    """
    for row, group in groupby(enumerate(panels), key=lambda each: each[1].row):
        part: list[list[tuple[int, PanelVerdict]]] = []
        for repeats in _repeats(list(group)):
            if any(_overlap(repeats[0][1].grid, other[0][1].grid) for other in part):
                yield Section(row, tuple(_placed(part)))
                part = []
            part.append(repeats)
        yield Section(row, tuple(_placed(part)))


def _repeats(panels: Sequence[tuple[int, PanelVerdict]]) -> list[list[tuple[int, PanelVerdict]]]:
    """Group what follows each other and was one panel in the dashboard."""
    groups: list[list[tuple[int, PanelVerdict]]] = []
    for number, panel in panels:
        before = groups[-1][0][1] if groups else None
        if before and panel.grid and (panel.id, panel.grid, panel.type) == (before.id, before.grid, before.type):
            groups[-1].append((number, panel))
        else:
            groups.append([(number, panel)])
    return groups


def _overlap(one: Grid | None, other: Grid | None) -> bool:
    if one is None or other is None:
        return False
    return (
        one.x < other.x + other.w and other.x < one.x + one.w and one.y < other.y + other.h and other.y < one.y + one.h
    )


def _placed(groups: Sequence[list[tuple[int, PanelVerdict]]]) -> Iterator[Placed]:
    standing = [each for each in groups if each[0][1].grid is not None]
    floating = [each for each in groups if each[0][1].grid is None]
    sky = [0] * COLUMNS
    placed: list[Placed] = []
    for group in sorted(standing, key=_reading_order):
        placed += _fallen(group, sky)
    x = 0
    for group in floating:
        for number, panel in group:
            y = max(sky) if x == 0 else placed[-1].grid.y
            placed.append(Placed(number, panel, Grid(x, y, FLOWING.w, FLOWING.h)))
            sky[x : x + FLOWING.w] = [y + FLOWING.h] * FLOWING.w
            x = (x + FLOWING.w) % COLUMNS
    return iter(sorted(placed, key=lambda each: (each.grid.y, each.grid.x)))


def _reading_order(group: list[tuple[int, PanelVerdict]]) -> tuple[int, int]:
    grid = _within(group[0][1].grid or FLOWING)
    return grid.y, grid.x


def _fallen(group: list[tuple[int, PanelVerdict]], sky: list[int]) -> Iterator[Placed]:
    """Yield a panel, or its repeats beside each other, each as high as *sky*, the lowest free line of each column."""
    grid = _within(group[0][1].grid or FLOWING)
    width = grid.w if len(group) == 1 else COLUMNS // min(len(group), REPEATS_IN_A_LINE)
    for index, (number, panel) in enumerate(group):
        x = grid.x if len(group) == 1 else index * width % (COLUMNS // width * width)
        y = max(sky[x : x + width])
        sky[x : x + width] = [y + grid.h] * width
        yield Placed(number, panel, Grid(x, y, width, grid.h))


def _within(grid: Grid) -> Grid:
    w = min(max(grid.w, NARROWEST), COLUMNS)
    return Grid(min(max(grid.x, 0), COLUMNS - w), max(grid.y, 0), w, min(max(grid.h, LOWEST), HIGHEST))
