"""The template variables of a dashboard, as they are written, in the classic shape and in v2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .board import SourceRef, Variable
from .declarations import variable_entries
from .reading import all_value_in, object_in, objects_in, source_of, text_in, text_of, texts_of, whole_in
from .references import Key

_V2_TYPES = {
    "QueryVariable": "query",
    "DatasourceVariable": "datasource",
    "CustomVariable": "custom",
    "ConstantVariable": "constant",
    "IntervalVariable": "interval",
    "TextVariable": "textbox",
    "AdhocVariable": "adhoc",
    "GroupByVariable": "groupby",
    "SwitchVariable": "switch",
    "SnapshotVariable": "snapshot",
}
_SORTS = (
    "disabled",
    "alphabeticalAsc",
    "alphabeticalDesc",
    "numericalAsc",
    "numericalDesc",
    "alphabeticalCaseInsensitiveAsc",
    "alphabeticalCaseInsensitiveDesc",
    "naturalAsc",
    "naturalDesc",
)
_REFRESHES = ("never", "onDashboardLoad", "onTimeRangeChanged")
_HIDES = ("dontHide", "hideLabel", "hideVariable", "inControlsMenu")
_AUTO_COUNT = 30
_AUTO_MIN = "10s"


def variables_of(dashboard: Mapping[str, Any], at: tuple[Key, ...] = ()) -> Iterator[Variable]:
    """Yield the variables in the order of the dashboard; an entry without a name is none."""
    for keys, entry in variable_entries(dashboard):
        is_v2 = isinstance(entry.get("spec"), Mapping) and "kind" in entry
        spec = object_in(entry, "spec") if is_v2 else entry
        name = text_in(spec, "name")
        if not name:
            continue
        kind = text_in(entry, "kind" if is_v2 else "type") or "query"
        yield _variable(name, _V2_TYPES.get(kind, kind), spec, (*at, *keys))


def _variable(name: str, type_: str, spec: Mapping[str, Any], keys: tuple[Key, ...]) -> Variable:
    current = object_in(spec, "current")
    values = texts_of(current.get("value")) if "value" in current else texts_of(spec.get("current"))
    query, query_kind, source = _query_of(spec, type_)
    return Variable(
        name=name,
        type=type_,
        query=query,
        query_kind=query_kind,
        regex=text_in(spec, "regex"),
        multi=spec.get("multi") is True,
        include_all=spec.get("includeAll") is True,
        all_value=all_value_in(spec),
        current=values,
        current_text=texts_of(current.get("text")) if "text" in current else values,
        options=tuple(_options_of(spec, type_)),
        source=source,
        sort=_number(spec, "sort", _SORTS),
        refresh=_number(spec, "refresh", _REFRESHES),
        hide=_number(spec, "hide", _HIDES),
        auto=spec.get("auto") is True,
        auto_count=whole_in(spec, "auto_count") or whole_in(spec, "autoCount") or _AUTO_COUNT,
        auto_min=text_in(spec, "auto_min", "autoMin") or _AUTO_MIN,
        filters=tuple(_filters_of(spec)),
        keys=keys,
    )


def _query_of(spec: Mapping[str, Any], type_: str) -> tuple[str, int | None, SourceRef]:
    """Return a variable's query text, its kind and its source; the text stands deeper in newer dashboards."""
    query = spec.get("query")
    holder = object_in(spec, "query")
    source = source_of(spec.get("datasource"))
    if "kind" in holder:
        plugin = text_in(holder, "group") or text_in(holder, "kind").replace("DataQuery", "")
        source = source_of(holder.get("datasource") or spec.get("datasource"), plugin)
        holder = object_in(holder, "spec")
    text = text_of(query) or text_in(holder, "query", "__legacyStringValue")
    if not text and type_ == "datasource":
        text = text_in(spec, "pluginId")
    return text or text_in(spec, "definition"), whole_in(holder, "qryType"), source


def _options_of(spec: Mapping[str, Any], type_: str) -> Iterator[tuple[str, str]]:
    for _, option in objects_in(spec.get("options")):
        value = text_of(option.get("value"))
        yield text_of(option.get("text")) or value, value
    if type_ == "switch" and not spec.get("options"):
        for key in ("enabledValue", "disabledValue"):
            value = text_of(spec.get(key))
            yield value, value


def _filters_of(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for key in ("baseFilters", "filters"):
        for _, entry in objects_in(spec.get(key)):
            if label := text_in(entry, "key"):
                yield label, text_in(entry, "operator") or "=", text_of(entry.get("value"))


def _number(spec: Mapping[str, Any], key: str, words: tuple[str, ...]) -> int:
    """Return a setting that the classic shape writes as a number and v2 as a word."""
    word = spec.get(key)
    if isinstance(word, str) and word in words:
        return words.index(word)
    return whole_in(spec, key) or 0
