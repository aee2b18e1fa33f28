"""Several installs on one cluster: which is meant, which of them the others keep to."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.errors import Undecided
from kvobs.stack.facts import Object
from kvobs.stack.installs import (
    BESIDE,
    beside_notes,
    first_install,
    kept_to_by,
    meant_parent,
    only_parent_of,
    parent_of,
)
from kvobs.stack.record import Record
from kvobs.stack.workloads import namespace_of

from .clusters import cluster, parent_in


def installs(**beside: str | None) -> list[Object]:
    """Return the parents of installs: namespace -> the one that it keeps to."""
    return [
        parent_in(namespace, Record(settings={BESIDE: first} if first else {})) for namespace, first in beside.items()
    ]


def at(parent: Object | None) -> str | None:
    """Return where an install is."""
    return namespace_of(parent) if parent is not None else None


@pytest.mark.parametrize(
    ("there", "named", "meant"),
    [
        ({}, None, None),
        ({"a": None}, None, "a"),
        ({"a": None}, "b", None),
        ({"a": None, "b": "a"}, None, "a"),
        ({"a": None, "b": "a"}, "b", "b"),
        ({"b": "gone"}, None, "b"),
        ({"b": "gone", "c": "gone"}, None, None),
        ({"a": None, "b": None}, None, None),
        ({"a": None, "b": "a", "c": "gone"}, None, None),
    ],
)
def test_which_is_meant(there: dict[str, Any], named: str | None, meant: str | None) -> None:
    """Without a namespace it is the only one that keeps to no other; where that is not clear, none."""
    assert at(meant_parent(installs(**there), named)) == meant


@pytest.mark.parametrize(
    ("there", "namespace", "first"),
    [
        ({}, "a", None),
        ({"a": None}, "a", None),
        ({"a": None}, "b", "a"),
        ({"a": None, "b": "a"}, "b", "a"),
        ({"a": None, "b": None}, "b", None),
        ({"a": None, "b": None}, "c", "a"),
        ({"a": None, "b": None, "c": "b"}, "c", "b"),
        ({"b": "gone"}, "b", None),
        ({"b": "gone", "c": "gone"}, "b", None),
        ({"b": None, "c": "gone"}, "c", "b"),
    ],
)
def test_which_one_to_keep_to(there: dict[str, Any], namespace: str, first: str | None) -> None:
    """One that does the whole job goes on with it; another keeps to such a one, and without any does it itself."""
    assert at(first_install(installs(**there), namespace)) == first


def test_several_are_asked_about() -> None:
    """Which of several is meant is asked where it is not clear, and always for what cannot be undone."""
    unclear = cluster(parents=tuple(installs(a=None, b=None)))
    clear = cluster(parents=tuple(installs(a=None, b="a")))

    for ask in (lambda: parent_of(unclear, None), lambda: only_parent_of(clear, None)):
        with pytest.raises(Undecided, match="in several namespaces: a, b") as asked:
            ask()
        assert "--namespace" in (asked.value.hint or "")
    assert (at(parent_of(clear, None)), at(only_parent_of(clear, "b"))) == ("a", "b")


def test_what_is_said() -> None:
    """A further install says whose dashboards it keeps to, and that they are gone when they are."""
    record = Record(settings={BESIDE: "a"})

    assert [note.id for note in beside_notes(installs(a=None, b="a"), "b", record)] == ["beside"]
    (gone,) = beside_notes(installs(b="a"), "b", record)
    assert gone.id == "first-gone"
    assert "kvobs install --namespace b" in gone.text
    assert beside_notes(installs(a=None), "a", Record()) == ()
    assert kept_to_by(installs(a=None, b="a", c="a", d=None), "a") == ("b", "c")
