"""Whether a workload is ready, from its own status, and why not. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .facts import Object
from .selectors import matches


def not_ready(workload: Object) -> str | None:
    """Say how far *workload* is from ready; None when it is.

    Deployment, StatefulSet and DaemonSet by their counts and observed generation (as `kubectl rollout status`
    does); Prometheus and Alertmanager objects by the operator's conditions.
    """
    kind = workload["kind"]
    status = workload.get("status") or {}
    spec = workload.get("spec") or {}
    if kind in ("Prometheus", "Alertmanager"):
        return _condition_unmet(status, "Available")
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 0):
        return "not seen by its controller yet"
    if kind == "DaemonSet":
        wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        updated = status.get("updatedNumberScheduled", 0)
    else:
        wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
        updated = status.get("updatedReplicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} pods are of the new revision"
    if ready < wanted:
        return f"{ready} of {wanted} pods are ready"
    return None


def _condition_unmet(status: Object, wanted: str) -> str | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == wanted:
            if condition.get("status") == "True":
                return None
            return f"{wanted} is {condition.get('status')}: {condition.get('message') or condition.get('reason')}"
    return f"the operator has not said {wanted} yet"


def pod_trouble(workload: Object, pods: Iterable[Object]) -> str | None:
    """Say what the first pod of *workload* that is not ready waits for, in the cluster's own words."""
    selector = (workload.get("spec") or {}).get("selector")
    for pod in pods:
        metadata = pod["metadata"]
        if metadata.get("namespace") != workload["metadata"].get("namespace"):
            continue
        if not matches(selector, metadata.get("labels") or {}):
            continue
        trouble = _waiting(pod.get("status") or {})
        if trouble:
            return f"pod {metadata['name']}: {trouble}"
    return None


def _waiting(status: Object) -> str | None:
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state: Any = container.get("state") or {}
        waiting = state.get("waiting")
        if waiting and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f"container {container.get('name')} {waiting['reason']}: {waiting.get('message') or ''}".rstrip(": ")
    for condition in status.get("conditions") or ():
        if condition.get("status") == "False" and condition.get("message"):
            return str(condition["message"])
    return None
