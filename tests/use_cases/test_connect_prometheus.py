"""Which Prometheus a run asks, and by what it gets in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.refusals import Reply
from kvobs.dashboard.board import Query
from kvobs.errors import ClusterUnreachable, Unanswered, UsageError
from kvobs.health.answers import NoAnswer, Result
from kvobs.stack.facts import Prometheus
from kvobs.stack.prometheus_pods import PodPort
from kvobs.use_cases.verifying.connect_prometheus import Reach, connect_prometheus

SECRET = "sekrit-token-0815"
EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
QUERY = Query(expr="up", instant=True, start_s=0, end_s=1, step_s=0, source="x")


class FakeCluster:
    """Answers every question to a Service with an empty result, and remembers where it went; no pod can be reached."""

    def __init__(self, *, status: int = 200, ready: bool = True, allowed: bool | None = None) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.services = self.pods = self
        self._status, self._ready, self._allowed = status, ready, allowed

    def request(self, *where: object, **_: object) -> Reply:
        """As `Services.request`."""
        self.asked.append(where)
        return Reply(self._status, {}, EMPTY)

    def list(self, kind: str, *, namespace: str, labels: str) -> list[dict[str, Any]]:
        """As `Cluster.list`: a pod that is not ready yet, and one that may be."""
        self.asked.append((kind, namespace, labels))
        conditions = [[], [{"type": "Ready", "status": str(self._ready)}]]
        return [
            {"metadata": {"namespace": namespace, "name": f"prometheus-main-{number}"}, "status": {"conditions": each}}
            for number, each in enumerate(conditions)
        ]

    def allows(self, verb: str, group: str, resource: str, namespace: str) -> bool | None:
        """As `Cluster.allows`: what is said of the right to create a port-forward; the others are there."""
        assert (group, namespace) == ("", "monitoring")
        return self._allowed if (verb, resource) == ("create", "pods/portforward") else True

    def connect(self, to: PodPort, *, timeout_s: float) -> NoReturn:
        """As `Pods.connect`."""
        self.asked.append((str(to),))
        raise ClusterUnreachable("the API server is away")


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


PODS = ("Pod", "monitoring", "app.kubernetes.io/name=prometheus,operator.prometheus.io/name=main")
SERVICE = ("GET", "monitoring", "k8s", "http-web", "/api/v1/query")
TO_POD = (PODS, ("pod monitoring/prometheus-main-1, port 9090",))
TOKEN = {"KVOBS_PROMETHEUS_TOKEN": SECRET}


@pytest.mark.parametrize(
    ("reach", "environ", "service", "status", "asked"),
    [
        (Reach(), {}, "k8s", 200, (SERVICE,)),
        (Reach(), {}, "k8s", 401, (SERVICE,)),
        (Reach(), {}, None, 200, TO_POD),
        (Reach(), TOKEN, "k8s", 200, (SERVICE,)),
        (Reach(), TOKEN, "k8s", 401, (SERVICE, *TO_POD)),
        (Reach(), {"KVOBS_PROMETHEUS_USER": "me"}, "k8s", 401, (SERVICE, *TO_POD)),
        (Reach(tenant="blue"), {}, "k8s", 401, (SERVICE, *TO_POD)),
        (Reach(way="proxy"), TOKEN, "k8s", 401, (SERVICE,)),
        (Reach(way="port-forward"), {}, "k8s", 200, TO_POD),
    ],
)
def test_the_way_there(
    reach: Reach, environ: dict[str, str], service: str | None, status: int, asked: tuple[tuple[str, ...], ...]
) -> None:
    """By its Service, unless told otherwise, or it has none, or wants credentials and there are some; then a ready
    pod, found by the operator's labels."""
    cluster = FakeCluster(status=status)
    reach = replace(reach, patience_s=0.0)
    ours = connect_prometheus(reach, environ, cluster=cast(Cluster, cluster), prometheus=prometheus(service=service))
    ours.query(QUERY)
    assert tuple(cluster.asked) == asked


@pytest.mark.parametrize(
    ("allowed", "denied", "words"),
    [
        (True, False, "no pod of it is ready"),
        (None, False, "no pod of it is ready"),
        (False, True, "main: the credentials may not create pods/portforward in namespace monitoring"),
    ],
)
def test_no_pod_is_ready(allowed: bool | None, denied: bool, words: str) -> None:
    """One is waited for, but by nobody who may not ask it."""
    cluster = FakeCluster(ready=False, allowed=allowed)
    reach = Reach(way="port-forward", patience_s=0.0)
    answer = connect_prometheus(reach, {}, cluster=cast(Cluster, cluster), prometheus=prometheus()).query(QUERY)
    assert isinstance(answer, NoAnswer)
    assert answer.denied is denied
    assert words in answer.said


def test_an_address_goes_first() -> None:
    """Whoever names one means it."""
    reach = Reach(url="http://127.0.0.1:9090")
    ours = connect_prometheus(reach, {}, cluster=cast(Cluster, FakeCluster()), prometheus=prometheus())
    assert ours.place == "http://127.0.0.1:9090"


def test_there_is_none() -> None:
    """Neither an address nor a cluster's: a flag is named; no Service, where the proxy was asked for: the other way."""
    with pytest.raises(UsageError) as caught:
        connect_prometheus(Reach(), {})
    assert "--prometheus" in str(caught.value.hint)
    told = Reach(way="proxy")
    with pytest.raises(Unanswered, match="monitoring/main has no Service") as unanswered:
        connect_prometheus(told, {}, cluster=cast(Cluster, FakeCluster()), prometheus=prometheus(service=None))
    assert "leave --reach out" in str(unanswered.value.hint)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"url": "http://p:9090", "way": "proxy"}, "--prometheus names an address"),
        ({"url": "http://p:9090", "way": "port-forward"}, "--prometheus names an address"),
        ({"way": "proxy", "token_file": "token"}, "neither --token-file nor --tenant"),
        ({"way": "proxy", "tenant": "blue"}, "neither --token-file nor --tenant"),
    ],
)
def test_contradictions(told: dict[str, Any], words: str) -> None:
    """What would say nothing is refused before anything is asked."""
    with pytest.raises(UsageError, match=words):
        Reach(**told)


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
