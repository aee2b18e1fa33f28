"""A monitor that selects a server, and asks for a port that is not there or serves no metrics. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..stack.facts import Facts, MetricsPod, Monitor, Object, Service, ServicePort
from ..stack.selectors import matches
from ..stack.targets import ENDPOINTS, container_port, in_words, metrics_endpoints, pods_behind, reached, reaches
from .causes import found
from .scrape_kinds import ServerKind
from .verdict import Finding


def no_such_port(kind: ServerKind, monitor: Monitor, facts: Facts, pods: Sequence[MetricsPod]) -> Finding:
    """The finding for a monitor that selects *pods* and finds none of their metrics through its endpoints."""
    name = f"{monitor.kind} {monitor.namespace}/{monitor.name}"
    asked = [_asked(each) for each in monitor.endpoints] or ["no port at all"]
    services = _services(monitor, facts, pods)
    has = [f"Service {each.namespace}/{each.name} has {_ports(each)}" for each in services]
    has = has or [f"pod {each.namespace}/{each.name} declares {_declared(each)}" for each in pods[:1]]
    return found(
        "KVO-404",
        subject=name,
        said=f"{name} selects {kind.what} {in_words(pods)} and asks for {' and '.join(asked)}:"
        f" {_why(monitor, facts, pods)}",
        fix="\n".join(_fixes(monitor, services, pods)),
        evidence=tuple(has),
    )


def _why(monitor: Monitor, facts: Facts, pods: Sequence[MetricsPod]) -> str:
    if monitor.endpoints and not metrics_endpoints(monitor):
        return "none of its endpoints asks for the path /metrics"
    if not reached(monitor, facts, pods):
        return "there is no such port"
    serving = sorted({str(pod.metrics_port) for pod in pods if pod.metrics_port})
    return f"the metrics are on {' and '.join(serving) or 'another one'}"


def _services(monitor: Monitor, facts: Facts, pods: Sequence[MetricsPod]) -> list[Service]:
    if monitor.kind == "PodMonitor":
        return []
    return [
        each
        for each in facts.services
        if reaches(monitor, each.namespace) and matches(monitor.selector, each.labels) and pods_behind(each, pods)
    ]


def _fixes(monitor: Monitor, services: Sequence[Service], pods: Sequence[MetricsPod]) -> Iterator[str]:
    if monitor.ours:
        yield "kvobs install"
        return
    at = f"kubectl -n {monitor.namespace} patch {monitor.kind.lower()} {monitor.name} --type json -p"
    path = f"/spec/{ENDPOINTS[monitor.kind]}/0/port"
    port = _metrics_port(services, pods)
    if isinstance(port, ServicePort) and port.name is None:
        service = services[0]
        number = service.ports.index(port)
        name = next((str(each["port"]) for each in monitor.endpoints if each.get("port")), "metrics")
        patch = [{"op": "add", "path": f"/spec/ports/{number}/name", "value": name}]
        yield f"kubectl -n {service.namespace} patch service {service.name} --type json -p '{json.dumps(patch)}'"
    elif port is not None:
        value = port.name if isinstance(port, ServicePort) else port
        yield f"{at} '{json.dumps([{'op': 'add', 'path': path, 'value': value}])}'"
    yield "kvobs install   # adds a monitor of its own beside it"


def _metrics_port(services: Sequence[Service], pods: Sequence[MetricsPod]) -> ServicePort | str | None:
    """The Service's port that leads to the metrics, or the name of the pod's; None where there is none."""
    for pod in pods:
        for service in services[:1]:
            for port in service.ports:
                if pod.metrics_port is not None and container_port(port, pod) == pod.metrics_port:
                    return port
        if not services and pod.metrics_port in pod.ports:
            return pod.ports[pod.metrics_port] if pod.metrics_port is not None else None
    return None


def _asked(endpoint: Object) -> str:
    path = str(endpoint.get("path") or "/metrics")
    beyond = "" if path.strip("/") == "metrics" else f" and path {path}"
    if endpoint.get("port"):
        return f"a port called {endpoint['port']}{beyond}"
    number = endpoint.get("portNumber") or endpoint.get("targetPort")
    return (f"container port {number}" if number else "any port") + beyond


def _ports(service: Service) -> str:
    return ", ".join(f"{port.name or 'without a name'} ({port.port} to {port.target})" for port in service.ports)


def _declared(pod: MetricsPod) -> str:
    return ", ".join(f"{number} ({name or 'without a name'})" for number, name in pod.ports.items()) or "no port"
