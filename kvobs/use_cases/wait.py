"""Wait until the stack is ready, with the last state of what is not on the screen; or until its pods are gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Protocol

from ..errors import Forbidden, NotReady
from ..stack.choice import Target
from ..stack.facts import Object
from ..stack.readiness import not_ready, pod_trouble
from .progress import Progress

POLL_S = 2.0
"""Between two looks: a rollout takes tens of seconds, and a look costs a few requests."""

GONE_LIMIT_S = 60.0
"""The garbage collector takes seconds, but hears of a kind that is new only every half minute; what is there for longer
is somebody's."""

WORKLOADS = ("Deployment.apps", "StatefulSet.apps", "DaemonSet.apps")
CUSTOM = ("Prometheus.monitoring.coreos.com", "Alertmanager.monitoring.coreos.com")


class ListCluster(Protocol):
    """What a wait needs of an API server."""

    def list(self, kind: str, *, namespace: str | None = None) -> list[Object]: ...

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...


def wait_ready(
    cluster: ListCluster,
    target: Target,
    *,
    timeout_s: float,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    seen: ListCluster | None = None,
) -> int:
    """Return how many objects are ready, once all are; raises `NotReady` with the last state after *timeout_s*.

    *seen*: a look that was taken already, where nothing was changed since.
    """
    deadline = clock() + timeout_s
    while True:
        waited_for = watched(seen or cluster, target)
        seen = None
        unready = {_name(each): why for each in waited_for if (why := not_ready(each)) is not None}
        if not unready:
            return len(waited_for)
        progress.state("; ".join(f"{name}: {why}" for name, why in unready.items()))
        if clock() >= deadline:
            pods = _pods(cluster, target.prometheus.namespace)
            for each in waited_for:
                if _name(each) in unready and (trouble := pod_trouble(each, pods)):
                    unready[_name(each)] += f" ({trouble})"
            states = "".join(f"\n  {name}: {why}" for name, why in unready.items())
            raise NotReady(
                f"not ready after {timeout_s:.0f} s:{states}",
                hint=f"kubectl -n {target.prometheus.namespace} get pods; then run the same command again: it"
                " goes on where it stopped",
            )
        sleep(min(POLL_S, max(0.0, deadline - clock())))


def _pods(cluster: ListCluster, namespace: str) -> list[Object]:
    try:
        return cluster.list("Pod", namespace=namespace)
    except Forbidden:
        # They would only say more about what is not ready.
        return []


def wait_gone(
    staying: Callable[[], list[Object]],
    *,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[Object]:
    """Return what is still *staying* when nothing is, or after `GONE_LIMIT_S`.

    What a deleted object owned goes after it: until the garbage collector has come to it, it looks as if it stayed.
    """
    deadline = clock() + GONE_LIMIT_S
    while (stay := staying()) and clock() < deadline:
        progress.state(f"{len(stay)} objects are still there")
        sleep(POLL_S)
    return stay


def watched(cluster: ListCluster, target: Target) -> list[Object]:
    """Return the workloads of our own release, or the Prometheus object alone where the stack is somebody else's."""
    if target.release is None:
        found = cluster.get(CUSTOM[0], target.prometheus.name, target.prometheus.namespace)
        return [found] if found is not None else []
    ours = (target.release.namespace, target.release.name)
    return [each for kind in (*WORKLOADS, *CUSTOM) for each in of_release(cluster, kind, ours, target.places)]


def of_release(cluster: ListCluster, kind: str, release: tuple[str, str], namespaces: Iterable[str]) -> list[Object]:
    """Return the objects of a *kind* that a Helm *release*, given as (namespace, name), made in *namespaces*."""
    return [
        each
        for namespace in sorted(set(namespaces))
        for each in cluster.list(kind, namespace=namespace)
        if _release_of(each) == release
    ]


def _release_of(workload: Object) -> tuple[str | None, str | None]:
    annotations = workload["metadata"].get("annotations") or {}
    return annotations.get("meta.helm.sh/release-namespace"), annotations.get("meta.helm.sh/release-name")


def _name(workload: Object) -> str:
    return f"{workload['kind']} {workload['metadata']['name']}"
