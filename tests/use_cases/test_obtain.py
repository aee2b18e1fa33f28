"""Where a dashboard comes from: the cache or its address, and what a person is told of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kvobs.adapters.dashboard_cache import DashboardCache
from kvobs.dashboard.catalog import Catalog, Upstream
from kvobs.dashboard.origins import Remote, read_origin
from kvobs.errors import DownloadError
from kvobs.use_cases.obtain import Library

ONE = b'{"title": "one", "panels": []}'
TWO = b'{"title": "two", "panels": []}'
SHA_ONE, SHA_TWO = (hashlib.sha256(each).hexdigest() for each in (ONE, TWO))
URL = "https://a.example/d.json"
GRAFANA = "https://grafana.com/api/dashboards/12239/revisions"
AWAY = DownloadError("nobody answers", passing=True)


def entry(name: str, sha256: str | None) -> Upstream:
    """An entry of a small catalogue."""
    return Upstream(
        name=name, topic="t", repository="o/r", path=f"{name}.json", revision="1" * 40, sha256=sha256, licence="MIT"
    )


CATALOG = Catalog((entry("known", SHA_ONE), entry("unseen", None)))


def at(name: str) -> str:
    """The address of an entry."""
    found = CATALOG.named(name)
    assert found is not None
    return found.url


@dataclass
class Site:
    """What stands at which address; an error is raised."""

    pages: dict[str, bytes | DownloadError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def fetch(self, url: str) -> bytes:
        """Give what stands there."""
        self.asked.append(url)
        found = self.pages[url]
        if isinstance(found, DownloadError):
            raise found
        return found


@pytest.fixture
def site() -> Site:
    """An empty one."""
    return Site()


@pytest.fixture
def cache(tmp_path: Path) -> DashboardCache:
    """An empty one."""
    return DashboardCache(tmp_path / "cache")


def library(site: Site, cache: DashboardCache, *, offline: bool = False, refresh: bool = False) -> Library:
    """A library as one run of kvobs has it."""
    return Library(CATALOG, cache, site, offline=offline, refresh=refresh)


def remote(text: str) -> Remote:
    """What a text names."""
    origin = read_origin(text, CATALOG)
    assert isinstance(origin, Remote)
    return origin


SETTLED = {"known": at("known"), "unseen": at("unseen"), "grafana:12239@2": f"{GRAFANA}/2/download"}


@pytest.mark.parametrize("text", SETTLED)
def test_settled_bytes_are_downloaded_once(site: Site, cache: DashboardCache, text: str) -> None:
    """What cannot change is asked for once; later runs, offline too, take it from the cache."""
    site.pages = {SETTLED[text]: ONE}

    first = library(site, cache).obtain(remote(text))
    second = library(site, cache).obtain(remote(text))
    offline = library(site, cache, offline=True).obtain(remote(text))

    assert [each.how for each in (first, second, offline)] == ["downloaded", "cached", "cached"]
    assert {each.content for each in (first, second, offline)} == {ONE}
    assert site.asked == [SETTLED[text]]
    assert second.warnings == offline.warnings == ()


@pytest.mark.parametrize(
    ("text", "told"), [("known", False), ("unseen", True), ("grafana:12239@2", True), (URL, False)]
)
def test_a_checksum_that_nobody_knew_is_told_and_pinned(
    site: Site, cache: DashboardCache, text: str, told: bool
) -> None:
    """The first download of bytes that nobody knew is said to be one."""
    site.pages = SETTLED_PAGES | {URL: ONE}

    obtained = library(site, cache).obtain(remote(text))

    assert any(SHA_ONE in warning for warning in obtained.warnings) is told


SETTLED_PAGES: dict[str, bytes | DownloadError] = dict.fromkeys(SETTLED.values(), ONE)


@pytest.mark.parametrize("text", ["known", f"{URL}#sha256={SHA_ONE}"])
def test_other_bytes_than_the_known_ones_are_refused(site: Site, cache: DashboardCache, text: str) -> None:
    """Bytes with another checksum are not used and not kept; both checksums are named."""
    site.pages = {at("known"): TWO, URL: TWO}

    with pytest.raises(DownloadError, match=f"sha256 {SHA_TWO}, expected {SHA_ONE} \\(known beforehand\\)") as raised:
        library(site, cache).obtain(remote(text))

    assert raised.value.hint is not None
    assert cache.content(SHA_TWO) is None


def test_other_bytes_than_the_pinned_ones_are_refused(site: Site, cache: DashboardCache) -> None:
    """A pin holds when the cached file is gone and the address gives something else; --refresh takes the new bytes."""
    site.pages = {at("unseen"): ONE}
    library(site, cache).obtain(remote("unseen"))
    (cache.directory / "files" / f"{SHA_ONE}.json").unlink()
    site.pages = {at("unseen"): TWO}

    with pytest.raises(DownloadError, match=f"expected {SHA_ONE} \\(pinned at ") as raised:
        library(site, cache).obtain(remote("unseen"))
    assert raised.value.hint == "if the change is meant: kvobs dashboards pull --refresh unseen"

    refreshed = library(site, cache, refresh=True).obtain(remote("unseen"))
    assert refreshed.content == TWO
    assert [said.partition(" since ")[0] for said in refreshed.warnings] == ["it has changed"]
    assert library(site, cache).obtain(remote("unseen")).content == TWO


def test_a_file_that_was_changed_in_the_cache_is_downloaded_again(site: Site, cache: DashboardCache) -> None:
    """What somebody put into the cache is not used."""
    site.pages = {at("known"): ONE}
    library(site, cache).obtain(remote("known"))
    (cache.directory / "files" / f"{SHA_ONE}.json").write_bytes(TWO)

    obtained = library(site, cache).obtain(remote("known"))

    assert (obtained.content, obtained.how) == (ONE, "downloaded")
    assert cache.content(SHA_ONE) == ONE


def test_an_address_may_change(site: Site, cache: DashboardCache) -> None:
    """What stands at an address is asked for each time, and a change is told."""
    site.pages = {URL: ONE}
    library(site, cache).obtain(remote(URL))
    same = library(site, cache).obtain(remote(URL))
    site.pages = {URL: TWO}
    other = library(site, cache).obtain(remote(URL))

    assert (same.how, same.warnings) == ("downloaded", ())
    assert other.content == TWO
    assert [SHA_ONE in warning and SHA_TWO in warning for warning in other.warnings] == [True]


def test_the_last_copy_where_nobody_answers(site: Site, cache: DashboardCache) -> None:
    """Without an answer, or offline, the last copy of an address is used, and its age told."""
    site.pages = {URL: ONE}
    library(site, cache).obtain(remote(URL))
    site.pages = {URL: AWAY}

    away = library(site, cache).obtain(remote(URL))
    offline = library(site, cache, offline=True).obtain(remote(URL))

    assert away.content == offline.content == ONE
    assert "nobody answers" in away.warnings[0]
    assert offline.warnings[0].startswith("the copy of 20")


def test_a_refusal_is_no_silence(site: Site, cache: DashboardCache) -> None:
    """An address that says no is not answered from the cache: what it gave may have been withdrawn."""
    site.pages = {URL: ONE}
    library(site, cache).obtain(remote(URL))
    site.pages = {URL: DownloadError("is no longer there (HTTP 410)")}

    with pytest.raises(DownloadError, match="410"):
        library(site, cache).obtain(remote(URL))


@pytest.mark.parametrize("text", ["known", "unseen", "grafana:12239", "grafana:12239@2", URL])
def test_nothing_is_asked_offline(site: Site, cache: DashboardCache, text: str) -> None:
    """Offline, what is not in the cache is an error with the command that puts it there."""
    with pytest.raises(DownloadError, match="--offline downloads nothing") as raised:
        library(site, cache, offline=True).obtain(remote(text))

    assert f"kvobs dashboards pull '{text}'" in (raised.value.hint or "")
    assert site.asked == []


def revisions(*numbers: int) -> bytes:
    """What Grafana.com lists."""
    return json.dumps({"items": [{"revision": number} for number in numbers]}).encode()


def test_the_newest_revision_is_looked_up_once_and_said(site: Site, cache: DashboardCache) -> None:
    """`grafana:ID` is the newest revision of the first time, until --refresh looks again."""
    site.pages = {GRAFANA: revisions(1, 3, 2), f"{GRAFANA}/3/download": ONE}
    first = library(site, cache).obtain(remote("grafana:12239"))
    site.pages = {GRAFANA: revisions(1, 2, 3, 4), f"{GRAFANA}/4/download": TWO}
    second = library(site, cache, offline=True).obtain(remote("grafana:12239"))
    third = library(site, cache, refresh=True).obtain(remote("grafana:12239"))
    fourth = library(site, cache).obtain(remote("grafana:12239"))

    assert [each.revision for each in (first, second, third, fourth)] == ["3", "3", "4", "4"]
    assert [each.how for each in (first, second, third, fourth)] == ["downloaded", "cached", "downloaded", "cached"]
    assert first.warnings[0] == "revision 3 was taken, the newest; to name it: grafana:12239@3"
    assert "pull --refresh grafana:12239" in second.warnings[0]


@pytest.mark.parametrize(
    "listed", [b"{}", b"[]", b"null", b'{"items": [{"revision": true}, {"revision": "2"}, 3, {}]}', b"nonsense"]
)
def test_an_answer_that_lists_no_revision(site: Site, cache: DashboardCache, listed: bytes) -> None:
    """What Grafana.com may answer instead is an error that says to name a revision."""
    site.pages = {GRAFANA: listed}
    with pytest.raises(DownloadError) as raised:
        library(site, cache).obtain(remote("grafana:12239"))
    assert raised.value.hint == "name a revision: grafana:12239@1"


NO_DASHBOARD = {
    "text": b"hello",
    "list": b"[1]",
    "other-json": b'{"message": "Not found"}',
    "two": ONE + TWO,
    "cut": ONE[:-3],
    "deep": b'{"panels":' + b"[" * 200_000,
    "number": b'{"panels": [1e999]}',
    "binary": bytes(range(256)),
    "empty": b"",
}


@pytest.mark.parametrize("name", NO_DASHBOARD)
def test_what_is_no_dashboard_is_refused(site: Site, cache: DashboardCache, name: str) -> None:
    """Anything but a dashboard is refused by name before it is kept."""
    site.pages = {URL: NO_DASHBOARD[name]}

    with pytest.raises(DownloadError, match=r"https://a\.example/d\.json: "):
        library(site, cache).obtain(remote(URL))

    assert not cache.directory.exists()


def test_a_cache_that_cannot_be_written_is_told(site: Site, tmp_path: Path) -> None:
    """A disk that takes nothing costs a warning and a download next time, and nothing more."""
    (tmp_path / "file").write_text("")
    site.pages = {at("known"): ONE}

    obtained = library(site, DashboardCache(tmp_path / "file" / "cache")).obtain(remote("known"))

    assert obtained.content == ONE
    assert obtained.warnings[0].startswith("it is not kept for later runs: ")
