"""Who runs the control plane, what that switches off, and which namespaces are on their way out."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.settings import Settings
from kvobs.stack.choice import choose
from kvobs.stack.control_plane import MANAGED_PARTS, managed_by, terminating
from kvobs.stack.values import given_values, stack_values
from tests.stack.clusters import cluster

EMPTY = cluster(kinds=frozenset(), namespaces={"default": {}})


def node(*labels: str, provider_id: str = "") -> dict[str, Any]:
    """Return a machine with labels."""
    return {"metadata": {"name": "n", "labels": dict.fromkeys(labels, "")}, "spec": {"providerID": provider_id}}


CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
CASES = [
    ("EKS by its version", "v1.33.2-eks-931bdca", [], "EKS"),
    ("EKS by its nodes", "v1.33.2", [node("eks.amazonaws.com/nodegroup")], "EKS"),
    ("GKE by its version", "v1.33.4-gke.1036000", [], "GKE"),
    ("GKE by its nodes", "v1.33.4", [node("cloud.google.com/gke-nodepool")], "GKE"),
    ("AKS by its nodes", "v1.33.4", [node("kubernetes.azure.com/cluster")], "AKS"),
    ("rented machines with a control plane of one's own", "v1.33.4",
     [node(CONTROL_PLANE, provider_id="aws:///a/i-1"), node(provider_id="aws:///a/i-2")], None),
    ("rented machines, by their provider ID alone", "v1.33.4", [node(provider_id="azure:///vm")], None),
    ("nobody whom we know", "v1.36.3", [node("kubernetes.io/hostname")], None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "nodes", "provider"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_managed_by(version: str, nodes: list[dict[str, Any]], provider: str | None) -> None:
    """A provider is known by the server's version or its own nodes' labels; a visible control plane is nobody's."""
    assert managed_by(version, nodes) == provider


def test_values_of_a_managed_control_plane() -> None:
    """What nobody can scrape is off, under what the user says; taken out of the stored values, it is no user's."""
    user = {"kubeEtcd": {"enabled": True}, "grafana": {"replicas": 2}}
    made = stack_values(user, admin_secret="s", control_plane="EKS")

    assert {part: made[part]["enabled"] for part in MANAGED_PARTS} == {
        "kubeControllerManager": False,
        "kubeScheduler": False,
        "kubeEtcd": True,
        "kubeProxy": False,
    }
    assert given_values(made, admin_secret="s", control_plane="EKS") == user
    assert not set(MANAGED_PARTS) & set(stack_values({}, admin_secret="s"))
    without = stack_values({"grafana": {"enabled": False}}, admin_secret="s", control_plane="EKS")
    assert set(MANAGED_PARTS) <= set(without)


def test_it_is_said() -> None:
    """An install on a managed cluster says which parts are off, and why."""
    facts = cluster(kinds=frozenset(), namespaces={"default": {}}, control_plane="AKS")
    (note,) = (each for each in choose(facts, Settings()).notes if each.id == "control-plane-managed")

    assert "AKS runs the control plane" in note.text
    assert "kubeScheduler" in note.text
    assert not [each for each in choose(EMPTY, Settings()).notes if each.id == "control-plane-managed"]


def test_terminating() -> None:
    """A namespace that is being deleted says itself what holds it up; before it does, nothing is made up."""
    held = {
        "metadata": {"name": "held", "deletionTimestamp": "2026-11-29T00:00:00Z"},
        "status": {
            "conditions": [
                {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "fine"},
                {"type": "NamespaceContentRemaining", "status": "True", "message": "one pod"},
                {"type": "NamespaceFinalizersRemaining", "status": "True", "message": "a finalizer"},
            ]
        },
    }
    just = {"metadata": {"name": "just", "deletionTimestamp": "2026-11-29T00:00:00Z"}}
    assert terminating([held, just, {"metadata": {"name": "stays"}}]) == {"held": "a finalizer", "just": ""}
