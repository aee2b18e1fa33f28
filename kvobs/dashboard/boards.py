"""From a dashboard document to the questions in it: the model of `board.py`, read from any shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .board import Board
from .board_variables import variables_of
from .document import Shape, title_of, unwrapped
from .elements import inlined
from .layouts import panels_of_layout
from .panels import panels_of_grid, panels_of_rows
from .reading import object_in, text_in, text_of

DEFAULT_FROM = "now-6h"
DEFAULT_TO = "now"
"""The time range of a dashboard that says none, as Grafana's."""


def board_of(document: Mapping[str, Any]) -> Board:
    """Return the panels, targets, variables and time range of a dashboard document; it is only read.

    Library panels whose model is in the file are read through. What makes no sense is left out; raise
    DocumentError for what is no dashboard, or nests without end.

    >>> board = board_of({"title": "GPU", "panels": [{"title": "Load", "targets": [{"expr": "DCGM_FI_DEV_GPU_UTIL"}]}]})
    >>> [(panel.title, target.ref_id, target.expr) for panel in board.panels for target in panel.targets]
    [('Load', 'A', 'DCGM_FI_DEV_GPU_UTIL')]
    """
    found = unwrapped(document)
    dashboard = found.dashboard
    if found.shape is Shape.V2:
        panels = list(panels_of_layout(dashboard, found.at))
        time = object_in(dashboard, "timeSettings")
        uid = text_in(dashboard, "uid") or text_in(object_in(found.document, "metadata"), "name")
    else:
        dashboard, _ = inlined(dashboard)
        panels = list(panels_of_grid(dashboard)) or list(panels_of_rows(dashboard))
        time = object_in(dashboard, "time")
        uid = text_in(dashboard, "uid")
    return Board(
        uid=uid or None,
        title=title_of(dashboard),
        shape=found.shape,
        panels=tuple(panels),
        variables=tuple(variables_of(dashboard, found.at)),
        time_from=text_of(time.get("from")) or DEFAULT_FROM,
        time_to=text_of(time.get("to")) or DEFAULT_TO,
        timezone=text_in(dashboard, "timezone") or text_in(time, "timezone"),
        week_start=text_in(dashboard, "weekStart") or text_in(time, "weekStart"),
    )
