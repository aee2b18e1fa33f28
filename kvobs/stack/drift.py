"""Which fields of a live object are not as they were wanted: every field that was said, and only those.

An API server fills in defaults, respells quantities and drops what is empty; other people add labels and sidecars.
None of that is a difference. `differences` compares two answers of one server, where none of it can be.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .facts import Object
from .objects import HIDDEN, is_built_in, kind_of
from .quantities import same_quantity
from .record import ABSENT


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list: where it stands in the live one (None: it does not), and what it is called."""

    index: int | None
    name: str


Path = tuple[str | Item, ...]
"""The way from the top of an object to a field."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One field that is not as it is wanted; `ABSENT` stands for one that is not there."""

    path: Path
    wanted: Any
    live: Any


def path_text(path: Path) -> str:
    """Return a path as kubectl's users write it; a key with dots stands in quotes.

    >>> path_text(("spec", "containers", Item(0, "main"), "image")), path_text(("data", "a.json"))
    ('spec.containers[main].image', 'data."a.json"')
    """
    text = ""
    for part in path:
        if isinstance(part, Item):
            text += f"[{part.name}]"
        else:
            text += ("." if text else "") + (f'"{part}"' if "." in part else part)
    return text


def drift(wanted: Object, live: Object) -> tuple[Drift, ...]:
    """Return every field of *wanted* that means something else in *live*, in order; a Secret's values are hidden.

    Fields that only the live object has (defaults, status, other people's labels) do not count.
    """
    found: list[Drift] = []
    _compare(_comparable(wanted), _comparable(live), (), is_built_in(kind_of(wanted)), found)
    return _shown(wanted, found)


def dropped(before: Object, wanted: Object, live: Object) -> tuple[Drift, ...]:
    """Return every field that *before* said, *wanted* says no more, and *live* still has: an upgrade takes it away."""
    found: list[Drift] = []
    said, says, stands = (_comparable(each) for each in (before, wanted, live))
    _compare_dropped(said, says, stands, (), is_built_in(kind_of(wanted)), found)
    return _shown(wanted, found)


def differences(live: Object, after: Object) -> tuple[Drift, ...]:
    """Return every field that is not the same in two answers of one API server; a Secret's values are hidden.

    What the server itself counts and dates, who manages what, and the status do not count.
    """
    return _shown(after, list(json_differences(_comparable(live), _comparable(after))))


def json_differences(live: Any, after: Any) -> tuple[Drift, ...]:
    """Return every place where two JSON values are not the same; lists of two lengths differ as a whole."""
    found: list[Drift] = []
    _compare_whole(after, live, (), found)
    return tuple(found)


# --- what is compared ---

_SERVER_WRITTEN = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_NOT_COMPARED = frozenset({"apiVersion", "kind", "status", "stringData"})


def _comparable(obj: Object) -> dict[str, Any]:
    """*obj* without what the server writes, `stringData` as the `data` that it becomes."""
    kept = {key: value for key, value in obj.items() if key not in _NOT_COMPARED}
    kept["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_WRITTEN}
    if kind_of(obj) == "Secret":
        texts = obj.get("stringData") or {}
        encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
        # A wrapped base64 is the same secret.
        data = {key: _one_line(value) for key, value in (obj.get("data") or {}).items()}
        if data or encoded:
            kept["data"] = {**data, **encoded}
    return kept


def _one_line(encoded: Any) -> Any:
    try:
        return base64.b64encode(base64.b64decode(encoded)).decode()
    except (binascii.Error, TypeError, ValueError):
        return encoded


def _shown(obj: Object, found: list[Drift]) -> tuple[Drift, ...]:
    if kind_of(obj) != "Secret":
        return tuple(found)
    return tuple(
        Drift(each.path, _hidden(each.wanted), _hidden(each.live)) if _may_hold_secrets(each.path) else each
        for each in found
    )


def _may_hold_secrets(path: Path) -> bool:
    return path[:1] == ("data",) or path[:2] == ("metadata", "annotations")


def _hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict.fromkeys(value, HIDDEN)
    return value if value is ABSENT else HIDDEN


# --- what was said against what stands ---

_LIST_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port", "protocol"),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}
"""Lists of built-in kinds that the server merges by key: others may add items, and the order says nothing."""

_QUANTITY_PARENTS = frozenset({"limits", "requests", "capacity", "hard"})
_QUANTITY_KEYS = frozenset({"sizeLimit", "divisor"})

_FREE_MAPS = frozenset({"annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector"})
"""Maps whose keys are the user's own: an empty value in one of them is kept."""


def _compare(wanted: Any, live: Any, path: Path, built_in: bool, found: list[Drift]) -> None:
    if wanted is None or _says_nothing(wanted, live, path, built_in):
        return
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for key, value in wanted.items():
            _compare(value, live.get(key, ABSENT), (*path, str(key)), built_in, found)
    elif isinstance(wanted, list) and isinstance(live, list):
        _compare_lists(wanted, live, path, built_in, found)
    elif not _same_scalar(wanted, live, path):
        found.append(Drift(path, wanted, live))


def _says_nothing(wanted: Any, live: Any, path: Path, built_in: bool) -> bool:
    """Whether the server takes this value for none: in metadata and in built-in kinds, what is empty is not there."""
    if not _FREE_MAPS.isdisjoint(path[-2:-1]) or not (built_in or path[:1] == ("metadata",)):
        return False
    if live is ABSENT:
        return wanted in ("", {}, [], 0)
    # An empty text asks for the default (a clusterIP), or leaves it to somebody (a caBundle); not in a list, where it
    # is the core API group, nor as the value of a variable.
    return wanted == "" and not isinstance(path[-1], Item) and path[-1] != "value"


def _compare_lists(wanted: list[Any], live: list[Any], path: Path, built_in: bool, found: list[Drift]) -> None:
    keys = _keys_of_list(path, built_in, (*wanted, *live))
    if path == ("metadata", "finalizers"):
        found += [Drift((*path, Item(None, str(each))), each, ABSENT) for each in wanted if each not in live]
    elif keys:
        places = {_list_key(each, keys): index for index, each in enumerate(live)}
        for each in wanted:
            key = _list_key(each, keys)
            index = places.get(key)
            _compare(each, ABSENT if index is None else live[index], (*path, Item(index, _name(key))), built_in, found)
    elif len(wanted) != len(live):
        found.append(Drift(path, wanted, live))
    else:
        for index, (one, other) in enumerate(zip(wanted, live, strict=True)):
            _compare(one, other, (*path, Item(index, str(index))), built_in, found)


def _keys_of_list(path: Path, built_in: bool, items: tuple[Any, ...]) -> tuple[str, ...] | None:
    last = path[-1] if path else None
    keys = _LIST_KEYS.get(last) if built_in and isinstance(last, str) else None
    return keys if keys and all(isinstance(each, Mapping) for each in items) else None


def _list_key(item: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    defaults = {"protocol": "TCP"}
    return tuple(item.get(key, defaults.get(key)) for key in keys)


def _name(key: tuple[Any, ...]) -> str:
    return next((str(part) for part in key if part is not None), "")


def _same_scalar(wanted: Any, live: Any, path: Path) -> bool:
    if isinstance(wanted, bool) or isinstance(live, bool):
        return wanted is live  # in Python True equals 1, in JSON it does not
    if wanted == live:
        return True
    is_quantity = not _QUANTITY_KEYS.isdisjoint(path[-1:]) or not _QUANTITY_PARENTS.isdisjoint(path[-2:-1])
    return is_quantity and same_quantity(wanted, live)


# --- what is said no more ---


def _compare_dropped(before: Any, wanted: Any, live: Any, path: Path, built_in: bool, found: list[Drift]) -> None:
    if isinstance(before, Mapping) and isinstance(live, Mapping):
        now = wanted if isinstance(wanted, Mapping) else {}
        for key, value in before.items():
            at = (*path, str(key))
            there = live.get(key, ABSENT)
            if value is None or there is ABSENT or _says_nothing(value, there, at, built_in):
                continue
            if now.get(key) is None and not (isinstance(value, Mapping) and value):
                found.append(Drift(at, ABSENT, there))
            else:
                _compare_dropped(value, now.get(key), there, at, built_in, found)
    elif isinstance(before, list) and isinstance(wanted, list) and isinstance(live, list):
        _compare_dropped_items(before, wanted, live, path, built_in, found)


def _compare_dropped_items(
    before: list[Any], wanted: list[Any], live: list[Any], path: Path, built_in: bool, found: list[Drift]
) -> None:
    keys = _keys_of_list(path, built_in, (*before, *wanted, *live))
    if keys is None:
        return  # replaced as a whole: `drift` compares it
    asked = {_list_key(each, keys): each for each in wanted}
    places = {_list_key(each, keys): index for index, each in enumerate(live)}
    for each in before:
        key = _list_key(each, keys)
        if (index := places.get(key)) is None:
            continue
        at = (*path, Item(index, _name(key)))
        if key in asked:
            _compare_dropped(each, asked[key], live[index], at, built_in, found)
        else:
            found.append(Drift(at, ABSENT, live[index]))


# --- two answers of one server ---


def _compare_whole(after: Any, live: Any, path: Path, found: list[Drift]) -> None:
    if isinstance(after, Mapping) and isinstance(live, Mapping):
        for key in dict.fromkeys((*live, *after)):
            _compare_whole(after.get(key, ABSENT), live.get(key, ABSENT), (*path, str(key)), found)
    elif isinstance(after, list) and isinstance(live, list) and len(after) == len(live):
        for index, (one, other) in enumerate(zip(after, live, strict=True)):
            _compare_whole(one, other, (*path, Item(index, str(index))), found)
    elif after != live or isinstance(after, bool) is not isinstance(live, bool):
        found.append(Drift(path, after, live))
