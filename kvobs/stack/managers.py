"""Who set a field of a live object, from its `managedFields`. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .drift import Item, Path
from .facts import Object

RELEASE_NAME = "meta.helm.sh/release-name"
"""The annotation that Helm, and nobody else, puts on what it makes."""


def managers_of(live: Object, path: Path) -> tuple[str, ...]:
    """Return the field managers of what stands at *path*, sorted; none where nobody says that it is theirs.

    Who set a value as a whole (a list that is replaced at once) manages all inside it that nobody manages by itself.
    Owners of the status only do not count.
    """
    exact: set[str] = set()
    whole: set[str] = set()
    for entry in live["metadata"].get("managedFields") or ():
        if entry.get("subresource"):
            continue
        match _reach(entry.get("fieldsV1") or {}, live, path):
            case "exact":
                exact.add(entry["manager"])
            case "whole":
                whole.add(entry["manager"])
    return tuple(sorted(exact or whole))


def helms_managers(live: Object) -> tuple[str, ...]:
    """Return under which names Helm wrote to *live*: it goes by the name of its executable."""
    return managers_of(live, ("metadata", "annotations", RELEASE_NAME)) or ("helm",)


def is_applied_by_helm(live: Object) -> bool:
    """Whether Helm wrote to *live* by server-side apply, as Helm 4 does: it then stops at fields of others."""
    helm = helms_managers(live)
    entries = live["metadata"].get("managedFields") or ()
    return any(each.get("manager") in helm and each.get("operation") == "Apply" for each in entries)


def _reach(fields: Mapping[str, Any], live: Any, path: Path) -> str | None:
    """How far a `fieldsV1` goes along *path*: to its end, to a value around it that is set as a whole, or not."""
    here = fields
    for depth, part in enumerate(path):
        below = here.get(f"f:{part}") if isinstance(part, str) else _item(here, live, part)
        if below is None:
            return "whole" if depth and not here else None
        live = _at(live, part)
        here = below
    return "exact"


def _at(live: Any, part: str | Item) -> Any:
    if isinstance(part, str):
        return live.get(part) if isinstance(live, Mapping) else None
    there = isinstance(live, list) and part.index is not None and part.index < len(live)
    return live[part.index] if there else None


def _item(fields: Mapping[str, Any], live: Any, part: Item) -> Mapping[str, Any] | None:
    """What a `fieldsV1` says of one item of a list: it names items by their keys, or by their value."""
    item = _at(live, part)
    for key, below in fields.items():
        kind, _, text = key.partition(":")
        if kind == "k" and isinstance(item, Mapping):
            if all(item.get(name) == value for name, value in json.loads(text).items()):
                return dict(below)
        elif kind == "v" and item is not None and json.loads(text) == item:
            return dict(below)
    return None
