"""Reading JSON of unknown quality: each function returns what is asked for, or nothing, and never raises."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .board import SourceRef
from .company import named_by

_EMPTY: Mapping[str, Any] = {}


def object_in(holder: Any, *keys: str) -> Mapping[str, Any]:
    """Return the object below some keys, or an empty one.

    >>> object_in({"spec": {"query": {"kind": "DataQuery"}}}, "spec", "query")
    {'kind': 'DataQuery'}
    >>> object_in({"spec": 3}, "spec", "query")
    {}
    """
    for key in keys:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder if isinstance(holder, Mapping) else _EMPTY


def objects_in(entries: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of a list with their places; what is no object is left out, and what is no list has none."""
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, Mapping):
            yield index, entry


def text_in(holder: Mapping[str, Any], *keys: str) -> str:
    r"""Return the first text that is not empty among some keys, or "".

    >>> text_in({"query": "", "definition": "label_values(job)"}, "query", "definition")
    'label_values(job)'
    >>> ascii(text_in({"query": "up \ud800"}, "query"))
    "'up \\ufffd'"
    """
    return _whole(next((value for key in keys if isinstance(value := holder.get(key), str) and value), ""))


def text_of(value: Any) -> str:
    """Return a plain value as Grafana would write it into a query; "" for what is no plain value.

    >>> text_of(True), text_of(10.0), text_of(0.5), text_of(None), text_of([])
    ('true', '10', '0.5', '', '')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return _whole(str(value)) if isinstance(value, str | int | float) else ""


def _whole(text: str) -> str:
    """Return a text without halves of characters, which JSON can hold and no request: as a browser sends it."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def texts_of(value: Any) -> tuple[str, ...]:
    """Return one value or a list of them as texts; what is no plain value is left out."""
    entries = value if isinstance(value, list) else [value]
    return tuple(text_of(entry) for entry in entries if isinstance(entry, str | int | float))


def whole_in(holder: Mapping[str, Any], key: str) -> int | None:
    """Return a whole number, also one that is written as text or with a fraction; None where there is none.

    >>> whole_in({"id": "7"}, "id"), whole_in({"id": 7.0}, "id"), whole_in({"id": True}, "id")
    (7, 7, None)
    """
    value = holder.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def source_of(reference: Any, plugin: str = "") -> SourceRef:
    """Return a reference to a data source from any form that one is written in."""
    written = object_in({"reference": reference}, "reference")
    return SourceRef(named_by(reference), text_in(written, "type") or plugin or None)


def all_value_in(holder: Mapping[str, Any]) -> str | None:
    """Return what All of a variable stands for, where it is more than all of its values."""
    return text_of(holder.get("allValue")) or None
