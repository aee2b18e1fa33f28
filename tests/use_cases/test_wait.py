"""What a wait looks at, and what it says when time is up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvobs.errors import NotReady
from kvobs.stack.choice import DesiredRelease, Target
from kvobs.stack.record import Record
from kvobs.stack.values import grafana_of, prometheus_of
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.wait import GONE_LIMIT_S, wait_gone, wait_ready

RELEASE = DesiredRelease(namespace="mon", name="kps", chart="c", version=None, values={})


def target(values: dict[str, Any]) -> Target:
    """What is waited for under *values*."""
    prometheus = prometheus_of("kps", "mon", values)
    assert prometheus is not None
    return Target(
        namespace="mon",
        prometheus=prometheus,
        grafana=grafana_of("kps", "mon", values),
        sidecar=None,
        datasources={},
        known=None,
        release=RELEASE,
        admin_secret=None,
        live=True,
        record=Record(),
    )


class Cluster:
    """Workloads of a release, by namespace; each listing counts, and the clock runs with it."""

    def __init__(self, *workloads: dict[str, Any]) -> None:
        self.workloads = workloads
        self.now = 0.0

    def list(self, kind: str, *, namespace: str | None = None) -> list[dict[str, Any]]:
        """List by kind and namespace."""
        return [
            each
            for each in self.workloads
            if each["kind"] == kind.partition(".")[0] and each["metadata"]["namespace"] == namespace
        ]

    def get(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """Find one."""
        return next((each for each in self.list(kind, namespace=namespace) if each["metadata"]["name"] == name), None)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def deployment(namespace: str, *, ready: int, release: str = "kps") -> dict[str, Any]:
    """A Deployment of one replica."""
    annotations = {"meta.helm.sh/release-namespace": "mon", "meta.helm.sh/release-name": release}
    return {
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace, "generation": 1, "annotations": annotations},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}},
        "status": {"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": ready},
    }


def wait(cluster: Cluster, wanted: Target) -> int:
    """Wait on a clock of the test's own."""
    return wait_ready(cluster, wanted, timeout_s=10, progress=Silent(), sleep=cluster.sleep, clock=lambda: cluster.now)


OVERRIDES = [
    ({}, "mon"),
    ({"namespaceOverride": "stack"}, "stack"),
    ({"grafana": {"namespaceOverride": "faces"}}, "faces"),
]


@pytest.mark.parametrize(("values", "namespace"), OVERRIDES)
def test_a_workload_is_waited_for_wherever_the_values_put_it(values: dict[str, Any], namespace: str) -> None:
    """The release's namespace is not the only one in which the chart can put its objects."""
    with pytest.raises(NotReady, match="0 of 1 pods are ready"):
        wait(Cluster(deployment(namespace, ready=0)), target(values))
    assert wait(Cluster(deployment(namespace, ready=1)), target(values)) == 1


def test_somebody_elses_release_is_not_waited_for() -> None:
    """A workload of another release in the same namespace is theirs to mend."""
    assert wait(Cluster(deployment("mon", ready=0, release="theirs")), target({})) == 0


def test_a_reused_stack_is_its_prometheus_object_alone() -> None:
    """Of a stack that somebody else installed, only what kvobs needs is waited for."""
    prometheus = {
        "kind": "Prometheus",
        "metadata": {"name": "kps-kube-prometheus-stack-prometheus", "namespace": "mon"},
        "status": {"conditions": [{"type": "Available", "status": "True"}]},
    }
    reused = replace(target({}), release=None)
    assert wait(Cluster(prometheus, deployment("mon", ready=0)), reused) == 1


@pytest.mark.parametrize(
    ("goes_after_s", "stays", "waits_s"),
    [(0, 0, 0), (45, 0, 46), (3600, 1, GONE_LIMIT_S)],
    ids=["now", "late", "never"],
)
def test_what_the_garbage_collector_is_late_for(goes_after_s: float, stays: int, waits_s: float) -> None:
    """It hears of a kind that came with the install after half a minute; for what nobody takes there is an end."""
    cluster = Cluster()

    def staying() -> list[dict[str, Any]]:
        return [deployment("mon", ready=0)] if cluster.now < goes_after_s else []

    left = wait_gone(staying, progress=Silent(), sleep=cluster.sleep, clock=lambda: cluster.now)

    assert (len(left), cluster.now) == (stays, waits_s)
