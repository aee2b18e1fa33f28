"""Whether an apply would change nothing is told from the live object alone, and never wrongly."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kvobs.stack.applied import stands

WANTED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "m", "labels": {"x": "1"}, "annotations": {"y": "2"}},
    "data": {"a.json": "{}", "n": 1},
    "whole": {"matchLabels": {"k": "v"}},
    "list": [{"a": 1}, {"b": True}],
    "empty": {},
}
OWNED = {
    "f:metadata": {"f:labels": {"f:x": {}}, "f:annotations": {".": {}, "f:y": {}}},
    "f:data": {"f:a.json": {}, "f:n": {}},
    "f:whole": {},
    "f:list": {},
    "f:empty": {},
}


def live(**changes: Any) -> dict[str, Any]:
    """Return the live object after our apply, with what the server added."""
    made = copy.deepcopy(WANTED)
    made["metadata"] |= {"uid": "u", "resourceVersion": "7", "labels": {"x": "1", "theirs": "z"}}
    made["metadata"]["managedFields"] = [
        {"manager": "kvobs", "operation": "Apply", "apiVersion": "v1", "fieldsV1": copy.deepcopy(OWNED)},
        {"manager": "kvobs", "operation": "Update", "apiVersion": "v1", "subresource": "status", "fieldsV1": {}},
        {"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:metadata": {}}},
    ]
    return made | changes


def owned(**entry: Any) -> dict[str, Any]:
    """Return the live object with another account of what our apply said."""
    made = live()
    made["metadata"]["managedFields"][0] |= entry
    return made


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the live object with another value in one place."""
    made = live()
    *way, last = path.split("/")
    here: Any = made
    for key in way:
        here = here[int(key)] if isinstance(here, list) else here[key]
    here[last] = value
    return made


def test_stands() -> None:
    """As applied, with what server and others added elsewhere."""
    assert stands(WANTED, live())
    assert stands(WANTED, changed("metadata/labels/theirs", "y"))


DIFFERS = {
    "another value": changed("data/a.json", "[]"),
    "another label": changed("metadata/labels/x", "2"),
    "true where 1 was said": changed("data/n", True),
    "a default in a list that is set as a whole": changed("list/0/action", "replace"),
    "a key more in a map that is set as a whole": changed("whole/more", "m"),
    "a key more in a map that was said to be empty": changed("empty/more", "m"),
    "1 where true was said": changed("list/1/b", 1),
    "a field that is gone": {key: value for key, value in live().items() if key != "data"},
    "no account of who set what": changed("metadata/managedFields", None),
    "not applied, but updated": owned(operation="Update"),
    "by somebody else": owned(manager="kubectl"),
    "under another version": owned(apiVersion="v1beta1"),
    "we said more once": owned(fieldsV1={**OWNED, "f:old": {}}),
    "a label more": owned(
        fieldsV1={**OWNED, "f:metadata": {**OWNED["f:metadata"], "f:labels": {"f:x": {}, "f:y": {}}}}
    ),
    "an item more in a list that is set as a whole": changed("list", [{"a": 1}, {"b": True}, {"c": 1}]),
    "we said less once": owned(fieldsV1={key: value for key, value in OWNED.items() if key != "f:list"}),
    "items that are managed one by one": owned(fieldsV1={**OWNED, "f:list": {'k:{"a":1}': {".": {}, "f:a": {}}}}),
}


@pytest.mark.parametrize("there", DIFFERS.values(), ids=DIFFERS.keys())
def test_differs(there: dict[str, Any]) -> None:
    """Where anything differs, or is not certain, the answer is no."""
    assert not stands(WANTED, there)


def test_null() -> None:
    """A null is no value that could stand."""
    wanted = {**WANTED, "null": None}
    there = owned(fieldsV1={**OWNED, "f:null": {}}) | {"null": None}

    assert not stands(wanted, there)


def test_nothing_but_a_name() -> None:
    """What names an object is no field of it."""
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "m"}}
    there = {**bare, "metadata": {**bare["metadata"], "managedFields": live()["metadata"]["managedFields"][:1]}}

    assert not stands(bare, there), "our apply said more"
