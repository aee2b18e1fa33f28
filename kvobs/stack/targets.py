"""Which monitor scrapes what: resolved as the Prometheus Operator and Kubernetes' service discovery do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from .facts import Facts, MetricsPod, Monitor, Object, Prometheus, Selector, Service, ServicePort
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


def targets(monitor: Monitor, facts: Facts) -> frozenset[Target]:
    """Return the metrics targets of *facts* that *monitor* finds, be it selected by a Prometheus or not.

    An endpoint of another path than /metrics finds none. What relabelings drop cannot be seen from here.
    """
    if monitor.kind == "PodMonitor":
        return frozenset(_of_pods(monitor, facts))
    return frozenset(_of_services(monitor, facts))


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


def pods_behind(service: Service, pods: Iterable[MetricsPod]) -> list[MetricsPod]:
    """The *pods* behind *service*."""
    return [pod for pod in pods if selects_pod(service, pod.namespace, pod.labels)]


def reaches(monitor: Monitor, namespace: str) -> bool:
    """Whether the monitor's own namespace selector takes objects of *namespace*."""
    chosen = monitor.namespace_selector
    if chosen.get("any"):
        return True
    return namespace in (chosen.get("matchNames") or (monitor.namespace,))


def _everyone(facts: Facts) -> Iterator[MetricsPod]:
    yield from facts.vllm_pods
    yield from facts.dcgm_pods


def _of_services(monitor: Monitor, facts: Facts) -> Iterator[Target]:
    everyone = list(_everyone(facts))
    for service in facts.services:
        if not (reaches(monitor, service.namespace) and matches(monitor.selector, service.labels)):
            continue
        for pod in pods_behind(service, everyone):
            for endpoint in filter(_asks_for_metrics, monitor.endpoints):
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


def _of_pods(monitor: Monitor, facts: Facts) -> Iterator[Target]:
    for pod in _everyone(facts):
        if not (reaches(monitor, pod.namespace) and matches(monitor.selector, pod.labels)):
            continue
        for endpoint in filter(_asks_for_metrics, monitor.endpoints):
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


def _asks_for_metrics(endpoint: Object) -> bool:
    return str(endpoint.get("path") or "/metrics").strip("/") == "metrics"


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
