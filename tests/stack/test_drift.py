"""What is a difference and what is none: fields of ours, by what they mean."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.stack.drift import Drift, Item, differences, drift, dropped, json_differences, path_text
from kvobs.stack.quantities import quantity, same_quantity
from kvobs.stack.record import ABSENT

METADATA = {"name": "a", "namespace": "ns", "labels": {"app": "a"}}


def _config_map(**rest):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": METADATA, **rest}


def _deployment(pod_spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": METADATA,
        "spec": {"template": {"spec": pod_spec}},
    }


def _cluster_role(rules):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": METADATA, "rules": rules}


def _service(spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": METADATA, "spec": spec}


def _monitor(spec):
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": METADATA,
        "spec": spec,
    }


SAME = {
    "what the server adds to metadata": (
        _config_map(data={"k": "v"}),
        {**_config_map(data={"k": "v"}), "metadata": {**METADATA, "uid": "1", "resourceVersion": "7"}},
    ),
    "labels and annotations of others": (
        _config_map(),
        _config_map(metadata={**METADATA, "labels": {"app": "a", "b": "c"}, "annotations": {"d": "e"}}),
    ),
    "defaults and a sidecar that somebody injected": (
        _deployment({"containers": [{"name": "x", "image": "i"}]}),
        _deployment(
            {
                "restartPolicy": "Always",
                "containers": [{"name": "istio"}, {"name": "x", "image": "i", "imagePullPolicy": "Always"}],
            }
        ),
    ),
    "quantities that the server respelled": (
        _deployment({"containers": [{"name": "x", "resources": {"limits": {"cpu": "1000m", "memory": "2048Mi"}}}]}),
        _deployment({"containers": [{"name": "x", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}]}),
    ),
    "ports in another order, their protocol defaulted": (
        _deployment({"containers": [{"name": "x", "ports": [{"containerPort": 1}, {"containerPort": 2}]}]}),
        _deployment(
            {
                "containers": [
                    {
                        "name": "x",
                        "ports": [
                            {"containerPort": 2, "protocol": "TCP"},
                            {"containerPort": 1, "protocol": "TCP"},
                        ],
                    }
                ]
            }
        ),
    ),
    "null and empty fields that a built-in kind drops": (
        _deployment({"nodeSelector": {}, "hostname": "", "hostNetwork": False, "priority": None, "containers": []}),
        _deployment({}),
    ),
    "null in a custom resource": (_monitor({"jobLabel": None}), _monitor({})),
    "empty annotations anywhere": (
        {**_monitor({}), "metadata": {**METADATA, "annotations": {}}},
        _monitor({}),
    ),
    "the version of the API": ({**_monitor({}), "apiVersion": "monitoring.coreos.com/v1beta1"}, _monitor({})),
    "stringData, which becomes data": (
        {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "stringData": {"k": "v"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"k": "dg=="}},
    ),
    "a Secret's base64 in lines": (
        {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"k": "dmFs\ndWU=\n"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"k": "dmFsdWU="}},
    ),
    "an empty text, for which the server or somebody else fills in a value": (
        _service({"clusterIP": "", "ports": [{"port": 80}]}),
        _service({"clusterIP": "10.0.0.1", "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30000}]}),
    ),
    "an empty value of a variable, which the server drops": (
        _deployment({"containers": [{"name": "x", "env": [{"name": "A", "value": ""}]}]}),
        _deployment({"containers": [{"name": "x", "env": [{"name": "A"}]}]}),
    ),
    "null, for which the server has a default": (
        _deployment({"containers": [], "terminationGracePeriodSeconds": None}),
        _deployment({"terminationGracePeriodSeconds": 30}),
    ),
    "a finalizer of somebody else": (
        _config_map(metadata={**METADATA, "finalizers": ["ours"]}),
        _config_map(metadata={**METADATA, "finalizers": ["theirs", "ours"]}),
    ),
}

CONTAINERS = ("spec", "template", "spec", "containers")
DIFFERENT = {
    "a changed value": (
        _config_map(data={"a.json": "1", "k": "v"}),
        _config_map(data={"a.json": "2", "k": "v"}),
        [(("data", "a.json"), "1", "2")],
    ),
    "a removed label": (
        _config_map(),
        _config_map(metadata={"name": "a", "namespace": "ns"}),
        [(("metadata", "labels"), {"app": "a"}, ABSENT)],
    ),
    "a removed label that was empty": (
        _config_map(metadata={"name": "a", "labels": {"x": ""}}),
        _config_map(metadata={"name": "a", "labels": {"y": "z"}}),
        [(("metadata", "labels", "x"), "", ABSENT)],
    ),
    "an endpoint more in a custom resource": (
        _monitor({"endpoints": [{"port": "http"}]}),
        _monitor({"endpoints": [{"port": "http"}, {"port": "other"}]}),
        [(("spec", "endpoints"), [{"port": "http"}], [{"port": "http"}, {"port": "other"}])],
    ),
    "an endpoint changed": (
        _monitor({"endpoints": [{"port": "http"}]}),
        _monitor({"endpoints": [{"port": "https"}]}),
        [(("spec", "endpoints", Item(0, "0"), "port"), "http", "https")],
    ),
    "an empty selector, which is not the same as none in a custom resource": (
        _monitor({"selector": {}}),
        _monitor({}),
        [(("spec", "selector"), {}, ABSENT)],
    ),
    "a container gone, another image in the next": (
        _deployment({"containers": [{"name": "x"}, {"name": "y", "image": "1"}]}),
        _deployment({"containers": [{"name": "y", "image": "2"}]}),
        [
            ((*CONTAINERS, Item(None, "x")), {"name": "x"}, ABSENT),
            ((*CONTAINERS, Item(0, "y"), "image"), "1", "2"),
        ],
    ),
    "true where 1 was wanted": (
        _monitor({"sampleLimit": 1}),
        _monitor({"sampleLimit": True}),
        [(("spec", "sampleLimit"), 1, True)],
    ),
    "all API groups where the core one was wanted": (
        _cluster_role([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        _cluster_role([{"apiGroups": ["*"], "resources": ["pods"], "verbs": ["get"]}]),
        [(("rules", Item(0, "0"), "apiGroups", Item(0, "0")), "", "*")],
    ),
    "a variable that was wanted empty": (
        _deployment({"containers": [{"name": "x", "env": [{"name": "A", "value": ""}]}]}),
        _deployment({"containers": [{"name": "x", "env": [{"name": "A", "value": "b"}]}]}),
        [((*CONTAINERS, Item(0, "x"), "env", Item(0, "A"), "value"), "", "b")],
    ),
    "a quantity that is not one by its place": (
        _config_map(data={"cpu": "1000m"}),
        _config_map(data={"cpu": "1"}),
        [(("data", "cpu"), "1000m", "1")],
    ),
    "another kind of value": (
        _monitor({"endpoints": []}),
        _monitor({"endpoints": {}}),
        [(("spec", "endpoints"), [], {})],
    ),
    "our finalizer gone": (
        _config_map(metadata={**METADATA, "finalizers": ["ours"]}),
        _config_map(metadata={**METADATA, "finalizers": ["theirs"]}),
        [(("metadata", "finalizers", Item(None, "ours")), "ours", ABSENT)],
    ),
}


@pytest.mark.parametrize(("wanted", "live"), SAME.values(), ids=SAME.keys())
def test_what_others_may_change_is_no_drift(wanted, live):
    """Only our own fields count, by what they mean."""
    assert drift(wanted, live) == ()


@pytest.mark.parametrize(("wanted", "live", "want"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_a_field_of_ours_that_changed_is_drift(wanted, live, want):
    """Each is named with its path, what was applied and what stands there."""
    assert list(drift(wanted, live)) == [Drift(*each) for each in want]


def test_drift_of_a_secret_shows_no_value():
    """That a password differs may be said, not how."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"password": "aHVudGVy"}}
    live = {**secret, "data": {"password": "c2VjcmV0"}}

    found = drift(secret, live)

    assert [path_text(one.path) for one in found] == ["data.password"]
    assert "aHVudGVy" not in repr(found)
    assert "c2VjcmV0" not in repr(found)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["v1", "example.com/v1"]))
def test_an_object_does_not_differ_from_itself(value, api_version):
    """Whatever it holds, and nothing is changed by looking."""
    one = {"apiVersion": api_version, "kind": "Thing", "metadata": METADATA, "spec": value}
    before = copy.deepcopy(one)

    again = copy.deepcopy(one)
    assert drift(one, again) == dropped(one, one, again) == differences(one, again) == ()
    assert one == before


DROPPED = {
    "a field that is said no more": (
        _deployment({"hostNetwork": True, "containers": []}),
        _deployment({"containers": []}),
        _deployment({"hostNetwork": True, "dnsPolicy": "ClusterFirst"}),
        [(("spec", "template", "spec", "hostNetwork"), ABSENT, True)],
    ),
    "a map that is said no more: what somebody else put into it stays": (
        _config_map(data={"a": "1"}),
        _config_map(),
        _config_map(data={"a": "1", "theirs": "2"}),
        [(("data", "a"), ABSENT, "1")],
    ),
    "a container of a list that is merged by name": (
        _deployment({"containers": [{"name": "x"}, {"name": "y"}]}),
        _deployment({"containers": [{"name": "y"}]}),
        _deployment({"containers": [{"name": "x"}, {"name": "y"}]}),
        [((*CONTAINERS, Item(0, "x")), ABSENT, {"name": "x"})],
    ),
    "what is gone already": (_config_map(data={"a": "1"}), _config_map(), _config_map(), []),
    "null and empty fields, which never were there": (
        _deployment({"hostname": "", "priority": None}),
        _deployment({}),
        _deployment({"hostname": "set by another"}),
        [],
    ),
}


@pytest.mark.parametrize(("before", "wanted", "live", "want"), DROPPED.values(), ids=DROPPED.keys())
def test_what_an_upgrade_takes_away(before, wanted, live, want):
    """Fields of the manifest before, which that after has no more; nobody else's."""
    assert list(dropped(before, wanted, live)) == [Drift(*each) for each in want]


def test_two_answers_of_one_server_are_compared_whole():
    """Both ways, but for what the server counts and dates, who manages what, and the status."""
    live = {**_config_map(data={"a": "1", "b": "2"}), "status": {"x": 1}}
    live["metadata"] = {**METADATA, "resourceVersion": "1", "managedFields": [], "labels": {"theirs": "x"}}
    after = _config_map(data={"b": "3", "c": "4"}, metadata={**METADATA, "generation": 2, "labels": {"theirs": "x"}})

    assert [(path_text(each.path), each.live, each.wanted) for each in differences(live, after)] == [
        ("data.a", "1", ABSENT),
        ("data.b", "2", "3"),
        ("data.c", ABSENT, "4"),
    ]
    assert [path_text(each.path) for each in json_differences({"a": [1, 2]}, {"a": [True, 2]})] == ["a[0]"]
    assert [path_text(each.path) for each in json_differences({"a": [1]}, {"a": [1, 2]})] == ["a"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1000m"), (0.5, "500m"), ("1Gi", "1024Mi"), ("1e3", "1k"), (2, "2"), ("1E", "1e18"), ("0", "0Ki")],
)
def test_quantities_of_one_size_are_the_same(one, other):
    """The spelling does not matter."""
    assert same_quantity(one, other)


@pytest.mark.parametrize(("one", "other"), [("1", "2"), ("1M", "1Mi"), ("x", "x"), (None, None), ("1", [])])
def test_other_quantities_are_not(one, other):
    """Nor is anything the same that is no quantity."""
    assert not same_quantity(one, other)


@pytest.mark.parametrize("text", ["", "Mi", "1 Gi", "1KiB", "1e", "1e9999", "--1", "1ki", "٣"])
def test_what_is_no_quantity(text):
    """Nothing is guessed."""
    assert quantity(text) is None
