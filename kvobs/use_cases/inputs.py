"""What an install and a render put in: the shipped monitors, the shipped dashboards and the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, get_args

from ..adapters.assets import MonitorName, catalog, shipped_dashboards, shipped_monitor
from ..adapters.dashboard_cache import DashboardCache
from ..adapters.sources import STDIN, read_documents
from ..dashboard.catalog import Catalog
from ..dashboard.jsontext import read_json
from ..dashboard.origins import Remote, Shipped, read_origin, unknown_name
from ..errors import KvobsError, UsageError
from ..stack.facts import Object
from .obtain import Library
from .progress import Progress, Silent

_Read = tuple[str, Any, tuple[str, ...]]
"""Source, document or error, warnings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dashboards:
    """Dashboards as they were read."""

    documents: tuple[tuple[str, Any], ...]
    """(source, document)."""
    unreadable: tuple[tuple[str, str], ...]
    """(source, why)."""
    warnings: Mapping[str, tuple[str, ...]]
    """Source -> what a person should know about its text and how it came."""


def read_dashboards(
    sources: Sequence[str],
    *,
    offline: bool = False,
    ca_file: str | None = None,
    progress: Progress | None = None,
) -> Dashboards:
    """Read the shipped dashboards and those of *sources*, each once; one that cannot be had stops no other.

    Raises UsageError, before anything is read, for a source that can name no dashboard, or several.
    """
    documents = [(name, read_json(content).document) for name, content in shipped_dashboards()]
    unreadable: list[tuple[str, str]] = []
    warnings: dict[str, tuple[str, ...]] = {}
    if not sources:
        return Dashboards(documents=tuple(documents), unreadable=(), warnings=warnings)
    known = catalog()
    origins = [(text, read_origin(text, known)) for text in sources]
    with ExitStack() as opened:
        remote = any(isinstance(origin, Remote) for _, origin in origins)
        shelves = opened.enter_context(library(known, offline=offline, ca_file=ca_file)) if remote else None
        for text, origin in origins:
            if isinstance(origin, Shipped):
                continue  # They are all there already.
            if isinstance(origin, Remote) and shelves is not None:
                (progress or Silent()).state(f"dashboard {origin.name}")
                read = _obtained(text, origin, shelves)
            else:
                read = _local(text, known)
            for source, outcome, said in read:
                if isinstance(outcome, KvobsError):
                    unreadable.append((source, str(outcome) + (f" ({outcome.hint})" if outcome.hint else "")))
                elif outcome not in (each for _, each in documents):  # Else named twice: by its folder too, say.
                    documents.append((source, outcome))
                    warnings[source] = said
    return Dashboards(documents=tuple(documents), unreadable=tuple(unreadable), warnings=warnings)


@contextmanager
def library(
    known: Catalog, *, offline: bool = False, refresh: bool = False, ca_file: str | None = None
) -> Iterator[Library]:
    """Give a library over this user's cache, and close its connections in the end."""
    # The HTTP library is loaded for those who name a dashboard of others, and for nobody else.
    from ..adapters.downloads import Downloads

    with Downloads(ca_file=ca_file) as downloads:
        yield Library(known, DashboardCache(), downloads, offline=offline, refresh=refresh)


def _obtained(text: str, remote: Remote, shelves: Library) -> Iterator[_Read]:
    also = (f"{text} is also here; to name it: ./{text}",) if os.path.lexists(text) else ()
    try:
        obtained = shelves.obtain(remote)
    except UsageError:
        raise
    except KvobsError as error:
        yield remote.name, error, ()
    else:
        yield remote.name, obtained.text.document, (*also, *obtained.text.warnings, *obtained.warnings)


def _local(text: str, known: Catalog) -> Iterator[_Read]:
    if text != STDIN and not os.path.lexists(text):
        yield text, unknown_name(text, known), ()
        return
    for source, outcome in read_documents([text]):
        if isinstance(outcome, KvobsError):
            yield source, outcome, ()
        else:
            yield source, outcome.document, outcome.warnings


def shipped_monitors() -> dict[str, Object]:
    """Return the shipped monitors by name."""
    return {name: shipped_monitor(name) for name in get_args(MonitorName)}
