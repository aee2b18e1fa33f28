"""What an install and a render put in: the shipped monitors, the shipped dashboards and the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from ..adapters.assets import MonitorName, shipped_dashboards, shipped_monitor
from ..adapters.sources import read_documents
from ..dashboard.jsontext import read_json
from ..errors import KvobsError
from ..stack.facts import Object


@dataclass(frozen=True, kw_only=True, slots=True)
class Dashboards:
    """Dashboards as they were read."""

    documents: tuple[tuple[str, Any], ...]
    """(source, document)."""
    unreadable: tuple[tuple[str, str], ...]
    """(source, why)."""
    warnings: Mapping[str, tuple[str, ...]]
    """Source -> what a person should know about its text."""


def read_dashboards(sources: Sequence[str]) -> Dashboards:
    """Read the shipped dashboards and those of *sources*; one that cannot be read stops no other."""
    documents = [(name, read_json(content).document) for name, content in shipped_dashboards()]
    unreadable: list[tuple[str, str]] = []
    warnings: dict[str, tuple[str, ...]] = {}
    for source, outcome in read_documents(sources):
        if isinstance(outcome, KvobsError):
            unreadable.append((source, str(outcome)))
        else:
            documents.append((source, outcome.document))
            warnings[source] = outcome.warnings
    return Dashboards(documents=tuple(documents), unreadable=tuple(unreadable), warnings=warnings)


def shipped_monitors() -> dict[str, Object]:
    """Return the shipped monitors by name."""
    return {name: shipped_monitor(name) for name in get_args(MonitorName)}
