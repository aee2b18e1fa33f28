"""Look at a cluster once, read only: what an install, a status or an uninstall needs to know.

About twenty requests, none of which reads a Secret's content but for Grafana datasources, which live in Secrets
on some clusters. What may not be asked is a fact of its own (`Facts.unasked`), never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ..adapters.discovery import Discovery
from ..adapters.grafana import with_live_datasources
from ..errors import Forbidden
from ..settings import DEFAULT_NAMESPACE, Settings
from ..stack.applyset import ID_LABEL, PARENT_NAME
from ..stack.facts import Facts, Object, Ref
from ..stack.grafana_operator import DASHBOARD_KIND, DATASOURCE_KIND, GRAFANA_KIND
from ..stack.recognise import VICTORIA_METRICS, Snapshot, facts, sidecar_labels, told_grafana


class ReadCluster(Protocol):
    """What a look needs of an API server."""

    def server_version(self) -> str: ...

    def discover(self) -> Discovery: ...

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        metadata_only: bool = False,
    ) -> list[Object]: ...

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]: ...


WHOLE = (
    "Namespace",
    "Node",
    "Service",
    "Pod",
    "Deployment.apps",
    "StatefulSet.apps",
    "Prometheus.monitoring.coreos.com",
    "ServiceMonitor.monitoring.coreos.com",
    "PodMonitor.monitoring.coreos.com",
    "PrometheusAgent.monitoring.coreos.com",
    *VICTORIA_METRICS,
    GRAFANA_KIND,
    DATASOURCE_KIND,
    DASHBOARD_KIND,
    "ClusterPolicy.nvidia.com",
)
"""Kinds that are listed as they are, in all namespaces."""


def look(cluster: ReadCluster, settings: Settings) -> Facts:
    """Return the facts of *cluster*. Raises `Unanswered` where the API server cannot be asked at all."""
    version = cluster.server_version()
    served = cluster.discover()
    kinds = frozenset(served.kinds)
    objects: dict[str, Sequence[Object]] = {}
    unasked: dict[str, str] = {}

    def ask(kind: str, labels: str | None = None, *, metadata_only: bool = False) -> list[Object]:
        try:
            return cluster.list(kind, labels=labels, metadata_only=metadata_only)
        except Forbidden as error:
            unasked[kind] = str(error)
            return []

    def fetch(kind: str, name: str, namespace: str | None) -> Object | None:
        try:
            return cluster.get(kind, name, namespace)
        except Forbidden as error:
            unasked[str(Ref(kind, namespace or "", name))] = str(error)
            return None

    for kind in WHOLE:
        if kind in kinds:
            objects[kind] = ask(kind)

    config_maps: dict[tuple[str, str], Object] = {}
    secrets: dict[tuple[str, str], Object] = {}

    def add_config_maps(*selectors: str) -> None:
        for selector in selectors:
            for each in ask("ConfigMap", selector):
                config_maps[each["metadata"]["namespace"], each["metadata"]["name"]] = each

    add_config_maps(ID_LABEL)
    home = settings.namespace or DEFAULT_NAMESPACE
    # Who may not list everything may still be allowed to read what matters most.
    if "ConfigMap" in unasked and (parent := fetch("ConfigMap", PARENT_NAME, home)) is not None:
        config_maps[home, PARENT_NAME] = parent
    if "Namespace" in unasked and (own := fetch("Namespace", home, None)) is not None:
        objects["Namespace"] = [own]
    labels = sidecar_labels(
        objects.get("Deployment.apps", ()),
        objects.get("StatefulSet.apps", ()),
        told=told_grafana(config_maps.values(), settings),
    )
    add_config_maps(*labels.dashboards, *labels.datasources)
    for each in ask("Secret", "owner=helm", metadata_only=True):
        secrets[each["metadata"]["namespace"], each["metadata"]["name"]] = each
    for selector in labels.datasources:
        for each in ask("Secret", selector):
            secrets[each["metadata"]["namespace"], each["metadata"]["name"]] = each
    for kind, namespace, name in labels.mounted:
        found = fetch(kind, name, namespace)
        if found is not None:
            (secrets if kind == "Secret" else config_maps)[namespace, name] = found
    objects["ConfigMap"] = list(config_maps.values())
    objects["Secret"] = list(secrets.values())
    seen = facts(Snapshot(server_version=version, kinds=kinds, objects=objects, unasked=unasked), settings=settings)
    return replace(seen, grafanas=tuple(with_live_datasources(cluster, each) for each in seen.grafanas))
