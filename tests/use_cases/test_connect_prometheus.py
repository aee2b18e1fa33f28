"""Which Prometheus a run asks, and by what it gets in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.refusals import Reply
from kvobs.dashboard.board import Query
from kvobs.errors import Unanswered, UsageError
from kvobs.health.answers import Result
from kvobs.stack.facts import Prometheus
from kvobs.use_cases.verifying.connect_prometheus import Reach, connect_prometheus

SECRET = "sekrit-token-0815"
EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
QUERY = Query(expr="up", instant=True, start_s=0, end_s=1, step_s=0, source="x")


class FakeCluster:
    """Answers every question to a Service with an empty result, and remembers where it went."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.services = self

    def request(self, *where: object, **_: object) -> Reply:
        """As `Services.request`."""
        self.asked.append(where)
        return Reply(200, {}, EMPTY)


def prometheus(**more: Any) -> Prometheus:
    """A Prometheus object, as it was found."""
    given = {
        "service_monitor_selector": {},
        "service_monitor_namespace_selector": {},
        "pod_monitor_selector": {},
        "pod_monitor_namespace_selector": {},
        "keeps_metrics": False,
        "release": None,
        "tracked_by": None,
        "service": "k8s",
        **more,
    }
    return Prometheus(namespace="monitoring", name="main", **given)


@pytest.mark.parametrize(
    ("more", "service", "path"),
    [
        ({}, "k8s", "/api/v1/query"),
        ({"route_prefix": "/prom"}, "k8s", "/prom/api/v1/query"),
        ({"https": True}, "https:k8s", "/api/v1/query"),
    ],
)
def test_that_of_the_cluster(more: dict[str, Any], service: str, path: str) -> None:
    """Without an address it is the cluster's own, behind its Service, under its prefix, with TLS where it has it."""
    cluster = FakeCluster()
    ours = connect_prometheus(Reach(), {}, cluster=cast(Cluster, cluster), prometheus=prometheus(**more))
    assert isinstance(ours.query(QUERY), Result)
    assert cluster.asked == [("GET", "monitoring", service, "http-web", path)]
    assert "monitoring/k8s" in ours.place


def test_an_address_goes_first() -> None:
    """Whoever names one means it."""
    reach = Reach(url="http://127.0.0.1:9090")
    ours = connect_prometheus(reach, {}, cluster=cast(Cluster, FakeCluster()), prometheus=prometheus())
    assert ours.place == "http://127.0.0.1:9090"


def test_there_is_none() -> None:
    """Neither an address nor a cluster's: a flag is named; no Service in front of it: a port-forward is."""
    with pytest.raises(UsageError) as caught:
        connect_prometheus(Reach(), {})
    assert "--prometheus" in str(caught.value.hint)
    with pytest.raises(Unanswered, match="monitoring/main has no Service") as unanswered:
        connect_prometheus(Reach(), {}, cluster=cast(Cluster, FakeCluster()), prometheus=prometheus(service=None))
    assert "port-forward pod/prometheus-main-0" in str(unanswered.value.hint)


@pytest.mark.parametrize(
    ("content", "words"), [(None, "cannot be read"), ("", "is empty"), (" \n", "is empty"), ("tök", "cannot be read")]
)
def test_a_token_file_that_holds_none(tmp_path: Path, content: str | None, words: str) -> None:
    """It is found before anything is asked, and named."""
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=words) as caught:
        connect_prometheus(Reach(url="http://127.0.0.1:1", token_file=str(file)), {})
    assert "KVOBS_PROMETHEUS_TOKEN" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("url", "environ", "file"),
    [
        ("http://127.0.0.1:1", {"KVOBS_PROMETHEUS_TOKEN": f" {SECRET}\n"}, None),
        ("http://127.0.0.1:1", {}, SECRET),
        ("http://127.0.0.1:1", {"KVOBS_PROMETHEUS_USER": "me", "KVOBS_PROMETHEUS_PASSWORD": SECRET}, None),
        (f"http://me:{SECRET}@127.0.0.1:1", {}, None),
    ],
)
def test_no_secret_is_shown(tmp_path: Path, url: str, environ: dict[str, str], file: str | None) -> None:
    """However it is given, it is in no repr, and in no answer of a server that is away."""
    path = tmp_path / "token"
    path.write_text(file or "")
    reach = Reach(url=url, token_file=str(path) if file else None)
    ours = connect_prometheus(reach, environ)
    assert SECRET not in f"{reach!r} {ours!r} {ours.place} {ours.query(QUERY)!r}"
