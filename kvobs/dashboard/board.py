"""A dashboard as far as its panels' questions go: panels, targets, variables, time range. Read only.

The document itself is never changed by way of this model; it holds what a query needs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .document import Shape
from .references import Key


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A reference to a data source, as it is written."""

    written: str | None
    """The uid; in the old string form a name or a uid. May hold a variable or a placeholder. None: the default one."""
    plugin: str | None = None
    """The type, where one is written: `prometheus`, `loki`, `datasource`, `__expr__`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One query of a panel, as it is written."""

    ref_id: str
    source: SourceRef
    """Its own, else its panel's."""
    expr: str | None
    """PromQL with Grafana's variables in it; None where it has none (another query language, an expression)."""
    hidden: bool = False
    instant: bool = False
    """Whether Grafana sends an instant query for it."""
    range: bool = True
    """Whether Grafana sends a range query for it; both may hold."""
    min_step: str | None = None
    """The target's own Min step (`interval`), as written."""
    interval_factor: int = 1
    """The old Resolution field: the step is this many times the interval."""
    keys: tuple[Key, ...] = ()
    """The way to it in the document."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where a panel stands, in Grafana's units: 24 columns, rows of 30 px (36 with their gap)."""

    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One panel."""

    id: int | None
    title: str
    """As written; may hold variables."""
    type: str
    row: str | None = None
    """Title of the row it stands under."""
    grid: Grid | None = None
    targets: tuple[Target, ...] = ()
    max_data_points: int | None = None
    min_interval: str | None = None
    """The panel's Min interval, as written; may hold a variable."""
    time_from: str | None = None
    """Its own relative time range (`1h`), in place of the dashboard's."""
    time_shift: str | None = None
    repeat: str | None = None
    """Name of the variable that it is repeated by itself."""
    repeat_row: str | None = None
    """Name of the variable that its row, or its tab, is repeated by; of the narrowest of them that is."""
    library: str | None = None
    """Name of the library panel that it stands for, where its own model is not in the document."""
    keys: tuple[Key, ...] = ()
    """The way to it in the document."""


VariableType = Literal[
    "query",
    "datasource",
    "custom",
    "constant",
    "interval",
    "textbox",
    "adhoc",
    "groupby",
    "switch",
    "snapshot",
    "system",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """One template variable, as it is written."""

    name: str
    type: str
    """A `VariableType`, or one that a newer Grafana has."""
    query: str = ""
    """The text that makes its options: a variable query, a list of values, a plugin id, a constant."""
    query_kind: int | None = None
    """Grafana's `qryType` where the query is an object: 0 label names, 1 label values, 2 metrics, 3 query result,
    4 series, 5 classic text."""
    regex: str = ""
    multi: bool = False
    include_all: bool = False
    all_value: str | None = None
    current: tuple[str, ...] = ()
    """Values saved with the dashboard; `$__all` among them means All."""
    current_text: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    """(text, value) of the options saved with the dashboard."""
    source: SourceRef = SourceRef(None)
    sort: int = 0
    refresh: int = 0
    """0 never, 1 when the dashboard loads, 2 when the time range changes too."""
    hide: int = 0
    auto: bool = False
    """Of type interval: whether it offers `auto`, by `auto_count` and `auto_min`."""
    auto_count: int = 30
    auto_min: str = "10s"
    filters: tuple[tuple[str, str, str], ...] = ()
    """Of type adhoc: (label, operator, value)."""
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """One dashboard."""

    uid: str | None
    title: str
    shape: Shape
    panels: tuple[Panel, ...]
    """In reading order, rows left out: what stands in a row names it. Nested panels are among them."""
    variables: tuple[Variable, ...] = ()
    time_from: str = "now-6h"
    time_to: str = "now"
    timezone: str = ""
    """`utc`, `browser`, a name such as `Europe/Berlin`; "" where it says none."""
    week_start: str = ""
    """`monday`, `saturday`, `sunday`; "" where it says none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """What a variable stands for while a panel is drawn."""

    values: tuple[str, ...]
    """The chosen values; empty where the variable has none."""
    texts: tuple[str, ...] = ()
    multi: bool = False
    """Whether it may hold several, which decides how a single one is escaped."""
    all: bool = False
    """Whether All was chosen."""
    all_value: str | None = None
    """What All stands for, verbatim; None: all `values`."""
    listed: bool | None = None
    """Whether a single value stands in a list of one, as that of a multi-value variable does and that of a repeat does
    not: `${x:json}` is `["a"]` or `a` by it. None: not in a list."""


Scope = Mapping[str, Value]
"""Name of a variable -> what it stands for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The time range a panel is drawn for, in seconds since 1970."""

    start_s: float
    end_s: float
    now_s: float | None = None
    """What `now` means in it; None: it is an absolute range, which a panel's own relative range does not replace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """What a reference to a data source leads to."""

    uid: str | None = None
    """UID of a Prometheus, or of what speaks its language; None: it leads to none."""
    why: str = ""
    """Where there is no UID: why its targets are not asked."""
    cause: str | None = None
    """Id of the cause (`KVO-2…`), where that is a fault."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One question to Prometheus, concrete: equal ones are asked once."""

    expr: str
    instant: bool
    """Asked at `end_s` alone; else from `start_s` to `end_s` in steps of `step_s`."""
    start_s: float
    end_s: float
    step_s: float
    source: str
    """UID of the data source it goes to."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """A target that is not asked, and why: hidden, an expression, another query language, no query."""

    why: str
    cause: str | None = None
    """Id of the cause, where that is a fault: its source leads nowhere. None: it is no question to a Prometheus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelQueries:
    """One panel (one of its repeats) with what it would ask."""

    panel: Panel
    title: str
    """With its variables' values."""
    scope: Mapping[str, Value] = field(default_factory=dict)
    """What its repeat sets."""
    asked: tuple[tuple[Target, tuple[Query, ...] | Unasked], ...] = ()
    """Each target with its queries: one, two where it asks both ways, or the reason why it asks nothing."""
