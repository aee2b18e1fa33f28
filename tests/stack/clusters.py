"""Facts of clusters for tests, with what does not matter filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kvobs.stack.applyset import PARENT_NAME, parent
from kvobs.stack.chart import grafana_of, prometheus_of
from kvobs.stack.facts import DatasourceFact, Facts, Grafana, Object, Prometheus, Release, Sidecar, Workload
from kvobs.stack.record import Record

KINDS = frozenset({"Prometheus.monitoring.coreos.com", "ServiceMonitor.monitoring.coreos.com"})
SIDECAR = Sidecar(label="grafana_dashboard", label_value="1", namespaces=None, folder_annotation=None)


def prometheus(name: str = "k8s", namespace: str = "mon", **other: Any) -> Prometheus:
    """Return a Prometheus object that nobody's release made, and that reads every monitor."""
    told: dict[str, Any] = {
        "service_monitor_selector": {},
        "pod_monitor_selector": {},
        "service_monitor_namespace_selector": {},
        "pod_monitor_namespace_selector": {},
        "keeps_metrics": True,
        "release": None,
        "tracked_by": None,
        "service": f"prometheus-{name}",
    }
    return Prometheus(namespace=namespace, name=name, **(told | other))


def grafana(name: str = "grafana", namespace: str = "mon", **other: Any) -> Grafana:
    """Return a Grafana with a dashboard sidecar and one datasource, which leads to `prometheus()`."""
    told: dict[str, Any] = {
        "kind": "Deployment",
        "sidecar": SIDECAR,
        "service": name,
        "service_port": 80,
        "release": None,
        "tracked_by": None,
        "admin_secret": None,
        "datasources": (source(),),
    }
    return Grafana(namespace=namespace, name=name, **(told | other))


def source(uid: str | None = "prom-uid", name: str = "Prometheus", **other: Any) -> DatasourceFact:
    """Return a datasource that leads to `prometheus()`."""
    told: dict[str, Any] = {
        "type": "prometheus",
        "url": "http://prometheus-k8s.mon.svc:9090",
        "is_default": False,
        "where": "ConfigMap mon/sources",
    }
    return DatasourceFact(uid=uid, name=name, **(told | other))


def operator(name: str = "prometheus-operator", namespace: str = "mon", **other: Any) -> Workload:
    """Return a Prometheus Operator."""
    return Workload(kind="Deployment", namespace=namespace, name=name, **other)


def cluster(**other: Any) -> Facts:
    """Return a cluster with the operator's CRDs and nothing else."""
    told: dict[str, Any] = {"kinds": KINDS, "namespaces": {"default": {}, "mon": {}}}
    return Facts(server_version="v1.36.3", **(told | other))


def stack(**other: Any) -> Facts:
    """Return a cluster with one operator, one Prometheus and one Grafana with a sidecar, in namespace `mon`."""
    told: dict[str, Any] = {
        "operators": (operator(),),
        "prometheuses": (prometheus(),),
        "grafanas": (grafana(),),
    }
    return cluster(**(told | other))


def parent_in(namespace: str, record: Record | None = None) -> Object:
    """Return the ApplySet parent that an earlier run wrote in *namespace*."""
    return parent(PARENT_NAME, namespace, refs=(), record=record or Record())


def after_helm(facts: Facts, *, name: str, namespace: str, values: dict[str, Any], record: Record) -> Facts:
    """Return *facts* once a release of ours is there, as a second run finds them."""
    found, graph = prometheus_of(name, namespace, values), grafana_of(name, namespace, values)
    return replace(
        facts,
        kinds=KINDS,
        namespaces={**facts.namespaces, namespace: {}},
        operators=(*facts.operators, operator(f"{name}-operator", namespace, release=(namespace, name))),
        prometheuses=(*facts.prometheuses, *([found] if found else [])),
        grafanas=(*facts.grafanas, *([graph] if graph else [])),
        releases=(*facts.releases, Release(namespace=namespace, name=name, status="deployed", revision=1)),
        parents=(parent_in(namespace, record),),
    )
