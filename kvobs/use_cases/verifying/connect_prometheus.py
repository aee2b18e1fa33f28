"""The Prometheus that a run is told of: at an address, else the cluster's own, by the way that is open."""

from __future__ import annotations

from collections.abc import Mapping

from ...adapters.cluster import Cluster
from ...adapters.prometheus import IN_FLIGHT, Address, Prometheus
from ...adapters.prometheus_credentials import login, token_reader
from ...adapters.prometheus_either import EitherWay
from ...adapters.prometheus_forwarded import OverPod
from ...adapters.prometheus_proxied import OverCluster
from ...adapters.prometheus_transport import Transport
from ...errors import Forbidden, Unanswered, UsageError
from ...settings import Reach as Reach
from ...stack import facts
from ...stack.prometheus_pods import FORWARD, PodPort, pod_labels, ready_pod


def connect_prometheus(
    reach: Reach,
    environ: Mapping[str, str],
    *,
    cluster: Cluster | None = None,
    prometheus: facts.Prometheus | None = None,
) -> Prometheus:
    """Return the Prometheus to ask; nothing is asked yet.

    That of the cluster is asked through the API server's proxy for Services, unless *reach* says otherwise; by a
    port-forward to one of its pods where it has no Service, where the right to that proxy turns out to be missing, or
    where it turns out to want credentials and there are some.

    UsageError says what is wrong with the address, a file or the credentials, `Unanswered` that the cluster's has no
    Service in front of it, where it is to be asked through one.
    """
    if reach.url is not None:
        address = _address(reach, environ, reach.url)
        return Prometheus.at(address, timeout_s=reach.timeout_s, patience_s=reach.patience_s)
    if cluster is None or prometheus is None:
        raise UsageError("there is no Prometheus to ask", hint="name one: --prometheus http://HOST:9090")
    way = _way(reach, environ, cluster, prometheus)
    return Prometheus(way, timeout_s=reach.timeout_s, patience_s=reach.patience_s)


def _way(reach: Reach, environ: Mapping[str, str], cluster: Cluster, prometheus: facts.Prometheus) -> Transport:
    proxied = _proxied(cluster, prometheus)
    if reach.way == "proxy":
        if proxied is None:
            raise Unanswered(
                f"Prometheus {prometheus.namespace}/{prometheus.name} has no Service to be asked through",
                hint="leave --reach out: it is then asked by a port-forward to one of its pods",
            )
        return proxied
    credentials = _address(reach, environ, "")
    forwarded = _forwarded(cluster, prometheus, credentials)
    if proxied is None or reach.way == "port-forward":
        return forwarded
    given = (credentials.read_token, credentials.user, credentials.tenant)
    return EitherWay(proxied, forwarded, credentials=any(each is not None for each in given))


def _proxied(cluster: Cluster, prometheus: facts.Prometheus) -> OverCluster | None:
    if prometheus.service is None:
        return None
    return OverCluster(
        cluster.services,
        namespace=prometheus.namespace,
        service=prometheus.service,
        port=prometheus.service_port,
        prefix=prometheus.route_prefix,
        https=prometheus.https,
    )


def _forwarded(cluster: Cluster, prometheus: facts.Prometheus, credentials: Address) -> OverPod:
    return OverPod(
        cluster.pods,
        lambda: _choose(cluster, prometheus),
        namespace=prometheus.namespace,
        name=prometheus.name,
        credentials=credentials,
        prefix=prometheus.route_prefix,
        https=prometheus.https,
        connections=IN_FLIGHT,
    )


def _choose(cluster: Cluster, prometheus: facts.Prometheus) -> PodPort | None:
    """Find a pod to ask; None where none is ready. Without the right to ask any, nobody waits for one: `Forbidden`."""
    where = prometheus.namespace
    pod = ready_pod(cluster.list("Pod", namespace=where, labels=pod_labels(prometheus.name)))
    if pod is not None:
        return pod
    missing = [f"{verb} {resource}" for verb, resource in FORWARD if cluster.allows(verb, "", resource, where) is False]
    if missing:
        raise Forbidden(
            f"cannot forward to a pod of {where}/{prometheus.name}: the credentials may not {' nor '.join(missing)} in"
            f" namespace {where}",
            status=403,
        )
    return None


def _address(reach: Reach, environ: Mapping[str, str], url: str) -> Address:
    user = login(environ)
    return Address(
        url=url,
        read_token=token_reader(reach.token_file, environ),
        user=user[0] if user else None,
        password=user[1] if user else None,
        ca_file=reach.ca_file,
        insecure=reach.insecure,
        tenant=reach.tenant,
    )
