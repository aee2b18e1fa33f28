"""What a dashboard's panels ask: their repeats drawn, their variables put in, one question for each visible target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from .board import Board, Panel, PanelQueries, Query, Resolved, Scope, SourceRef, Target, Unasked, Value, Window
from .datasources import EXPRESSION
from .interpolation import interpolate
from .intervals import Intervals, aligned_s, interval_text, intervals, points_of, rate_interval_text
from .time_range import window_of_panel

Resolve = Callable[[SourceRef, Scope], Resolved]
"""Says what a reference leads to, with the values that its variables have where it stands."""

Filter = Callable[[str, str], str]
"""Adds to an expression what holds for all that go to the source of a UID: the dashboard's ad hoc filters."""

PANELS_WITHOUT_QUERIES = frozenset(
    {"text", "dashlist", "alertlist", "annolist", "news", "pluginlist", "gettingstarted", "welcome"}
)
"""Types of panels that ask no data source, whatever targets are left in them."""

MOST_DRAWINGS = 1000
"""How often one panel is drawn at most. Grafana draws a repeat when somebody scrolls to it; here all are asked."""

_DASHBOARD = "-- Dashboard --"
_TITLE = "text"
"""The format that Grafana puts variables into titles with: the text that a value shows."""


def panel_queries(
    board: Board,
    scope: Scope,
    window: Window,
    *,
    resolve: Resolve,
    time_intervals: Mapping[str, str | None] | None = None,
    filtered: Filter | None = None,
) -> list[PanelQueries]:
    """Return what each panel asks over a time range, in reading order; a repeated one once for each value.

    *time_intervals* holds `timeInterval` of the data sources that set one, by UID. A hidden target, an expression and
    what asks no Prometheus is told with the reason.
    """
    drawing = _Drawing(window, resolve, time_intervals or {}, filtered or (lambda expr, source: expr))
    return [
        drawing.panel(panel, scope, chosen) if chosen is not None else _not_drawn(panel)
        for panel, chosen in _repeated(board, scope)
    ]


def _not_drawn(panel: Panel) -> PanelQueries:
    """What stands for the repeats of a panel that are too many."""
    why = f"its first {MOST_DRAWINGS:,} repeats are asked, and these are more; --var NAME=VALUE chooses others"
    return PanelQueries(panel=panel, title=panel.title, asked=tuple((each, Unasked(why)) for each in panel.targets))


def time_values(window: Window) -> dict[str, Value]:
    """Return what `$__range`, `$__from`, `$__to` and their like stand for.

    >>> [(name, *value.values) for name, value in time_values(Window(start_s=0.5, end_s=3600.5)).items()]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('__range', '3600s'), ('__range_s', '3600'), ('__range_ms', '3600000'), ('__from', '500'), ('__to', '3600500')]
    """
    start_ms, end_ms = round(window.start_s * 1000), round(window.end_s * 1000)
    range_s = (end_ms - start_ms + 500) // 1000
    return {
        "__range": _plain(f"{range_s}s"),
        "__range_s": _plain(range_s),
        "__range_ms": _plain(end_ms - start_ms),
        "__from": _plain(start_ms),
        "__to": _plain(end_ms),
    }


def interval_values(found: Intervals) -> dict[str, Value]:
    """Return what `$__interval`, `$__rate_interval` and their like stand for in one target."""
    return {
        "__interval": _plain(interval_text(found.step_s)),
        "__interval_ms": _plain(round(found.step_s * 1000)),
        "__rate_interval": _plain(rate_interval_text(found.rate_interval_s)),
        "__rate_interval_ms": _plain(round(found.rate_interval_s * 1000)),
    }


def _plain(value: str | int) -> Value:
    return Value(values=(str(value),))


def _repeated(board: Board, scope: Scope) -> Iterator[tuple[Panel, dict[str, Value] | None]]:
    """Yield each drawing of each panel with the values that it sets: a whole row for one value, then for the next.

    A variable without values, or one that is not there, draws the panel once, as it is. After the first so many
    drawings of a panel there is None, and no more of it.
    """
    drawn: Counter[int] = Counter()
    for (_, by), row in groupby(board.panels, key=lambda panel: (panel.row, panel.repeat_row)):
        panels = list(row)
        for of_row in _each(by, scope):
            for panel in panels:
                for own in _each(panel.repeat if panel.repeat != by else None, scope):
                    drawn[id(panel)] += 1
                    if drawn[id(panel)] > MOST_DRAWINGS:
                        if drawn[id(panel)] == MOST_DRAWINGS + 1:
                            yield panel, None
                        break
                    yield panel, {**of_row, **own}


def _each(name: str | None, scope: Scope) -> Iterator[dict[str, Value]]:
    value = scope.get(name) if name else None
    if name is None or value is None or not value.values:
        yield {}
        return
    texts = value.texts if len(value.texts) == len(value.values) else value.values
    for one, text in zip(value.values, texts, strict=True):
        yield {name: Value(values=(one,), texts=(text,), multi=value.multi, listed=False)}


class _Drawing:
    """Draws panels over one time range."""

    def __init__(
        self, window: Window, resolve: Resolve, time_intervals: Mapping[str, str | None], filtered: Filter
    ) -> None:
        self._window = window
        self._resolve = resolve
        self._time_intervals = time_intervals
        self._filtered = filtered

    def panel(self, panel: Panel, scope: Scope, chosen: Mapping[str, Value]) -> PanelQueries:
        """Return one drawing of a panel."""
        scope = {**scope, **chosen}
        window = window_of_panel(panel, self._window, scope)
        scope = {**scope, **time_values(window)}
        row = interpolate(panel.row, scope, format=_TITLE) if panel.row else None
        return PanelQueries(
            panel=replace(panel, row=row) if row != panel.row else panel,
            title=interpolate(panel.title, scope, format=_TITLE),
            scope=chosen,
            asked=tuple((target, self._target(panel, target, scope, window)) for target in panel.targets),
        )

    def _target(self, panel: Panel, target: Target, scope: Scope, window: Window) -> tuple[Query, ...] | Unasked:
        if why := _no_question(panel, target):
            return Unasked(why)
        source = self._resolve(target.source, scope)
        if source.uid is None and source.cause is None:
            return Unasked(source.why)
        if target.expr is None:
            # Grafana sends nothing for an empty query, so that a source that leads nowhere harms nobody.
            return Unasked("it has no PromQL query")
        if source.uid is None:
            return Unasked(source.why, source.cause)
        found = intervals(
            window.end_s - window.start_s,
            points_of(panel.max_data_points, panel.grid),
            min_interval=interpolate(panel.min_interval or "", scope, format=None),
            min_step=interpolate(target.min_step or "", scope, format=None),
            source_interval=self._time_intervals.get(source.uid),
            factor=target.interval_factor,
        )
        expr = self._filtered(interpolate(target.expr, {**scope, **interval_values(found)}), source.uid)
        return tuple(_queries(target, expr, source.uid, window, found.step_s))


def _queries(target: Target, expr: str, source: str, window: Window, step_s: float) -> Iterator[Query]:
    if target.range:
        start_s, end_s = aligned_s(window.start_s, step_s), aligned_s(window.end_s, step_s)
        yield Query(expr=expr, instant=False, start_s=start_s, end_s=end_s, step_s=step_s, source=source)
    if target.instant:
        # The start says which range the answer stands for; a step has no meaning, and would make equal queries differ.
        yield Query(expr=expr, instant=True, start_s=window.start_s, end_s=window.end_s, step_s=0.0, source=source)


def _no_question(panel: Panel, target: Target) -> str:
    """Say why a target asks no data source at all, whatever its source is; "" where it may."""
    written, plugin = target.source.written, target.source.plugin
    if panel.type in PANELS_WITHOUT_QUERIES:
        return f"a panel of type {panel.type} asks nothing"
    if target.hidden:
        return "hidden"
    if EXPRESSION in (written, plugin):
        return "an expression on the answers of other targets"
    if written == _DASHBOARD or plugin == "dashboard":
        return "it shows the answer of another panel"
    return ""
