"""The Prometheus that a run is told of: at an address, else behind the Service of the cluster's own."""

from __future__ import annotations

from collections.abc import Mapping

from ...adapters.cluster import Cluster
from ...adapters.prometheus import Address, Prometheus
from ...adapters.prometheus_credentials import login, token_reader
from ...errors import Unanswered, UsageError
from ...settings import Reach as Reach
from ...stack import facts


def connect_prometheus(
    reach: Reach,
    environ: Mapping[str, str],
    *,
    cluster: Cluster | None = None,
    prometheus: facts.Prometheus | None = None,
) -> Prometheus:
    """Return the Prometheus to ask; nothing is asked yet.

    UsageError says what is wrong with the address, a file or the credentials, `Unanswered` that the cluster's has no
    Service in front of it.
    """
    if reach.url is not None:
        user = login(environ)
        address = Address(
            url=reach.url,
            read_token=token_reader(reach.token_file, environ),
            user=user[0] if user else None,
            password=user[1] if user else None,
            ca_file=reach.ca_file,
            insecure=reach.insecure,
            tenant=reach.tenant,
        )
        return Prometheus.at(address, timeout_s=reach.timeout_s, patience_s=reach.patience_s)
    if cluster is None or prometheus is None:
        raise UsageError("there is no Prometheus to ask", hint="name one: --prometheus http://HOST:9090")
    if prometheus.service is None:
        pod = f"prometheus-{prometheus.name}-0"
        raise Unanswered(
            f"Prometheus {prometheus.namespace}/{prometheus.name} has no Service to be asked through",
            hint=f"kubectl -n {prometheus.namespace} port-forward pod/{pod} 9090, then"
            f" --prometheus http://127.0.0.1:9090{prometheus.route_prefix}",
        )
    return Prometheus.of_service(
        cluster,
        namespace=prometheus.namespace,
        service=prometheus.service,
        port=prometheus.service_port,
        prefix=prometheus.route_prefix,
        https=prometheus.https,
        timeout_s=reach.timeout_s,
        patience_s=reach.patience_s,
    )
