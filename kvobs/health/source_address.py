"""Whether a data source's address can be right, as Grafana's pod sees it: its Service, its port. Pure."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from ..dashboard.origins import shown
from ..stack.facts import DatasourceFact, Facts, Grafana, Prometheus, Service
from .causes import found
from .verdict import Finding

_CLUSTER_DOMAINS = ("", "svc", "svc.cluster.local")
_PORTS = {"http": 80, "https": 443}


def unreachable(
    source: DatasourceFact, grafana: Grafana, prometheus: Prometheus | None, facts: Facts
) -> Finding | None:
    """Return why no query of *source* arrives; None where its address is right, is elsewhere, or is not known."""
    if not source.url or "$" in source.url:
        return None
    try:
        host = (urlsplit(source.url).hostname or "").rstrip(".")
    except ValueError:
        return _found(source, "has an address that cannot be read", prometheus, "it is not a URL")
    if _is_itself(host):
        return _found(source, "leads to Grafana's own pod, and no Prometheus is in it", prometheus, f"host {host}")
    name, _, rest = host.partition(".")
    namespace, _, domain = rest.partition(".")
    is_elsewhere = not host or _is_address(host) or domain not in _CLUSTER_DOMAINS
    # a.b may be a Service and its namespace, or a host of somebody's own network.
    if is_elsewhere or "Service" in facts.unasked or (rest and not domain and namespace not in facts.namespaces):
        return None
    namespace = namespace or grafana.namespace
    service = next((each for each in facts.services if (each.namespace, each.name) == (namespace, name)), None)
    return (
        _no_service(source, name, namespace, prometheus) if service is None else _no_port(source, service, prometheus)
    )


def refused_by_health(source: DatasourceFact, said: str, prometheus: Prometheus | None) -> Finding:
    """The finding for a source that Grafana itself has tried in vain, in its words."""
    return _found(source, f"does not answer Grafana: {said}", prometheus, "Grafana's own test of the data source")


def _no_service(source: DatasourceFact, name: str, namespace: str, prometheus: Prometheus | None) -> Finding:
    return _found(
        source,
        f"leads to Service {namespace}/{name}, which is not there",
        prometheus,
        f"no Service {name} in namespace {namespace}",
    )


def _no_port(source: DatasourceFact, service: Service, prometheus: Prometheus | None) -> Finding | None:
    parts = urlsplit(source.url)
    try:
        wanted = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        wanted = None
    has = [port.port for port in service.ports]
    # A headless Service, as the operator's own, leads to any port of its pods.
    if wanted is None or wanted in has or not has or service.name.endswith("-operated"):
        return None
    return _found(
        source,
        f"asks port {wanted} of Service {service.namespace}/{service.name}, which has {' and '.join(map(str, has))}",
        prometheus,
        f"ports of the Service: {', '.join(map(str, has))}",
    )


def _found(source: DatasourceFact, why: str, prometheus: Prometheus | None, evidence: str) -> Finding:
    right = None
    if prometheus is not None and prometheus.service is not None:
        scheme = "https" if prometheus.https else "http"
        right = f"{scheme}://{prometheus.service}.{prometheus.namespace}:9090{prometheus.route_prefix}"
    return found(
        "KVO-204",
        subject=f"{source.name} ({source.uid})",
        said=f"data source {source.name} ({source.uid}) {why}" + (f": {shown(source.url)}" if source.url else ""),
        fix=f"set its url to {right} in {source.where}" if right else f"correct its url in {source.where}",
        evidence=(evidence,),
    )


def _is_itself(host: str) -> bool:
    if host.rstrip(".") == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
