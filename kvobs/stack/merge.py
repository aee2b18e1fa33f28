"""Values documents: how Helm merges them, and how to read in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def deep_merge(*documents: Mapping[str, Any]) -> dict[str, Any]:
    """Return *documents* merged, the last one wins: maps are merged key by key, everything else is replaced.

    None is a value like any other here: it stays in the result, and removes the chart's default of that name
    when Helm puts the result over the chart's values. The inputs are not changed; their parts are shared.

    >>> deep_merge({"a": {"b": 1, "c": [1, 2]}}, {"a": {"c": [3], "d": None}})
    {'a': {'b': 1, 'c': [3], 'd': None}}
    """
    merged: dict[str, Any] = {}
    for document in documents:
        for key, value in document.items():
            below = merged.get(key)
            if isinstance(below, Mapping) and isinstance(value, Mapping):
                merged[key] = deep_merge(below, value)
            else:
                merged[key] = value
    return merged


def value_at(values: Mapping[str, Any], path: str, default: Any) -> Any:
    """Return the value at the dotted *path*; where the values say nothing, the chart's *default*.

    A None on the way removes what the chart has there, so the answer is then None and not the default.

    >>> value_at({"a": {"b": 1}}, "a.b", 2), value_at({}, "a.b", 2), value_at({"a": None}, "a.b", 2)
    (1, 2, None)
    """
    inner: Any = values
    for name in path.split("."):
        if inner is None:
            return None
        if not isinstance(inner, Mapping) or name not in inner:
            return default
        inner = inner[name]
    return inner


def same_values(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two documents mean the same to Helm.

    Helm reads back what it stored with every number a 64-bit float; and unlike with `==`, True is not 1.

    >>> same_values({"a": 1.0, "b": 2}, {"b": 2, "a": 1}), same_values({"a": True}, {"a": 1})
    (True, False)
    """
    return bool(_as_stored(one) == _as_stored(other))


def _as_stored(value: Any) -> Any:
    """Return *value* with its numbers as Helm holds them, and booleans that equal no number."""
    if isinstance(value, Mapping):
        return {key: _as_stored(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_as_stored(inner) for inner in value]
    if isinstance(value, bool):
        return (value,)
    return float(value) if isinstance(value, int) else value
