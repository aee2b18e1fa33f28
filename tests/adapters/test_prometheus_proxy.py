"""A Prometheus behind the API server's service proxy: what it says, what the API server says, and what next."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Prometheus
from kvobs.adapters.prometheus_proxied import OverCluster
from kvobs.dashboard.board import Query
from kvobs.health.answers import NoAnswer, Refused, Result

from .fake_api import TOKEN, Answer, FakeApi, fake_api, status

SERVICE = "/api/v1/namespaces/monitoring/services"
AT = f"{SERVICE}/k8s:http-web/proxy/api/v1/query"
QUERY = Query(expr='up{a="b"}', instant=True, start_s=0, end_s=1700000000, step_s=15, source="x")
ONE = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "1"]}]}}
NO_RIGHT = status(
    403,
    "Forbidden",
    'services "k8s" is forbidden: User "eve" cannot get resource "services/proxy" in API group "" in the namespace'
    ' "monitoring"',
)
AWAY = status(503, "ServiceUnavailable", 'no endpoints available for service "k8s"')
REQUEST_TIMEOUT_S = 20
DIAL = status(503, "ServiceUnavailable", "error trying to reach service: dial tcp 10.0.0.1:9090: connection refused")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """The API server."""
    with fake_api() as api:
        yield api


@pytest.fixture
def cluster(api: FakeApi, tmp_path: Path) -> Iterator[Cluster]:
    """The connection to it."""
    cluster = Cluster.connect(api.kubeconfig(tmp_path), request_timeout_s=REQUEST_TIMEOUT_S)
    yield cluster
    cluster.close()


def connected(cluster: Cluster, at: Mapping[str, Any] | None = None, **limits: Any) -> Prometheus:
    """Ours, behind Service monitoring/k8s."""
    given = {"namespace": "monitoring", "service": "k8s", "port": "http-web"}
    return Prometheus(
        OverCluster(cluster.services, **{**given, **(at or {})}), **{"timeout_s": 5.0, "patience_s": 0.0, **limits}
    )


def test_a_question_goes_through_the_api_server(api: FakeApi, cluster: Cluster) -> None:
    """It is a GET, which the smaller right allows, with the credentials of the cluster."""
    api.answers("GET", AT, Answer(ONE))
    answer = connected(cluster).query(QUERY)
    assert isinstance(answer, Result)
    assert answer.numbers == 1
    (request,) = api.asked(AT)
    assert request.query == {"query": 'up{a="b"}', "time": "1700000000.000", "timeout": "4s"}


def test_a_long_question_is_posted(api: FakeApi, cluster: Cluster) -> None:
    """An address that is too long for what stands in between becomes a form; where that is forbidden, a GET."""
    long = Query(expr="up" + " or up" * 2000, instant=True, start_s=0, end_s=1, step_s=0, source="x")
    api.answers("POST", AT, Answer(ONE), NO_RIGHT)
    api.answers("GET", AT, Answer(ONE))
    prometheus = connected(cluster)
    assert isinstance(prometheus.query(long), Result)
    assert api.asked(AT)[0].body["query"] == long.expr
    assert isinstance(prometheus.query(long), Result)
    assert isinstance(prometheus.query(long), Result)
    assert [each.method for each in api.asked(AT)] == ["POST", "POST", "GET", "GET"]


def test_a_route_prefix_and_tls(api: FakeApi, cluster: Cluster) -> None:
    """A Prometheus that serves TLS, under a path of its own, is asked so."""
    at = f"{SERVICE}/https:k8s:9090/proxy/prom/api/v1/query"
    api.answers("GET", at, Answer(ONE))
    answer = connected(cluster, {"port": 9090, "prefix": "/prom", "https": True}).query(QUERY)
    assert isinstance(answer, Result)


@pytest.mark.parametrize(
    ("play", "lasting", "words", "hint"),
    [
        (NO_RIGHT, True, "user eve may not get services/proxy in namespace monitoring", "kubectl -n monitoring port-f"),
        (AWAY, True, "the Service has no ready pod", "kubernetes.io/service-name=k8s"),
        (DIAL, True, "connection refused", "kubectl -n monitoring get pods"),
        (status(404, "NotFound", 'services "k8s" not found'), True, "not found", "get services"),
        (status(401, "Unauthorized", "Unauthorized"), True, "does not accept the credentials", ""),
        (Answer(b"Error trying to reach service: EOF", 502), True, "HTTP 502", "starting"),
        (Answer(b"<html><title>Login</title>", 200), True, "a web page ('Login')", "login"),
        (Answer(b"", 302, {"Location": "https://login.example/?t=1"}), True, "https://login.example/?t=***", "login"),
        (Answer(b"no", 401), True, "does not accept the credentials", "port-forward"),
        (Answer(ONE, fails="cut"), True, "broke the connection", ""),
        (Answer(ONE, fails="reset"), True, "broke the connection", ""),
    ],
)
def test_what_fails_is_no_answer(
    api: FakeApi, cluster: Cluster, play: Answer, lasting: bool, words: str, hint: str
) -> None:
    """The API server's refusals and the Service's are told apart, each with what next; the Service is named."""
    api.answers("GET", AT, play)
    answer = connected(cluster).query(QUERY)
    assert isinstance(answer, NoAnswer)
    assert words in answer.said
    assert "Service monitoring/k8s" in answer.said
    assert hint in str(answer.hint)
    assert answer.denied is (play is NO_RIGHT)
    assert answer.lasting == lasting
    assert TOKEN not in repr(answer)


def test_silence_is_bounded(api: FakeApi, cluster: Cluster) -> None:
    """A question's own time-out counts, not that of all requests to the API server; the next may be answered."""
    api.answers("GET", AT, Answer(fails="silence"))
    assert REQUEST_TIMEOUT_S > 5
    begin = time.monotonic()
    answer = connected(cluster, timeout_s=0.4).query(QUERY)
    assert time.monotonic() - begin < REQUEST_TIMEOUT_S
    assert isinstance(answer, NoAnswer)
    assert "did not answer within 0.4 s" in answer.said
    assert not answer.lasting


@pytest.mark.parametrize("play", [AWAY, DIAL, status(503, "ServiceUnavailable", "starting"), Answer(b"", 503)])
def test_a_pod_that_restarts_is_waited_for(api: FakeApi, cluster: Cluster, play: Answer) -> None:
    """No endpoint, nobody listening there yet: asked again within the patience."""
    api.answers("GET", AT, play, play, Answer(ONE))
    assert isinstance(connected(cluster, patience_s=60.0).query(QUERY), Result)


def test_a_refusal_of_prometheus_is_one(api: FakeApi, cluster: Cluster) -> None:
    """What Prometheus says comes through as it is."""
    said = {"status": "error", "errorType": "bad_data", "error": "parse error: no"}
    api.answers("GET", AT, Answer(said, 400))
    assert connected(cluster).query(QUERY) == Refused(kind="bad query", said="parse error: no")


def test_an_answer_beyond_the_limit(api: FakeApi, cluster: Cluster) -> None:
    """The limit holds on this way too."""
    api.answers("GET", AT, Answer(b" " * 2_000_000))
    answer = connected(cluster, max_bytes=1_000_000).query(QUERY)
    assert isinstance(answer, Refused)
    assert answer.kind == "too expensive"
