"""The adapter against the real Prometheus, the current one and an old one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from threading import Timer
from typing import Any, cast

import pytest

from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.dashboard.board import Query
from kvobs.health.answers import Exposed, Names, NoAnswer, Refused, Result, Server
from kvobs.stack.relabel import Fate, fate

from ..cluster.api import eventually
from ..prometheus_server import BINARIES, Binary, PrometheusServer

START = 1_700_000_000
END = START + 3000

SERIES = """
# TYPE busy gauge
{busy}
# TYPE requests counter
{requests}
# TYPE idle gauge
{idle}
# TYPE odd gauge
{odd}
""".format(
    busy="\n".join(f'busy{{gpu="{gpu}"}} {gpu + 1} {START + 15 * i}' for gpu in range(2) for i in range(201)),
    requests="\n".join(f'requests_total{{job="a"}} {i} {START + 15 * i}' for i in range(201)),
    idle="\n".join(f"idle 0 {START + 15 * i}" for i in range(201)),
    odd="\n".join(f"odd {'NaN' if i % 2 else '+Inf'} {START + 15 * i}" for i in range(201)),
)


@pytest.fixture(scope="module", params=BINARIES)
def server(request: pytest.FixtureRequest) -> Iterator[PrometheusServer]:
    """A server with an hour of series."""
    with PrometheusServer(binary=cast(Binary, request.param), om_text=SERIES) as server:
        yield server


@pytest.fixture
def prometheus(server: PrometheusServer) -> Iterator[Prometheus]:
    """Ours, at that server."""
    prometheus = Prometheus.at(Address(url=server.url), timeout_s=20, patience_s=5)
    yield prometheus
    prometheus.close()


def instant(expr: str) -> Query:
    """An instant query at the end of the series."""
    return Query(expr=expr, instant=True, start_s=0, end_s=END, step_s=0, source="x")


def ranged(expr: str, **more: Any) -> Query:
    """A range query over all of the series."""
    times = {"start_s": START, "end_s": END, "step_s": 15, **more}
    return Query(expr=expr, instant=False, source="x", **times)


@pytest.mark.parametrize(
    ("query", "kind", "series", "samples", "numbers", "nonzero"),
    [
        (instant("busy"), "vector", 2, 2, 2, 2),
        (ranged("busy"), "matrix", 2, 402, 402, 402),
        (ranged('busy{gpu="1"}', step_s=30), "matrix", 1, 101, 101, 101),
        (instant("rate(requests_total[5m])"), "vector", 1, 1, 1, 1),
        (instant("idle"), "vector", 1, 1, 1, 0),
        (ranged("idle"), "matrix", 1, 201, 201, 0),
        (ranged("odd"), "matrix", 1, 201, 101, 101),
        (instant("idle / idle"), "vector", 1, 1, 0, 0),
        (instant("3"), "scalar", 1, 1, 1, 1),
        (instant('"text"'), "string", 1, 1, 0, 0),
        (instant("nowhere"), "vector", 0, 0, 0, 0),
        (ranged("nowhere"), "matrix", 0, 0, 0, 0),
        (ranged("busy", start_s=END - 1.5, end_s=END + 0.25, step_s=0.5), "matrix", 2, 8, 8, 8),
        (instant("idle" + " + idle" * 3000), "vector", 1, 1, 1, 0),
    ],
)
def test_an_answer_is_reduced_to_what_its_samples_are_like(
    prometheus: Prometheus, query: Query, kind: str, series: int, samples: int, numbers: int, nonzero: int
) -> None:
    """Results of every type, NaN and infinity, no series, times between seconds, a query of 20 kB."""
    answer = prometheus.query(query)
    assert isinstance(answer, Result)
    counted = (answer.type, len(answer.series), answer.samples, answer.numbers, answer.nonzero)
    assert counted == (kind, series, samples, numbers, nonzero)


def test_a_series_says_when_and_what(prometheus: Prometheus) -> None:
    """Labels, the last value, and when the first and the last sample stand."""
    answer = prometheus.query(ranged('busy{gpu="1"}'))
    assert isinstance(answer, Result)
    (one,) = answer.series
    assert dict(one.labels) == {"__name__": "busy", "gpu": "1"}
    assert (one.last, one.first_s, one.last_s) == (2.0, START, END)


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        (instant("busy{"), "bad query", "parse error"),
        (ranged("rate(busy)"), "bad query", "expected type range vector"),
        (ranged("busy[5m]"), "bad query", "must be Scalar or instant Vector"),
        (instant("busy * on() busy"), "bad query", "many-to-many"),
        (ranged("busy", step_s=0.1), "too expensive", "11,000 points"),
        (ranged("busy", start_s=END, end_s=START), "bad query", "end timestamp"),
    ],
)
def test_a_refusal_is_in_prometheus_own_words(prometheus: Prometheus, query: Query, kind: str, words: str) -> None:
    """What the real server refuses, and why."""
    answer = prometheus.query(query)
    assert isinstance(answer, Refused)
    assert answer.kind == kind
    assert words in answer.said


def test_names_and_values(prometheus: Prometheus) -> None:
    """Names of metrics, of labels and values, with and without selectors; odd ones are no failure."""
    every = {"busy", "requests_total", "idle", "odd"}
    assert prometheus.metric_names(START, END) == Names(values=frozenset(every))
    assert prometheus.metric_names(None, None) == Names(values=frozenset(every))
    assert prometheus.label_names(["busy"], START, END) == Names(values=frozenset({"__name__", "gpu"}))
    assert prometheus.label_names([], None, None) == Names(values=frozenset({"__name__", "gpu", "job"}))
    assert prometheus.label_values("gpu", ["busy", "idle"], START, END) == Names(values=frozenset({"0", "1"}))
    assert prometheus.label_values("gpu", ["idle"], None, None) == Names(values=frozenset())
    assert isinstance(prometheus.label_values("gpu", ["busy{"], None, None), Refused)
    assert prometheus.label_values("k8s.pod/na me", [], None, None) == Names(values=frozenset())


def test_what_the_server_says_of_itself(prometheus: Prometheus, server: PrometheusServer) -> None:
    """Version, retention and the oldest sample."""
    about = prometheus.server()
    assert isinstance(about, Server)
    assert about.kind == "prometheus"
    assert str(about.version).split(".")[0] in ("2", "3")
    assert about.retention_s == 100 * 365 * 86400
    assert about.oldest_s == START
    assert about.lookback_s == 300


def test_a_server_that_is_killed_and_comes_back(server: PrometheusServer) -> None:
    """A question asked while it restarts is answered when it is back; one asked while it is away is no answer."""
    prometheus = Prometheus.at(Address(url=server.url), timeout_s=10, patience_s=120)
    assert isinstance(prometheus.query(instant("busy")), Result)
    server.stop()
    again = Timer(0.7, server.start)
    again.start()
    try:
        assert isinstance(prometheus.query(instant("busy")), Result)
    finally:
        again.join()
    server.stop()
    stranger = Prometheus.at(Address(url=server.url), timeout_s=10, patience_s=120)
    begin = time.monotonic()
    answer = stranger.query(instant("busy"))
    took_s = time.monotonic() - begin
    server.start()
    assert isinstance(answer, NoAnswer)
    assert answer.lasting
    assert took_s < 60


@pytest.mark.parametrize("binary", BINARIES)
def test_limits_of_the_server(binary: Binary) -> None:
    """Its limits of samples and of time are told as too expensive."""
    many = "\n".join(f'many{{n="{n}"}} 1 {START}' for n in range(300))
    slow = "count(" + " or ".join(f"label_replace(many, 'a', '{n}', 'n', '.*')" for n in range(400)) + ")"
    with PrometheusServer(
        binary=binary, om_text=many, flags=["--query.max-samples=200", "--query.timeout=1ms"]
    ) as server:
        prometheus = Prometheus.at(Address(url=server.url))
        at = {"instant": True, "start_s": 0, "end_s": START, "step_s": 0, "source": "x"}
        for expr in ("many", slow):
            answer = prometheus.query(Query(expr=expr, **at))
            assert isinstance(answer, Refused), answer
            assert answer.kind == "too expensive", answer


@pytest.mark.parametrize("binary", BINARIES)
def test_targets(binary: Binary) -> None:
    """Active targets with health, last error and pool; dropped ones with what was discovered."""
    config = {
        "global": {"scrape_interval": "200ms"},
        "scrape_configs": [
            {"job_name": "itself", "static_configs": [{"targets": ["127.0.0.1:1"], "labels": {"gpu": "0"}}]},
            {
                "job_name": "dropping",
                "static_configs": [{"targets": ["127.0.0.1:2"]}],
                "relabel_configs": [{"action": "drop", "source_labels": ["__address__"], "regex": ".*"}],
            },
        ],
    }
    with PrometheusServer(binary=binary, config=config) as server:
        prometheus = Prometheus.at(Address(url=server.url))

        def told() -> Any:
            """Return both once the scrape has been refused; one that is slow for once ends in another error."""
            found = prometheus.targets()
            assert isinstance(found, tuple)
            return found if found[0] and "refused" in found[0][0].error and found[1] else None

        active, dropped = eventually(told)
    (one,) = active
    assert (one.pool, one.health, one.interval_s, one.url) == ("itself", "down", 0.2, "http://127.0.0.1:1/metrics")
    assert "refused" in one.error
    assert dict(one.labels) == {"job": "itself", "instance": "127.0.0.1:1", "gpu": "0"}
    assert one.discovered["__address__"] == "127.0.0.1:1"
    (other,) = dropped
    assert (other.pool, other.url) == ("dropping", "http://127.0.0.1:2/metrics")


@pytest.mark.parametrize("binary", BINARIES)
def test_what_is_dropped_is_still_exposed(binary: Binary) -> None:
    """A target is said to expose what its scrape drops; which step does so stands in the configuration."""
    by_name = {"source_labels": ["__name__"]}
    steps = [
        {**by_name, "regex": "go_.*", "action": "drop"},
        {**by_name, "regex": "prometheus_(build_info)", "target_label": "__name__", "replacement": "its_$1"},
    ]
    with PrometheusServer(binary=binary) as server:
        server.configure(
            {
                "global": {"scrape_interval": "100ms"},
                "scrape_configs": [
                    {
                        "job_name": "itself",
                        "static_configs": [{"targets": [server.url.removeprefix("http://")]}],
                        "basic_auth": {"username": "a", "password": "not-for-us"},
                        "metric_relabel_configs": steps,
                    }
                ],
            }
        )
        server.reload()
        prometheus = Prometheus.at(Address(url=server.url))

        names = eventually(lambda: _scraped(prometheus))
        exposed = prometheus.exposed("go_goroutines")
        relabelings = prometheus.relabelings()
        (target,) = cast(tuple[Any, ...], prometheus.targets())[0]

        assert not any(each.startswith("go_") or each == "prometheus_build_info" for each in names)
        assert exposed == (Exposed(labels=target.labels, type="gauge"),)
        assert prometheus.exposed("go_no_such_thing") == ()
        assert isinstance(relabelings, dict)
        assert [fate(name, relabelings["itself"]) for name in ("go_goroutines", "prometheus_build_info", "up")] == [
            Fate(None, 0),
            Fate("its_build_info", 1),
            Fate("up", None),
        ]
        assert "secret" not in str(relabelings)


def _scraped(prometheus: Prometheus) -> frozenset[str]:
    """The names that are there, once a scrape has brought them."""
    names = prometheus.metric_names(None, None)
    assert isinstance(names, Names)
    return names.values if "its_build_info" in names.values else frozenset()


def test_native_histograms() -> None:
    """A sample that is a histogram counts as a number, with its count as what may be zero."""
    config = {
        "global": {"scrape_interval": "100ms"},
        "scrape_configs": [
            {"job_name": "self", "scrape_native_histograms": True, "static_configs": [{"targets": ["127.0.0.1:0"]}]}
        ],
    }
    with PrometheusServer(binary="3", flags=["--enable-feature=native-histograms"]) as server:
        config["scrape_configs"][0]["static_configs"][0]["targets"] = [server.url.removeprefix("http://")]  # type: ignore[index]
        server.configure(config)
        server.reload()
        prometheus = Prometheus.at(Address(url=server.url))
        query = 'prometheus_http_request_duration_seconds{handler="/-/ready"}'

        def scraped() -> Result | None:
            now = time.time()
            found = prometheus.query(
                Query(expr=query, instant=False, start_s=now - 10, end_s=now, step_s=1, source="x")
            )
            return found if isinstance(found, Result) and found.series else None

        answer = eventually(scraped)
    assert answer is not None
    assert answer.numbers == answer.samples > 0
    assert math.isnan(answer.series[0].last)
