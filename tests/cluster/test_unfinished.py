"""What `settled` waits for, as small clusters: each lacks one thing that a controller is still to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.unfinished import Key, Object, unfinished

Change = Callable[[dict[Key, Object]], Any]
DEPLOYMENT: Key = ("Deployment.apps", "ns", "d")
REPLICA_SET: Key = ("ReplicaSet.apps", "ns", "d-1")
POD: Key = ("Pod", "ns", "d-1-x")
PROMETHEUS: Key = ("Prometheus.monitoring.coreos.com", "ns", "p")
POLICY: Key = ("ClusterPolicy.nvidia.com", "", "cluster-policy")
NODE: Key = ("Node", "", "n")
SLICE: Key = ("EndpointSlice.discovery.k8s.io", "ns", "s-1")


def at_rest() -> dict[Key, Object]:
    """Return a cluster on which nothing is to come."""

    def made(owner: str = "", generation: int = 1, **more: Any) -> Object:
        owners = {"ownerReferences": [{"uid": owner}]} if owner else {}
        return {"metadata": {"generation": generation, **owners}, **more}

    ready = {"observedGeneration": 1, "readyReplicas": 1, "replicas": 1}
    running = {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}
    marks = {"labels": {"beta.kubernetes.io/os": "linux"}, "annotations": {"node.alpha.kubernetes.io/ttl": "0"}}
    objects: dict[Key, Object] = {
        NODE: {"metadata": marks},
        ("Namespace", "", "ns"): made(),
        ("ConfigMap", "ns", "kube-root-ca.crt"): made(),
        ("ServiceAccount", "ns", "default"): made(),
        DEPLOYMENT: made(status=dict(ready)),
        REPLICA_SET: made("Deployment.apps/d", spec={"replicas": 1}, status=dict(ready)),
        POD: made("ReplicaSet.apps/d-1", spec={"nodeName": "n"}, status=running),
        ("Pod", "ns", "waits"): made(spec={}, status={"conditions": [{"type": "PodScheduled", "status": "False"}]}),
        ("Service", "ns", "s"): made(),
        SLICE: made("Service/s"),
        PROMETHEUS: made(generation=2, status={"conditions": [{"type": "Available", "observedGeneration": 2}]}),
        ("Prometheus.monitoring.coreos.com", "ns", "without-an-operator"): made(),
        POLICY: made(status={"state": "ready"}),
    }
    for (kind, _, name), each in objects.items():
        each["metadata"]["uid"] = f"{kind}/{name}"
    return objects


def changed(key: Key, *path: str, to: Any) -> Change:
    """Set a field of one object."""

    def change(objects: dict[Key, Object]) -> None:
        *parents, last = path
        at = objects[key]
        for each in parents:
            at = at[each]
        at[last] = to

    return change


WORK: list[tuple[Change, str]] = [
    (lambda objects: objects.clear(), "no namespace"),
    (changed(NODE, "metadata", "annotations", to={}), "Node n without node.alpha.kubernetes.io/ttl"),
    (lambda objects: objects.pop(("ConfigMap", "ns", "kube-root-ca.crt")), "ConfigMap ns/kube-root-ca.crt"),
    (lambda objects: objects.pop(("ServiceAccount", "ns", "default")), "ServiceAccount ns/default"),
    (changed(DEPLOYMENT, "metadata", "generation", to=2), "Deployment.apps ns/d was not looked at"),
    (changed(DEPLOYMENT, "status", "readyReplicas", to=0), "Deployment.apps ns/d does not know who is ready"),
    (changed(REPLICA_SET, "status", "replicas", to=0), "ReplicaSet.apps ns/d-1 has not made its pods"),
    (changed(POD, "status", "conditions", to=[]), "ReplicaSet.apps ns/d-1 does not know who is ready"),
    (changed(POD, "status", "startTime", to=None), "Pod ns/d-1-x"),
    (changed(POD, "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z"), "Pod ns/d-1-x"),
    (changed(("Pod", "ns", "waits"), "status", to={}), "Pod ns/waits"),
    (changed(PROMETHEUS, "metadata", "generation", to=3), "Prometheus.monitoring.coreos.com ns/p was not looked at"),
    (changed(POLICY, "status", to={}), "ClusterPolicy.nvidia.com cluster-policy was not looked at"),
    (lambda objects: objects.pop(("Service", "ns", "s")), "EndpointSlice.discovery.k8s.io ns/s-1, whose owner is gone"),
]


def test_a_cluster_at_rest() -> None:
    """Nothing is to come: neither of pods that no node takes nor of what no operator looks after."""
    assert unfinished(at_rest()) == []


@pytest.mark.parametrize(("change", "says"), WORK, ids=[f"{number} {says}" for number, (_, says) in enumerate(WORK)])
def test_what_is_still_to_come(change: Change, says: str) -> None:
    """What one controller has not done yet is named."""
    objects = at_rest()
    change(objects)

    assert unfinished(objects) == [says]


def test_what_cannot_be_done_is_not_waited_for() -> None:
    """A ReplicaSet whose pods are refused has said so; a namespace that goes gets nothing more."""
    objects = at_rest()
    failed = {"observedGeneration": 1, "replicas": 0, "conditions": [{"type": "ReplicaFailure", "status": "True"}]}
    objects[REPLICA_SET]["status"] = failed
    objects[DEPLOYMENT]["status"] = {"observedGeneration": 1}
    del objects[POD]
    del objects["ConfigMap", "ns", "kube-root-ca.crt"]
    objects["Namespace", "", "ns"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert unfinished(objects) == []
