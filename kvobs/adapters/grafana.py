"""Grafana's HTTP API, as far as it answers through the API server without credentials.

A Grafana that lets visitors in tells them its datasources (`/api/frontend/settings`), the ones made by hand
included, which no ConfigMap holds. Where it wants a login, or cannot be reached, the answer is None: what the cluster
says has to do. kvobs never sends it a password.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from ..errors import ApiError, Unanswered
from ..stack.facts import DatasourceFact, Grafana
from ..stack.provisioned import time_interval_of

_SETTINGS = "/api/frontend/settings"
BUILT_IN = ("grafana", "mixed", "dashboard", "datasource", "__expr__")
"""Plugin ids of what every Grafana lists beside its datasources."""


class ServiceProxy(Protocol):
    """What this needs of an API server."""

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """GET from a Service; (HTTP status, body)."""


def live_datasources(cluster: ServiceProxy, grafana: Grafana) -> tuple[DatasourceFact, ...] | None:
    """Return the datasources that *grafana* itself tells a visitor; None where it tells nothing.

    The address of a source is not among what it tells; it is taken from the provisioned source of the same UID.
    """
    if grafana.service is None or grafana.service_port is None:
        return None
    try:
        status, body = cluster.proxy_get(grafana.namespace, grafana.service, grafana.service_port, _SETTINGS)
    except (ApiError, Unanswered):
        # No right to use the proxy, no endpoint, no answer in time: all of it means that it cannot be asked.
        return None
    if status != 200:
        return None
    try:
        told = json.loads(body)["datasources"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(told, Mapping):
        return None
    provisioned = {each.uid: each for each in grafana.datasources}
    return tuple(_source(name, each, provisioned, grafana) for name, each in told.items() if _is_source(each))


def with_live_datasources(cluster: ServiceProxy, grafana: Grafana) -> Grafana:
    """Return *grafana* with the datasources that it tells itself, or as it was where it tells nothing."""
    told = live_datasources(cluster, grafana)
    return grafana if told is None else replace(grafana, datasources=told)


def _is_source(each: Any) -> bool:
    return isinstance(each, Mapping) and isinstance(each.get("uid"), str) and each.get("type") not in BUILT_IN


def _source(
    name: str, each: Mapping[str, Any], provisioned: Mapping[str | None, DatasourceFact], grafana: Grafana
) -> DatasourceFact:
    known = provisioned.get(each["uid"])
    return DatasourceFact(
        uid=each["uid"],
        name=name,
        type=str(each.get("type") or ""),
        url=known.url if known else "",
        is_default=each.get("isDefault") is True,
        where=f"the API of Grafana {grafana.namespace}/{grafana.name}",
        time_interval=time_interval_of(each) or (known.time_interval if known else None),
    )
