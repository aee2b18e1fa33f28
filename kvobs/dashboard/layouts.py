"""The panels of a v2 dashboard: `elements`, in the order and the places that its `layout` gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .board import Grid, Panel, SourceRef, Target
from .document import MAX_DEPTH, too_deep
from .panels import GRID_COLUMNS, grid_unit, letter_of, own_source, positive, target_of
from .reading import object_in, objects_in, text_in, whole_in
from .references import Key

_AUTO_COLUMNS = 3
_AUTO_HEIGHT = 9


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an element is drawn."""

    element: str
    grid: Grid | None = None
    repeat: str | None = None
    row: str | None = None
    repeat_row: str | None = None


def panels_of_layout(dashboard: Mapping[str, Any], at: tuple[Key, ...] = ()) -> Iterator[Panel]:
    """Yield the panels that the layout draws, in its order; an element that it names twice is drawn twice.

    All elements, where there is no layout that names any.
    """
    elements = object_in(dashboard, "elements")
    places = list(_places(object_in(dashboard, "layout"), 1))
    for place in places or [_Place(name) for name in elements]:
        element = elements.get(place.element)
        if isinstance(element, Mapping):
            yield _panel_of(element, place, (*at, "elements", place.element))


def _places(layout: Mapping[str, Any], depth: int) -> Iterator[_Place]:
    """Yield the places of a layout of any kind; those of its rows and tabs go by their title."""
    if depth > MAX_DEPTH:
        raise too_deep(("layout",))
    spec = object_in(layout, "spec")
    if layout.get("kind") == "AutoGridLayout":
        yield from _auto_places(spec)
        return
    for _, item in objects_in(spec.get("items")):
        within = object_in(item, "spec")
        if item.get("kind") == "GridLayoutRow":
            row = _Place("", row=text_in(within, "title") or None, repeat_row=_repeat_of(within))
            for _, inner in objects_in(within.get("elements")):
                yield from _under(row, _grid_place(object_in(inner, "spec")))
        else:
            yield from _grid_place(within)
    for key in ("rows", "tabs"):
        for _, group in objects_in(spec.get(key)):
            within = object_in(group, "spec")
            row = _Place("", row=text_in(within, "title") or None, repeat_row=_repeat_of(within))
            yield from _under(row, _places(object_in(within, "layout"), depth + 4))


def _under(row: _Place, places: Iterator[_Place]) -> Iterator[_Place]:
    """Name the row or tab of places that stand in no narrower one, and what it is repeated by."""
    for place in places:
        yield replace(place, row=place.row or row.row, repeat_row=place.repeat_row or row.repeat_row)


def _grid_place(spec: Mapping[str, Any]) -> Iterator[_Place]:
    if name := _element_of(spec):
        width = min(grid_unit(spec, "width", 1), GRID_COLUMNS)
        grid = Grid(grid_unit(spec, "x", 0), grid_unit(spec, "y", 0), width, grid_unit(spec, "height", 1))
        yield _Place(name, grid, _repeat_of(spec))


def _auto_places(spec: Mapping[str, Any]) -> Iterator[_Place]:
    columns = min(max(whole_in(spec, "maxColumnCount") or _AUTO_COLUMNS, 1), GRID_COLUMNS)
    width = GRID_COLUMNS // columns
    for index, item in objects_in(spec.get("items")):
        within = object_in(item, "spec")
        if name := _element_of(within):
            line, column = divmod(index, columns)
            grid = Grid(column * width, line * _AUTO_HEIGHT, width, _AUTO_HEIGHT)
            yield _Place(name, grid, _repeat_of(within))


def _element_of(spec: Mapping[str, Any]) -> str:
    element = object_in(spec, "element")
    return text_in(element, "name") or text_in(object_in(element, "spec"), "name", "uid")


def _repeat_of(spec: Mapping[str, Any]) -> str | None:
    return text_in(object_in(spec, "repeat"), "value") or None


def _panel_of(element: Mapping[str, Any], place: _Place, keys: tuple[Key, ...]) -> Panel:
    spec = object_in(element, "spec")
    look = object_in(spec, "vizConfig")
    options = object_in(spec, "data", "spec", "queryOptions")
    library = object_in(spec, "libraryPanel") if element.get("kind") == "LibraryPanel" else {}
    return Panel(
        id=whole_in(spec, "id"),
        title=text_in(spec, "title") or text_in(library, "name"),
        type=text_in(look, "group") or text_in(look, "kind"),
        row=place.row,
        grid=place.grid,
        targets=tuple(_targets_of(spec, (*keys, "spec", "data", "spec", "queries"))),
        max_data_points=positive(whole_in(options, "maxDataPoints")),
        min_interval=text_in(options, "interval") or None,
        time_from=text_in(options, "timeFrom") or None,
        time_shift=text_in(options, "timeShift") or None,
        repeat=place.repeat,
        repeat_row=place.repeat_row,
        library=(text_in(library, "name", "uid") or "a library panel") if library else None,
        keys=keys,
    )


def _targets_of(panel: Mapping[str, Any], keys: tuple[Key, ...]) -> Iterator[Target]:
    for index, entry in objects_in(object_in(panel, "data", "spec").get("queries")):
        spec = object_in(entry, "spec")
        query = object_in(spec, "query")
        yield target_of(
            object_in(query, "spec"),
            _source_of(spec, query),
            (*keys, index, "spec", "query", "spec"),
            index,
            ref_id=text_in(spec, "refId") or letter_of(index),
            hidden=spec.get("hidden") is True,
        )


def _source_of(spec: Mapping[str, Any], query: Mapping[str, Any]) -> SourceRef:
    """Return a query's source: inside of the query, or, in the first drafts of the schema, beside it."""
    kind = text_in(query, "kind")
    plugin = text_in(query, "group") or ("" if kind == "DataQuery" else kind)
    beside = own_source(spec, SourceRef(None, plugin or None))
    source = own_source(query, beside)
    return SourceRef(source.written, source.plugin or plugin or None)
