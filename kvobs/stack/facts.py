"""What stands on the cluster, as far as an install cares: typed facts, made from live objects.

The adapter lists raw objects; the functions of this package turn them into these values, and the plan reads
nothing else. What is there is decided from live objects, never from Helm releases alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Object = Mapping[str, Any]
"""A Kubernetes object (or a part of one) as the API server sends it."""

Selector = Mapping[str, Any] | None
"""A LabelSelector; None selects nothing (or, for a namespace selector, the object's own namespace)."""


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Which object: kind with its group (`ServiceMonitor.monitoring.coreos.com`), namespace (or ""), name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.partition('.')[0]} {where}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prometheus:
    """One Prometheus object of the Prometheus Operator."""

    namespace: str
    name: str
    service_monitor_selector: Selector
    service_monitor_namespace_selector: Selector
    pod_monitor_selector: Selector
    pod_monitor_namespace_selector: Selector
    keeps_metrics: bool
    """Whether it stores on a volume that outlives the pod (`spec.storage`)."""
    release: tuple[str, str] | None
    """(namespace, name) of the Helm release that made it, by its annotations."""
    tracked_by: str | None
    """The GitOps tool that would undo changes, in words: `Argo CD application x`, `Flux HelmRelease ns/x`."""
    service: str | None = None
    """Name of the Service in front of it (port 9090), else None; `prometheus-operated` is the last resort."""
    service_port: str = "http-web"
    """Name (or number) of that Service's port."""
    route_prefix: str = ""
    """The path that all of its pages are under (`/prometheus`), without a slash at the end."""
    https: bool = False
    """Whether it speaks TLS itself (`spec.web.tlsConfig`)."""
    ignores_namespace_selectors: bool = False
    """`spec.ignoreNamespaceSelectors`: a monitor then reaches its own namespace only."""
    scrape_config_selector: Selector = None
    """By which it reads ScrapeConfigs; those of its own namespace, if by any, are taken to be read."""
    scrape_interval: str | None = None
    """`spec.scrapeInterval`, as written: how often it scrapes what names no interval of its own; None: not said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sidecar:
    """What Grafana's dashboard sidecar looks for."""

    label: str
    label_value: str | None
    """None: any value."""
    namespaces: tuple[str, ...] | None
    """None: all namespaces."""
    folder_annotation: str | None
    resource: str = "both"
    """What it reads: `configmap`, `secret` or `both`."""
    only_at_start: bool = False
    """Whether it ends before Grafana starts (an init container), so that later dashboards wait for a restart."""
    unique_names: bool = False
    """Whether it puts namespace and object into the names of its files, so that equal keys do not meet."""

    @property
    def selector(self) -> str:
        """The label selector that it lists by: a label of any value selects by being there."""
        return self.label if self.label_value is None else f"{self.label}={self.label_value}"

    def looks_into(self, kind: str) -> bool:
        """Whether it reads objects of a kind: `ConfigMap`, or `Secret`."""
        return self.resource in ("both", kind.lower())


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasourceFact:
    """One provisioned Grafana datasource."""

    uid: str | None
    name: str
    type: str
    url: str = field(repr=False)
    """Its address; may hold a password, hence in no repr."""
    is_default: bool
    where: str
    """The object it was read from, in words."""
    instances: Selector = None
    """For which Grafanas of the Grafana Operator it is, by their labels; None: it is no object of that operator."""
    time_interval: str | None = None
    """Its `timeInterval` (the scrape interval that Grafana is told of); None: not set, or not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grafana:
    """One Grafana: its workload, or its object of the Grafana Operator."""

    namespace: str
    name: str
    kind: str
    sidecar: Sidecar | None
    service: str | None
    service_port: str | int | None
    release: tuple[str, str] | None
    tracked_by: str | None
    admin_secret: str | None
    """Name of the Secret with the admin's password, as the workload names it."""
    admin_password_key: str = "admin-password"
    """The key of `admin_secret` that holds it."""
    admin_user: str | tuple[str, str] = "admin"
    """The admin's name; or the (Secret, key) that holds it."""
    datasources: tuple[DatasourceFact, ...] = ()
    operated: Mapping[str, str] | None = None
    """The labels of its object, where the Grafana Operator runs it: dashboards are objects then; None: it does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """An object that is only counted: an operator's Deployment, a PrometheusAgent, a VMAgent."""

    kind: str
    namespace: str
    name: str
    release: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicePort:
    """One port of a Service."""

    name: str | None
    port: int
    target: str | int
    """The container port's name or number (`targetPort`; the Service's own port when it is absent)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A Service, and which pods stand behind it by its selector."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    selector: Mapping[str, str]
    ports: tuple[ServicePort, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricsPod:
    """A pod that serves metrics kvobs wants: a vLLM server or a DCGM exporter."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    ports: Mapping[int, str | None]
    """Declared container ports: number -> name."""
    metrics_port: int | None
    """The port that serves /metrics, as far as the pod tells (arguments, probes, the only port)."""
    owner: str = ""
    """Name of the workload it belongs to (its Deployment, StatefulSet, …), else its own."""
    scheme: str = "http"
    """`https` where the server was given a certificate."""
    kind: str = ""
    """Which of the known packagings it is, where that matters: `gke`, `cloudwatch`."""
    asks_password: bool = False
    """Whether it gives its metrics to those only who know a password."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Monitor:
    """A ServiceMonitor or PodMonitor."""

    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    selector: Selector
    namespace_selector: Mapping[str, Any]
    endpoints: tuple[Object, ...]
    ours: bool
    """Whether it is a member of this install's ApplySet."""
    release: tuple[str, str] | None = None
    """(namespace, name) of the Helm release that made it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterPolicy:
    """The GPU Operator's ClusterPolicy, its DCGM monitor part."""

    name: str
    api_version: str
    exporter_enabled: bool
    monitor_enabled: bool | None
    """None: the field is not there."""
    additional_labels: Mapping[str, str]
    managers: Mapping[str, tuple[str, ...]]
    """Path below spec.dcgmExporter.serviceMonitor (`enabled`, `additionalLabels.x`) -> field managers."""
    release: tuple[str, str] | None
    interval: str | None = None
    """How often the operator's monitor is to scrape, as written; None: not said."""
    in_conflict: bool = False
    """Whether the GPU Operator does not carry it out, since there is a GPUCluster too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A Helm release, by the labels of its storage objects (their content is never read)."""

    namespace: str
    name: str
    status: str
    revision: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedDashboard:
    """A dashboard that a sidecar loads from a ConfigMap.

    Those in Secrets are not among them: `verify` reads them, and tells what they clash with.
    """

    uid: str | None
    title: str | None
    where: str
    """`namespace/configmap[key]`."""
    ours: bool
    """Whether its ConfigMap is a member of this install's ApplySet."""
    carrier: Ref | None = None
    """The object that it stands in."""
    applyset: str | None = None
    """ID of the ApplySet that this object is a member of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """One look at a cluster."""

    server_version: str
    kinds: frozenset[str]
    """Served kinds with their group: `Prometheus.monitoring.coreos.com`, `Service`."""
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Name -> labels."""
    terminating: Mapping[str, str] = field(default_factory=dict)
    """Namespace that is being deleted -> what holds it up, in Kubernetes' own words."""
    control_plane: str | None = None
    """The provider that runs the control plane (EKS, GKE, AKS); None: nobody whom we know."""
    operators: tuple[Workload, ...] = ()
    prometheuses: tuple[Prometheus, ...] = ()
    agents: tuple[Workload, ...] = ()
    """PrometheusAgent objects: they scrape and send on, and answer no query."""
    victoria_metrics: tuple[Workload, ...] = ()
    """What the VictoriaMetrics operator runs (VMAgent, VMSingle, VMCluster)."""
    grafanas: tuple[Grafana, ...] = ()
    services: tuple[Service, ...] = ()
    monitors: tuple[Monitor, ...] = ()
    vllm_pods: tuple[MetricsPod, ...] = ()
    dcgm_pods: tuple[MetricsPod, ...] = ()
    ray_pods: tuple[MetricsPod, ...] = ()
    """Pods of Ray that run vLLM inside Ray: their metrics have names of Ray's."""
    bystanders: tuple[MetricsPod, ...] = ()
    """Other pods in the namespaces of vLLM and DCGM pods: what a monitor for those must not find."""
    cluster_policies: tuple[ClusterPolicy, ...] = ()
    gpu_nodes: int = 0
    mig_nodes: int = 0
    """How many nodes slice their GPUs by MIG."""
    exporting_nodes: int = 0
    """How many nodes serve GPU metrics themselves, in no pod (AKS)."""
    releases: tuple[Release, ...] = ()
    dashboards: tuple[LoadedDashboard, ...] = ()
    parents: tuple[Object, ...] = ()
    """ApplySet parent ConfigMaps of kvobs, raw."""
    unasked: Mapping[str, str] = field(default_factory=dict)
    """What could not be asked (no right, no such kind served any more) -> why."""
