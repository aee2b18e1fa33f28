"""Who manages a field: what `managedFields` says, in all the ways that it can say it."""

import pytest

from kvobs.stack.drift import Item
from kvobs.stack.managers import helms_managers, is_applied_by_helm, managers_of


def live(*entries, **fields):
    """Return an object with these entries of managedFields, as (manager, fieldsV1)."""
    managed = [{"manager": manager, "operation": "Update", "fieldsV1": owned} for manager, owned in entries]
    return {"metadata": {"managedFields": managed}, **fields}


CONTAINERS = [{"name": "x", "image": "1"}, {"name": "y", "image": "2"}]
PORTS = [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}]

CASES = {
    "a field, one manager": (live(("a", {"f:spec": {"f:x": {}}}), spec={"x": 1}), ("spec", "x"), ("a",)),
    "a field, two managers": (
        live(("b", {"f:spec": {"f:x": {}}}), ("a", {"f:spec": {"f:x": {}}}), spec={"x": 1}),
        ("spec", "x"),
        ("a", "b"),
    ),
    "nobody's field": (live(("a", {"f:spec": {"f:y": {}}}), spec={"x": 1}), ("spec", "x"), ()),
    "no managedFields at all": ({"metadata": {}, "spec": {"x": 1}}, ("spec", "x"), ()),
    "a list that was set as a whole": (
        live(("a", {"f:args": {}}), args=["1", "2"]),
        ("args", Item(1, "1")),
        ("a",),
    ),
    "a value set as a whole, of which another manages a field by itself": (
        live(("a", {"f:spec": {"f:m": {}}}), ("b", {"f:spec": {"f:m": {"f:x": {}}}}), spec={"m": {"x": 1}}),
        ("spec", "m", "x"),
        ("b",),
    ),
    "an item named by its key": (
        live(("a", {"f:c": {'k:{"name":"y"}': {".": {}, "f:image": {}}}}), c=CONTAINERS),
        ("c", Item(1, "y"), "image"),
        ("a",),
    ),
    "an item named by two keys": (
        live(("a", {"f:p": {'k:{"containerPort":1,"protocol":"UDP"}': {".": {}}}}), p=PORTS),
        ("p", Item(1, "1")),
        ("a",),
    ),
    "another item": (
        live(("a", {"f:c": {'k:{"name":"y"}': {".": {}, "f:image": {}}}}), c=CONTAINERS),
        ("c", Item(0, "x"), "image"),
        (),
    ),
    "an item named by its value": (
        live(("a", {"f:finalizers": {'v:"theirs"': {}}}), finalizers=["ours", "theirs"]),
        ("finalizers", Item(1, "theirs")),
        ("a",),
    ),
    "an item that is not there": (
        live(("a", {"f:c": {'k:{"name":"y"}': {}}}), c=CONTAINERS),
        ("c", Item(None, "z")),
        (),
    ),
    "a key with dots and slashes": (
        live(("a", {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}})),
        ("metadata", "labels", "app.kubernetes.io/name"),
        ("a",),
    ),
}


@pytest.mark.parametrize(("obj", "path", "want"), CASES.values(), ids=CASES.keys())
def test_managers_of_a_field(obj, path, want):
    """By name, or with what was set as a whole around it."""
    assert managers_of(obj, path) == want


def test_whoever_writes_the_status_manages_no_field_of_the_object():
    """The entry of a subresource is no entry of the object."""
    obj = live(("a", {"f:spec": {"f:x": {}}}), spec={"x": 1})
    obj["metadata"]["managedFields"][0]["subresource"] = "status"

    assert managers_of(obj, ("spec", "x")) == ()


@pytest.mark.parametrize(("operation", "applied"), [("Apply", True), ("Update", False)])
def test_helm_is_known_by_its_own_annotation(operation, applied):
    """Its manager has the name of the executable; the operation tells Helm 4's way from Helm 3's."""
    owned = {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}}
    obj = live(("helm-v4", owned), ("kvobs", {"f:data": {}}))
    for entry in obj["metadata"]["managedFields"]:
        entry["operation"] = operation if entry["manager"] == "helm-v4" else "Apply"

    assert helms_managers(obj) == ("helm-v4",)
    assert is_applied_by_helm(obj) is applied
    assert helms_managers({"metadata": {}}) == ("helm",)
