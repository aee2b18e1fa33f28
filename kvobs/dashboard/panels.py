"""The panels of a dashboard of the classic schema, with the rows of before 2017 and with those of today."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .board import Grid, Panel, SourceRef, Target
from .datasources import EXPRESSION, MIXED, PROMETHEUS_TYPES
from .document import MAX_DEPTH, too_deep
from .reading import object_in, objects_in, source_of, text_in, whole_in
from .references import Key

GRID_COLUMNS = 24

_OLD_ROW_HEIGHT_PX = 250
_OLD_SPAN = 4
_OLD_SPANS = 12
_CELL_PX = 38
_LEAST_CELLS = 3
_LARGEST = 100_000
"""More grid units than any dashboard has; what is larger is a mistake."""


@dataclass(frozen=True, slots=True)
class _Row:
    """The row that panels stand under."""

    title: str | None = None
    repeat: str | None = None


def panels_of_rows(dashboard: Mapping[str, Any]) -> Iterator[Panel]:
    """Yield the panels of a dashboard that keeps them in `rows`; they flow from left to right, as Grafana lays them."""
    y = 0
    for index, row in objects_in(dashboard.get("rows")):
        under = _row_of(row)
        x = line = 0
        for place, entry in objects_in(row.get("panels")):
            span = whole_in(entry, "span") or _OLD_SPAN
            width = min(max(span, 1), _OLD_SPANS) * GRID_COLUMNS // _OLD_SPANS
            if x + width > GRID_COLUMNS:
                x, y, line = 0, y + line, 0
            height = _cells(entry.get("height") or row.get("height") or _OLD_ROW_HEIGHT_PX)
            grid = _grid_of(entry) or Grid(x, y, width, height)
            if not _is_clone(entry):
                yield panel_of(entry, grid, under, ("rows", index, "panels", place))
            x, line = x + width, max(line, height)
        y += line


def panels_of_grid(dashboard: Mapping[str, Any]) -> Iterator[Panel]:
    """Yield the panels of a dashboard that lays them on a grid, in reading order.

    A row that is open stands before its panels; a collapsed one holds them.
    """
    under = _Row()
    for index, entry in _in_reading_order(dashboard.get("panels")):
        keys: tuple[Key, ...] = ("panels", index)
        if entry.get("type") == "row":
            under = _row_of(entry)
            yield from _nested(entry, under, keys, 2)
        elif not _is_clone(entry):
            yield panel_of(entry, _grid_of(entry), under, keys)
            yield from _nested(entry, under, keys, 2)


def _nested(holder: Mapping[str, Any], under: _Row, keys: tuple[Key, ...], depth: int) -> Iterator[Panel]:
    if depth > MAX_DEPTH:
        raise too_deep(keys)
    for index, entry in _in_reading_order(holder.get("panels")):
        inner = (*keys, "panels", index)
        if entry.get("type") == "row":
            yield from _nested(entry, _row_of(entry), inner, depth + 2)
        elif not _is_clone(entry):
            yield panel_of(entry, _grid_of(entry), under, inner)
            yield from _nested(entry, under, inner, depth + 2)


def panel_of(entry: Mapping[str, Any], grid: Grid | None, row: _Row, keys: tuple[Key, ...]) -> Panel:
    """Return one panel of the classic schema."""
    library = object_in(entry, "libraryPanel")
    return Panel(
        id=whole_in(entry, "id"),
        title=text_in(entry, "title") or text_in(library, "name"),
        type=text_in(entry, "type"),
        row=row.title,
        grid=grid,
        targets=tuple(_targets_of(entry, keys)),
        max_data_points=positive(whole_in(entry, "maxDataPoints")),
        min_interval=text_in(entry, "interval") or None,
        time_from=text_in(entry, "timeFrom") or None,
        time_shift=text_in(entry, "timeShift") or None,
        repeat=text_in(entry, "repeat") or None,
        repeat_row=row.repeat,
        library=(text_in(library, "name", "uid") or "a library panel") if library else None,
        keys=keys,
    )


def _targets_of(panel: Mapping[str, Any], keys: tuple[Key, ...]) -> Iterator[Target]:
    of_panel = source_of(panel.get("datasource"))
    if of_panel.written == MIXED:
        of_panel = SourceRef(None)
    for index, entry in objects_in(panel.get("targets")):
        yield target_of(entry, _asked_of(entry, of_panel), (*keys, "targets", index), index)


def target_of(
    entry: Mapping[str, Any],
    source: SourceRef,
    keys: tuple[Key, ...],
    index: int,
    *,
    ref_id: str = "",
    hidden: bool = False,
) -> Target:
    """Return one target; *entry* is its query model, which is the same in both schemas."""
    instant = entry.get("instant") is True
    expr = text_in(entry, "expr")
    # Other languages write `expr` too (Loki does); what is no Prometheus by its type has no PromQL.
    speaks = source.plugin is None or source.plugin in PROMETHEUS_TYPES
    return Target(
        ref_id=ref_id or text_in(entry, "refId") or letter_of(index),
        source=source,
        expr=expr if expr and speaks else None,
        hidden=hidden or entry.get("hide") is True,
        instant=instant,
        range=entry.get("range") is True or not instant,
        min_step=text_in(entry, "interval") or None,
        interval_factor=max(whole_in(entry, "intervalFactor") or 1, 1),
        keys=keys,
    )


def _asked_of(entry: Mapping[str, Any], of_panel: SourceRef) -> SourceRef:
    """Return the source that a target is asked of: its panel's, unless that is the mixed or the default one.

    Grafana sends every query of a panel to the panel's own source, whatever the query names (`SceneQueryRunner` of
    @grafana/scenes): only expressions, and targets of a panel that is mixed or names none, go where they say.
    """
    own = own_source(entry, of_panel)
    return own if of_panel.written is None or EXPRESSION in (own.written, own.plugin) else of_panel


def own_source(entry: Mapping[str, Any], of_panel: SourceRef) -> SourceRef:
    """Return the source that a target names, else its panel's."""
    # Grafana 8.0 to 8.2 wrote the expression engine as a UID beside the target's keys.
    if entry.get("datasourceUid") in ("-100", EXPRESSION):
        return SourceRef(EXPRESSION, EXPRESSION)
    source = source_of(entry.get("datasource"))
    if source.written == MIXED or (source.written is None and source.plugin != EXPRESSION):
        return of_panel if of_panel.written is not None else SourceRef(None, source.plugin or of_panel.plugin)
    return source


def letter_of(index: int) -> str:
    """Return the name that Grafana gives the target at a place.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('A', 'Z', 'AA')
    """
    first, last = divmod(index, 26)
    return (letter_of(first - 1) if first else "") + chr(ord("A") + last)


def positive(number: int | None) -> int | None:
    """Return a number above zero, else None."""
    return number if number is not None and number > 0 else None


def grid_unit(holder: Mapping[str, Any], key: str, least: int) -> int:
    """Return a place or a size on the grid, kept within what a dashboard can have."""
    return min(max(whole_in(holder, key) or 0, least), _LARGEST)


def _in_reading_order(entries: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return panels as Grafana orders them: by line and column; a panel without a place comes first."""

    def place(numbered: tuple[int, Mapping[str, Any]]) -> tuple[int, int]:
        where = object_in(numbered[1], "gridPos")
        return grid_unit(where, "y", 0), grid_unit(where, "x", 0)

    return sorted(objects_in(entries), key=place)


def _grid_of(entry: Mapping[str, Any]) -> Grid | None:
    where = object_in(entry, "gridPos")
    if not where:
        return None
    width = min(grid_unit(where, "w", 1), GRID_COLUMNS)
    return Grid(grid_unit(where, "x", 0), grid_unit(where, "y", 0), width, grid_unit(where, "h", 1))


def _row_of(entry: Mapping[str, Any]) -> _Row:
    return _Row(text_in(entry, "title") or None, text_in(entry, "repeat") or None)


def _is_clone(entry: Mapping[str, Any]) -> bool:
    """Whether a panel is what a repeat left in a saved dashboard; Grafana drops it when it loads."""
    return bool(entry.get("repeatPanelId")) and not entry.get("repeat")


def _cells(height: Any) -> int:
    """Return a height in pixels, a number or a text such as `250px`, as units of the grid."""
    text = str(height).removesuffix("px")
    pixels = float(text) if text.isascii() and text.isdigit() and len(text) < 6 else _OLD_ROW_HEIGHT_PX
    return max(math.ceil(pixels / _CELL_PX), _LEAST_CELLS)
