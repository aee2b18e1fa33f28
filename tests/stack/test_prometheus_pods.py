"""Which pod of a Prometheus is asked by a port-forward, and at which port."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.prometheus_pods import PodPort, ready_pod

WEB = {"name": "web", "containerPort": 9090}


def pod(
    name: str,
    *,
    ready: str = "True",
    shard: str = "0",
    going: bool = False,
    ports: dict[str, list[dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    """A pod as the operator makes it: its containers with their ports."""
    return {
        "metadata": {
            "namespace": "mon",
            "name": name,
            "labels": {"operator.prometheus.io/shard": shard},
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {}),
        },
        "spec": {
            "containers": [{"name": each, "ports": found} for each, found in (ports or {"prometheus": [WEB]}).items()]
        },
        "status": {"conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}]},
    }


CASES: dict[str, tuple[list[dict[str, Any]], tuple[str, int] | None]] = {
    "none": ([], None),
    "none is ready": ([pod("p-0", ready="False"), pod("p-1", ready="Unknown")], None),
    "without a status": ([{**pod("p-0"), "status": {}}], None),
    "one goes": ([pod("p-0", going=True), pod("p-1")], ("p-1", 9090)),
    "the first of replicas": ([pod("p-1"), pod("p-0")], ("p-0", 9090)),
    "the first of shards": ([pod("p-shard-1-0", shard="1"), pod("p-z", shard="0")], ("p-z", 9090)),
    "a port of another number": ([pod("p", ports={"prometheus": [{"name": "web", "containerPort": 80}]})], ("p", 80)),
    "a chart's name for it": (
        [pod("p", ports={"prometheus": [{"name": "http-web", "containerPort": 9091}]})],
        ("p", 9091),
    ),
    "no port named so": ([pod("p", ports={"prometheus": [{"name": "x", "containerPort": 1}]})], ("p", 9090)),
    "listens on its loopback": ([pod("p", ports={"prometheus": []})], ("p", 9090)),
    "a proxy before it": (
        [pod("p", ports={"kube-rbac-proxy": [{"name": "web", "containerPort": 9091}], "prometheus": []})],
        ("p", 9090),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_pod_and_its_port(name: str) -> None:
    """A pod that is ready and stays, the same each time; the port is that of Prometheus' own container."""
    pods, wanted = CASES[name]
    chosen = PodPort(namespace="mon", pod=wanted[0], port=wanted[1]) if wanted is not None else None
    assert ready_pod(pods) == chosen
