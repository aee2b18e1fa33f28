"""Which monitor scrapes what: resolved as the Prometheus Operator and Kubernetes' service discovery do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .facts import Facts, MetricsPod, Monitor, Object, Prometheus, Selector, Service, ServicePort
from .relabel import keeps_any
from .selectors import matches, selects_namespace
from .workloads import helm_release, labels_of, name_of, namespace_of, selects_pod

ENDPOINTS = {"ServiceMonitor": "endpoints", "PodMonitor": "podMetricsEndpoints"}
"""Kind of monitor -> the key of its endpoints."""

Target = tuple[str, int]
"""What is scraped: `namespace/pod` and the port's number."""


def monitor_of(each: Object, kind: str, *, ours: bool) -> Monitor:
    """Return a raw ServiceMonitor or PodMonitor as a fact."""
    spec = each.get("spec") or {}
    return Monitor(
        kind=kind,
        namespace=namespace_of(each),
        name=name_of(each),
        labels=labels_of(each),
        selector=spec.get("selector") or {},
        namespace_selector=spec.get("namespaceSelector") or {},
        endpoints=tuple(spec.get(ENDPOINTS[kind]) or ()),
        ours=ours,
        release=helm_release(each),
    )


def target_of(pod: MetricsPod, port: int) -> Target:
    """The target that a port of a pod is."""
    return f"{pod.namespace}/{pod.name}", port


VLLM_METRICS = (
    *("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:generation_tokens_total"),
    *("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "vllm:time_to_first_token_seconds_bucket"),
)
DCGM_METRICS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE")
"""Metrics that the dashboards stand on: a monitor that gives none of them under its name does not serve these."""


def targets(monitor: Monitor, facts: Facts) -> frozenset[Target]:
    """Return the metrics targets of *facts* that *monitor* finds, be it selected by a Prometheus or not.

    An endpoint of another path than /metrics finds none, nor does one that renames the metrics or drops them. What
    relabelings drop cannot be seen from here.
    """
    asked = metrics_endpoints(monitor)
    found: set[Target] = set()
    for pods, names in ((facts.vllm_pods, VLLM_METRICS), (facts.dcgm_pods, DCGM_METRICS)):
        found.update(_found(monitor, facts.services, pods, [each for each in asked if keeps_any(names, each)]))
    return frozenset(found)


def reached(monitor: Monitor, facts: Facts, pods: Iterable[MetricsPod]) -> frozenset[Target]:
    """Return the targets among *pods* that *monitor* finds, whatever becomes of their metrics."""
    return frozenset(_found(monitor, facts.services, pods, metrics_endpoints(monitor)))


def _found(
    monitor: Monitor, services: Iterable[Service], pods: Iterable[MetricsPod], endpoints: Sequence[Object]
) -> Iterator[Target]:
    if monitor.kind == "PodMonitor":
        return _of_pods(monitor, pods, endpoints)
    return _of_services(monitor, services, list(pods), endpoints)


def aimed_at(monitor: Monitor, facts: Facts, pods: Iterable[MetricsPod]) -> list[MetricsPod]:
    """The *pods* that *monitor* selects, by themselves or through a Service, whatever its endpoints find of them."""
    if monitor.kind == "PodMonitor":
        return [pod for pod in pods if reaches(monitor, pod.namespace) and matches(monitor.selector, pod.labels)]
    chosen = [s for s in facts.services if reaches(monitor, s.namespace) and matches(monitor.selector, s.labels)]
    return [pod for pod in pods if any(pods_behind(each, (pod,)) for each in chosen)]


def selected(prometheus: Prometheus, monitor: Monitor, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether *prometheus* reads *monitor*: by its labels, and by the labels of its namespace."""
    selector, namespace_selector = selectors_of(prometheus, monitor.kind)
    return matches(selector, monitor.labels) and selects_namespace(
        namespace_selector,
        own=prometheus.namespace,
        namespace=monitor.namespace,
        labels=namespaces.get(monitor.namespace, {}),
    )


def selectors_of(prometheus: Prometheus, kind: str) -> tuple[Selector, Selector]:
    """(selector, namespace selector) by which *prometheus* reads monitors of *kind*."""
    if kind == "PodMonitor":
        return prometheus.pod_monitor_selector, prometheus.pod_monitor_namespace_selector
    return prometheus.service_monitor_selector, prometheus.service_monitor_namespace_selector


def container_port(port: ServicePort, pod: MetricsPod) -> int | None:
    """The pod's port that a Service's port leads to; None where the pod declares no port of that name."""
    if isinstance(port.target, int):
        return port.target
    return next((number for number, name in pod.ports.items() if name == port.target), None)


def in_words(pods: Iterable[MetricsPod]) -> str:
    """The workloads that *pods* belong to."""
    return ", ".join(sorted({f"{pod.namespace}/{pod.owner or pod.name}" for pod in pods}))


def pods_behind(service: Service, pods: Iterable[MetricsPod]) -> list[MetricsPod]:
    """The *pods* behind *service*."""
    return [pod for pod in pods if selects_pod(service, pod.namespace, pod.labels)]


def reaches(monitor: Monitor, namespace: str) -> bool:
    """Whether the monitor's own namespace selector takes objects of *namespace*."""
    chosen = monitor.namespace_selector
    if chosen.get("any"):
        return True
    return namespace in (chosen.get("matchNames") or (monitor.namespace,))


def _of_services(
    monitor: Monitor, services: Iterable[Service], pods: Sequence[MetricsPod], endpoints: Sequence[Object]
) -> Iterator[Target]:
    for service in services if endpoints else ():
        if not (reaches(monitor, service.namespace) and matches(monitor.selector, service.labels)):
            continue
        for pod in pods_behind(service, pods):
            for endpoint in endpoints:
                yield from (target_of(pod, port) for port in _service_endpoint(endpoint, service, pod))


def _service_endpoint(endpoint: Object, service: Service, pod: MetricsPod) -> Iterator[int]:
    """Ports of *pod* that an endpoint takes: a named Service port, a declared container port, or all."""
    name, target = endpoint.get("port"), endpoint.get("targetPort")
    if name or not target:
        for port in service.ports:
            number = container_port(port, pod)
            if number is not None and name in (None, "", port.name):
                yield number
    if not name:
        yield from _declared(pod, target)


def _of_pods(monitor: Monitor, pods: Iterable[MetricsPod], endpoints: Sequence[Object]) -> Iterator[Target]:
    for pod in pods if endpoints else ():
        if not (reaches(monitor, pod.namespace) and matches(monitor.selector, pod.labels)):
            continue
        for endpoint in endpoints:
            wanted = endpoint.get("port") or endpoint.get("portNumber") or endpoint.get("targetPort")
            rewritten = rewritten_port(endpoint) if not wanted else None
            ports = iter((rewritten,)) if rewritten is not None else _declared(pod, wanted)
            yield from (target_of(pod, port) for port in ports)


def _declared(pod: MetricsPod, wanted: str | int | None) -> Iterator[int]:
    """The container ports that *pod* declares under that name or number; all where none is *wanted*."""
    for number, name in pod.ports.items():
        if not wanted or wanted in (name, number):
            yield number


PORT_VARIABLE = "__tmp_kvobs_port"
"""The temporary label in which kvobs' PodMonitor writes the port, for pods that declare none."""


def rewritten_port(endpoint: Object) -> int | None:
    """The port number that kvobs' own relabelings write into the address, None where an endpoint has none."""
    for step in endpoint.get("relabelings") or ():
        if step.get("targetLabel") == PORT_VARIABLE and not step.get("sourceLabels"):
            text = str(step.get("replacement", ""))
            return int(text) if text.isdecimal() else None
    return None


def metrics_endpoints(monitor: Monitor) -> list[Object]:
    """The endpoints that ask for /metrics."""
    return [each for each in monitor.endpoints if str(each.get("path") or "/metrics").strip("/") == "metrics"]


def covered(
    monitors: Iterable[Monitor], facts: Facts, wanted: Iterable[Target], keep: Callable[[Monitor], bool]
) -> dict[Target, Monitor]:
    """Which of the *wanted* targets are found by which of the *monitors* that *keep* takes."""
    found: dict[Target, Monitor] = {}
    chosen = sorted(filter(keep, monitors), key=lambda m: (m.kind, m.namespace, m.name))
    wanted = frozenset(wanted)
    for monitor in chosen:
        for target in sorted(targets(monitor, facts) & wanted):
            found.setdefault(target, monitor)
    return found
