"""Downloads against a real HTTPS server: what is tried again, what is refused, and what a person reads then."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvobs.adapters.downloads import ATTEMPTS, MAX_REDIRECTS, Downloads
from kvobs.errors import DownloadError, UsageError
from tests.adapters.site import (
    BODY,
    Answer,
    Asked,
    Proxy,
    Site,
    cut_off,
    dripping,
    endless,
    ok,
    packed,
    page,
    reset,
    silent,
    status,
)

SECRET = "Heron-in-the-address-7"
LIMIT = 1_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server, for all tests of this file."""
    with Site(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture(autouse=True)
def _environment(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, no login, and the site's authority in place of the system's."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_DIR", "NETRC"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(site.ca_file))


def downloads(
    waits: list[float] | None = None,
    *,
    deadline_s: float = 60.0,
    timeout_s: float = 20.0,
    ca_file: str | None = None,
) -> Downloads:
    """Downloads that do not really wait between two attempts."""
    sleep = ([] if waits is None else waits).append
    return Downloads(ca_file=ca_file, timeout_s=timeout_s, deadline_s=deadline_s, max_bytes=LIMIT, sleep=sleep)


def redirect(to: str) -> Answer:
    """Lead elsewhere."""
    return status(302, Location=to)


@dataclass(frozen=True)
class Case:
    """What the server plays, and what must come of it."""

    answers: tuple[Answer, ...]
    said: str = ""
    """A part of the error; none: the bytes arrive."""
    hint: str = ""
    asked: int = 1
    deadline_s: float = 60.0
    timeout_s: float = 20.0


CASES = {
    "at-once": Case((ok(),)),
    "packed": Case((packed(BODY),)),
    "limited-then-ok": Case((status(429, Retry_After="3"), ok()), asked=2),
    "500-then-ok": Case((status(500), status(503), ok()), asked=3),
    "reset-then-ok": Case((reset, ok()), asked=2),
    "cut-off-then-ok": Case((cut_off, ok()), asked=2),
    "silent-then-ok": Case((silent, ok()), asked=2, timeout_s=3),
    "half-of-a-gzip": Case((ok(gzip.compress(BODY)[:-9], Content_Encoding="gzip"), ok()), asked=2),
    "no-gzip-at-all": Case((ok(BODY, Content_Encoding="gzip"), ok()), asked=2),
    "always-500": Case((status(500),), "tried 4 times: the server answered 500", "online", ATTEMPTS),
    "always-silent": Case((silent,), "no answer within 1 s", "HTTPS_PROXY", ATTEMPTS, timeout_s=1),
    "always-reset": Case((reset,), "tried 4 times", "--offline", ATTEMPTS),
    "wants-an-hour": Case((status(429, Retry_After="3600"),), "answered 429 and asks to wait 3600 s", "online"),
    "drips": Case((dripping,), "came too slowly", "give the FILE", deadline_s=0.3),
    "says-it-is-large": Case((ok(b" " * (LIMIT + 1)),), "more than 1,000,000 bytes", "JSON file"),
    "is-large": Case((endless,), "more than 1,000,000 bytes", "JSON file"),
    "unpacks-to-much": Case((packed(b" " * 500_000_000),), "more than 1,000,000 bytes", "JSON file"),
    "other-encoding": Case((packed(BODY, "br"),), "encoded as 'br'", "FILE"),
    "sign-in-page": Case((page("Sign in · Grafana"),), "gave a web page ('Sign in · Grafana')", "~/.netrc"),
    "page-without-type": Case((ok(b"  <!doctype html><p>hello"),), "gave a web page in place of", "raw file"),
    "page-with-a-mark": Case((ok(b"\xef\xbb\xbf<html>hello"),), "gave a web page in place of", "raw file"),
    "text-that-is-called-a-page": Case((ok(b"Moved", Content_Type="text/html"),), "gave a web page", "raw file"),
    "json-that-is-called-a-page": Case((ok(BODY, Content_Type="text/html"),)),
    "absent": Case((status(404),), "is not there (HTTP 404)", "address is right"),
    "gone": Case((status(410),), "no longer there", "moved"),
    "forbidden": Case((status(403),), "(HTTP 403)", "login"),
    "login": Case((page("Login", 401),), "asks for a login (HTTP 401)", "~/.netrc"),
    "teapot": Case((status(418),), "was refused (HTTP 418)", "browser"),
    "nowhere": Case((status(302),), "was refused (HTTP 302)", "browser"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_server_does(site: Site, name: str) -> None:
    """What may pass is tried again and arrives whole; what does not, ends in a sentence that says what to do."""
    case = CASES[name]
    site.play(*case.answers)

    with downloads(deadline_s=case.deadline_s, timeout_s=case.timeout_s) as client:
        if not case.said:
            assert client.fetch(site.url()) == BODY
        else:
            with pytest.raises(DownloadError) as raised:
                client.fetch(site.url())
            assert case.said in str(raised.value)
            assert case.hint in (raised.value.hint or "")
            assert site.url() in str(raised.value)
    assert len(site.requests) == case.asked


def test_how_long_it_waits(site: Site) -> None:
    """The server's own wish counts; without one the waits grow."""
    waits: list[float] = []
    site.play(status(503), status(500), status(429, Retry_After="7"), ok())

    with downloads(waits) as client:
        client.fetch(site.url())

    first, second, third = waits
    assert 0.4 <= first <= 0.6
    assert 0.8 <= second <= 1.2
    assert third == 7


REDIRECTS = {
    "once": (("/b.json",), ""),
    "to-another-host": (("https://127.0.0.1:{port}/d2.json",), ""),
    "for-ever": (("/d.json",), f"more than {MAX_REDIRECTS} times"),
    "to-plain-http": (("http://a.example/d.json",), "over plain http"),
    "to-a-file": (("file:///etc/passwd",), "nothing but https"),
    "to-data": (("data:application/json,{{}}",), "nothing but https"),
    "to-the-clouds-credentials": (("http://169.254.169.254/latest/meta-data/",), "over plain http"),
    "to-link-local": (("https://169.254.169.254/latest",), "an address of this machine"),
    "to-link-local-in-ipv6": (("https://[::ffff:169.254.169.254]/latest",), "an address of this machine"),
    "to-link-local-as-a-number": (("https://2852039166/latest",), "an address of this machine"),
    "to-nonsense": (("https://[::1",), "cannot be read"),
    "to-a-secret": ((f"https://me:{SECRET}@127.0.0.1:{{port}}/none?token={SECRET}",), "is not there"),
}


@pytest.mark.parametrize("name", REDIRECTS)
def test_where_a_redirect_leads(site: Site, name: str) -> None:
    """A redirect is followed a few times, to https alone, and never shown with what is secret in it."""
    (to,), said = REDIRECTS[name]
    site.play(redirect(to.format(port=site.port)))
    site.pages |= {"/b.json": [ok()], "/d2.json": [ok()]}

    with downloads() as client:
        if not said:
            assert client.fetch(site.url()) == BODY
            return
        with pytest.raises(DownloadError, match=said) as raised:
            client.fetch(site.url())
    assert SECRET not in f"{raised.value} {raised.value.hint}"


def test_a_sign_in_page_behind_a_redirect_is_named(site: Site) -> None:
    """Where a login page answers for the file, the message says from where it came."""
    site.play(redirect("/login?next=d.json"))
    site.pages["/login?next=d.json"] = [page("Please log in")]

    with downloads() as client, pytest.raises(DownloadError) as raised:
        client.fetch(site.url())

    assert f"from https://localhost:{site.port}/login?next=*** ('Please log in')" in str(raised.value)


def test_an_authority_that_is_not_trusted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with a private certificate is refused at once, by name; the option in the hint makes it trusted."""
    site.play(ok())
    monkeypatch.delenv("SSL_CERT_FILE")

    with downloads() as client, pytest.raises(DownloadError, match="certificate of localhost is not trusted") as raised:
        client.fetch(site.url())
    assert "--ca-file" in (raised.value.hint or "")
    assert not raised.value.passing
    assert site.requests == []

    with downloads(ca_file=str(site.ca_file)) as client:
        assert client.fetch(site.url()) == BODY


@pytest.mark.parametrize("content", [None, "no certificate"], ids=["absent", "no-pem"])
def test_certificates_of_the_environment_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    """An SSL_CERT_FILE without certificates is wrong usage, and named."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)

    with downloads() as client, pytest.raises(UsageError, match="SSL_CERT_FILE"):
        client.fetch("https://localhost:1/d.json")


def test_a_certificate_for_another_host(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trusted authority is not enough: the certificate must be that host's."""
    with Proxy(site.port) as proxy, downloads() as client:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(DownloadError, match=r"certificate of elsewhere\.example is not trusted"):
            client.fetch("https://elsewhere.example/d.json")


@pytest.mark.parametrize("content", [None, "no certificate"], ids=["absent", "no-pem"])
def test_an_authority_that_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    """A --ca-file without certificates is wrong usage, and names the file."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)

    with Downloads(ca_file=str(path)) as client, pytest.raises(UsageError, match=r"--ca-file: .*ca\.pem"):
        client.fetch("https://localhost:1/d.json")


def test_a_proxy_from_the_environment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS_PROXY is asked for a tunnel to the host; NO_PROXY goes past it."""
    site.play(ok())

    with Proxy(site.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with downloads() as client:
            assert client.fetch("https://a.example/d.json") == BODY
        assert proxy.asked == ["a.example:443"]

        monkeypatch.setenv("NO_PROXY", "localhost")
        with downloads() as client:
            assert client.fetch(site.url()) == BODY
        assert len(proxy.asked) == 1


def test_a_proxy_that_refuses(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that wants a login is named as the one who refuses, without the password it was given."""
    with Proxy(site.port, refuses=True) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", f"//me:{SECRET}@"))
        with downloads() as client, pytest.raises(DownloadError, match="the proxy refused") as raised:
            client.fetch("https://a.example/d.json")
    assert "HTTPS_PROXY" in (raised.value.hint or "")
    assert SECRET not in f"{raised.value} {raised.value.hint} {raised.value.__cause__!r}"


def test_a_proxy_that_is_none(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that names no proxy is wrong usage; what it holds is not repeated."""
    monkeypatch.setenv("HTTPS_PROXY", f"gopher://me:{SECRET}@127.0.0.1")

    with downloads() as client, pytest.raises(UsageError, match="HTTPS_PROXY") as raised:
        client.fetch("https://a.example/d.json")

    assert SECRET not in str(raised.value)


def authorised(asked: Asked) -> None:
    """Answer only who is logged in."""
    (ok() if asked.headers.get("Authorization") else status(401))(asked)


@pytest.mark.parametrize(
    ("netrc", "user", "arrives"),
    [
        ("", "", False),
        ("", f"me:{SECRET}@", True),
        (f"machine localhost login me password {SECRET}", "", True),
        (f"machine other.example login me password {SECRET}\ndefault login me password {SECRET}", "", False),
    ],
    ids=["none", "in-the-address", "netrc", "netrc-of-another-host"],
)
def test_who_logs_in(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture, netrc: str, user: str, arrives: bool
) -> None:
    """A login comes from the address or from netrc, for that host alone; no message and no log has it."""
    (tmp_path / ".netrc").write_text(netrc)
    (tmp_path / ".netrc").chmod(0o600)
    caplog.set_level(logging.DEBUG)
    site.play(authorised)
    url = site.url(f"/d.json?token={SECRET}").replace("//", f"//{user}")
    site.pages[f"/d.json?token={SECRET}"] = [authorised]
    said = ""

    with downloads() as client:
        try:
            assert client.fetch(url) == BODY
        except DownloadError as error:
            said = f"{error} {error.hint}"

    assert (said == "") is arrives
    assert SECRET not in said
    assert SECRET not in caplog.text


def test_a_login_is_not_taken_to_another_host(site: Site) -> None:
    """Credentials of an address stay with its host when it leads elsewhere."""
    site.play(redirect(f"https://127.0.0.1:{site.port}/d2.json"))
    site.pages["/d2.json"] = [ok()]

    with downloads() as client:
        client.fetch(site.url().replace("//", f"//me:{SECRET}@"))

    (_, _, first), (_, _, second) = site.requests
    assert "Authorization" in first
    assert "Authorization" not in second


def test_a_netrc_that_cannot_be_read(site: Site, tmp_path: Path) -> None:
    """A broken netrc file is named, and nothing of it shown."""
    (tmp_path / ".netrc").write_text(f"machine localhost passwort {SECRET}")

    with downloads() as client, pytest.raises(UsageError, match=r"\.netrc cannot be read") as raised:
        client.fetch(site.url())

    assert SECRET not in str(raised.value)


def test_nobody_is_there() -> None:
    """A port on which nobody listens ends in a sentence, after every attempt."""
    waits: list[float] = []

    with downloads(waits) as client, pytest.raises(DownloadError, match="tried 4 times") as raised:
        client.fetch(f"https://me:{SECRET}@127.0.0.1:9/d.json?token={SECRET}")

    assert raised.value.passing
    assert len(waits) == ATTEMPTS - 1
    assert SECRET not in str(raised.value)


def test_the_librarys_logs_come_back(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """What was silenced for a download is not silenced for the program around it."""
    site.play(ok())
    with downloads() as client:
        client.fetch(site.url())
    caplog.set_level(logging.INFO)

    logging.getLogger("httpx").info("of somebody else")

    assert "of somebody else" in caplog.text
