"""Whether a live object still is what was applied: every field of ours compared, and only those."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .facts import Object
from .objects import HIDDEN, is_built_in, kind_of
from .quantities import same_quantity


@dataclass(frozen=True, slots=True)
class Drift:
    """One field that is not as it was applied; None stands for a field that is not there."""

    path: str
    wanted: Any
    live: Any


def same_ignoring_server_fields(wanted: Object, live: Object) -> bool:
    """Whether every field of `wanted` stands in `live` with the same meaning.

    Fields that only the live object has (defaults, status, other managers' labels) do not count.
    """
    return not drift(wanted, live)


def drift(wanted: Object, live: Object) -> tuple[Drift, ...]:
    """Every field of `wanted` that differs in `live`, in order; a Secret's values are not shown."""
    kind = kind_of(wanted)
    found: list[Drift] = []
    _compare(_comparable(wanted), _comparable(live), (), is_built_in(kind), found)
    if kind == "Secret":
        return tuple(Drift(one.path, HIDDEN, HIDDEN) if _is_secret_path(one.path) else one for one in found)
    return tuple(found)


_SERVER_WRITTEN = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_NOT_COMPARED = frozenset({"apiVersion", "kind", "status", "stringData"})


def _is_secret_path(path: str) -> bool:
    return path.startswith(("data", "metadata.annotations"))


def _comparable(obj: Object) -> dict[str, Any]:
    """The object without what the server writes, `stringData` as the `data` it becomes."""
    kept = {key: value for key, value in obj.items() if key not in _NOT_COMPARED}
    kept["metadata"] = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _SERVER_WRITTEN}
    if texts := obj.get("stringData"):
        encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
        kept["data"] = {**(obj.get("data") or {}), **encoded}
    return kept


_MISSING = object()

_LIST_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port", "protocol"),
    "secrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}
"""Lists of built-in kinds that the server merges by key: others may add items, and the order says nothing."""

_QUANTITY_PARENTS = frozenset({"limits", "requests", "capacity", "hard"})
_QUANTITY_KEYS = frozenset({"sizeLimit", "divisor"})


def _compare(wanted: Any, live: Any, path: tuple[str, ...], built_in: bool, found: list[Drift]) -> None:
    if live is _MISSING:
        if wanted is not None and not _drops(wanted, path, built_in):
            found.append(Drift(_text(path), wanted, None))
    elif isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for key, value in wanted.items():
            _compare(value, live.get(key, _MISSING), (*path, str(key)), built_in, found)
    elif isinstance(wanted, list) and isinstance(live, list):
        _compare_lists(wanted, live, path, built_in, found)
    elif not _same_scalar(wanted, live, path):
        found.append(Drift(_text(path), wanted, live))


_FREE_MAPS = frozenset({"annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector"})


def _drops(wanted: Any, path: tuple[str, ...], built_in: bool) -> bool:
    """Whether the server leaves this value out: empty fields of metadata and of built-in kinds."""
    if not _FREE_MAPS.isdisjoint(path[-2:-1]):
        return False
    return (built_in or path[:1] == ("metadata",)) and wanted in ({}, [], "", 0)


def _compare_lists(
    wanted: list[Any], live: list[Any], path: tuple[str, ...], built_in: bool, found: list[Drift]
) -> None:
    keys = _LIST_KEYS.get(path[-1]) if built_in and path else None
    if path == ("metadata", "finalizers"):
        found.extend(Drift(_text(path), item, None) for item in wanted if item not in live)
    elif keys and all(isinstance(item, Mapping) for item in (*wanted, *live)):
        by_key = {_list_key(item, keys): item for item in live}
        for item in wanted:
            key = _list_key(item, keys)
            label = f"[{next(str(part) for part in key if part is not None)}]" if any(key) else "[]"
            _compare(item, by_key.get(key, _MISSING), (*path[:-1], path[-1] + label), built_in, found)
    elif len(wanted) != len(live):
        found.append(Drift(_text(path), wanted, live))
    else:
        for index, (one, other) in enumerate(zip(wanted, live, strict=True)):
            where = (*path[:-1], f"{path[-1]}[{index}]") if path else (f"[{index}]",)
            _compare(one, other, where, built_in, found)


def _list_key(item: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    defaults = {"protocol": "TCP"}
    return tuple(item.get(key, defaults.get(key)) for key in keys)


def _same_scalar(wanted: Any, live: Any, path: tuple[str, ...]) -> bool:
    if isinstance(wanted, bool) or isinstance(live, bool):
        return wanted is live  # in Python True equals 1, in JSON it does not
    if wanted == live:
        return True
    is_quantity = not _QUANTITY_KEYS.isdisjoint(path[-1:]) or not _QUANTITY_PARENTS.isdisjoint(path[-2:-1])
    return is_quantity and same_quantity(wanted, live)


def _text(path: tuple[str, ...]) -> str:
    """A path as kubectl's users write it, a key with dots in quotes."""
    return ".".join(f'"{part}"' if "." in part else part for part in path)
