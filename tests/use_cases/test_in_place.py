"""What is in place of a plan is seen without a write; a run whose plan is all in place has nothing to do."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.errors import ActionError, Conflict
from kvobs.settings import Settings
from kvobs.stack.applyset import PARENT_NAME, PART_OF_LABEL, applyset_id, parent
from kvobs.stack.choice import choose
from kvobs.stack.objects import kind_of, ref
from kvobs.stack.plan import Plan, make_plan
from kvobs.use_cases.in_place import InPlace, find_in_place, settle
from kvobs.use_cases.inputs import shipped_monitors
from tests.stack.clusters import cluster

MONITORS = "monitoring.coreos.com"


def plan() -> Plan:
    """Return the plan for a cluster that has the namespace and nothing else."""
    kinds = frozenset({f"ServiceMonitor.{MONITORS}", f"PodMonitor.{MONITORS}", f"Prometheus.{MONITORS}"})
    facts = cluster(kinds=kinds, namespaces={"monitoring": {}})
    settings = Settings()
    return make_plan(facts, choose(facts, settings), settings, dashboards=(), monitors=shipped_monitors())


def fields(value: Any) -> Any:
    """Return the `fieldsV1` of a value; lists are set as a whole."""
    return {f"f:{key}": fields(each) for key, each in value.items()} if isinstance(value, dict) else {}


def applied(obj: Any) -> dict[str, Any]:
    """Return what our apply of an object leaves."""
    live = copy.deepcopy(dict(obj))
    said = fields({key: each for key, each in live.items() if key not in ("apiVersion", "kind")})
    for key in ("f:name", "f:namespace"):
        said["f:metadata"].pop(key)
    entry = {"manager": "kvobs", "operation": "Apply", "apiVersion": live["apiVersion"], "fieldsV1": said}
    live["metadata"] |= {"managedFields": [entry], "resourceVersion": "1"}
    return live


@dataclass
class Server:
    """A cluster of these objects."""

    objects: list[dict[str, Any]]
    defaults: dict[str, Any] = field(default_factory=dict)
    """What the server adds to a spec itself."""
    asked: list[str] = field(default_factory=list)

    def list(self, kind: str, *, namespace: str | None = None, labels: str | None = None, **more: Any) -> list[Any]:
        """Give the members."""
        self.asked.append(f"list {kind} {namespace}")
        key, _, value = (labels or "").partition("=")
        return [
            each
            for each in self.objects
            if kind_of(each) == kind and each["metadata"].get("labels", {}).get(key) == value
        ]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Any:
        """Give one."""
        self.asked.append(f"get {kind} {name}")
        found = (each for each in self.objects if kind_of(each) == kind and each["metadata"]["name"] == name)
        return next(found, None)

    def apply(self, obj: Any, *, dry_run: bool = False) -> Any:
        """Say what would be."""
        assert dry_run
        self.asked.append(f"try {obj['kind']}")
        live = next(each for each in self.objects if ref(each) == ref(obj))
        return {**live, "spec": {**obj.get("spec", {}), **self.defaults}}


def secret() -> dict[str, Any]:
    """Return the admin's Secret as its metadata."""
    labels = {PART_OF_LABEL: applyset_id(PARENT_NAME, "monitoring")}
    metadata = {"name": "kube-prometheus-stack-grafana-admin", "namespace": "monitoring", "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def final(wanted: Plan) -> dict[str, Any]:
    """Return the parent as it is in the end."""
    return applied(parent(PARENT_NAME, "monitoring", refs=wanted.refs, record=wanted.final_record))


def whole(wanted: Plan) -> list[dict[str, Any]]:
    """Return all that carrying out the plan leaves."""
    return [secret(), *map(applied, wanted.objects)]


def found(server: Server, wanted: Plan) -> InPlace:
    """See what is in place, beside the parent as it is in the end."""
    return find_in_place(server, wanted, final(wanted))


def test_all_in_place() -> None:
    """Each kind is listed once, nothing is read by itself and nothing tried: there is nothing to do."""
    wanted = plan()
    server = Server(whole(wanted))
    in_place = settle(server, found(server, wanted), wanted)

    assert in_place.is_all(wanted)
    assert in_place.stale(wanted) == []
    kinds = sorted({each.kind for each in wanted.refs})
    assert server.asked == [f"list {kind} monitoring" for kind in kinds]


def test_nothing_in_place() -> None:
    """Without a parent nothing is done, whatever is there."""
    wanted = plan()
    server = Server(whole(wanted))

    assert not find_in_place(server, wanted, None).is_all(wanted)


def missing(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave one out."""
    return objects[:-1]


def changed(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Change one."""
    objects[-1]["spec"]["selector"] = {}
    return objects


def more(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add one that is not wanted any more."""
    old = copy.deepcopy(objects[-1])
    old["metadata"]["name"] = "old"
    return [*objects, old]


@pytest.mark.parametrize("how", [missing, changed, more])
def test_something_to_do(how: Any) -> None:
    """One object that is missing, changed or too much is something to do; what is too much is named."""
    wanted = plan()
    in_place = found(Server(how(whole(wanted))), wanted)

    assert not in_place.is_all(wanted)
    assert [each.name for each in in_place.stale(wanted)] == (["old"] if how is more else [])


def test_a_parent_that_says_something_else() -> None:
    """A record that is not the plan's is to be written."""
    wanted = plan()
    before = final(wanted)
    before["data"]["record.json"] = before["data"]["record.json"].replace("88.5.3", "70.0.0")

    assert not find_in_place(Server(whole(wanted)), wanted, before).is_all(wanted)


@pytest.mark.parametrize("same", [True, False])
def test_what_looks_changed_is_tried(same: bool) -> None:
    """A default of the server's is no change; the server is asked, once, and nothing is written."""
    wanted = plan()
    objects = whole(wanted)
    objects[-1]["spec"]["added"] = objects[-1]["spec"]["selector"]["added"] = "default"
    objects[-1]["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:selector"] = {}
    server = Server(objects, defaults=dict(objects[-1]["spec"]) if same else {})
    in_place = settle(server, found(server, wanted), wanted)

    assert in_place.is_all(wanted) == same
    assert [each for each in server.asked if each.startswith("try")] == [f"try {objects[-1]['kind']}"]


def test_a_name_that_is_taken() -> None:
    """An object of somebody else with a name that is wanted stops the run before its first change."""
    wanted = plan()
    objects = whole(wanted)
    del objects[-1]["metadata"]["labels"][PART_OF_LABEL]

    with pytest.raises(Conflict, match="is already there"):
        found(Server(objects), wanted)


def test_a_parent_of_somebody_else() -> None:
    """A ConfigMap that has the parent's name and is none is not written over."""
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PARENT_NAME, "namespace": "monitoring"}}

    with pytest.raises(ActionError, match="is not an ApplySet of kvobs"):
        find_in_place(Server([theirs]), plan(), None)
