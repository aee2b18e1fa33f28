"""Fields of somebody else's object are given back, whatever happened to the object in between."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kvobs.errors import Conflict
from kvobs.stack.facts import Object, Ref
from kvobs.stack.record import ABSENT, ForeignField
from kvobs.use_cases.foreign_fields import RESTORE_TRIES, restore_fields

POLICY = Ref("ClusterPolicy.nvidia.com", "", "cluster-policy")
ON, TEAM = ("spec", "on"), ("spec", "labels", "team")


class Server:
    """An API server with one object, or none, that refuses to replace an old version."""

    def __init__(
        self, spec: dict[str, Any] | None, *owners: tuple[str, dict[str, Any]], writes: int = 0, calm: int = 0
    ) -> None:
        """Hold an object whose fields belong to *owners*; after *calm* replaces, *writes* of a status come between."""
        entries = [{"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": mine}} for manager, mine in owners]
        metadata = {"name": POLICY.name, "resourceVersion": "1", "managedFields": entries}
        self.live = None if spec is None else {"kind": "ClusterPolicy", "metadata": metadata, "spec": spec}
        self.writes = writes
        self.calm = calm

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return the object."""
        return copy.deepcopy(self.live)

    def replace(self, obj: Object) -> Object:
        """Put *obj* in place of the live one, unless that has moved on."""
        assert self.live is not None
        version = int(self.live["metadata"]["resourceVersion"])
        self.calm -= 1
        if self.writes and self.calm < 0:
            self.writes -= 1
            version += 1
            self.live["metadata"]["resourceVersion"] = str(version)
        if obj["metadata"]["resourceVersion"] != str(version):
            raise Conflict("the object has been modified", status=409, reason="Conflict")
        self.live = copy.deepcopy(dict(obj))
        self.live["metadata"]["resourceVersion"] = str(version + 1)
        return copy.deepcopy(self.live)

    def owners(self) -> dict[str, Any]:
        """Return what each manager owns of the spec."""
        assert self.live is not None
        return {each["manager"]: each["fieldsV1"]["f:spec"] for each in self.live["metadata"]["managedFields"]}


def field(path: tuple[str, ...] = ON, before: Any = False, after: Any = True) -> ForeignField:
    """Return the record of a field that was set."""
    return ForeignField(ref=POLICY, path=path, before=before, after=after, owner="helm")


def words(server: Server, *fields: ForeignField) -> list[str]:
    """Restore the fields; return what is said."""
    return [said for _, said in restore_fields(server, fields)]  # type: ignore[arg-type]


BOTH = {"f:on": {}, "f:labels": {".": {}, "f:team": {}}}


@pytest.mark.parametrize(
    ("spec", "owners", "what", "said", "left"),
    [
        ({"on": True}, [("kvobs", {"f:on": {}})], field(), "given back", {"on": False}),
        ({"on": True}, [("kvobs", {"f:on": {}})], field(before=ABSENT), "taken away again", None),
        (
            {"on": True},
            [("kvobs", {"f:on": {}}), ("helm", {"f:on": {}})],
            field(),
            "helm says the same since, left as it is",
            {"on": True},
        ),
        ({"on": 3}, [("else", {"f:on": {}})], field(), "changed since, left as it is: 3", {"on": 3}),
        ({"on": False}, [("helm", {"f:on": {}})], field(), "as it was before", {"on": False}),
        ({"x": 1}, [], field(), "gone", {"x": 1}),
        ({"labels": {"team": "a"}}, [("kvobs", BOTH)], field(TEAM, ABSENT, "a"), "taken away again", None),
        (
            {"labels": {"team": "a"}},
            [("kvobs", BOTH), ("helm", {"f:labels": {}})],
            field(TEAM, ABSENT, "a"),
            "taken away again",
            {"labels": {}},
        ),
        (
            {"labels": {"team": "a", "b": "c"}},
            [("kvobs", BOTH)],
            field(TEAM, ABSENT, "a"),
            "taken away again",
            {"labels": {"b": "c"}},
        ),
    ],
    ids=[
        "ours", "was absent", "the owner agrees", "changed", "changed back", "gone",
        "in a map of ours", "in a map that was empty", "in a map with others",
    ],
)  # fmt: skip
def test_verdicts(
    spec: dict[str, Any], owners: list[Any], what: ForeignField, said: str, left: dict[str, Any] | None
) -> None:
    """What was not touched since gets its value back, what somebody set since stays; either way it is said."""
    server = Server(spec, *owners)

    assert words(server, what) == [said]
    assert server.live is not None
    assert server.live.get("spec") == left


def test_object_is_gone() -> None:
    """An object that is gone needs nothing."""
    assert words(Server(None), field()) == ["its object is gone"]


@pytest.mark.parametrize(("writes", "calm"), [(1, 0), (1, 1), (2, 1), (RESTORE_TRIES - 1, 0)])
def test_object_that_its_owner_writes_too(writes: int, calm: int) -> None:
    """Where an operator writes its status in between, the object is read anew, and the answer is the same."""
    server = Server({"on": True}, ("kvobs", {"f:on": {}}), writes=writes, calm=calm)

    assert words(server, field()) == ["given back"]
    assert server.live is not None
    assert (server.live["spec"], server.owners()) == ({"on": False}, {})


def test_object_that_is_written_all_the_time() -> None:
    """When no try gets through, the server's refusal is the answer."""
    with pytest.raises(Conflict):
        words(Server({"on": True}, ("kvobs", {"f:on": {}}), writes=RESTORE_TRIES), field())


def test_what_is_still_wanted_stays_ours() -> None:
    """Giving one field back takes no other from us: the next run has to know it as its own."""
    server = Server({"on": True, "labels": {"team": "a"}}, ("kvobs", copy.deepcopy(BOTH)), ("helm", {"f:on": {}}))

    assert words(server, field()) == ["helm says the same since, left as it is"]
    assert server.owners() == {"kvobs": {"f:labels": {".": {}, "f:team": {}}}, "helm": {"f:on": {}}}


def test_entries_of_others_stay() -> None:
    """Of `managedFields` only our own part is changed, whatever others have in it."""
    server = Server({"on": True}, ("kvobs", {"f:on": {}}))
    theirs = {"manager": "else", "operation": "Update", "fieldsV1": {}}
    assert server.live is not None
    server.live["metadata"]["managedFields"].append(theirs)

    assert words(server, field()) == ["given back"]
    assert server.live["metadata"]["managedFields"] == [theirs]
