"""Fields of objects that are not ours: set where that was decided, and given back without a trace."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import ActionError, Conflict
from ..stack.applied import stands
from ..stack.dcgm_policy import ForeignFieldChange
from ..stack.exporters import field_managers
from ..stack.facts import Object, Ref
from ..stack.objects import OURS
from ..stack.record import ABSENT, ForeignField
from .act import WriteCluster

RESTORE_TRIES = 5
"""How often an object is read anew when its owner (an operator with its status) wrote it in between."""


def set_fields(cluster: WriteCluster, changes: Sequence[ForeignFieldChange]) -> tuple[int, int]:
    """Set fields of objects that are not ours, all of one object in one apply; return (changed, unchanged)."""
    changed = unchanged = 0
    for at, patch, force in patches(changes):
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is None:
            raise ActionError(f"{at} is gone since it was looked at", hint="run the same command again")
        if stands(patch, live):
            unchanged += 1
            continue
        applied = cluster.apply(patch, force=force)
        if applied["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]:
            unchanged += 1
        else:
            changed += 1
    return changed, unchanged


def patches(changes: Sequence[ForeignFieldChange]) -> Iterator[tuple[Ref, Object, bool]]:
    """Yield for each object what to apply to it, and whether a field has to be taken from its owner."""
    by_object: dict[Ref, list[ForeignFieldChange]] = {}
    for each in changes:
        by_object.setdefault(each.ref, []).append(each)
    for at, of_one in by_object.items():
        patch: dict[str, Any] = {
            "apiVersion": of_one[0].api_version,
            "kind": at.kind.partition(".")[0],
            "metadata": {"name": at.name, **({"namespace": at.namespace} if at.namespace else {})},
        }
        for each in of_one:
            here = patch
            for key in each.path[:-1]:
                here = here.setdefault(key, {})
            here[each.path[-1]] = each.value
        yield at, patch, any(each.owner is not None for each in of_one)


def restore_fields(cluster: WriteCluster, fields: Sequence[ForeignField]) -> list[tuple[ForeignField, str]]:
    """Give each field its earlier value back unless somebody set it since; return what happened, in words.

    Afterwards none of these fields is ours any more: what had a value before gets it back, what had none goes, and
    both leave our entries in `managedFields`, so that the owner's next apply meets no conflict.
    """
    outcomes: list[tuple[ForeignField, str]] = []
    by_object: dict[Ref, list[ForeignField]] = {}
    for each in fields:
        by_object.setdefault(each.ref, []).append(each)
    for at, of_one in by_object.items():
        told = _restore(cluster, at, of_one)
        outcomes += [(each, told[each.path]) for each in of_one]
    return outcomes


def _restore(cluster: WriteCluster, at: Ref, fields: Sequence[ForeignField]) -> dict[tuple[str, ...], str]:
    """Restore the fields of one object; return what happened to each path."""
    told: dict[tuple[str, ...], str] = {}
    for tries_left in reversed(range(RESTORE_TRIES)):
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is None:
            return {each.path: told.get(each.path, "its object is gone") for each in fields}
        verdicts = {each.path: what_happens(live, each) for each in fields}
        document = copy.deepcopy(dict(live))
        for each in fields:
            if verdicts[each.path][1]:
                _put(document, each.path, each.before)
        try:
            if any(restored for _, restored in verdicts.values()):
                live = cluster.replace(document)
            told = {path: told.get(path, words) for path, (words, _) in verdicts.items()}
            document = _disowned(live, [each.path for each in fields])
            if document != live:
                cluster.replace(document)
            return told
        except Conflict:
            if not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def what_happens(live: Object, field: ForeignField) -> tuple[str, bool]:
    """Return what happens to *field* when it is given back, in words, and whether it gets its earlier value."""
    now = _value_at(live, field.path)
    others = [each for each in field_managers(live, field.path[:-1]).get(field.path[-1], ()) if each != OURS]
    if now == field.after and others:
        return f"{' and '.join(others)} says the same since, left as it is", False
    if now == field.after:
        return "taken away again" if field.before is ABSENT else "given back", True
    if now == field.before:
        return "as it was before", False
    return "gone" if now is ABSENT else f"changed since, left as it is: {json.dumps(now)}", False


def _disowned(live: Object, paths: Iterable[Sequence[str]]) -> dict[str, Any]:
    """*live* with none of *paths* in our entries of its `managedFields`; an entry that holds nothing else goes."""
    document = copy.deepcopy(dict(live))
    entries = document["metadata"].get("managedFields") or []
    for entry in entries:
        if entry.get("manager") == OURS:
            for path in paths:
                _drop(entry.get("fieldsV1") or {}, path)
    document["metadata"]["managedFields"] = [
        each for each in entries if each.get("manager") != OURS or set(each.get("fieldsV1") or ()) - {"."}
    ]
    return document


def _drop(owned: dict[str, Any], path: Sequence[str]) -> None:
    """Take the field at *path* out of a `fieldsV1`, with every map around it that holds nothing else."""
    key, below = f"f:{path[0]}", path[1:]
    if key not in owned:
        return
    if below:
        _drop(owned[key], below)
    if not below or not set(owned[key]) - {"."}:
        del owned[key]


def _value_at(document: Object, path: Sequence[str]) -> Any:
    here: Any = document
    for key in path:
        if not isinstance(here, Mapping) or key not in here:
            return ABSENT
        here = here[key]
    return here


def _set_by_others(document: Object, path: Sequence[str]) -> bool:
    """Whether somebody else set what is at *path*: a map that was empty before us is theirs, and stays."""
    for entry in document["metadata"].get("managedFields") or ():
        here: Any = entry.get("fieldsV1") or {}
        for key in path:
            here = here.get(f"f:{key}") if here is not None else None
        if here is not None and entry.get("manager") != OURS:
            return True
    return False


def _put(document: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the field at *path*, or take it away with every parent that is empty without it and nobody else's."""
    parents = [document]
    for key in path[:-1]:
        parents.append(parents[-1].setdefault(key, {}))
    if value is not ABSENT:
        parents[-1][path[-1]] = value
        return
    parents[-1].pop(path[-1], None)
    for depth in range(len(parents) - 1, 0, -1):
        if not parents[depth] and not _set_by_others(document, path[:depth]):
            del parents[depth - 1][path[depth - 1]]
