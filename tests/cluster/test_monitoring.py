"""The real Prometheus Operator and the real Prometheus on a bed: from a ServiceMonitor to a sample."""

from __future__ import annotations

import pytest

from tests.cluster.api import Object, eventually
from tests.cluster.bed import METRICS, Bed
from tests.cluster.exporters import Exposition

MONITORING = "monitoring.coreos.com/v1"


@pytest.fixture(scope="module", autouse=True)
def prometheus(bed: Bed) -> None:
    """Give the bed an operator, and a Prometheus that takes monitors labelled `release: test` from everywhere."""
    bed.apply_crds("prometheus-operator")
    bed.api.apply(OPERATOR, PROMETHEUS, SERVICE)
    bed.api.until(MONITORING, "Prometheus", "main", "default", _is_available)


def query(bed: Bed, promql: str) -> list[Object]:
    """Return the result of an instant query, asked through the API server."""
    path = "/api/v1/namespaces/default/services/main:http-web/proxy/api/v1/query"
    result: list[Object] = bed.api.request("GET", path, query=promql)["data"]["result"]
    return result


def test_a_monitored_service_is_scraped(bed: Bed) -> None:
    """What a ServiceMonitor selects is scraped, with the labels that a cluster gives."""
    bed.expose("default/vllm-*", 8000, Exposition.of_file(METRICS / "vllm-small.txt", growth=0.01))
    bed.api.apply(*_server("vllm"), _monitor("vllm", {"release": "test"}))

    found = eventually(lambda: query(bed, "vllm:num_requests_running"))

    labels = found[0]["metric"]
    assert found[0]["value"][1] == "3"
    assert labels["pod"].startswith("vllm-")
    assert {name: labels[name] for name in ("namespace", "service", "job", "endpoint", "container")} == {
        "namespace": "default", "service": "vllm", "job": "vllm", "endpoint": "http", "container": "app",
    }  # fmt: skip
    eventually(lambda: query(bed, "rate(vllm:generation_tokens_total[30s]) > 0"))


def test_an_unlabelled_monitor_is_ignored(bed: Bed) -> None:
    """A ServiceMonitor that the Prometheus object does not select leads to no target, until it gets the label."""
    bed.expose("default/other-*", 8000, Exposition("# TYPE other gauge\nother 1\n"))
    bed.api.apply(*_server("other"), _monitor("other", {}), _monitor("marker", {"release": "test"}))
    eventually(lambda: _jobs(bed, "marker"))
    assert not _jobs(bed, "other")

    bed.api.apply(_monitor("other", {"release": "test"}))
    eventually(lambda: query(bed, "other"))


def test_rules_are_evaluated(bed: Bed) -> None:
    """A PrometheusRule reaches the real Prometheus."""
    rule = {"name": "g", "rules": [{"record": "answer", "expr": "vector(42)"}]}
    bed.api.apply(
        {
            "apiVersion": MONITORING,
            "kind": "PrometheusRule",
            "metadata": {"name": "answer", "namespace": "default", "labels": {"release": "test"}},
            "spec": {"groups": [rule | {"interval": "1s"}]},
        }
    )

    eventually(lambda: query(bed, "answer == 42"))


def test_a_removed_operator_ends(bed: Bed) -> None:
    """When the operator's Deployment goes, its process goes and Prometheus stays; a new one takes up the work."""
    assert {"operator-0", "prometheus-1"} <= bed.running()
    bed.api.delete("apps/v1", "Deployment", "operator", "default")
    eventually(lambda: "operator-0" not in bed.running())
    assert "prometheus-1" in bed.running()

    bed.api.apply(_monitor("late", {"release": "test"}), OPERATOR)
    eventually(lambda: _jobs(bed, "late"))


def _jobs(bed: Bed, monitor: str) -> bool:
    """Return whether Prometheus' own configuration holds a job for the ServiceMonitor."""
    path = "/api/v1/namespaces/default/services/main:http-web/proxy/api/v1/status/config"
    return f"serviceMonitor/default/{monitor}/" in bed.api.request("GET", path)["data"]["yaml"]


def _server(name: str) -> tuple[Object, Object]:
    labels = {"app": name}
    container = {"name": "app", "image": "app:1", "ports": [{"name": "http", "containerPort": 8000}]}
    return (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"selector": labels, "ports": [{"name": "http", "port": 8000}]},
        },
    )


def _monitor(name: str, labels: dict[str, str]) -> Object:
    return {
        "apiVersion": MONITORING,
        "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"selector": {"matchLabels": {"app": name}}, "endpoints": [{"port": "http", "interval": "2s"}]},
    }


def _is_available(prometheus: Object) -> bool:
    conditions = prometheus.get("status", {}).get("conditions", ())
    return any(c["type"] == "Available" and c["status"] == "True" for c in conditions)


OPERATOR: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "operator", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "operator"}},
        "template": {
            "metadata": {"labels": {"app": "operator"}},
            "spec": {
                "containers": [
                    {
                        "name": "operator",
                        "image": "quay.io/prometheus-operator/prometheus-operator:v0.93.1",
                        "args": [
                            "--prometheus-config-reloader=quay.io/prometheus-operator/prometheus-config-reloader:v0.93.1",
                            "--kubelet-service=kube-system/test-kubelet",
                            "--kubelet-endpoints=true",
                        ],
                    }
                ]
            },
        },
    },
}
PROMETHEUS: Object = {
    "apiVersion": MONITORING,
    "kind": "Prometheus",
    "metadata": {"name": "main", "namespace": "default"},
    "spec": {
        "serviceMonitorSelector": {"matchLabels": {"release": "test"}},
        "serviceMonitorNamespaceSelector": {},
        "ruleSelector": {"matchLabels": {"release": "test"}},
        "scrapeInterval": "5s",
    },
}
SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "main", "namespace": "default"},
    "spec": {"selector": {"operator.prometheus.io/name": "main"}, "ports": [{"name": "http-web", "port": 9090}]},
}
