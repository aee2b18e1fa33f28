"""Grafana's API against a real HTTPS server: what is read, what is refused, and that no secret is shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvobs.adapters.grafana_api import PAGE, GrafanaApi
from kvobs.errors import Unanswered, UsageError
from tests.adapters.site import Answer, Site, cut_off, dripping, endless, ok, page, reset, silent, status

TOKEN = "glsa_Heron7"
PASSWORD = "Bittern8"
DASHBOARD = {"uid": "a", "title": "A", "panels": []}
SOURCES = [
    {
        "uid": "p",
        "name": "Prometheus",
        "type": "prometheus",
        "url": "http://p:9090",
        "isDefault": True,
        "jsonData": {"timeInterval": "15s"},
    },
    {"uid": "grafana", "name": "-- Grafana --", "type": "datasource"},
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server, for all tests of this file."""
    with Site(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    """No proxy, and nothing played yet."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    site.pages.clear()


@pytest.fixture
def api(site: Site) -> Iterator[GrafanaApi]:
    """Grafana, asked with a token, below a path."""
    with GrafanaApi(site.url("/team/"), token=TOKEN, ca_file=str(site.ca_file), **limits(None)) as asked:
        yield asked


def limits(answer: Answer | None) -> dict[str, float]:
    """Return how long it is waited for: not long where an answer never comes, or never ends; it does all the others."""
    return {"timeout_s": 1.0 if answer is silent else 20.0, "deadline_s": 1.0 if answer is dripping else 60.0}


def said(content: Any) -> Answer:
    """Answer with JSON."""
    return ok(json.dumps(content).encode(), Content_Type="application/json")


def test_search_reads_every_page(site: Site, api: GrafanaApi) -> None:
    """Dashboards are asked for page by page, with the token, until one is not full."""
    full = [{"uid": f"u{number}", "title": "T", "folderTitle": "F"} for number in range(PAGE)]
    site.play(said(full), said([{"uid": "last", "title": "L"}, {"no": "uid"}]), at="/team/api/search")

    found = list(api.search())

    assert len(found) == PAGE + 1
    assert (found[0].folder, found[-1].uid, found[-1].folder) == ("F", "last", "General")
    assert [path.rpartition("page=")[2] for _, path, _ in site.requests] == ["1", "2"]
    assert {headers["Authorization"] for _, _, headers in site.requests} == {f"Bearer {TOKEN}"}


def test_dashboard(site: Site, api: GrafanaApi) -> None:
    """A dashboard comes without its paper; one that is gone is None."""
    site.play(said({"dashboard": DASHBOARD, "meta": {}}), at="/team/api/dashboards/uid/a")

    assert api.dashboard("a") == DASHBOARD
    assert api.dashboard("gone") is None


@pytest.mark.parametrize(
    ("settings", "namespace"),
    [(said({"namespace": "org-2"}), "org-2"), (said({}), "default"), (status(404), "default")],
)
def test_dashboard_of_a_newer_form(site: Site, api: GrafanaApi, settings: Answer, namespace: str) -> None:
    """What the old API cannot show is asked of the new one, in the user's organisation and its newest version."""
    resource = {"apiVersion": "dashboard.grafana.app/v2beta1", "spec": {"elements": {}}}
    site.play(status(406), at="/team/api/dashboards/uid/a%2Fb")
    site.play(settings, at="/team/api/frontend/settings")
    site.play(said(resource), at=f"/team/apis/dashboard.grafana.app/v2beta1/namespaces/{namespace}/dashboards/a%2Fb")

    assert api.dashboard("a/b") == resource


def test_dashboard_of_a_form_that_is_not_known(site: Site, api: GrafanaApi) -> None:
    """A dashboard that is there, and that no API shows, is not taken for one that is gone."""
    site.play(status(406), at="/team/api/dashboards/uid/a")

    with pytest.raises(Unanswered, match="HTTP 406 for dashboard a"):
        api.dashboard("a")


def test_library_panel(site: Site, api: GrafanaApi) -> None:
    """A library panel's model is read from where Grafana keeps it; one that is gone is None."""
    site.play(said({"result": {"uid": "l", "model": {"type": "stat"}}}), at="/team/api/library-elements/l")

    assert api.library_panel("l") == {"type": "stat"}
    assert api.library_panel("gone") is None


@pytest.mark.parametrize("uid", ["..", "\ud800", "a\0b?c#d"])
def test_uids_of_a_hostile_answer(api: GrafanaApi, uid: str) -> None:
    """A uid that leads nowhere is not there, and nothing else comes of it."""
    assert [api.dashboard(uid), api.health(uid), api.library_panel(uid)] == [None, None, None]


def test_a_uid_that_no_address_can_hold(api: GrafanaApi) -> None:
    """A uid that is too long for any address cannot be asked for."""
    with pytest.raises(Unanswered, match="too long"):
        api.dashboard("x" * 70_000)


def test_search_of_a_server_that_lists_on_and_on(site: Site, api: GrafanaApi) -> None:
    """A page that brings nothing new is the last one."""
    site.play(said([{"uid": f"u{number}"} for number in range(PAGE)]), at="/team/api/search")

    assert len(list(api.search())) == PAGE
    assert len(site.requests) == 2


def test_datasources(site: Site, api: GrafanaApi) -> None:
    """Its own data sources are told, with their interval; the built-in ones are not."""
    site.play(said(SOURCES), at="/team/api/datasources")

    (source,) = api.datasources()

    assert (source.uid, source.type, source.url, source.is_default) == ("p", "prometheus", "http://p:9090", True)
    assert source.time_interval == "15s"
    assert source.where.startswith("the API of Grafana https://localhost")


def test_datasources_for_a_viewer(site: Site, api: GrafanaApi) -> None:
    """Who may not list data sources reads what every page of Grafana is told; where they lead stays unknown."""
    told = {"Prometheus": {**SOURCES[0], "url": "/api/datasources/proxy/1"}, "-- Grafana --": SOURCES[1]}
    site.play(status(403), at="/team/api/datasources")
    site.play(said({"datasources": told}), at="/team/api/frontend/settings")

    (source,) = api.datasources()

    assert (source.uid, source.name, source.url) == ("p", "Prometheus", "")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (said({"status": "OK", "message": "fine"}), (True, "fine")),
        (lambda asked: asked.send(400, {}, b'{"status": "ERROR", "message": "no route"}'), (False, "no route")),
        (status(403), None),
        (page("Login"), None),
    ],
)
def test_health(site: Site, api: GrafanaApi, answer: Answer, told: tuple[bool, str] | None) -> None:
    """Grafana's own test of a data source is passed on; where it tells none, nothing is known."""
    site.play(answer, at="/team/api/datasources/uid/p/health")
    assert api.health("p") == told


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(401), "does not let this user read"),
        (status(403), "does not let this user read"),
        (status(302, Location="/login?token=stolen"), "leads elsewhere, to a login perhaps"),
        (status(500), "answered HTTP 500"),
        (status(404), "answered HTTP 404"),
        (page("Sign in"), "not as Grafana does"),
        (ok(b"[" * 100_000), "not as Grafana does"),
        (cut_off, "could not be asked"),
        (reset, "could not be asked"),
        (silent, "no answer in time"),
        (dripping, "too slowly"),
        (endless, "more than"),
    ],
)
def test_refusals(site: Site, answer: Answer, words: str) -> None:
    """Whatever comes in place of an answer is one plain error with what to do, and never the token."""
    site.play(answer, at="/team/api/search")

    with (
        GrafanaApi(site.url("/team/"), token=TOKEN, ca_file=str(site.ca_file), **limits(answer)) as asked,
        pytest.raises(Unanswered) as raised,
    ):
        list(asked.search())

    assert words in str(raised.value)
    assert TOKEN not in f"{raised.value} {raised.value.hint} {raised.value.__cause__!r}"


def test_untrusted_certificate(site: Site) -> None:
    """A certificate of a private authority is refused, with the flag that helps; and taken where told so."""
    site.play(said([]), at="/api/search")
    with GrafanaApi(site.url(""), token=TOKEN) as asked, pytest.raises(Unanswered, match="certificate") as raised:
        list(asked.search())
    assert "--ca-file" in str(raised.value.hint)
    with GrafanaApi(site.url(""), token=TOKEN, insecure=True) as trusting:
        assert list(trusting.search()) == []


def test_password_in_the_address(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """User and password of the address go to Grafana, and nowhere else."""
    caplog.set_level(logging.DEBUG)
    site.play(status(401), at="/api/search")
    address = site.url("").replace("https://", f"https://me:{PASSWORD}@")

    with GrafanaApi(address, ca_file=str(site.ca_file)) as asked, pytest.raises(Unanswered) as raised:
        list(asked.search())

    assert site.requests[0][2]["Authorization"].startswith("Basic ")
    assert PASSWORD not in f"{asked!r} {raised.value} {raised.value.hint} {caplog.text}"


@pytest.mark.parametrize(
    ("url", "more", "words"),
    [
        ("grafana.example.com", {}, "no address of a Grafana"),
        ("ftp://grafana", {}, "no address of a Grafana"),
        ("https://[", {}, "cannot be read"),
        ("https://grafana:port", {}, "cannot be read"),
        ("https://grafana", {"token": f"{TOKEN}\nX-Other: 1"}, "GRAFANA_TOKEN"),
        ("https://grafana", {"ca_file": "/nowhere.pem"}, "/nowhere.pem"),
    ],
)
def test_what_cannot_be_used(url: str, more: dict[str, Any], words: str) -> None:
    """An address, a token or a file that cannot be used is told before anything is asked."""
    with pytest.raises(UsageError, match=words.replace("[", r"\[")) as raised:
        GrafanaApi(url, **more)
    assert TOKEN not in str(raised.value)


def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment that makes no sense is told without what it may hold."""
    monkeypatch.setenv("HTTPS_PROXY", f"nonsense://me:{PASSWORD}@proxy")
    with pytest.raises(UsageError, match="a proxy that the environment names") as raised:
        GrafanaApi("https://grafana")
    assert PASSWORD not in str(raised.value)


def test_files_of_certificates_that_are_none(tmp_path: Path) -> None:
    """A file without a certificate is told by its name."""
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(UsageError, match="holds no certificates"):
        GrafanaApi("https://grafana", ca_file=str(tmp_path / "ca.pem"))
