"""Whether Grafana's data sources reach a Prometheus: by Grafana's own test where it may be asked, else by address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from urllib.parse import quote

from ...dashboard.datasources import PROMETHEUS_TYPES
from ...errors import ApiError, Unanswered
from ...health.source_address import refused_by_health, unreachable
from ...health.source_health import read_health
from ...health.verdict import Finding
from ...stack.facts import DatasourceFact, Facts, Grafana, Prometheus
from ..look import ReadCluster


class AsksHealth(Protocol):
    """What this needs of Grafana's API."""

    def health(self, uid: str) -> tuple[bool, str] | None: ...


def unreachable_sources(
    sources: Iterable[DatasourceFact],
    *,
    grafana: Grafana | None = None,
    prometheus: Prometheus | None = None,
    facts: Facts | None = None,
    cluster: ReadCluster | None = None,
    api: AsksHealth | None = None,
) -> dict[str, Finding]:
    """Return UID -> why no query of that Prometheus data source arrives; those that are fine, or unknown, are absent.

    Grafana's own test decides where it answers one: *api* with a token, or the API server's proxy to a Grafana that
    lets visitors in. Else the address is looked at.
    """
    found: dict[str, Finding] = {}
    for source in sources:
        if source.uid is None or source.type not in PROMETHEUS_TYPES:
            continue
        tested = _tested(source.uid, grafana, cluster, api)
        if tested is not None and not tested[0]:
            found[source.uid] = refused_by_health(source, tested[1], prometheus)
        elif tested is None and grafana is not None and facts is not None:
            finding = unreachable(source, grafana, prometheus, facts)
            if finding is not None:
                found[source.uid] = finding
    return found


def _tested(
    uid: str, grafana: Grafana | None, cluster: ReadCluster | None, api: AsksHealth | None
) -> tuple[bool, str] | None:
    if api is not None:
        try:
            return api.health(uid)
        except Unanswered:
            return None
    if cluster is None or grafana is None or grafana.service is None or grafana.service_port is None:
        return None
    path = f"/api/datasources/uid/{quote(uid, safe='')}/health"
    try:
        _, body = cluster.proxy_get(grafana.namespace, grafana.service, grafana.service_port, path)
    except (ApiError, Unanswered):
        # No right to the proxy, no endpoint, no answer: it cannot be asked.
        return None
    return read_health(body)
