"""What an install and a render put in: the shipped monitors, the shipped dashboards and the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from ..adapters.assets import MonitorName, shipped_dashboards, shipped_monitor
from ..dashboard.jsontext import read_json
from ..dashboard.origins import Shipped
from ..errors import KvobsError
from ..stack.facts import Object
from .named import named_dashboards
from .progress import Progress


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
    for named in named_dashboards(sources, offline=offline, ca_file=ca_file, progress=progress):
        if isinstance(named.origin, Shipped):
            continue  # They are all there already.
        try:
            if isinstance(named.content, KvobsError):
                raise named.content
            text = read_json(named.content)
        except KvobsError as error:
            unreadable.append((named.place, str(error) + (f" ({error.hint})" if error.hint else "")))
            continue
        if text.document not in (each for _, each in documents):  # Else named twice: by its folder too, say.
            documents.append((named.place, text.document))
            warnings[named.place] = (*named.warnings, *text.warnings)
    return Dashboards(documents=tuple(documents), unreadable=tuple(unreadable), warnings=warnings)


def shipped_monitors() -> dict[str, Object]:
    """Return the shipped monitors by name."""
    return {name: shipped_monitor(name) for name in get_args(MonitorName)}
