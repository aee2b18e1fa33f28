"""What monitors select by, and how they reach a port: it must outlast rollouts, and mean one port."""

from __future__ import annotations

import pytest

from kvobs.stack.facts import MetricsPod
from kvobs.stack.monitor_objects import Kit, lasting, lasting_owner

from .snapshots import TEMPLATES

KNATIVE = {
    "app": "chat-predictor-00002",
    "serving.kserve.io/inferenceservice": "chat",
    "serving.knative.dev/revision": "chat-predictor-00002",
    "serving.knative.dev/service": "chat-predictor",
}
DYNAMO = {
    "nvidia.com/dynamo-component": "decode",
    "nvidia.com/dynamo-worker-hash": "db6b6891",
    "nvidia.com/selector": "qwen-decode-db6b6891",
}
STORM = {"role-name": "prefill", "role-template-hash": "7d9", "roleset-name": "pd-roleset-x2k"}


@pytest.mark.parametrize(
    ("labels", "owner", "kept", "called"),
    [
        ({"app": "chat", "pod-template-hash": "5d"}, "chat", {"app"}, "chat"),
        (KNATIVE, "chat-predictor-00002-deployment",
         {"serving.kserve.io/inferenceservice", "serving.knative.dev/service"}, "chat-predictor"),
        ({k: v for k, v in KNATIVE.items() if not k.endswith("/service")}, "x",
         {"serving.kserve.io/inferenceservice"}, "chat-predictor-00002"),
        (KNATIVE | {"app": "chat"}, "x",
         {"app", "serving.kserve.io/inferenceservice", "serving.knative.dev/service"}, "chat-predictor"),
        (DYNAMO, "qwen-decode-db6b6891", {"nvidia.com/dynamo-component"}, "qwen-decode"),
        (STORM, "pd-roleset-x2k", {"role-name"}, "pd-roleset-x2k"),
        ({"grove.io/podgang": "g", "app": "x", "helm.sh/chart": "x-1"}, "x-1", {"app"}, "x-1"),
    ],
    ids=["Deployment", "Knative", "Knative alone", "an app of its own", "Dynamo", "AIBrix", "Grove"],
)  # fmt: skip
def test_lasting(labels: dict[str, str], owner: str, kept: set[str], called: str) -> None:
    """Labels and names that a rollout gives anew are left out, whoever rolls out."""
    pod = MetricsPod(namespace="ml", name="p", labels=labels, ports={}, metrics_port=8000, owner=owner)

    assert lasting(labels) == {key: labels[key] for key in kept}
    assert lasting_owner(pod) == called


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ({8000: "http"}, "http"),
        ({8000: "http", 9000: "other"}, "http"),
        ({8000: "http", 9000: "http"}, None),
        ({8000: None}, None),
        ({}, None),
    ],
    ids=["named", "one of two", "two of one name", "without a name", "not declared"],
)
def test_pod_endpoint(ports: dict[int, str | None], port: str | None) -> None:
    """A port is asked for by its name if that means one port, else the number is written into the address."""
    kit = Kit(
        what="vLLM", prefix="kvobs-vllm", service_monitor=TEMPLATES["vllm"],
        pod_monitor=TEMPLATES["vllm-podmonitor"], opt_out={},
    )  # fmt: skip
    pod = MetricsPod(namespace="ml", name="p", labels={}, ports=ports, metrics_port=8000)
    endpoint = kit.pod_endpoint(8000, [pod])

    assert endpoint.get("port") == port
    if port is None:
        assert endpoint["relabelings"][0]["replacement"] == "8000"
