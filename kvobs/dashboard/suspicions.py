"""What is worth a word without being a broken reference: who asks nobody in particular, or two sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .datasources import EXPRESSION, MIXED, PROMETHEUS, Sources
from .document import panels_of
from .placeholders import whole_name

_SHOWN = 3


def suspicions(dashboard: Mapping[str, Any], sources: Sources) -> list[str]:
    """Return one sentence for each kind of oddity that a patched dashboard of the classic schema shows."""
    mixed: list[str] = []
    silent: list[str] = []
    for panel in panels_of(dashboard):
        targets = panel.get("targets")
        if not isinstance(targets, list):
            continue
        own = _source(panel)
        asked = {_source(target) for target in targets if isinstance(target, dict)} - {EXPRESSION}
        # One variable may be spelled in several ways.
        if own not in (None, MIXED) and {_plain(each) for each in asked - {None, own}} - {_plain(own)}:
            mixed.append(repr(panel.get("title") or panel.get("id")))
        if None in asked and own in (None, MIXED):
            silent.append(repr(panel.get("title") or panel.get("id")))
    found = []
    if mixed:
        found.append(f"panels whose targets name another source than the panel: {_listed(mixed)}")
    if not sources.default_is(PROMETHEUS):
        kind = "not known" if sources.default is None else f"of type {sources.default.get('type')}"
        silent_variables = _silent_variables(dashboard)
        for what, names in (("panels", silent), ("variables", silent_variables)):
            if names:
                found.append(f"{what} that ask the default source, which is {kind}: {_listed(names)}")
    return found


def _source(holder: Mapping[str, Any]) -> str | None:
    reference = holder.get("datasource")
    if isinstance(reference, dict):
        reference = reference.get("uid")
    return reference if isinstance(reference, str) else None


def _plain(source: str | None) -> str | None:
    variable = None if source is None else whole_name(source)
    return source if variable is None else f"${variable}"


def _silent_variables(dashboard: Mapping[str, Any]) -> list[str]:
    templating = dashboard.get("templating")
    entries = templating.get("list") if isinstance(templating, dict) else None
    return [
        str(entry.get("name"))
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and entry.get("type") == "query" and entry.get("datasource") is None
    ]


def _listed(names: list[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
