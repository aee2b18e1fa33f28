"""From the raw objects of one look to `Facts`: what stands on the cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..settings import DEFAULT_NAMESPACE, Settings
from .applyset import ID_LABEL, PARENT_NAME, TOOLING, applyset_id
from .control_plane import managed_by, terminating
from .exporters import cluster_policies, dcgm_pod, exporting_nodes, gpu_nodes, mig_nodes
from .facts import Facts, MetricsPod, Object, Prometheus, Release, Service, Workload
from .grafana import SidecarLabels, grafanas, loaded_dashboards, sidecar_labels
from .grafana_operator import (
    DASHBOARD_KIND,
    DATASOURCE_KIND,
    GRAFANA_KIND,
    operated_dashboards,
    operated_grafanas,
)
from .installs import meant_parent
from .objects import OURS, is_ours
from .provisioned import text_of
from .remembered import recalled, record_of
from .selectors import matches, parse_selector
from .servers import bystander, pod_behind, ray_pod, vllm_pod
from .targets import ENDPOINTS, monitor_of
from .workloads import (
    annotations_of,
    helm_release,
    labels_of,
    name_of,
    namespace_of,
    operators,
    selects_pod,
    services,
    sleeping_pods,
    tracked_by,
)

__all__ = ["SidecarLabels", "Snapshot", "facts", "sidecar_labels", "told_grafana"]

VICTORIA_METRICS = (
    "VMAgent.operator.victoriametrics.com",
    "VMSingle.operator.victoriametrics.com",
    "VMCluster.operator.victoriametrics.com",
)
"""What the VictoriaMetrics operator runs in Prometheus' place."""

_AGENT = "PrometheusAgent.monitoring.coreos.com"
_OPERATED = "prometheus-operated"
_WEB_PORT = 9090


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """The raw objects that one look read."""

    server_version: str
    kinds: frozenset[str]
    """Served kinds, with their group."""
    objects: Mapping[str, Sequence[Object]] = field(repr=False)
    """Kind with its group -> objects. Secrets are without their content, but for Grafana datasources."""
    unasked: Mapping[str, str] = field(default_factory=dict)
    """What could not be asked -> why."""


def facts(snapshot: Snapshot, *, settings: Settings) -> Facts:
    """Return what stands on the cluster.

    Of *settings*, only these count: the choice of vLLM servers, the Grafana that is named, the namespace of the install
    (members of its ApplySet are ours).
    """

    def listed(kind: str) -> Sequence[Object]:
        return snapshot.objects.get(kind, ())

    deployments, statefulsets = listed("Deployment.apps"), listed("StatefulSet.apps")
    pods, config_maps, secrets = listed("Pod"), listed("ConfigMap"), listed("Secret")
    unread: dict[str, str] = dict(snapshot.unasked)
    parents = tuple(each for each in config_maps if _is_parent(each))
    own_sets = _own_sets(parents, listed("Prometheus.monitoring.coreos.com"), settings)
    all_services = services(listed("Service"))
    found_grafanas = grafanas(
        deployments,
        statefulsets,
        raw_services=listed("Service"),
        services=all_services,
        config_maps=config_maps,
        secrets=secrets,
        unread=unread,
        told=told_grafana(parents, settings),
    )
    found_grafanas = operated_grafanas(
        found_grafanas,
        raw_workloads=[*deployments, *statefulsets],
        instances=listed(GRAFANA_KIND),
        datasources=listed(DATASOURCE_KIND),
    )
    sidecars = [each.sidecar for each in found_grafanas if each.sidecar is not None]
    everyone = [*pods, *sleeping_pods([*deployments, *statefulsets], pods)]
    told = recalled(settings, record_of(parents, settings.namespace))
    vllm_pods = tuple(_vllm_pods(everyone, all_services, told))
    dcgm_pods = tuple(pod for pod in map(dcgm_pod, pods) if pod is not None)
    return Facts(
        server_version=snapshot.server_version,
        kinds=snapshot.kinds,
        namespaces={name_of(each): labels_of(each) for each in listed("Namespace")},
        terminating=terminating(listed("Namespace")),
        control_plane=managed_by(snapshot.server_version, listed("Node")),
        operators=operators(deployments),
        prometheuses=tuple(
            _prometheus(each, all_services, pods) for each in listed("Prometheus.monitoring.coreos.com")
        ),
        agents=tuple(map(_counted, listed(_AGENT))),
        victoria_metrics=tuple(_counted(each) for kind in VICTORIA_METRICS for each in listed(kind)),
        grafanas=found_grafanas,
        services=all_services,
        monitors=tuple(
            monitor_of(each, kind, ours=is_ours(each, own_sets))
            for kind in ENDPOINTS
            for each in listed(f"{kind}.monitoring.coreos.com")
        ),
        vllm_pods=vllm_pods,
        dcgm_pods=dcgm_pods,
        ray_pods=tuple(pod for pod in map(ray_pod, everyone) if pod is not None),
        bystanders=tuple(_bystanders(everyone, (*vllm_pods, *dcgm_pods))),
        cluster_policies=cluster_policies(listed("ClusterPolicy.nvidia.com")),
        gpu_nodes=gpu_nodes(listed("Node")),
        mig_nodes=mig_nodes(listed("Node")),
        exporting_nodes=exporting_nodes(listed("Node")),
        releases=_releases(secrets),
        dashboards=(
            *loaded_dashboards(sidecars, config_maps, own_sets=own_sets),
            *operated_dashboards(listed(DASHBOARD_KIND), own_sets=own_sets),
        ),
        parents=parents,
        unasked=unread,
    )


def selected_services(services: Iterable[Service], settings: Settings) -> tuple[Service, ...]:
    """The Services that the user named as those in front of vLLM; none where no selector was given."""
    if settings.vllm_selector is None:
        return ()
    selector = parse_selector(settings.vllm_selector)
    return tuple(
        each
        for each in services
        if matches(selector, each.labels) and settings.vllm_namespace in (None, each.namespace)
    )


def _vllm_pods(pods: Iterable[Object], services: Sequence[Service], settings: Settings) -> Iterator[MetricsPod]:
    named = selected_services(services, settings)
    for each in pods:
        if settings.vllm_namespace not in (None, namespace_of(each)):
            continue
        if settings.vllm_selector is None:
            pod = vllm_pod(each)
        else:
            behind = next((s for s in named if selects_pod(s, namespace_of(each), labels_of(each))), None)
            pod = pod_behind(each) if behind else None
        if pod is not None:
            yield pod


def _bystanders(pods: Iterable[Object], wanted: Sequence[MetricsPod]) -> Iterator[MetricsPod]:
    """The other pods in the namespaces of those that are *wanted*: a monitor for these could find them."""
    known = {(pod.namespace, pod.name) for pod in wanted}
    places = {pod.namespace for pod in wanted}
    for each in pods:
        if namespace_of(each) in places and (namespace_of(each), name_of(each)) not in known:
            pod = bystander(each)
            if pod is not None:
                yield pod


def _counted(each: Object) -> Workload:
    return Workload(
        kind=str(each["kind"]), namespace=namespace_of(each), name=name_of(each), release=helm_release(each)
    )


def _prometheus(each: Object, all_services: Sequence[Service], pods: Sequence[Object]) -> Prometheus:
    spec = each.get("spec") or {}
    service, port = _service_of(each, all_services, pods)
    return Prometheus(
        namespace=namespace_of(each),
        name=name_of(each),
        service_monitor_selector=spec.get("serviceMonitorSelector"),
        service_monitor_namespace_selector=spec.get("serviceMonitorNamespaceSelector"),
        pod_monitor_selector=spec.get("podMonitorSelector"),
        pod_monitor_namespace_selector=spec.get("podMonitorNamespaceSelector"),
        keeps_metrics=bool((spec.get("storage") or {}).get("volumeClaimTemplate")),
        release=helm_release(each),
        tracked_by=tracked_by(each),
        service=service,
        service_port=port,
        route_prefix=str(spec.get("routePrefix") or "").rstrip("/"),
        https=bool((spec.get("web") or {}).get("tlsConfig")),
        ignores_namespace_selectors=spec.get("ignoreNamespaceSelectors") is True,
        scrape_config_selector=spec.get("scrapeConfigSelector"),
        scrape_interval=text_of(spec.get("scrapeInterval")),
    )


def _service_of(each: Object, all_services: Sequence[Service], pods: Sequence[Object]) -> tuple[str | None, str]:
    """The Service in front of a Prometheus object, and the name (or number) of its web port.

    By its selector onto the labels that the operator gives the pods; the operator's own headless Service,
    which all Prometheus objects of a namespace share, comes last.
    """
    namespace, name = namespace_of(each), name_of(each)
    spec = each.get("spec") or {}
    labels = {
        **((spec.get("podMetadata") or {}).get("labels") or {}),
        "app.kubernetes.io/managed-by": "prometheus-operator",
        "app.kubernetes.io/name": "prometheus",
        "app.kubernetes.io/instance": name,
        "operator.prometheus.io/name": name,
        "operator.prometheus.io/shard": "0",
        "prometheus": name,
    }
    live = [
        labels_of(pod)
        for pod in pods
        if namespace_of(pod) == namespace and labels_of(pod).get("operator.prometheus.io/name") == name
    ]
    web = (spec.get("portName") or "web", _WEB_PORT)
    operated: tuple[str | None, str] = (None, "http-web")
    for service in sorted(all_services, key=lambda s: s.name):
        if not any(selects_pod(service, namespace, known) for known in (labels, *live)):
            continue
        port = next((p for p in service.ports if p.target in web or p.name == web[0]), None)
        # Rancher puts a proxy of its own between the two.
        port = port or next((p for p in service.ports if p.port == _WEB_PORT), None)
        if port is None:
            continue
        found = service.name, port.name or str(port.port)
        if service.name != _OPERATED:
            return found
        operated = found
    return operated


def told_grafana(config_maps: Iterable[Object], settings: Settings) -> str | None:
    """NAMESPACE/NAME of the workload that is Grafana because the user says so, in this run or in an earlier one.

    The earlier ones' word is in the parent among *config_maps*; raises `ActionError` where its record is damaged.
    """
    told = settings.grafana
    if told is None:
        parents = [each for each in config_maps if _is_parent(each)]
        told = record_of(parents, settings.namespace).settings.get("grafana")
    return None if told == "none" else told


def _own_sets(parents: Sequence[Object], prometheuses: Iterable[Object], settings: Settings) -> frozenset[str]:
    """The ID of this install's ApplySet; without a parent (somebody deleted it), those that it could have."""
    meant = meant_parent(parents, settings.namespace)
    known = [meant] if meant is not None else parents
    namespaces = {settings.namespace} if settings.namespace else {namespace_of(each) for each in known}
    namespaces = namespaces or {DEFAULT_NAMESPACE, *(namespace_of(each) for each in prometheuses)}
    return frozenset(applyset_id(PARENT_NAME, each) for each in namespaces)


def _releases(secrets: Iterable[Object]) -> tuple[Release, ...]:
    """The newest revision of each Helm release, by the labels of its storage objects."""
    newest: dict[tuple[str, str], Release] = {}
    for each in secrets:
        labels = labels_of(each)
        version = labels.get("version", "")
        if labels.get("owner") != "helm" or not labels.get("name") or not version.isdecimal():
            continue
        key = (namespace_of(each), labels["name"])
        if key not in newest or newest[key].revision < int(version):
            newest[key] = Release(namespace=key[0], name=key[1], status=labels.get("status", ""), revision=int(version))
    return tuple(newest[key] for key in sorted(newest))


def _is_parent(each: Object) -> bool:
    return ID_LABEL in labels_of(each) and annotations_of(each).get(TOOLING, "").startswith(f"{OURS}/")
