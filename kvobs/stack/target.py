"""What a choice ends in: the Prometheus, the Grafana and the release that a plan is made for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .facts import Grafana, Prometheus, Sidecar
from .notes import Note
from .record import Record

PROMETHEUS_KIND = "Prometheus.monitoring.coreos.com"


@dataclass(frozen=True, kw_only=True, slots=True)
class DesiredRelease:
    """The Helm release that kvobs makes and keeps."""

    namespace: str
    name: str
    chart: str
    version: str | None
    """None: whatever version the chart at that place has."""
    values: Mapping[str, Any] = field(repr=False)
    """The user's values over kvobs' own; may hold secrets of the user, hence in no repr."""
    set_integers: tuple[str, ...] = field(default=(), repr=False)
    """Those of the user's `--set` that Helm has to read itself (`stack.values.set_integers`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What monitors and dashboards are made for."""

    namespace: str
    """Where kvobs' own objects go."""
    prometheus: Prometheus
    grafana: Grafana | None
    """None: not there yet, or none wanted."""
    sidecar: Sidecar | None
    """None: no ConfigMap is loaded."""
    datasources: Mapping[str, tuple[str, str | None]]
    """Datasource type -> (UID, name): what references of that type are patched to."""
    known: tuple[Mapping[str, Any], ...] | None
    """The datasources of the live Grafana as `patch_dashboard` wants them; None: unknown."""
    release: DesiredRelease | None
    """Our own release, where the stack is (or becomes) ours."""
    admin_secret: str | None
    """Name of the Secret with Grafana's administrator that kvobs makes; None where somebody else takes care."""
    live: bool
    """Whether `prometheus` was seen, or is what the chart will make."""
    record: Record
    instances: Mapping[str, Any] | None = None
    """By which labels a GrafanaDashboard finds `grafana`, where the Grafana Operator runs it; None: it does not, or a
    sidecar loads ConfigMaps all the same."""
    beside: str | None = None
    """Namespace of the install whose dashboards and GPU metrics this one keeps to; None: it does the whole job."""
    notes: tuple[Note, ...] = ()

    @property
    def places(self) -> frozenset[str]:
        """The namespaces of the stack: the chart can put its own objects and Grafana elsewhere (namespaceOverride)."""
        parts = (self.release, self.prometheus, self.grafana)
        return frozenset(each.namespace for each in parts if each is not None)
