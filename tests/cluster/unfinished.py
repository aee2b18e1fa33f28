"""PURE. What controllers have not come to yet, of all objects of a cluster: no change for a moment is no rest.

Each is told by what it is to leave behind, never by how long it may take. What a controller cannot do (a pod that a
quota or Pod Security refuses, one that no node has room for) is not waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str, str]

ON_NODES = ("node.alpha.kubernetes.io/ttl", "beta.kubernetes.io/os")
"""What two controllers write onto every Node."""
IN_NAMESPACES = (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"))
"""What two controllers put into every namespace."""
WORKLOADS = ("Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps")
READY = {"ReplicaSet.apps": "readyReplicas", "StatefulSet.apps": "readyReplicas", "DaemonSet.apps": "numberReady"}
"""Where those who own pods say how many of them are ready."""


def unfinished(objects: Mapping[Key, Object]) -> list[str]:
    """Say what is still to come, in words for an error; none: the cluster is at rest, as far as objects can tell."""
    return [
        *_of_machines_and_namespaces(objects),
        *_of_workloads(objects),
        *_of_pods(objects),
        *_of_operators(objects),
        *_of_the_garbage_collector(objects),
    ]


def _of_machines_and_namespaces(objects: Mapping[Key, Object]) -> Iterator[str]:
    if not any(kind == "Namespace" for kind, _, _ in objects):
        yield "no namespace"
    for (kind, _, name), each in objects.items():
        if kind == "Node":
            marks = {**each["metadata"].get("annotations", {}), **each["metadata"].get("labels", {})}
            yield from (f"Node {name} without {mark}" for mark in ON_NODES if mark not in marks)
        elif kind == "Namespace" and "deletionTimestamp" not in each["metadata"]:
            yield from (f"{one[0]} {name}/{one[1]}" for one in IN_NAMESPACES if (one[0], name, one[1]) not in objects)


def _of_workloads(objects: Mapping[Key, Object]) -> Iterator[str]:
    """Every workload was looked at as it is, has made its pods or said why not, and counts those that are ready."""
    ready: Counter[str] = Counter()
    for (kind, _, _), each in objects.items():
        counts = _is_ready(each) if kind == "Pod" else each.get("status", {}).get("readyReplicas", 0)
        if kind in ("Pod", "ReplicaSet.apps"):
            for owner in _owners(each):
                ready[owner] += counts
    for (kind, namespace, name), each in objects.items():
        if kind not in WORKLOADS:
            continue
        status, metadata = each.get("status", {}), each["metadata"]
        if status.get("observedGeneration") != metadata["generation"]:
            yield f"{kind} {namespace}/{name} was not looked at"
        elif kind == "ReplicaSet.apps" and not _has_made(each):
            yield f"{kind} {namespace}/{name} has not made its pods"
        elif status.get(READY.get(kind, "readyReplicas"), 0) != ready[metadata["uid"]]:
            yield f"{kind} {namespace}/{name} does not know who is ready"


def _has_made(replica_set: Object) -> bool:
    status = replica_set["status"]
    failed = any(each["type"] == "ReplicaFailure" for each in status.get("conditions", ()))
    return bool(failed or status["replicas"] == replica_set["spec"]["replicas"])


def _of_pods(objects: Mapping[Key, Object]) -> Iterator[str]:
    """The scheduler and the kubelet have come to every pod, and none is on its way out."""
    for (kind, namespace, name), each in objects.items():
        if kind == "Pod":
            status = each.get("status", {})
            begun = status.get("startTime") if each["spec"].get("nodeName") else status.get("conditions")
            if not begun or "deletionTimestamp" in each["metadata"]:
                yield f"Pod {namespace}/{name}"


def _of_operators(objects: Mapping[Key, Object]) -> Iterator[str]:
    """The Prometheus Operator, where it runs, has said something of each object as it is; so has the GPU Operator."""
    for (kind, namespace, name), each in objects.items():
        group = kind.partition(".")[2]
        if group == "monitoring.coreos.com":
            seen = {one.get("observedGeneration") for one in each.get("status", {}).get("conditions", ())}
            if seen - {None, each["metadata"]["generation"]}:
                yield f"{kind} {namespace}/{name} was not looked at"
        elif kind == "ClusterPolicy.nvidia.com" and not each.get("status", {}).get("state"):
            yield f"{kind} {name} was not looked at"


def _of_the_garbage_collector(objects: Mapping[Key, Object]) -> Iterator[str]:
    """Nothing is left of an owner that is gone."""
    there = {each["metadata"]["uid"] for each in objects.values()}
    for (kind, namespace, name), each in objects.items():
        owners = _owners(each)
        if owners and not there.intersection(owners):
            yield f"{kind} {namespace}/{name}, whose owner is gone"


def _owners(each: Object) -> list[str]:
    return [owner["uid"] for owner in each["metadata"].get("ownerReferences", ())]


def _is_ready(pod: Object) -> int:
    conditions = pod.get("status", {}).get("conditions", ())
    return int(any(each["type"] == "Ready" and each["status"] == "True" for each in conditions))
