"""What the operator made for a release, and what is left of it when its owners are gone."""

from __future__ import annotations

import pytest

from kvobs.stack.applyset import Record
from kvobs.stack.facts import Object
from kvobs.stack.leftovers import orphans

RECORD = Record(settings={"full_name": "full"})


def owner(name: str, uid: str, group: str = "monitoring.coreos.com") -> Object:
    """Return an owner reference."""
    return {"apiVersion": f"{group}/v1", "kind": "Prometheus", "name": name, "uid": uid}


@pytest.mark.parametrize(
    ("owners", "orphaned"),
    [
        ([owner("full-prometheus", "gone")], True),
        ([owner("full", "gone")], True),
        ([owner("full-alertmanager", "gone")], True),
        ([owner("full-prometheus", "live")], False),
        ([owner("full-prometheus", "gone"), owner("other", "live")], False),
        ([owner("full-prometheus", "gone"), owner("other", "gone")], True),
        ([owner("other", "gone")], False),
        ([owner("full-prometheus", "gone", group="example.com")], False),
        ([], False),
    ],
    ids=[
        "gone", "clean name", "alertmanager", "still there", "shared with one that stays", "shared with one that went",
        "another release's", "another group", "nobody's",
    ],
)  # fmt: skip
def test_orphans(owners: list[Object], orphaned: bool) -> None:
    """An object is an orphan of the release when none of its owners is there any more, and one of them was ours."""
    made = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x", "namespace": "monitoring", "ownerReferences": owners},
    }

    found = orphans(RECORD, [made], [{"metadata": {"uid": "live"}}])

    assert [each.name for each in found] == (["x"] if orphaned else [])
