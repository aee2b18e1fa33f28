import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.stack.drift import Drift, drift, same_ignoring_server_fields
from kvobs.stack.quantities import quantity, same_quantity

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
    "a finalizer of somebody else": (
        _config_map(metadata={**METADATA, "finalizers": ["ours"]}),
        _config_map(metadata={**METADATA, "finalizers": ["theirs", "ours"]}),
    ),
}

DIFFERENT = {
    "a changed value": (
        _config_map(data={"a.json": "1", "k": "v"}),
        _config_map(data={"a.json": "2", "k": "v"}),
        [Drift('data."a.json"', "1", "2")],
    ),
    "a removed label": (
        _config_map(),
        _config_map(metadata={"name": "a", "namespace": "ns"}),
        [Drift("metadata.labels", {"app": "a"}, None)],
    ),
    "a removed label that was empty": (
        _config_map(metadata={"name": "a", "labels": {"x": ""}}),
        _config_map(metadata={"name": "a", "labels": {"y": "z"}}),
        [Drift("metadata.labels.x", "", None)],
    ),
    "an endpoint more in a custom resource": (
        _monitor({"endpoints": [{"port": "http"}]}),
        _monitor({"endpoints": [{"port": "http"}, {"port": "other"}]}),
        [Drift("spec.endpoints", [{"port": "http"}], [{"port": "http"}, {"port": "other"}])],
    ),
    "an endpoint changed": (
        _monitor({"endpoints": [{"port": "http"}]}),
        _monitor({"endpoints": [{"port": "https"}]}),
        [Drift("spec.endpoints[0].port", "http", "https")],
    ),
    "an empty selector, which is not the same as none in a custom resource": (
        _monitor({"selector": {}}),
        _monitor({}),
        [Drift("spec.selector", {}, None)],
    ),
    "a container gone, another image in the next": (
        _deployment({"containers": [{"name": "x"}, {"name": "y", "image": "1"}]}),
        _deployment({"containers": [{"name": "y", "image": "2"}]}),
        [
            Drift("spec.template.spec.containers[x]", {"name": "x"}, None),
            Drift("spec.template.spec.containers[y].image", "1", "2"),
        ],
    ),
    "true where 1 was wanted": (
        _monitor({"sampleLimit": 1}),
        _monitor({"sampleLimit": True}),
        [Drift("spec.sampleLimit", 1, True)],
    ),
    "a quantity that is not one by its place": (
        _config_map(data={"cpu": "1000m"}),
        _config_map(data={"cpu": "1"}),
        [Drift("data.cpu", "1000m", "1")],
    ),
    "another kind of value": (
        _monitor({"endpoints": []}),
        _monitor({"endpoints": {}}),
        [Drift("spec.endpoints", [], {})],
    ),
    "our finalizer gone": (
        _config_map(metadata={**METADATA, "finalizers": ["ours"]}),
        _config_map(metadata={**METADATA, "finalizers": ["theirs"]}),
        [Drift("metadata.finalizers", "ours", None)],
    ),
}


@pytest.mark.parametrize(("wanted", "live"), SAME.values(), ids=SAME.keys())
def test_what_others_may_change_is_no_drift(wanted, live):
    """Only our own fields count, by what they mean."""
    assert drift(wanted, live) == ()
    assert same_ignoring_server_fields(wanted, live)


@pytest.mark.parametrize(("wanted", "live", "want"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_a_field_of_ours_that_changed_is_drift(wanted, live, want):
    """Each is named with its path, what was applied and what stands there."""
    assert list(drift(wanted, live)) == want
    assert not same_ignoring_server_fields(wanted, live)


def test_drift_of_a_secret_shows_no_value():
    """That a password differs may be said, not how."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"password": "aHVudGVy"}}
    live = {**secret, "data": {"password": "c2VjcmV0"}}

    found = drift(secret, live)

    assert [one.path for one in found] == ["data.password"]
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

    assert same_ignoring_server_fields(one, copy.deepcopy(one))
    assert one == before


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
