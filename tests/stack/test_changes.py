"""What would happen to an object, from what is wanted, what stands, and what the server says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvobs.stack.changes import (
    HELM_STOPS,
    OTHERS_FIELDS,
    FieldChange,
    ObjectChange,
    TheirField,
    applied,
    by_verdict,
    drifted,
    given_back,
    of_release,
    upgraded,
)
from kvobs.stack.facts import Object, Ref
from kvobs.stack.objects import HIDDEN, ref
from kvobs.stack.record import ABSENT, ForeignField
from kvobs.stack.release_drift import where_helm_stops

TOKEN = "Wren-that-nobody-may-see"
HELM = {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}}


def config_map(name: str = "a", data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """Return a ConfigMap as it is sent."""
    at = {"name": name, "namespace": "ns", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": at, "data": data or {}}


def deployment(**spec: Any) -> dict[str, Any]:
    """Return a Deployment as it is sent."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "ns"}, "spec": spec}


def managed(obj: Object, *entries: tuple[str, Any], operation: str = "Apply") -> dict[str, Any]:
    """Return *obj* as it stands, with these managers."""
    listed = [{"manager": manager, "operation": operation, "fieldsV1": owned} for manager, owned in entries]
    return {**obj, "metadata": {**obj["metadata"], "managedFields": listed}}


def release(wanted: list[Object], stored: list[Object], *live: Object, secrets: tuple[str, ...] = ()) -> list[Any]:
    """Return what an upgrade does, as (verdict, name, fields, theirs)."""
    there = {ref(each): each for each in live}
    found = of_release(wanted, stored, there.get, place=ref, secrets=secrets)
    return [(each.verdict, each.ref.name, *told(each)) for each in found]


def told(change: ObjectChange) -> tuple[list[Any], list[Any]]:
    """Return the fields of a change, and those that are somebody else's."""
    fields = [(each.path, each.live, each.wanted) for each in change.fields]
    return fields, [(each.path, each.managers, each.live, each.wanted) for each in change.theirs]


# --- kvobs' own objects ---


def test_an_object_that_is_not_there_is_made() -> None:
    """There is nothing to compare it with."""
    change = applied(config_map(), None, config_map())

    assert (change.verdict, change.differs) == ("create", True)


def test_an_object_is_compared_with_what_the_server_makes_of_it() -> None:
    """What others put there is in both answers; what the apply changes, takes away and adds is named."""
    live = config_map(data={"a": "1", "b": "2", "theirs": "x"})
    after = config_map(data={"a": "1", "b": "3", "theirs": "x", "c": "4"})

    assert applied(config_map(), live, live).verdict == "unchanged"
    change = applied(config_map(), live, after)
    assert change.verdict == "change"
    assert told(change) == ([("data.b", "2", "3"), ("data.c", None, "4")], [])


def test_a_conflict_is_an_answer_with_manager_field_and_value() -> None:
    """Fields that others manage are told from those that would change all the same."""
    entries = ("kvobs", {"f:data": {"f:a": {}}}), ("kubectl-edit", {"f:data": {"f:b": {}}})
    live = managed(config_map(data={"a": "1", "b": "2"}), *entries)
    after = config_map(data={"a": "9", "b": "9"})

    change = applied(config_map(), live, after, conflict=True)

    assert change.verdict == "refused"
    assert told(change) == ([("data.a", "1", "9")], [("data.b", ("kubectl-edit",), "2", "9")])


def test_how_an_own_object_stands_is_told_without_a_server() -> None:
    """Nothing else than what is wanted counts; a field of somebody else's stops an install."""
    wanted = config_map(data={"a": "1", "b": "2"})
    changed = managed(config_map(data={"a": "9", "b": "2"}))
    taken = managed(config_map(data={"a": "9", "b": "2"}), ("kubectl-edit", {"f:data": {"f:a": {}}}))

    assert drifted(wanted, config_map(data={"a": "1", "b": "2", "c": "3"}, uid="1")).verdict == "unchanged"
    assert (drifted(wanted, changed).verdict, told(drifted(wanted, changed))[0]) == ("change", [("data.a", "9", "1")])
    assert (drifted(wanted, taken).verdict, drifted(wanted, taken).reason) == ("refused", OTHERS_FIELDS)


def test_fields_that_are_given_back_are_one_change_of_their_object() -> None:
    """What had no value before goes."""
    at = Ref("ClusterPolicy.nvidia.com", "", "p")
    fields = [
        ForeignField(ref=at, path=("spec", "on"), before=False, after=True, owner="helm"),
        ForeignField(ref=at, path=("spec", "labels", "a.b/c"), before=ABSENT, after="x", owner=None),
    ]

    assert told(given_back(at, fields))[0] == [("spec.on", True, False), ('spec.labels."a.b/c"', "x", None)]


# --- the release's objects ---

HOOK = config_map("hook", annotations={"helm.sh/hook": "pre-install"})
KEPT = config_map("kept", annotations={"helm.sh/resource-policy": "keep"})
LABELLED = {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}, "f:data": {"f:a": {}}}

RELEASE = {
    "an object that is missing": (
        [config_map()], [config_map()], [],
        [("create", "a", [], [])],
    ),
    "an object as it was applied": (
        [config_map(data={"a": "1"})], [config_map(data={"a": "1"})], [config_map(data={"a": "1"}, uid="1")],
        [("unchanged", "a", [], [])],
    ),
    "a hook is no object of the release": ([HOOK], [HOOK], [], []),
    "an object that the chart makes no more": (
        [], [config_map()], [config_map()],
        [("delete", "a", [], [])],
    ),
    "one that is gone already": ([], [config_map()], [], []),
    "one that is to be kept": ([], [KEPT], [KEPT], []),
    "a field that changed, which nobody has": (
        [config_map(data={"a": "1"})], [config_map(data={"a": "1"})], [config_map(data={"a": "2"})],
        [("change", "a", [("data.a", "2", "1")], [])],
    ),
    "a field that changed, which Helm has": (
        [config_map(data={"a": "1"})], [config_map(data={"a": "2"})],
        [managed(config_map(data={"a": "2"}), ("helm", LABELLED))],
        [("change", "a", [("data.a", "2", "1")], [])],
    ),
    "a field that somebody else has": (
        [config_map(data={"a": "1"})], [config_map(data={"a": "1"})],
        [managed(config_map(data={"a": "2"}), ("helm", HELM), ("autoscaler", {"f:data": {"f:a": {}}}))],
        [("theirs", "a", [], [("data.a", ("autoscaler",), "2", "1")])],
    ),
    "a field that is no more in the manifest": (
        [config_map()], [config_map(data={"a": "1"})], [config_map(data={"a": "1", "b": "2"})],
        [("change", "a", [("data.a", "1", None)], [])],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wanted", "stored", "live", "want"), RELEASE.values(), ids=RELEASE.keys())
def test_an_upgrade(wanted: list[Object], stored: list[Object], live: list[Object], want: list[Any]) -> None:
    """By the manifests before and after, the live objects, and who manages what."""
    assert release(wanted, stored, *live) == want


def test_no_secret_of_the_values_is_in_a_change() -> None:
    """Neither its text, wherever the chart puts it, nor what stands under a name that says secret, nor a Secret's."""
    env = [{"name": "API_TOKEN", "value": "short"}, {"name": "URL", "value": f"http://me:{TOKEN}@host"}]
    wanted: list[Object] = [
        deployment(template={"spec": {"containers": [{"name": "x", "env": env}]}}),
        config_map(data={"grafana.ini": f"[smtp]\npassword = {TOKEN}\n"}),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "namespace": "ns"},
            "stringData": {"k": TOKEN},
        },
    ]
    old_env = [{"name": "API_TOKEN", "value": "older"}, {"name": "URL", "value": "http://host"}]
    live: list[Object] = [
        deployment(template={"spec": {"containers": [{"name": "x", "env": old_env}]}}),
        config_map(data={"grafana.ini": ""}),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}, "data": {"k": "b2xkZXI="}},
    ]

    found = release(wanted, [], *live, secrets=(TOKEN,))

    container = "spec.template.spec.containers[x]"
    assert found == [
        ("change", "a", [
            (f"{container}.env[API_TOKEN].value", HIDDEN, HIDDEN),
            (f"{container}.env[URL].value", "http://host", f"http://me:{HIDDEN}@host"),
        ], []),
        ("change", "a", [('data."grafana.ini"', "", f"[smtp]\npassword = {HIDDEN}\n")], []),
        ("change", "s", [("data.k", HIDDEN, HIDDEN)], []),
    ]  # fmt: skip


# --- with an upgrade to come ---


def test_an_upgrade_meets_the_fields_of_others() -> None:
    """Helm 4 stops at them, Helm 3 takes them, but in custom resources, at which it does not look."""
    field = TheirField(path="spec.replicas", managers=("autoscaler",), live=3, wanted=1)
    built_in = ObjectChange(ref=Ref("Deployment.apps", "ns", "a"), verdict="theirs", theirs=(field,))
    custom = ObjectChange(ref=Ref("Prometheus.monitoring.coreos.com", "ns", "a"), verdict="theirs", theirs=(field,))
    helm_4 = managed(deployment(), ("helm", HELM))
    helm_3 = managed(deployment(), ("helm", HELM), operation="Update")

    assert (upgraded(built_in, helm_4).verdict, upgraded(built_in, helm_4).reason) == ("refused", HELM_STOPS)
    assert upgraded(built_in, helm_3) == ObjectChange(
        ref=built_in.ref, verdict="change", fields=(FieldChange(path="spec.replicas", live=3, wanted=1),)
    )
    assert upgraded(custom, helm_3) == custom
    without = ObjectChange(ref=built_in.ref, verdict="unchanged")
    assert upgraded(without, helm_4) == without
    # A Helm 3 that goes on with what a Helm 4 applied.
    assert upgraded(built_in, helm_4, applies=False) == upgraded(built_in, helm_3)


def test_an_upgrade_does_not_dispute_what_it_no_longer_wants() -> None:
    """A field that the chart says no more and somebody else has is let go, and named no more where Helm does stop."""
    dropped = TheirField(path="spec.paused", managers=("rollouts",), live=True, wanted=None)
    kept = ObjectChange(ref=Ref("Deployment.apps", "ns", "a"), verdict="theirs", theirs=(dropped,))
    scaled = replace(kept, theirs=(dropped, TheirField(path="spec.replicas", managers=("hpa",), live=3, wanted=1)))
    helm_4 = managed(deployment(), ("helm", HELM))

    assert upgraded(kept, helm_4) == kept
    assert where_helm_stops([upgraded(kept, helm_4)]) is None
    assert where_helm_stops([scaled]) is None
    assert where_helm_stops([upgraded(scaled, helm_4)]) == (
        "Deployment ns/a spec.replicas of hpa (3, where the release has 1)"
    )


def test_where_helm_stops_is_named_in_short() -> None:
    """Who has the field and both values, shortened; of many fields the first ones, and how many more there are."""
    gone = TheirField(path="data.k", managers=("one", "two"), live=None, wanted="x" * 100)
    at = Ref("ConfigMap", "ns", "a")
    said = where_helm_stops([ObjectChange(ref=at, verdict="refused", theirs=(gone,) * 7)]) or ""

    first = f'ConfigMap ns/a data.k of one and two (taken away, where the release has "{"x" * 58}…)'
    assert said == "; ".join([first] * 5) + " and 2 more"


def test_changes_are_counted_by_verdict() -> None:
    """For the line at the end of a report."""
    at = Ref("ConfigMap", "ns", "a")
    made, left = ObjectChange(ref=at, verdict="create"), ObjectChange(ref=at, verdict="theirs")

    assert by_verdict([made, left, made]) == {"create": 2, "theirs": 1}
