"""The dashboards that others publish for the same metrics, as typed entries: where each is, how to know it again.

Facts only. The file is `dashboards/catalog.toml`; a key that is not known here, a missing one and a value of the
wrong form are errors, so that a slip never reaches a download.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import quote

from ..errors import DocumentError

UNKNOWN = "unknown"
"""What the file says for a checksum of bytes that nobody of us has seen."""

SHIPPED = ("dcgm", "two-lenses", "vllm")
"""The names of kvobs' own dashboards, which no entry may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Upstream:
    """A dashboard that somebody else publishes: a file of a repository at a commit, or a revision on Grafana.com."""

    name: str
    """Unique in the catalogue, and no topic."""
    topic: str
    """What it shows, or whose metrics: `dcgm`, `vllm`, `llm-d`, …"""
    revision: str
    """The full commit; for one that comes from Grafana.com the number of its revision there."""
    licence: str
    """SPDX identifier, or `unknown`: Grafana.com states none."""
    sha256: str | None
    """None: its bytes were never seen here; they are pinned when they are first downloaded."""
    repository: str | None = None
    """owner/repo in which `path` at `revision` is found; None: it comes from Grafana.com."""
    path: str | None = None
    upstream: str | None = None
    """owner/repo of the project itself, where the bytes were read in a fork that carries its revision."""
    grafana_com: int | None = None
    """Its number on Grafana.com."""
    uid: str | None = None
    """None: the file has no uid, or is not known."""
    title: str | None = None
    """None: not known."""

    @property
    def url(self) -> str:
        """The address of its bytes: the project's own, which has the revision wherever a fork has it."""
        if self.repository is not None and self.path is not None:
            return github_url(self.upstream or self.repository, self.path, self.revision)
        assert self.grafana_com is not None  # The one or the other; `read_catalog` checks it.
        return grafana_com_url(self.grafana_com, int(self.revision))

    @property
    def place(self) -> str:
        """Where it comes from, in short, for a reader."""
        return f"grafana.com {self.grafana_com}" if self.repository is None else self.upstream or self.repository


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every upstream dashboard that is known, in the order of the file."""

    entries: tuple[Upstream, ...]

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def named(self, name: str) -> Upstream | None:
        """Return the entry of that name."""
        return next((each for each in self if each.name == name), None)

    def of_topic(self, topic: str) -> tuple[Upstream, ...]:
        """Return the entries of that topic."""
        return tuple(each for each in self if each.topic == topic)

    def on_grafana_com(self, number: int, revision: int) -> Upstream | None:
        """Return the entry that is that revision on Grafana.com."""
        there = (each for each in self if each.repository is None and each.grafana_com == number)
        return next((each for each in there if each.revision == str(revision)), None)

    @property
    def topics(self) -> tuple[str, ...]:
        """Every topic, in the order of the file."""
        return tuple(dict.fromkeys(each.topic for each in self))


def github_url(repository: str, path: str, revision: str) -> str:
    """Return the address of a file's bytes at a commit.

    >>> github_url("NVIDIA/dcgm-exporter", "grafana/a b.json", "1de04aa")
    'https://raw.githubusercontent.com/NVIDIA/dcgm-exporter/1de04aa/grafana/a%20b.json'
    """
    return f"https://raw.githubusercontent.com/{repository}/{revision}/{quote(path)}"


def grafana_com_url(number: int, revision: int) -> str:
    """Return the address from which Grafana.com gives a dashboard as a file.

    >>> grafana_com_url(12239, 2)
    'https://grafana.com/api/dashboards/12239/revisions/2/download'
    """
    return f"https://grafana.com/api/dashboards/{number}/revisions/{revision}/download"


def grafana_com_revisions_url(number: int) -> str:
    """Return the address at which Grafana.com lists the revisions of a dashboard: `items`, each with `revision`."""
    return f"https://grafana.com/api/dashboards/{number}/revisions"


def read_catalog(text: str) -> Catalog:
    """Read the catalogue; raise DocumentError for one that breaks its own rules, naming the entry and the rule."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"the catalogue is not TOML: {error}") from error
    if set(document) != {"dashboard"} or not isinstance(document["dashboard"], list):
        raise DocumentError("the catalogue holds something beside its [[dashboard]] entries")
    entries = tuple(_entry(number, row) for number, row in enumerate(document["dashboard"], start=1))
    _each_once([each.name for each in entries], "name")
    _each_once([each.sha256 for each in entries if each.sha256], "sha256")
    _each_once([each.url for each in entries], "place")
    topics = {each.topic for each in entries}
    for each in entries:
        if each.name in topics or each.name in SHIPPED:
            raise DocumentError(f"catalogue: the name {each.name!r} is a topic's or one of kvobs' own")
    return Catalog(entries)


def _matches(pattern: str) -> Callable[[Any], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


_SLUG = _matches(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OWNER_AND_NAME = _matches(r"[A-Za-z0-9][\w-]*/[A-Za-z0-9_][\w.-]*")
_TEXT = _matches(r"\S(?:.*\S)?")

_FORM: Mapping[str, Callable[[Any], bool]] = {
    "name": _SLUG,
    "topic": _SLUG,
    "revision": _matches(r"[0-9a-f]{40}|[1-9][0-9]*"),
    "licence": _matches(r"[A-Za-z0-9][A-Za-z0-9.+-]*"),
    "sha256": _matches(rf"[0-9a-f]{{64}}|{UNKNOWN}"),
    "repository": _OWNER_AND_NAME,
    "upstream": _OWNER_AND_NAME,
    "path": _matches(r"(?!.*(?:^|/)\.\.?(?:/|$))[\w. -]+(?:/[\w. -]+)*\.json"),
    "grafana_com": lambda value: type(value) is int and value > 0,
    "uid": _TEXT,
    "title": _TEXT,
}
_REQUIRED = ("name", "topic", "revision", "licence", "sha256")


def _entry(number: int, row: Any) -> Upstream:
    if not isinstance(row, dict):
        raise DocumentError(f"catalogue entry {number} is no table")
    where = f"catalogue entry {number} ({row.get('name', 'without a name')})"
    if unknown := sorted(set(row) - {each.name for each in fields(Upstream)}):
        raise DocumentError(f"{where}: {', '.join(unknown)} is not known")
    if missing := [key for key in _REQUIRED if key not in row]:
        raise DocumentError(f"{where}: {', '.join(missing)} is missing")
    for key, value in row.items():
        if not _FORM[key](value):
            raise DocumentError(f"{where}: {key} = {value!r} has not the form of one")
    in_repository = "repository" in row
    if in_repository != ("path" in row):
        raise DocumentError(f"{where}: repository and path belong together")
    if "upstream" in row and not in_repository:
        raise DocumentError(f"{where}: upstream belongs to a repository")
    if not in_repository and "grafana_com" not in row:
        raise DocumentError(f"{where}: neither a repository nor a number on Grafana.com says where it is")
    if in_repository != (len(row["revision"]) == 40):
        raise DocumentError(f"{where}: a repository's revision is a full commit, Grafana.com's is a number")
    return Upstream(**{**row, "sha256": None if row["sha256"] == UNKNOWN else row["sha256"]})


def _each_once(values: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise DocumentError(f"catalogue: the {what} {value!r} stands twice")
        seen.add(value)
