"""The cache of downloaded dashboards: what it gives back is what was put in, whatever happened to the files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from kvobs.adapters.dashboard_cache import MAX_BYTES, DashboardCache, cache_directory, pin_now, sha256_of
from kvobs.errors import ActionError

CONTENT = b'{"title": "a"}'
KEY = "grafana:12239@2"


@pytest.fixture
def cache(tmp_path: Path) -> DashboardCache:
    """A cache that is not there yet."""
    return DashboardCache(tmp_path / "cache")


def only_file(cache: DashboardCache, kind: str) -> Path:
    """The one file of a kind."""
    (path,) = (cache.directory / kind).iterdir()
    return path


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/kvobs/dashboards"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/kvobs/dashboards"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/kvobs/dashboards"),
        ({"HOME": "/h"}, "/h/.cache/kvobs/dashboards"),
    ],
)
def test_where_it_is(environment: dict[str, str], expected: str) -> None:
    """The cache is where the XDG specification says, below the user's home otherwise."""
    assert str(cache_directory(environment)) == expected


def test_what_was_kept_comes_back(cache: DashboardCache) -> None:
    """Bytes are found by their checksum and pins by their origin; both are this user's alone."""
    assert cache.content(sha256_of(CONTENT)) is None
    assert cache.pin(KEY) is None

    cache.keep(CONTENT, pin_now(KEY, CONTENT, revision="2"))

    assert cache.content(sha256_of(CONTENT)) == CONTENT
    pin = cache.pin(KEY)
    assert pin is not None
    assert (pin.sha256, pin.revision) == (sha256_of(CONTENT), "2")
    assert stat.S_IMODE((cache.directory / "pins").stat().st_mode) == 0o700


def test_keeping_twice_changes_nothing(cache: DashboardCache) -> None:
    """The same content is one file, a new pin takes the place of the old one."""
    for content in (CONTENT, CONTENT, b"{}"):
        cache.keep(content, pin_now(KEY, content))

    assert len(list((cache.directory / "files").iterdir())) == 2
    assert json.loads(only_file(cache, "pins").read_text())["sha256"] == sha256_of(b"{}")


def changed(path: Path) -> None:
    """Other bytes of the same length."""
    path.write_bytes(CONTENT.replace(b"a", b"b"))


def emptied(path: Path) -> None:
    """A disk that was full."""
    path.write_bytes(b"")


def grown(path: Path) -> None:
    """More than a dashboard has."""
    path.write_bytes(b" " * (MAX_BYTES + 1))


def a_link(path: Path) -> None:
    """A link to what was there."""
    elsewhere = path.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def a_dead_link(path: Path) -> None:
    """A link to nothing."""
    path.unlink()
    path.symlink_to("/nonexistent")


def a_pipe(path: Path) -> None:
    """A pipe that nobody writes into."""
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    """A folder in its place."""
    path.unlink()
    path.mkdir()


def gone(path: Path) -> None:
    """Nothing in its place."""
    path.unlink()


HARM = [changed, emptied, grown, a_link, a_dead_link, a_pipe, a_folder, gone]
each_harm = pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)


@each_harm
@pytest.mark.parametrize("kind", ["files", "pins"])
def test_a_file_that_is_not_what_was_kept_counts_as_absent(
    cache: DashboardCache, kind: str, harm: Callable[[Path], None]
) -> None:
    """A changed file, a link, a pipe or a folder in the cache is never believed, and never waited for."""
    cache.keep(CONTENT, pin_now(KEY, CONTENT))
    harm(only_file(cache, kind))

    found = cache.content(sha256_of(CONTENT)) if kind == "files" else cache.pin(KEY)
    assert found is None


@pytest.mark.parametrize("harm", [a_link, a_dead_link, a_pipe, a_folder], ids=lambda harm: harm.__name__)
def test_nothing_is_written_through_what_stands_there(cache: DashboardCache, harm: Callable[[Path], None]) -> None:
    """A link in the cache is not followed to be overwritten; the error says what to delete."""
    cache.keep(CONTENT, pin_now(KEY, CONTENT))
    harm(only_file(cache, "pins"))

    with pytest.raises(ActionError, match="is no regular file") as raised:
        cache.keep(CONTENT, pin_now(KEY, CONTENT))

    assert raised.value.hint is not None
    assert str(cache.directory) in raised.value.hint


PINS = {
    "no-json": "{",
    "a-list": "[]",
    "another-version": json.dumps({"version": 2, "key": KEY, "sha256": "0" * 64, "at": "x"}),
    "another-origin": json.dumps({"version": 1, "key": "grafana:1@1", "sha256": "0" * 64, "at": "x"}),
    "no-checksum": json.dumps({"version": 1, "key": KEY, "at": "x"}),
    "a-path-for-a-checksum": json.dumps({"version": 1, "key": KEY, "sha256": "../../x", "at": "x"}),
    "too-deep": "[" * 100_000,
}


@pytest.mark.parametrize("name", PINS)
def test_a_pin_that_cannot_be_read_is_none(cache: DashboardCache, name: str) -> None:
    """A pin that says something else than it must counts as absent."""
    cache.keep(CONTENT, pin_now(KEY, CONTENT))
    only_file(cache, "pins").write_text(PINS[name])

    assert cache.pin(KEY) is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "/etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_checksum_is_never_a_path(cache: DashboardCache, name: str) -> None:
    """Only 64 hexadecimal digits name a file of the cache."""
    (cache.directory / "files").mkdir(parents=True)
    assert cache.content(name) is None


@pytest.mark.parametrize("key", ["../../x", "/etc/passwd", "a\0b", "x" * 5000, "\ud800", "con", "💩", ""])
def test_an_origin_is_never_a_path(cache: DashboardCache, key: str) -> None:
    """Whatever an origin is called, its pin lies in the folder of pins, under a plain name."""
    cache.keep(CONTENT, pin_now(key, CONTENT))

    parents = sorted(path.parent for path in cache.directory.rglob("*") if path.is_file())
    assert parents == [cache.directory / "files", cache.directory / "pins"]
    assert cache.pin(key) is not None


def test_a_cache_below_a_file(tmp_path: Path) -> None:
    """A folder that cannot be made is an error that names the place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ActionError, match="cannot be written"):
        DashboardCache(tmp_path / "file" / "cache").keep(CONTENT, None)
    assert DashboardCache(tmp_path / "file" / "cache").content(sha256_of(CONTENT)) is None
