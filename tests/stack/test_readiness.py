"""Readiness from a workload's own status."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.readiness import not_ready, pod_trouble


def workload(kind: str, *, spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> dict[str, Any]:
    """A workload of generation 2."""
    return {
        "kind": kind,
        "metadata": {"name": "w", "namespace": "n", "generation": 2},
        "spec": spec or {},
        "status": status or {},
    }


CASES = [
    (
        "Deployment",
        {"replicas": 1},
        {"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1},
        "not seen",
    ),
    (
        "Deployment",
        {"replicas": 2},
        {"observedGeneration": 2, "updatedReplicas": 1},
        "1 of 2 pods are of the new",
    ),
    (
        "Deployment",
        {"replicas": 2},
        {"observedGeneration": 2, "updatedReplicas": 2, "readyReplicas": 1},
        "1 of 2 pods are ready",
    ),
    ("Deployment", {"replicas": 0}, {"observedGeneration": 2}, None),
    ("Deployment", {}, {"observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 1}, None),
    (
        "StatefulSet",
        {"replicas": 1},
        {"observedGeneration": 2, "updatedReplicas": 1},
        "0 of 1 pods are ready",
    ),
    (
        "DaemonSet",
        {},
        {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 2},
        "2 of 3",
    ),
    ("DaemonSet", {}, {"observedGeneration": 2, "desiredNumberScheduled": 0}, None),
    ("Prometheus", {}, {}, "has not said Available"),
    (
        "Prometheus",
        {},
        {"conditions": [{"type": "Available", "status": "False", "message": "no pods"}]},
        "no pods",
    ),
    (
        "Prometheus",
        {},
        {"conditions": [{"type": "Available", "status": "Degraded", "reason": "Half"}]},
        "Half",
    ),
    ("Prometheus", {}, {"conditions": [{"type": "Available", "status": "True"}]}, None),
]


@pytest.mark.parametrize(("kind", "spec", "status", "said"), CASES)
def test_a_workload_is_ready_or_says_how_far_it_is(
    kind: str, spec: dict[str, Any], status: dict[str, Any], said: str | None
) -> None:
    """None for ready, else a sentence with the counts or the operator's own words."""
    answer = not_ready(workload(kind, spec=spec, status=status))
    assert (answer is None) == (said is None)
    assert said is None or said in str(answer)


TROUBLE = [
    (
        {
            "containerStatuses": [
                {
                    "name": "c",
                    "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
                }
            ]
        },
        "container c ImagePullBackOff: no such image",
    ),
    (
        {"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
        "container i CrashLoopBackOff",
    ),
    (
        {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}]},
        "0/2 nodes are available",
    ),
    ({"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}]}, None),
]


@pytest.mark.parametrize(("status", "said"), TROUBLE)
def test_the_pod_that_is_in_the_way_is_named_in_the_clusters_words(status: dict[str, Any], said: str | None) -> None:
    """The first pod of the workload that waits for something says for what; others' pods do not count."""
    deployment = workload("Deployment", spec={"selector": {"matchLabels": {"app": "w"}}})
    pods = [
        {"metadata": {"name": "other", "namespace": "n", "labels": {"app": "x"}}, "status": TROUBLE[0][0]},
        {
            "metadata": {"name": "elsewhere", "namespace": "m", "labels": {"app": "w"}},
            "status": TROUBLE[0][0],
        },
        {"metadata": {"name": "p", "namespace": "n", "labels": {"app": "w"}}, "status": status},
    ]
    assert pod_trouble(deployment, pods) == (f"pod p: {said}" if said else None)
