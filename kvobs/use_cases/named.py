"""The dashboards that a person names: kvobs' own, files and folders, and those that are downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ..adapters.assets import catalog, shipped_dashboards
from ..adapters.dashboard_cache import DashboardCache
from ..adapters.sources import STDIN, read_files
from ..dashboard.catalog import Catalog
from ..dashboard.origins import Local, Origin, Remote, Shipped, read_origin, unknown_name
from ..errors import KvobsError, UsageError
from .obtain import Library
from .progress import Progress, Silent


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """One dashboard that was named, or why it cannot be had."""

    origin: Origin
    place: str
    """How a person knows it: the path of its file, its name, its address without credentials."""
    content: bytes | KvobsError
    """Its text; of one that was downloaded it is JSON, and was checked."""
    warnings: tuple[str, ...] = ()
    """What a person should know about how it came."""


def named_dashboards(
    names: Sequence[str],
    *,
    offline: bool = False,
    ca_file: str | None = None,
    progress: Progress | None = None,
    must_exist: bool = False,
) -> Iterator[Named]:
    """Yield every dashboard that is named, a folder's one by one; one that cannot be had stops no other.

    Raises UsageError, before anything is read, for a name that can name no dashboard, or several; with *must_exist*
    for a path that is not there, too.
    """
    known = catalog()
    origins = [(text, read_origin(text, known)) for text in names]
    if must_exist:
        _refuse_missing(origins, known)
    with ExitStack() as opened:
        remote = any(isinstance(origin, Remote) for _, origin in origins)
        shelves = opened.enter_context(library(known, offline=offline, ca_file=ca_file)) if remote else None
        for text, origin in origins:
            if isinstance(origin, Shipped):
                name = f"{origin.name}.json"
                yield Named(origin=origin, place=name, content=dict(shipped_dashboards())[name])
            elif isinstance(origin, Local):
                yield from _local(origin, known)
            else:
                assert shelves is not None  # opened for it
                (progress or Silent()).state(f"dashboard {origin.name}")
                yield _obtained(text, origin, shelves)


@contextmanager
def library(
    known: Catalog, *, offline: bool = False, refresh: bool = False, ca_file: str | None = None
) -> Iterator[Library]:
    """Give a library over this user's cache, and close its connections in the end."""
    # The HTTP library is loaded for those who name a dashboard of others, and for nobody else.
    from ..adapters.downloads import Downloads

    with Downloads(ca_file=ca_file) as downloads:
        yield Library(known, DashboardCache(), downloads, offline=offline, refresh=refresh)


def _is_missing(origin: Local) -> bool:
    return origin.path != STDIN and not os.path.lexists(origin.path)


def _refuse_missing(origins: Sequence[tuple[str, Origin]], known: Catalog) -> None:
    for text, origin in origins:
        if isinstance(origin, Local) and _is_missing(origin):
            error = unknown_name(text, known)
            raise UsageError(str(error), hint=error.hint)


def _local(origin: Local, known: Catalog) -> Iterator[Named]:
    if _is_missing(origin):
        yield Named(origin=origin, place=origin.path, content=unknown_name(origin.path, known))
        return
    for place, content in read_files(origin.path):
        yield Named(origin=origin, place=place, content=content)


def _obtained(text: str, origin: Remote, shelves: Library) -> Named:
    also = (f"{text} is also here; to name it: ./{text}",) if os.path.lexists(text) else ()
    try:
        obtained = shelves.obtain(origin)
    except UsageError:
        raise
    except KvobsError as error:
        return Named(origin=origin, place=origin.name, content=error)
    return Named(origin=origin, place=origin.name, content=obtained.content, warnings=(*also, *obtained.warnings))
