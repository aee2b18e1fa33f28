import copy
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.stack.facts import Ref
from kvobs.stack.objects import (
    HIDDEN,
    LAST_APPLIED,
    MANAGED_BY,
    PART_OF_LABEL,
    delete_order,
    dns_name,
    hidden,
    is_ours,
    kind_of,
    owned,
    ref,
)


def _an_object(kind="ConfigMap", name="a", api_version="v1", **rest):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ns"}, **rest}


@pytest.mark.parametrize(
    ("api_version", "kind", "want"),
    [
        ("v1", "ConfigMap", "ConfigMap"),
        ("apps/v1", "Deployment", "Deployment.apps"),
        ("monitoring.coreos.com/v1", "ServiceMonitor", "ServiceMonitor.monitoring.coreos.com"),
    ],
)
def test_a_kind_carries_its_group(api_version, kind, want):
    """The core group is not written, every other is."""
    assert kind_of(_an_object(kind, api_version=api_version)) == want


def test_a_reference_names_kind_namespace_and_name():
    """A cluster-wide object has the empty namespace."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}

    assert ref(_an_object()) == Ref("ConfigMap", "ns", "a")
    assert ref(namespace) == Ref("Namespace", "", "monitoring")


MIXED = [
    _an_object("ServiceMonitor", api_version="monitoring.coreos.com/v1"),
    _an_object("Deployment", api_version="apps/v1"),
    _an_object("HorizontalPodAutoscaler", api_version="autoscaling/v2"),
    _an_object("ConfigMap", "b"),
    _an_object("CustomResourceDefinition", api_version="apiextensions.k8s.io/v1"),
    _an_object("ConfigMap", "a"),
    _an_object("Namespace"),
]


def test_deletion_goes_the_other_way_round():
    """Custom resources first, namespaces last; names decide within a kind: the order is always the same."""
    refs = [ref(one) for one in MIXED]

    assert delete_order(refs) == delete_order(refs[::-1])
    assert [f"{one.kind.partition('.')[0]} {one.name}" for one in delete_order(refs)] == [
        "ServiceMonitor a",
        "HorizontalPodAutoscaler a",
        "Deployment a",
        "ConfigMap a",
        "ConfigMap b",
        "CustomResourceDefinition a",
        "Namespace a",
    ]


def test_ownership_is_written_on_a_copy():
    """The labels say who made the object, for what, and in which set; the given object stays as it was."""
    given_object = {**_an_object(data={"k": "v"}), "metadata": {"name": "a", "labels": {"mine": "kept"}}}
    before = copy.deepcopy(given_object)

    made = owned(given_object, applyset_id="applyset-x-v1", part="dashboard")

    assert given_object == before
    assert made["metadata"]["labels"] == {
        "mine": "kept",
        "app.kubernetes.io/managed-by": "kvobs",
        "app.kubernetes.io/part-of": "kvobs",
        "app.kubernetes.io/component": "dashboard",
        "applyset.kubernetes.io/part-of": "applyset-x-v1",
    }
    assert made["data"] is given_object["data"]
    assert is_ours(made, {"applyset-x-v1"})
    assert not is_ours(given_object, {"applyset-x-v1"})
    assert owned(made, applyset_id="applyset-x-v1", part="dashboard") == made


def test_a_member_of_another_set_is_not_taken_over():
    """KEP-3659: an object that already carries another set's label is refused."""
    other = {**_an_object(), "metadata": {"name": "a", "labels": {PART_OF_LABEL: "applyset-other-v1"}}}

    with pytest.raises(ValueError, match="ConfigMap a already belongs to the ApplySet applyset-other-v1"):
        owned(other, applyset_id="applyset-x-v1")


def test_an_object_without_labels_is_not_ours():
    """Null labels, as some tools write them, are no labels."""
    assert not is_ours({"metadata": {"name": "a", "labels": None}}, {"applyset-x-v1"})


@pytest.mark.parametrize(
    ("labels", "ours"),
    [
        ({PART_OF_LABEL: "applyset-x-v1"}, True),
        ({PART_OF_LABEL: "applyset-other-v1", MANAGED_BY: "kvobs"}, False),
        ({MANAGED_BY: "kvobs"}, False),
    ],
    ids=["a member", "of another install", "rendered and applied by somebody"],
)
def test_members_of_the_applyset_are_ours(labels, ours):
    """An object is ours by the ApplySet that it belongs to; who made it does not decide it."""
    assert is_ours({"metadata": {"name": "a", "labels": labels}}, {"applyset-x-v1"}) is ours


def test_a_secret_is_shown_without_its_values():
    """Keys stay; values, also those in kubectl's copy of what was applied, do not."""
    secret = {
        **_an_object("Secret", data={"user": "YQ=="}, stringData={"password": "hunter2"}, type="Opaque"),
        "metadata": {"name": "a", "annotations": {LAST_APPLIED: '{"data":{"user":"YQ=="}}', "kept": "yes"}},
    }

    shown = hidden(secret)

    assert shown["data"] == {"user": HIDDEN, "password": HIDDEN}
    assert "stringData" not in shown
    assert shown["metadata"]["annotations"] == {LAST_APPLIED: HIDDEN, "kept": "yes"}
    assert "hunter2" not in str(shown)
    assert "YQ==" not in str(shown)
    assert secret["data"] == {"user": "YQ=="}


def test_other_kinds_are_shown_as_they_are():
    """Only a Secret is hidden."""
    config_map = _an_object(data={"k": "v"})

    assert hidden(config_map) is config_map


@given(st.text(max_size=100))
def test_every_text_gives_a_valid_name(text):
    """RFC 1123: at most 63 of a-z, 0-9 and dashes, no dash at either end."""
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", dns_name(text))


@given(st.text(max_size=80), st.text(max_size=80))
def test_different_texts_give_different_names(one, other):
    """What the letters lose, the hash keeps."""
    assert (dns_name(one) == dns_name(other)) == (one == other)


@given(st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=63))
def test_a_name_stays_a_name(text):
    """What is a valid name is not changed."""
    assert dns_name(text) == text


def test_a_shorter_limit_is_kept():
    """Room for a prefix can be asked for."""
    assert len(dns_name("x" * 200, limit=40)) == 40
