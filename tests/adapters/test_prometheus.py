"""A Prometheus that fails in every way over real HTTPS: each a plain refusal or no answer, none an empty result."""

from __future__ import annotations

import gzip
import json
import logging
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.dashboard.board import Query
from kvobs.errors import UsageError
from kvobs.health.answers import Answer, Names, NoAnswer, Refused, Result, Server
from kvobs.stack.relabel import Fate, fate

from .site import Answer as Played
from .site import Asked, Proxy, Site, cut_off, dripping, endless, ok, packed, page, reset, silent, status

SECRET = "sekrit-token-0815"
INSTANT = Query(expr="up", instant=True, start_s=0, end_s=1700000000.5, step_s=15, source="x")
RANGE = Query(expr="up", instant=False, start_s=1700000000, end_s=1700003600.25, step_s=15, source="x")
EMPTY = {"status": "success", "data": {"resultType": "vector", "result": []}}
ONE = {
    "status": "success",
    "data": {"resultType": "vector", "result": [{"metric": {"job": "a"}, "value": [1700000000, "1"]}]},
}
AT = "/api/v1/query"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server that plays."""
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def said(code: int, error_type: str, error: str) -> Played:
    """A failure as Prometheus writes it."""
    content = json.dumps({"status": "error", "errorType": error_type, "error": error}).encode()
    return lambda asked: asked.send(code, {"Content-Type": "application/json"}, content)


def success(document: Any, **headers: str) -> Played:
    """A success."""
    return ok(json.dumps(document).encode(), Content_Type="application/json", **headers)


def led(to: str) -> Played:
    """A redirect."""
    return lambda asked: asked.send(302, {"Location": to}, b"")


def huge(asked: Asked) -> None:
    """Two hundred megabytes of series, without saying how much it will be."""
    asked.send_response(200)
    asked.send_header("Transfer-Encoding", "chunked")
    asked.end_headers()
    series = b'{"metric":{"a":"b"},"values":[' + b'[1700000000,"1.5"],' * 5000 + b'[1700000000,"1.5"]]},'
    chunk = b"%x\r\n" % len(series) + series + b"\r\n"
    head = b'{"status":"success","data":{"resultType":"matrix","result":['
    try:
        asked.wfile.write(b"%x\r\n" % len(head) + head + b"\r\n")
        for _ in range(200 * 2**20 // len(series)):
            asked.wfile.write(chunk)
    except OSError:
        asked.server.site.forms.append("left early")
    asked.close_connection = True


def connected(site: Site, **more: Any) -> Prometheus:
    """Ours, at the site."""
    address = Address(url=more.pop("url", site.url("")), ca_file=str(site.ca_file), **more.pop("address", {}))
    return Prometheus.at(address, **{"timeout_s": 20.0, "patience_s": 0.0, **more})


NO_ANSWER: dict[str, tuple[Played, bool, str, str]] = {
    # what it does: (the play, whether it lasts, words of what is said, words of the hint)
    "a web page": (page("Sign in to Example"), True, "a web page ('Sign in to Example')", "login page"),
    "a page that says it is JSON": (ok(b"<html>hi", Content_Type="application/json"), True, "a web page", "login"),
    "a redirect to a login": (led("https://login.example/?state=s3cret"), True, "https://login.example/?state=***", ""),
    "a redirect within": (led("/login"), True, "/login in place of an answer", "login page"),
    "wants a token": (status(401), True, "does not accept the credentials", "KVOBS_PROMETHEUS_TOKEN"),
    "forbidden": (status(403), True, "HTTP 403", "something in front of it forbids it"),
    "forbidden in its words": (said(403, "forbidden", "not you"), True, "does not let this user ask: not you", "right"),
    "no such path": (status(404), True, "HTTP 404", "/select/0/prometheus"),
    "starting": (said(503, "unavailable", "Service Unavailable"), True, "is not ready", "wait"),
    "starting, plainly": (status(503), True, "HTTP 503", "wait until it is ready"),
    "a bad gateway": (page("502 Bad Gateway", 502), True, "HTTP 502 and a web page ('502 Bad Gateway')", "starting"),
    "too many questions": (said(429, "too_many_requests", "slow down"), False, "too much to do: slow down", "later"),
    "an internal error": (said(500, "internal", "disk on fire"), False, "disk on fire", "logs"),
    "broken off": (said(503, "canceled", "query was canceled"), False, "broke the query off", "logs"),
    "cut off": (cut_off, False, "broke the connection", ""),
    "a broken connection": (reset, False, "broke the connection", ""),
    "silence": (silent, False, "did not answer within 0.4 s", "heavy"),
    "a byte now and then": (dripping, False, "did not answer within 0.4 s", "heavy"),
    "broken gzip": (ok(b"\x1f\x8b\x08nonsense", Content_Encoding="gzip"), False, "cannot be unpacked", ""),
    "half of gzip": (ok(gzip.compress(json.dumps(ONE).encode())[:30], Content_Encoding="gzip"), False, "", ""),
    "nothing": (ok(b""), False, "with nothing", "logs"),
    "no JSON": (ok(b"up 1"), True, "not as Prometheus does", "is the address that of a Prometheus"),
    "half of the JSON": (ok(json.dumps(ONE).encode()[:-9]), True, "not as Prometheus does", ""),
    "JSON of something else": (success({"hits": []}), True, "not as Prometheus does", ""),
    "a list": (success([]), True, "not as Prometheus does", ""),
    "a success without data": (success({"status": "success"}), True, "not as Prometheus does", ""),
    "no type": (success({"status": "success", "data": {"result": []}}), True, "not as Prometheus does", ""),
    "no result": (success({"status": "success", "data": {"resultType": "vector"}}), True, "not as Prometheus", ""),
    "a type of its own": (
        success({"status": "success", "data": {"resultType": "streams", "result": []}}),
        True,
        "not as Prometheus does",
        "",
    ),
    "an error with 200": (success({"status": "error", "error": "x", "data": EMPTY["data"]}), True, "not as", ""),
    "samples of no numbers": (
        success({"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "x"]}]}}),
        True,
        "not as Prometheus does",
        "",
    ),
    "deep JSON": (ok(b'{"data":' + b"[" * 100_000), True, "not as Prometheus does", ""),
}


@pytest.mark.parametrize("kind", NO_ANSWER)
@pytest.mark.parametrize("query", [INSTANT, RANGE], ids=["instant", "range"])
def test_what_is_no_answer_of_prometheus_is_no_answer(site: Site, kind: str, query: Query) -> None:
    """Whatever else comes back is no answer, in words that say where, what, and what next; it is never empty."""
    play, lasting, words, hint = NO_ANSWER[kind]
    site.play(play, at="/api/v1/query" if query.instant else "/api/v1/query_range")
    prometheus = connected(site, timeout_s=0.4 if play in (silent, dripping) else 20.0)
    answer = prometheus.query(query)
    assert isinstance(answer, NoAnswer)
    assert words in answer.said
    assert f"https://localhost:{site.port}" in answer.said
    assert answer.hint is not None
    assert hint in answer.hint
    assert answer.lasting == lasting
    assert "s3cret" not in repr(answer)


@pytest.mark.parametrize("by", ["token", "user"])
@pytest.mark.parametrize("query", [INSTANT, RANGE], ids=["instant", "range"])
def test_nobody_else_is_asked(site: Site, tmp_path: Path, by: str, query: Query) -> None:
    """A redirect is told, not followed: the server that it leads to gets no request, and so no credentials."""
    address = {"read_token": lambda: SECRET} if by == "token" else {"user": "me", "password": SECRET}
    with Site(tmp_path) as other:
        site.play(led(other.url(AT)), at="/api/v1/query" if query.instant else "/api/v1/query_range")
        answer = connected(site, address=address).query(query)
        assert other.requests == []
    assert site.requests[-1][2]["Authorization"]
    assert isinstance(answer, NoAnswer)
    assert f"leads to https://localhost:{other.port}" in answer.said


REFUSED: dict[str, tuple[Played, str]] = {
    "no PromQL": (said(400, "bad_data", 'parse error: unexpected "timeout"'), "bad query"),
    "many to many": (said(422, "execution", "found duplicate series for the match group"), "bad query"),
    "samples": (said(422, "execution", "query processing would load too many samples into memory"), "too expensive"),
    "points": (said(400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries."), "too expensive"),
    "time": (said(503, "timeout", "query timed out in expression evaluation"), "too expensive"),
    "Mimir's limit": (
        said(422, "execution", "the query exceeded the maximum number of chunks (limit: 2 chunks) (err-mimir-max-…)"),
        "too expensive",
    ),
    "Mimir's length": (said(422, "execution", "the query time range exceeds the limit (length: 9d)"), "too expensive"),
    "Victoria's words": (said(422, "422", "cannot parse query"), "bad query"),
    "Victoria's limit": (
        said(422, "422", "cannot select more than -search.maxSamplesPerQuery=1 samples"),
        "too expensive",
    ),
    "Thanos' store": (said(500, "internal", "exceeded series limit: 10"), "too expensive"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_is_told_in_prometheus_own_words(site: Site, kind: str) -> None:
    """A query that is refused is told from one that is too expensive, with what was said."""
    play, meant = REFUSED[kind]
    site.play(play, at=AT)
    answer = connected(site).query(INSTANT)
    assert isinstance(answer, Refused)
    assert answer.kind == meant
    assert answer.said


def test_an_empty_result_is_one(site: Site) -> None:
    """A success without series is a result without series: no refusal, no lack of an answer."""
    site.play(success(EMPTY), at=AT)
    assert connected(site).query(INSTANT) == Result(type="vector")


def test_two_hundred_megabytes_are_not_taken(site: Site) -> None:
    """An answer beyond the limit is too expensive; the rest is not read, and memory stays bounded."""
    site.play(huge, at="/api/v1/query_range")
    prometheus = connected(site, timeout_s=60.0)
    tracemalloc.start()
    try:
        answer = prometheus.query(RANGE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(answer, Refused)
    assert answer.kind == "too expensive"
    assert "32 MiB" in answer.said
    assert peak < 100 * 2**20, f"{peak / 2**20:.0f} MiB"
    deadline = time.monotonic() + 60
    while "left early" not in site.forms and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "left early" in site.forms


@pytest.mark.parametrize(
    "play",
    [
        endless,
        packed(b" " * 40 * 2**20),
        lambda asked: asked.send(200, {}, b"{", length=10**12),
    ],
    ids=["without end", "packed", "declared"],
)
def test_an_answer_beyond_the_limit_is_too_expensive(site: Site, play: Played) -> None:
    """It counts what an answer unpacks to, and believes a length that is declared."""
    site.play(play, at=AT)
    answer = connected(site, timeout_s=30.0).query(INSTANT)
    assert isinstance(answer, Refused)
    assert answer.kind == "too expensive"


def test_the_connection_serves_after_an_answer_that_was_left(site: Site) -> None:
    """What was still on its way is not taken for the next answer."""
    site.play(huge, success(ONE), at=AT)
    prometheus = connected(site, timeout_s=30.0)
    assert isinstance(prometheus.query(INSTANT), Refused)
    assert _lit(prometheus.query(INSTANT))


def test_a_server_that_starts_is_asked_again(site: Site) -> None:
    """What passes by itself is asked again until it has passed, within the patience."""
    site.play(status(503), said(503, "unavailable", "starting"), reset, cut_off, success(ONE), at=AT)
    assert _lit(connected(site, patience_s=60.0).query(INSTANT))
    assert len(site.requests) == 5


def test_patience_ends(site: Site) -> None:
    """A server that does not come back is given up in time, and what is said counts the tries."""
    site.play(status(503), at=AT)
    paused: list[float] = []
    answer = connected(site, patience_s=1.0, sleep=paused.append, clock=lambda: sum(paused)).query(INSTANT)
    assert isinstance(answer, NoAnswer)
    assert "asked 3 times in 1 s" in answer.said
    assert paused == [0.2, 0.4]


def test_a_server_may_name_the_pause(site: Site) -> None:
    """Retry-After is waited for, where the patience allows it."""
    site.play(status(503, Retry_After="7"), success(ONE), at=AT)
    paused: list[float] = []
    assert _lit(connected(site, patience_s=20.0, sleep=paused.append).query(INSTANT))
    assert paused == [7.0]
    site.play(status(503, Retry_After="3600"), success(ONE), at=AT)
    assert isinstance(connected(site, patience_s=20.0, sleep=paused.append).query(INSTANT), NoAnswer)


def test_what_does_not_pass_is_asked_once(site: Site) -> None:
    """A login page does not go away by asking again."""
    site.play(page("Sign in"), at=AT)
    connected(site, patience_s=20.0).query(INSTANT)
    assert len(site.requests) == 1


def test_nobody_listens(site: Site) -> None:
    """A server that is away is told so at once, however long the patience; it lasts."""
    begin = time.monotonic()
    answer = connected(site, url="https://127.0.0.1:1", patience_s=60.0).query(INSTANT)
    assert time.monotonic() - begin < 30
    assert isinstance(answer, NoAnswer)
    assert "https://127.0.0.1:1 refuses connections" in answer.said
    assert answer.lasting


def test_a_name_that_is_none(site: Site) -> None:
    """A host that does not resolve is named."""
    answer = connected(site, url="https://no-such-host.invalid").query(INSTANT)
    assert isinstance(answer, NoAnswer)
    assert answer.lasting
    assert "no-such-host.invalid" in answer.said


def test_an_untrusted_certificate(site: Site) -> None:
    """A private authority is refused with the flag that names it; --insecure goes without."""
    site.play(success(ONE), at=AT)
    answer = Prometheus.at(Address(url=site.url("")), timeout_s=5, patience_s=0).query(INSTANT)
    assert isinstance(answer, NoAnswer)
    assert "TLS with" in answer.said
    assert "--ca-file" in str(answer.hint)
    assert _lit(Prometheus.at(Address(url=site.url(""), insecure=True), timeout_s=5, patience_s=0).query(INSTANT))


def test_a_proxy_of_the_environment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS_PROXY is used, NO_PROXY is heeded, and a proxy that refuses is named."""
    site.play(success(ONE), at=AT)
    with Proxy(site.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", f"//me:{SECRET}@"))
        assert _lit(connected(site, url="https://a.example").query(INSTANT))
        assert len(proxy.asked) == 1
        monkeypatch.setenv("NO_PROXY", "localhost")
        assert _lit(connected(site).query(INSTANT))
        assert len(proxy.asked) == 1
    with Proxy(site.port, refuses=True) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        answer = connected(site, url="https://a.example").query(INSTANT)
        assert isinstance(answer, NoAnswer)
        assert "the proxy on the way" in answer.said
    monkeypatch.setenv("HTTPS_PROXY", f"gopher://me:{SECRET}@127.0.0.1:1")
    with pytest.raises(UsageError) as caught:
        connected(site, url="https://a.example")
    assert SECRET not in f"{caught.value!r} {caught.value.hint}"


# --- how it asks ---


def test_a_question_is_posted_with_exact_times(site: Site) -> None:
    """Times go to the millisecond, which the library would round; the server is told how long we wait."""
    site.play(success(ONE), at=AT)
    site.play(success(EMPTY), at="/api/v1/query_range")
    prometheus = connected(site)
    prometheus.query(RANGE)
    prometheus.query(INSTANT)
    assert [dict(parse_qsl(form)) for form in site.forms] == [
        {"query": "up", "start": "1700000000.000", "end": "1700003600.250", "step": "15.000", "timeout": "19s"},
        {"query": "up", "time": "1700000000.500", "timeout": "19s"},
    ]
    assert {path for _, path, _ in site.requests} == {"/api/v1/query_range", "/api/v1/query"}


@pytest.mark.parametrize("refusal", [status(405), status(403), status(501)])
def test_where_nothing_may_be_posted_it_gets(site: Site, refusal: Played) -> None:
    """A proxy that lets nothing but GET through is found out once."""
    site.play(refusal, success(ONE), at=AT)
    prometheus = connected(site)
    assert _lit(prometheus.query(INSTANT))
    assert _lit(prometheus.query(INSTANT))
    assert len(site.forms) == 1
    assert len(site.requests) == 3
    assert parse_qs(urlsplit(site.requests[-1][1]).query)["query"] == ["up"]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", "/api/v1/query"),
        ("/", "/api/v1/query"),
        ("/prometheus", "/prometheus/api/v1/query"),
        ("/select/0/prometheus/", "/select/0/prometheus/api/v1/query"),
        ("/prometheus/api/v1", "/prometheus/api/v1/query"),
    ],
)
def test_a_path_in_front_is_kept(site: Site, given: str, asked: str) -> None:
    """Mimir, VictoriaMetrics and a route prefix have a path in front of /api/v1."""
    site.play(success(ONE), at=asked)
    assert _lit(connected(site, url=site.url(given)).query(INSTANT))


@pytest.mark.parametrize(
    ("address", "header", "expected"),
    [
        ({"read_token": lambda: SECRET}, "Authorization", f"Bearer {SECRET}"),
        ({"user": "me", "password": "pa55"}, "Authorization", "Basic bWU6cGE1NQ=="),
        ({"tenant": "team-a"}, "X-Scope-OrgID", "team-a"),
        ({}, "Authorization", None),
    ],
)
def test_credentials_are_sent(site: Site, address: dict[str, Any], header: str, expected: str | None) -> None:
    """A token, a user, a tenant: each in the header that it belongs in."""
    site.play(success(ONE), at=AT)
    assert _lit(connected(site, address=address).query(INSTANT))
    assert site.requests[-1][2].get(header) == expected


def test_a_user_of_the_address(site: Site) -> None:
    """User and password of the address are sent as a header, and shown nowhere."""
    site.play(success(ONE), status(401), at=AT)
    prometheus = connected(site, url=f"https://me:{SECRET}@localhost:{site.port}")
    assert _lit(prometheus.query(INSTANT))
    assert site.requests[-1][2]["Authorization"].startswith("Basic ")
    answer = prometheus.query(INSTANT)
    assert isinstance(answer, NoAnswer)
    assert SECRET not in f"{answer!r} {prometheus!r} {prometheus.place}"


def test_an_expired_token_is_read_again(site: Site) -> None:
    """The file of a token may hold a new one when the old one is refused; an old one is told as expired."""

    def guarded(asked: Asked) -> None:
        right = asked.headers["Authorization"] == "Bearer new"
        (success(ONE) if right else status(401))(asked)

    site.play(guarded, at=AT)
    tokens = ["old"]
    prometheus = connected(site, address={"read_token": lambda: tokens[-1]})
    answer = prometheus.query(INSTANT)
    assert isinstance(answer, NoAnswer)
    assert answer.lasting
    assert "expired" in str(answer.hint)
    assert "KVOBS_PROMETHEUS_TOKEN" in str(answer.hint)
    tokens.append("new")
    assert _lit(prometheus.query(INSTANT))


def test_a_rotated_token_in_several_threads(site: Site) -> None:
    """Of several questions that are refused at once, each is asked again with the new token."""
    tokens = ["old"]
    gate = threading.Barrier(4, timeout=60)

    def guarded(asked: Asked) -> None:
        if asked.headers["Authorization"] == "Bearer new":
            success(ONE)(asked)
            return
        gate.wait()
        tokens.append("new")
        status(401)(asked)

    site.play(guarded, at=AT)
    prometheus = connected(site, address={"read_token": lambda: tokens[-1]}, timeout_s=60.0)
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(prometheus.query(INSTANT))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [_lit(each) for each in answers] == [True] * 4


def test_a_token_that_cannot_be_sent(site: Site) -> None:
    """A line break in a token is found before it is sent, and the token is not quoted."""
    answer = connected(site, address={"read_token": lambda: f"{SECRET}\r\nX: y"}).query(INSTANT)
    assert isinstance(answer, NoAnswer)
    assert "characters that cannot be sent" in answer.said
    assert SECRET not in repr(answer)


@pytest.mark.parametrize("kind", NO_ANSWER)
def test_no_failure_shows_the_token(site: Site, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """However it fails, the token is in no message, no repr and no log."""
    play = NO_ANSWER[kind][0]
    site.play(play, at=AT)
    caplog.set_level(logging.DEBUG)
    prometheus = connected(
        site, address={"read_token": lambda: SECRET}, timeout_s=0.3 if play in (silent, dripping) else 20.0
    )
    answer = prometheus.query(INSTANT)
    assert SECRET not in f"{answer!r} {prometheus!r} {caplog.text}"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:9090", "is no address of a Prometheus"),
        ("ftp://localhost", "is no address of a Prometheus"),
        ("http://", "is no address of a Prometheus"),
        ("http://localhost:99999", "cannot be read"),
        (f"http://localhost/graph?g0.expr=up&token={SECRET}", "that of a page"),
    ],
)
def test_an_address_that_is_none(url: str, words: str) -> None:
    """A bad address is a usage error, before anything is asked."""
    with pytest.raises(UsageError, match=words) as caught:
        Prometheus.at(Address(url=url))
    assert SECRET not in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint


def test_two_kinds_of_credentials(tmp_path: Path) -> None:
    """A token and a user, or two users, are a usage error; so are certificates that are none."""
    with pytest.raises(UsageError, match="a token and a user"):
        Prometheus.at(Address(url="http://me:x@localhost", read_token=lambda: "t"))
    with pytest.raises(UsageError, match="two users"):
        Prometheus.at(Address(url="http://me:x@localhost", user="you"))
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(UsageError, match="--ca-file"):
        Prometheus.at(Address(url="https://localhost", ca_file=str(tmp_path / "ca.pem")))


# --- what else is asked ---


def test_a_page_that_a_server_does_not_have(site: Site) -> None:
    """Mimir has no targets: unsupported, once the server has answered anything; before, the address may be wrong."""
    site.play(status(404), at="/api/v1/targets")
    site.play(success(ONE), at=AT)
    prometheus = connected(site)
    assert isinstance(prometheus.targets(), NoAnswer)
    assert _lit(prometheus.query(INSTANT))
    answer = prometheus.targets()
    assert isinstance(answer, Refused)
    assert answer.kind == "unsupported"


@pytest.mark.parametrize("data", [{"a": 1}, "text", [1], [None]])
def test_names_that_are_none(site: Site, data: object) -> None:
    """A list of names that holds something else is no answer."""
    site.play(success({"status": "success", "data": data}), at="/api/v1/labels")
    assert isinstance(connected(site).label_names((), None, None), NoAnswer)


def test_names_that_are_null(site: Site) -> None:
    """An empty list that Go wrote as null is empty."""
    site.play(success({"status": "success", "data": None}), at="/api/v1/labels")
    assert connected(site).label_names((), None, None) == Names(values=frozenset())


@pytest.mark.parametrize("data", [[], "text", {"activeTargets": 3}, {"activeTargets": [None]}])
def test_targets_that_are_none(site: Site, data: object) -> None:
    """Targets that cannot be read are no answer, never no targets."""
    site.play(success({"status": "success", "data": data}), at="/api/v1/targets")
    assert isinstance(connected(site).targets(), NoAnswer)


@pytest.mark.parametrize("data", [[], "text", {"scrapePools": 3}, {"scrapePools": [None]}, {"pools": []}])
def test_scrape_pools_that_are_none(site: Site, data: object) -> None:
    """Scrape pools that cannot be read are no answer, never no pools."""
    site.play(success({"status": "success", "data": data}), at="/api/v1/scrape_pools")
    assert isinstance(connected(site).scrape_pools(), NoAnswer)


@pytest.mark.parametrize("told", [None, [], ["serviceMonitor/llm/chat/0"]])
def test_scrape_pools(site: Site, told: list[str] | None) -> None:
    """The names of the scrape configs, of which there may be none."""
    site.play(success({"status": "success", "data": {"scrapePools": told}}), at="/api/v1/scrape_pools")
    assert connected(site).scrape_pools() == Names(values=frozenset(told or ()))


NO_CONFIGURATION: list[Any] = [
    *([], "text", {"yaml": 3}, {"yaml": "a: [", "more": 1}, {"yaml": "text"}, {"yaml": "scrape_configs: [3]"}),
    *({"yaml": "scrape_configs: [{metric_relabel_configs: [{}]}]"}, {"yaml": "[" * 5000}, {"config": ""}),
    {"yaml": "a: \ud800"},
]


@pytest.mark.parametrize("data", NO_CONFIGURATION, ids=lambda each: str(each)[:60])
def test_a_configuration_that_is_none(site: Site, data: object) -> None:
    """A configuration that cannot be read is no answer, never one that drops nothing."""
    site.play(success({"status": "success", "data": data}), at="/api/v1/status/config")
    assert isinstance(connected(site).relabelings(), NoAnswer)


@pytest.mark.parametrize("text", ["", "global: {}", "scrape_configs: []", "scrape_configs: [{job_name: a}]"])
def test_a_configuration_without_steps(site: Site, text: str) -> None:
    """Where no scrape config does anything to its metrics, that is known."""
    site.play(success({"status": "success", "data": {"yaml": text}}), at="/api/v1/status/config")
    assert connected(site).relabelings() == {}


AS_GO_WRITES = """\
global:
  external_labels: {made: 2021-13-45, sign: =}
scrape_configs:
- job_name: 1_000
  metric_relabel_configs:
  - {source_labels: [__name__], separator: =, regex: %s, replacement: $1, action: drop}
  - {source_labels: [__name__], regex: vllm:(.*), target_label: __name__, action: replace}
"""


@pytest.mark.parametrize("regex", ["null", '""'], ids=["before 3", "since 3"])
def test_a_configuration_as_go_writes_it(site: Site, regex: str) -> None:
    """Texts that look like dates or signs to other readers are texts; what is empty, or left out so, is empty."""
    text = AS_GO_WRITES % regex
    site.play(success({"status": "success", "data": {"yaml": text}}), at="/api/v1/status/config")
    relabelings = connected(site).relabelings()
    assert isinstance(relabelings, dict)
    assert [fate(name, relabelings["1_000"]) for name in ("up", "vllm:x")] == [Fate("up", None), Fate(None, 1)]


@pytest.mark.parametrize("data", [3, "text", {"target": {}}, [3], [{"target": {}}], [{"target": 3, "type": "gauge"}]])
def test_metadata_that_is_none(site: Site, data: object) -> None:
    """Metadata that cannot be read is no answer, never that nobody exposes the metric."""
    site.play(success({"status": "success", "data": data}), at="/api/v1/targets/metadata")
    assert isinstance(connected(site).exposed("up"), NoAnswer)


BUILD = {"version": "2.53.0", "revision": "x", "goVersion": "go1.22"}


@pytest.mark.parametrize(
    ("build", "flags", "headers", "expected"),
    [
        (BUILD, {"query.lookback-delta": "1m"}, {}, Server(version="2.53.0", kind="prometheus", lookback_s=60)),
        ({**BUILD, "version": "0.37"}, {"query.replica-label": "[]"}, {}, Server(version="0.37", kind="thanos")),
        ({**BUILD, "version": "2.16", "application": "Grafana Mimir"}, None, {}, Server(version="2.16", kind="mimir")),
        ({"version": "2.24.0"}, None, {"X_Server_Hostname": "vm"}, Server(kind="victoriametrics")),
        ({"odd": True}, None, {}, Server()),
    ],
)
def test_what_a_server_says_of_itself(
    site: Site, build: Any, flags: Any, headers: dict[str, str], expected: Server
) -> None:
    """Each kind of server is recognised by its status pages; those that it lacks are no failure."""
    site.play(success({"status": "success", "data": build}, **headers), at="/api/v1/status/buildinfo")
    site.play(success({"status": "success", "data": flags}) if flags else status(404), at="/api/v1/status/flags")
    site.play(status(404), at="/api/v1/status/runtimeinfo")
    site.play(status(404), at="/metrics")
    assert connected(site).server() == expected


def test_a_server_that_is_no_prometheus(site: Site) -> None:
    """A login page in front of everything is no answer to who it is, either."""
    site.play(page("Sign in"), at="/api/v1/status/buildinfo")
    assert isinstance(connected(site).server(), NoAnswer)


def _lit(answer: Answer) -> bool:
    return isinstance(answer, Result) and answer.numbers > 0
