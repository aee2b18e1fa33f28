import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.errors import ActionError
from kvobs.stack.applyset import (
    GROUP_KINDS,
    ID_LABEL,
    NAMESPACES,
    TOOLING,
    applyset_id,
    check_parent,
    is_parent,
    member_namespaces,
    member_selector,
    members,
    named_members,
    parent,
    widened,
)
from kvobs.stack.facts import Ref
from kvobs.stack.record import ABSENT, RECORD_KEY, ForeignField, Record, ReleaseRecord, read_record

CONFIG_MAP = Ref("ConfigMap", "monitoring", "dashboard")
SERVICE_MONITOR = Ref("ServiceMonitor.monitoring.coreos.com", "gpu", "dcgm")
CLUSTER_WIDE = Ref("ClusterRole.rbac.authorization.k8s.io", "", "reader")


def _a_parent(*refs, record=None):
    return parent("kvobs", "monitoring", refs=refs, record=record or Record())


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (("my-set", "test", "Secret"), "applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1"),
        (("my-set", "test"), "applyset-gixR4KUFBNRxOPyC-scYMHmBW0ziohNNkE_oCmTLycQ-v1"),
    ],
)
def test_the_id_is_kubectls(args, want):
    """The first is the example of Kubernetes' reference of labels; the kind is part of it."""
    assert applyset_id(*args) == want


@given(st.text(max_size=253), st.text(max_size=63))
def test_the_id_is_a_valid_label_value(name, namespace):
    """At most 63 characters, a letter or digit at both ends."""
    assert re.fullmatch(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,61}[A-Za-z0-9]", applyset_id(name, namespace))


def test_the_parent_is_what_the_kep_asks_for():
    """Label with the ID; tooling, sorted kinds, and the other namespaces as annotations; a record inside."""
    made = _a_parent(SERVICE_MONITOR, CONFIG_MAP, CLUSTER_WIDE, CONFIG_MAP)

    assert made["metadata"] == {
        "name": "kvobs",
        "namespace": "monitoring",
        "labels": {
            "applyset.kubernetes.io/id": applyset_id("kvobs", "monitoring"),
            "app.kubernetes.io/managed-by": "kvobs",
            "app.kubernetes.io/part-of": "kvobs",
        },
        "annotations": {
            "applyset.kubernetes.io/tooling": "kvobs/v1",
            "applyset.kubernetes.io/contains-group-kinds": (
                "ClusterRole.rbac.authorization.k8s.io,ConfigMap,ServiceMonitor.monitoring.coreos.com"
            ),
            "applyset.kubernetes.io/additional-namespaces": "gpu",
        },
    }
    assert made == _a_parent(CLUSTER_WIDE, CONFIG_MAP, SERVICE_MONITOR)


def test_without_other_namespaces_there_is_no_annotation():
    """The KEP reserves the empty value."""
    assert NAMESPACES not in _a_parent(CONFIG_MAP)["metadata"]["annotations"]


def test_while_applying_the_parent_covers_old_and_new():
    """Before the members are touched the parent names what was there and what will be."""
    new = _a_parent(CONFIG_MAP)

    wide = widened(new, _a_parent(SERVICE_MONITOR))

    assert members(wide) == ("ConfigMap", "ServiceMonitor.monitoring.coreos.com")
    assert member_namespaces(wide) == ("gpu", "monitoring")
    assert members(new) == ("ConfigMap",)
    assert member_namespaces(new) == ("monitoring",)


def test_the_first_apply_has_nothing_to_cover():
    """Without a live parent the wide one is the new one."""
    new = _a_parent(CONFIG_MAP, SERVICE_MONITOR)

    assert widened(new, None) == new
    assert widened(new, new) == new


REFS = st.builds(Ref, st.sampled_from(["A", "B.x", "C.y.z"]), st.sampled_from(["", "n", "m"]), st.just("o"))


@given(st.lists(REFS), st.lists(REFS))
def test_nothing_is_lost_in_between(old, new):
    """A run that dies at any moment leaves a parent that finds every member, old or new."""
    wide = widened(_a_parent(*new), _a_parent(*old))

    assert {one.kind for one in old + new} == set(members(wide))
    assert {one.namespace for one in old + new} - {""} <= set(member_namespaces(wide))


def test_the_parent_names_each_member():
    """So that one that is deleted is missed; in between both old and new are named, and an older parent names none."""
    policy = Ref("ClusterPolicy.nvidia.com", "", "p")
    new, old = _a_parent(SERVICE_MONITOR, policy), _a_parent(CONFIG_MAP)

    assert set(named_members(new)) == {SERVICE_MONITOR, policy}
    assert set(named_members(widened(new, old))) == {SERVICE_MONITOR, policy, CONFIG_MAP}
    assert named_members({**old, "data": {RECORD_KEY: "{}"}}) == ()
    assert named_members({**old, "data": {"members": "what somebody wrote\n\nConfigMap \n"}}) == (
        Ref("what", "", "somebody wrote"),
    )


def test_members_are_selected_by_the_id():
    """As `kubectl -l` takes it."""
    assert member_selector("applyset-x-v1") == "applyset.kubernetes.io/part-of=applyset-x-v1"


def test_a_parent_of_ours_is_recognised():
    """By its label and the tool that made it."""
    made = _a_parent()

    assert is_parent(made)
    assert check_parent(made) == applyset_id("kvobs", "monitoring")
    assert not is_parent({"metadata": {"name": "x"}})
    assert not is_parent({"metadata": {"name": "x", "labels": {ID_LABEL: "i"}, "annotations": None}})


@pytest.mark.parametrize(
    ("labels", "annotations", "want"),
    [
        ({}, {}, "not an ApplySet of kvobs"),
        (
            {ID_LABEL: applyset_id("kvobs", "ns")},
            {TOOLING: "kubectl/v1.36"},
            "not an ApplySet of kvobs.*kubectl",
        ),
        ({ID_LABEL: applyset_id("kvobs", "other")}, {TOOLING: "kvobs/v1"}, "the ID of another ApplySet"),
    ],
    ids=["no parent", "another tool's", "a copy from another namespace"],
)
def test_a_parent_that_is_not_ours_is_refused(labels, annotations, want):
    """KEP-3659: the ID is checked against the object, and other tools' sets are not touched."""
    foreign = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kvobs", "namespace": "ns", "labels": labels, "annotations": annotations},
    }

    with pytest.raises(ActionError, match=f"ConfigMap ns/kvobs .*{want}") as refused:
        members(foreign)
    assert refused.value.hint


FULL = Record(
    release=ReleaseRecord(namespace="monitoring", name="kps", chart="oci://x/y", chart_version="88.5.3"),
    foreign_fields=(
        ForeignField(
            ref=Ref("ClusterPolicy.nvidia.com", "", "cluster-policy"),
            path=("spec", "dcgmExporter", "serviceMonitor", "enabled"),
            before=False,
            after=True,
            owner="helm",
        ),
        ForeignField(
            ref=Ref("ClusterPolicy.nvidia.com", "", "cluster-policy"),
            path=("spec", "dcgmExporter", "serviceMonitor", "additionalLabels", "release"),
            before=ABSENT,
            after="kps",
            owner=None,
        ),
    ),
    settings={"dcgm": "operator", "dashboards": ["a.json"]},
)


@pytest.mark.parametrize("record", [Record(), FULL], ids=["empty", "full"])
def test_a_record_comes_back_as_it_was_written(record):
    """Also null, which is a value, and absent, which is none."""
    assert read_record(_a_parent(record=record)) == record


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.builds(
    ForeignField,
    ref=REFS,
    path=st.lists(st.text(max_size=5), min_size=1).map(tuple),
    before=JSON | st.just(ABSENT),
    after=JSON | st.just(ABSENT),
    owner=st.none() | st.text(max_size=5),
)


@given(st.lists(FIELDS, max_size=3), st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_every_record_comes_back(fields, settings):
    """Whatever JSON the fields hold."""
    record = Record(foreign_fields=tuple(fields), settings=settings)

    assert read_record(_a_parent(record=record)) == record


def _damaged(**changes):
    document = json.loads(_a_parent(record=FULL)["data"][RECORD_KEY])
    for path, value in changes.items():
        target = document
        *keys, last = path.split("__")
        for key in keys:
            target = target[int(key) if key.isdigit() else key]
        target[last] = value
    return json.dumps(document)


DAMAGE = {
    "cut": ('{"format": 1', "it is not JSON"),
    "empty": ("", "it is not JSON"),
    "a list": ("[]", "the record is list, not dict"),
    "a key missing": ('{"format": 1}', "lacks or has too much: foreign_fields, release, settings"),
    "a key too much": (_damaged(extra=1), "lacks or has too much: extra"),
    "a release without a name": (_damaged(release={"namespace": "x"}), "release lacks or has too much"),
    "a version that is a number": (
        _damaged(release__chart_version=88),
        "release.chart_version is int, not str",
    ),
    "fields that are none": (_damaged(foreign_fields={}), "foreign_fields is dict, not list"),
    "an empty path": (_damaged(foreign_fields__0__path=[]), r"foreign_fields\[0\].path is empty"),
    "a path of numbers": (_damaged(foreign_fields__0__path=[1]), r"foreign_fields\[0\].path is int, not str"),
    "a bare value": (_damaged(foreign_fields__1__before="x"), r"foreign_fields\[1\].before is str, not dict"),
    "a box with more": (
        _damaged(foreign_fields__1__after={"v": 1}),
        r"foreign_fields\[1\].after has too much: v",
    ),
    "an owner that is none": (
        _damaged(foreign_fields__0__owner=3),
        r"foreign_fields\[0\].owner is int, not str",
    ),
    "settings that are none": (_damaged(settings=[]), "settings is list, not dict"),
}


@pytest.mark.parametrize(("text", "want"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_record_is_named(text, want):
    """The error says which ConfigMap, where in it, and what to do; nothing is guessed."""
    with pytest.raises(ActionError, match=f"ConfigMap monitoring/kvobs, record.json is damaged: .*{want}") as bad:
        read_record({**_a_parent(), "data": {RECORD_KEY: text}})
    assert "delete this ConfigMap" in bad.value.hint


@pytest.mark.parametrize("data", [None, {}], ids=["no data", "no key"])
def test_a_record_that_is_gone_is_damage(data):
    """Somebody emptied the ConfigMap."""
    with pytest.raises(ActionError, match=r"record\.json is damaged: it is missing"):
        read_record({**_a_parent(), "data": data})


def test_a_record_of_a_newer_kvobs_is_not_read():
    """Reading it half would lose what the newer one recorded."""
    with pytest.raises(ActionError, match="has the format 2; this kvobs reads 1") as newer:
        read_record({**_a_parent(), "data": {RECORD_KEY: _damaged(format=2, unknown=1)}})
    assert "newer" in newer.value.hint


def test_group_kinds_are_always_there():
    """kubectl wants the annotation even when the set is empty."""
    assert _a_parent()["metadata"]["annotations"][GROUP_KINDS] == ""
