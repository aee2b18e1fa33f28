"""`kvobs dashboards`: which dashboards there are to name, and getting them before they are needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..adapters.assets import catalog, shipped_dashboards
from ..adapters.dashboard_cache import DashboardCache, sha256_of
from ..adapters.sources import write_new
from ..dashboard.catalog import SHIPPED, Catalog, Upstream
from ..dashboard.jsontext import read_json
from ..dashboard.origins import Local, Origin, Remote, Shipped, from_catalog, read_origin, unknown_name
from ..errors import DocumentError, KvobsError, UsageError
from .named import library
from .obtain import Library
from .progress import Progress, Silent

Checksum = Literal["shipped", "known", "pinned", "unknown"]
Outcome = Literal["shipped", "downloaded", "cached", "failed"]

_OURS = "Apache-2.0"


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownDashboard:
    """One dashboard that `--dashboard` may name."""

    name: str
    topic: str
    title: str | None
    """None: not known before it is downloaded."""
    source: str
    url: str | None
    revision: str
    licence: str
    sha256: str | None
    checksum: Checksum
    """Whose the checksum is: `known` from the catalogue, `pinned` by this machine's first download, else none yet."""
    cached: bool
    """Whether its bytes are on this machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DashboardList:
    """The dashboards that kvobs knows."""

    dashboards: tuple[KnownDashboard, ...]
    cache: str

    @property
    def exit_code(self) -> int:
        """0: a list is no finding."""
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class PulledDashboard:
    """What became of one dashboard."""

    name: str
    outcome: Outcome
    sha256: str | None = None
    revision: str | None = None
    written: str | None = None
    """The file it was written to, where a folder was named."""
    warnings: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None
    error_exit_code: int = field(default=0, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class PullReport:
    """What `kvobs dashboards pull` got."""

    dashboards: tuple[PulledDashboard, ...]
    cache: str

    @property
    def exit_code(self) -> int:
        """0; 1 where one could not be had; 3 where one could not be written."""
        return max((each.error_exit_code for each in self.dashboards), default=0)


def list_dashboards(topic: str | None = None, *, cache: DashboardCache | None = None) -> DashboardList:
    """Return every dashboard that can be named, ours first, or those of a topic; asks no network."""
    known, cache = catalog(), cache or DashboardCache()
    _check_topic(topic, known)
    ours = (_shipped(name, content) for name, content in shipped_dashboards())
    rows = [*ours, *(_known(entry, cache) for entry in known)]
    return DashboardList(
        dashboards=tuple(row for row in rows if topic in (None, row.topic)), cache=str(cache.directory)
    )


def pull(
    names: Sequence[str] = (),
    *,
    everything: bool = False,
    directory: str | None = None,
    refresh: bool = False,
    offline: bool = False,
    ca_file: str | None = None,
    progress: Progress | None = None,
) -> PullReport:
    """Download dashboards into this user's cache, and write each into *directory* where one is named.

    *names* are those of `--dashboard`, and topics; one that fails stops no other. Raises UsageError.
    """
    if bool(names) == everything:
        raise UsageError("name the dashboards, or --all of the catalogue", hint="kvobs dashboards list shows the names")
    if refresh and offline:
        raise UsageError("--refresh and --offline exclude each other", hint="leave one of them out")
    known, progress = catalog(), progress or Silent()
    wanted: list[tuple[str, Origin]] = []
    for text in [each.name for each in known] if everything else names:
        several = () if text in SHIPPED else known.of_topic(text)
        origins = [from_catalog(each) for each in several] if several else [read_origin(text, known)]
        wanted += [(each.name if isinstance(each, Remote) else text, each) for each in origins]
    ours = dict(shipped_dashboards())
    pulled: list[PulledDashboard] = []
    with library(known, offline=offline, refresh=refresh, ca_file=ca_file) as shelves:
        for name, origin in wanted:
            progress.step(f"dashboard {name}")
            try:
                pulled.append(_pulled(name, origin, known, shelves, ours, directory))
            except UsageError:
                raise
            except KvobsError as error:
                pulled.append(
                    PulledDashboard(
                        name=name,
                        outcome="failed",
                        error=str(error),
                        hint=error.hint,
                        error_exit_code=error.exit_code,
                    )
                )
    return PullReport(dashboards=tuple(pulled), cache=str(DashboardCache().directory))


def _pulled(
    name: str, origin: Origin, known: Catalog, shelves: Library, ours: dict[str, bytes], directory: str | None
) -> PulledDashboard:
    if isinstance(origin, Local):
        if os.path.lexists(origin.path):
            raise DocumentError(
                f"{name} is here already", hint=f"nothing to pull: --dashboard {name} takes it as it is"
            )
        raise unknown_name(name, known)
    if isinstance(origin, Shipped):
        file_name, content = f"{name}.json", ours[f"{name}.json"]
        row = PulledDashboard(name=name, outcome="shipped", sha256=sha256_of(content))
    else:
        obtained = shelves.obtain(origin)
        file_name, content = origin.file_name, obtained.content
        row = PulledDashboard(
            name=name,
            outcome=obtained.how,
            sha256=obtained.sha256,
            revision=obtained.revision,
            warnings=(*obtained.text.warnings, *obtained.warnings),
        )
    return row if directory is None else replace(row, written=write_new(directory, file_name, content))


def _check_topic(topic: str | None, known: Catalog) -> None:
    topics = dict.fromkeys((*SHIPPED, *known.topics))
    if topic is not None and topic not in topics:
        raise UsageError(f"{topic!r} is no topic of the catalogue", hint=f"one of {', '.join(topics)}")


def _shipped(file_name: str, content: bytes) -> KnownDashboard:
    name = file_name.removesuffix(".json")
    return KnownDashboard(
        name=name,
        topic=name,
        title=str(read_json(content).document["title"]),
        source="kvobs",
        url=None,
        revision="",
        licence=_OURS,
        sha256=sha256_of(content),
        checksum="shipped",
        cached=True,
    )


def _known(entry: Upstream, cache: DashboardCache) -> KnownDashboard:
    pin = None if entry.sha256 else cache.pin(from_catalog(entry).key)
    sha256 = entry.sha256 or (pin.sha256 if pin else None)
    return KnownDashboard(
        name=entry.name,
        topic=entry.topic,
        title=entry.title,
        source=entry.place,
        url=entry.url,
        revision=entry.revision,
        licence=entry.licence,
        sha256=sha256,
        checksum="known" if entry.sha256 else "pinned" if pin else "unknown",
        cached=sha256 is not None and cache.content(sha256) is not None,
    )
