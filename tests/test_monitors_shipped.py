"""The monitors that kvobs ships: what they select, and which port of it Prometheus ends up scraping."""

import re
from typing import Any

import pytest

from kvobs.adapters.assets import MonitorName, shipped_monitor

META = "__meta_kubernetes_"
NAMES: list[MonitorName] = ["dcgm", "dcgm-podmonitor", "vllm", "vllm-podmonitor"]


def relabelled(labels: dict[str, str], rules: list[dict[str, Any]]) -> dict[str, str] | None:
    """Apply Prometheus' relabelling, as far as the shipped rules use it; None: the target is dropped."""
    labels = dict(labels)
    for rule in rules:
        value = rule.get("separator", ";").join(labels.get(name, "") for name in rule.get("sourceLabels", []))
        match rule.get("action", "replace"):
            case "keepequal":
                if value != labels.get(rule["targetLabel"], ""):
                    return None
            case "replace":
                found = re.fullmatch(rule.get("regex", "(.*)"), value)
                if found:
                    template = re.sub(r"\$(\d)", r"\\\1", rule.get("replacement", "$1"))
                    labels[rule["targetLabel"]] = found.expand(template)
            case other:
                pytest.fail(f"no shipped rule is meant to use the action {other}")
    return {name: value for name, value in labels.items() if value and not name.startswith("__tmp")}


def target(labels: dict[str, str], rules: list[dict[str, Any]]) -> frozenset[tuple[str, str]] | None:
    """What makes a target one and the same for Prometheus: its address and the labels that stay."""
    after = relabelled(labels, rules)
    if after is None:
        return None
    return frozenset(item for item in after.items() if not item[0].startswith("__meta"))


@pytest.mark.parametrize("name", NAMES)
def test_as_applied(name: MonitorName) -> None:
    """A monitor is complete but for its namespace and labels."""
    monitor = shipped_monitor(name)

    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    assert monitor["metadata"]["labels"] == {}
    assert monitor["metadata"]["name"].startswith("kvobs-")
    endpoints = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
    assert [(endpoint["path"], endpoint["interval"]) for endpoint in endpoints] == [("/metrics", "15s")]


@pytest.mark.parametrize("name", NAMES)
def test_what_the_api_server_would_add_is_said(name: MonitorName) -> None:
    """The CRDs default the action of a relabeling; where it is said, a second run need not ask whether all stands."""
    spec = shipped_monitor(name)["spec"]
    endpoints = spec.get("endpoints") or spec["podMetricsEndpoints"]

    assert all("action" in rule for endpoint in endpoints for rule in endpoint.get("relabelings", ()))


def test_dcgm_selects_the_gpu_operators_exporter() -> None:
    """Service, pods and port are named as NVIDIA's GPU Operator names them."""
    service, pod = shipped_monitor("dcgm")["spec"], shipped_monitor("dcgm-podmonitor")["spec"]

    assert service["selector"] == pod["selector"] == {"matchLabels": {"app": "nvidia-dcgm-exporter"}}
    assert service["endpoints"][0]["port"] == "gpu-metrics"


def test_one_label_never_selects_a_server_twice() -> None:
    """A label that stands on a Service and on its pods alike is followed by one of the two monitors only."""
    service, pod = shipped_monitor("vllm"), shipped_monitor("vllm-podmonitor")

    assert service["spec"]["selector"] == {"matchLabels": {"kvobs.dev/scrape": "vllm"}}
    assert pod["spec"]["selector"] == {"matchLabels": {"kvobs.dev/scrape": "vllm-pod"}}
    assert service["spec"]["namespaceSelector"] == pod["spec"]["namespaceSelector"] == {"any": True}


@pytest.mark.parametrize("role", ["endpoint", "endpointslice"])
@pytest.mark.parametrize(
    ("port", "wanted", "scraped_as"),
    [
        pytest.param("http", None, "http", id="a port called http"),
        pytest.param("", None, "", id="the only port, without a name"),
        pytest.param("grpc", None, None, id="another port"),
        pytest.param("service-port", "service-port", "service-port", id="the port that the label names"),
        pytest.param("http", "service-port", None, id="http where the label names another"),
        pytest.param("", "service-port", "", id="the only port, whatever the label says"),
    ],
)
def test_port_of_a_service(role: str, port: str, wanted: str | None, scraped_as: str | None) -> None:
    """Exactly one of a Service's ports is scraped, whichever way Prometheus discovers it."""
    (endpoint,) = shipped_monitor("vllm")["spec"]["endpoints"]
    labels = {f"{META}{role}_port_name": port, f"{META}{role}_port_protocol": "TCP", "pod": "vllm-0"}
    if wanted is not None:
        labels[f"{META}service_label_kvobs_dev_port"] = wanted

    after = relabelled(labels, endpoint["relabelings"])

    assert (None if after is None else after.get("endpoint", "")) == scraped_as
    if after is not None:
        assert after["pod"] == "vllm-0"


@pytest.mark.parametrize("wanted", [None, "http"])
def test_container_port_outside_the_service(wanted: str | None) -> None:
    """Prometheus also discovers the pods' other container ports; none of them is scraped."""
    (endpoint,) = shipped_monitor("vllm")["spec"]["endpoints"]
    labels = {f"{META}pod_container_port_name": "http", f"{META}pod_container_port_protocol": "TCP"}
    if wanted is not None:
        labels[f"{META}service_label_kvobs_dev_port"] = wanted

    assert relabelled(labels, endpoint["relabelings"]) is None


@pytest.mark.parametrize(
    ("name", "ip", "port", "address"),
    [
        pytest.param("vllm-podmonitor", "10.1.0.7", None, "10.1.0.7:8000", id="vLLM's default port"),
        pytest.param("vllm-podmonitor", "10.1.0.7", "8080", "10.1.0.7:8080", id="the port that the label says"),
        pytest.param("vllm-podmonitor", "10.1.0.7", "web", "10.1.0.7:8000", id="a label that is no port"),
        pytest.param("vllm-podmonitor", "fd00::7", None, "[fd00::7]:8000", id="vLLM over IPv6"),
        pytest.param("dcgm-podmonitor", "10.1.0.7", None, "10.1.0.7:9400", id="dcgm-exporter's default port"),
        pytest.param("dcgm-podmonitor", "fd00::7", None, "[fd00::7]:9400", id="dcgm-exporter over IPv6"),
    ],
)
def test_address_of_a_pod(name: MonitorName, ip: str, port: str | None, address: str) -> None:
    """However many ports and containers a pod has, it is one target, at the server's port."""
    (endpoint,) = shipped_monitor(name)["spec"]["podMetricsEndpoints"]
    pod = {f"{META}pod_ip": ip, "namespace": "ml", "pod": "vllm-0"}
    if port is not None:
        pod[f"{META}pod_label_kvobs_dev_port"] = port
    finds = [
        {**pod, "__address__": f"{ip}:8000", "container": "vllm"},
        {**pod, "__address__": f"{ip}:9090", "container": "sidecar"},
        {**pod, "__address__": ip, "container": "init"},
    ]

    assert {target(find, endpoint["relabelings"]) for find in finds} == {
        frozenset({("__address__", address), ("namespace", "ml"), ("pod", "vllm-0")})
    }
