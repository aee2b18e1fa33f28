"""Whether applying an object would change nothing: told from the live object alone, without asking its server. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .facts import Object
from .objects import OURS


def stands(wanted: Object, live: Object) -> bool:
    """Whether *live* is what our server-side apply of *wanted* would leave, down to who manages what.

    It is where our last apply said the same fields and no others, and all of them still have the same values. Where
    that is not certain the answer is no: an apply too many changes nothing either.
    """
    entries = [
        each
        for each in live["metadata"].get("managedFields") or ()
        if each.get("manager") == OURS and each.get("operation") == "Apply" and not each.get("subresource")
    ]
    if len(entries) != 1 or entries[0].get("apiVersion") != wanted["apiVersion"]:
        return False
    said = {key: value for key, value in wanted.items() if key not in ("apiVersion", "kind")}
    # What names the object is no field of anybody.
    said["metadata"] = {key: value for key, value in wanted["metadata"].items() if key not in ("name", "namespace")}
    if not said["metadata"]:
        del said["metadata"]
    return _stands(said, live, entries[0].get("fieldsV1") or {})


def _stands(said: Any, live: Any, ours: Mapping[str, Any]) -> bool:
    below = [key for key in ours if key != "."]
    if not below:
        # Set as a whole: a scalar, or a map or list that is replaced at once.
        return _same(said, live)
    # Items of a list that are managed one by one are not followed: their keys are the schema's to know.
    if not isinstance(said, Mapping) or not isinstance(live, Mapping) or {f"f:{key}" for key in said} != set(below):
        return False
    return all(key in live and _stands(value, live[key], ours[f"f:{key}"]) for key, value in said.items())


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; in Python alone True equals 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and one is not None and bool(one == other)
