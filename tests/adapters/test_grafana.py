"""What a Grafana tells a visitor of its datasources, and what is made of it when it tells nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from kvobs.adapters.grafana import with_live_datasources
from kvobs.errors import ClusterUnreachable, Forbidden
from kvobs.stack.facts import DatasourceFact, Grafana

PROVISIONED = DatasourceFact(
    uid="prometheus",
    name="Prometheus",
    type="prometheus",
    url="http://p.m:9090",
    is_default=True,
    where="ConfigMap m/d",
)
GRAFANA = Grafana(
    namespace="m",
    name="g",
    kind="Deployment",
    sidecar=None,
    service="g",
    service_port=80,
    release=None,
    tracked_by=None,
    admin_secret=None,
    datasources=(PROVISIONED,),
)
SETTINGS = {
    "datasources": {
        "-- Grafana --": {"uid": "grafana", "type": "datasource"},
        "Prometheus": {
            "uid": "prometheus",
            "type": "prometheus",
            "isDefault": False,
            "url": "/api/datasources/proxy/1",
        },
        "By hand": {"uid": "abc", "type": "prometheus", "isDefault": True},
        "Logs": {"uid": "l", "type": "loki"},
    }
}


class Proxy:
    """An API server whose service proxy gives one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, str | int, str]] = []

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """Give the answer."""
        self.asked.append((namespace, service, port, path))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_grafana_that_lets_visitors_in_tells_its_datasources() -> None:
    """Those made by hand are seen too, built-in ones are not, and a provisioned one keeps its address."""
    proxy = Proxy((200, json.dumps(SETTINGS).encode()))
    told = with_live_datasources(proxy, GRAFANA).datasources
    assert [(each.uid, each.name, each.type, each.url, each.is_default) for each in told] == [
        ("prometheus", "Prometheus", "prometheus", "http://p.m:9090", False),
        ("abc", "By hand", "prometheus", "", True),
        ("l", "Logs", "loki", "", False),
    ]
    assert proxy.asked == [("m", "g", 80, "/api/frontend/settings")]


@pytest.mark.parametrize(
    "answer",
    [
        (401, b'{"message": "Unauthorized"}'),
        (302, b""),
        (200, b"<html>login</html>"),
        (200, b"[]"),
        (200, b'{"datasources": []}'),
        (200, b"{}"),
        Forbidden("no right to services/proxy", status=403),
        ClusterUnreachable("no answer in 30 s"),
    ],
    ids=str,
)
def test_one_that_cannot_be_asked_leaves_what_the_cluster_says(answer: Any) -> None:
    """No answer is no answer: the provisioned sources stand."""
    assert with_live_datasources(Proxy(answer), GRAFANA) == GRAFANA


def test_one_without_a_service_is_not_asked() -> None:
    """There is nothing to ask through."""
    proxy = Proxy((200, b"{}"))
    assert with_live_datasources(proxy, replace(GRAFANA, service=None)).datasources == (PROVISIONED,)
    assert proxy.asked == []
