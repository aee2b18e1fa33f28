"""Carry out single steps against the API server; each is safe to do again."""

from __future__ import annotations

import base64
import copy
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..errors import ActionError, ApiError, Conflict
from ..stack.applyset import (
    ABSENT,
    PARENT_NAME,
    PART_OF_LABEL,
    ForeignField,
    Record,
    check_parent,
    member_selector,
    members,
    parent,
    widened,
)
from ..stack.dcgm import ForeignFieldChange
from ..stack.exporters import field_managers
from ..stack.facts import Object, Ref
from ..stack.objects import OURS, delete_order, owned, ref


class WriteCluster(Protocol):
    """What acting needs of an API server."""

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        metadata_only: bool = False,
    ) -> list[Object]: ...

    def apply(self, obj: Object, *, dry_run: bool = False, force: bool = False) -> Object: ...

    def create(self, obj: Object) -> Object: ...

    def replace(self, obj: Object) -> Object: ...

    def delete(self, kind: str, name: str, namespace: str | None = None) -> bool: ...


def apply_objects(cluster: WriteCluster, objects: Iterable[Object], *, applyset: str) -> tuple[int, int]:
    """Apply each object server-side; return how many changed and how many stood already as they are.

    Raises `Conflict` where an object of that name is there and is not ours: nothing is ever taken over.
    """
    changed = unchanged = 0
    for each in objects:
        at = ref(each)
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is not None and at.kind != "Namespace":
            refuse_foreign(live, applyset=applyset)
        applied = cluster.apply(each)
        before = live["metadata"].get("resourceVersion") if live is not None else None
        if applied["metadata"].get("resourceVersion") == before:
            unchanged += 1
        else:
            changed += 1
    return changed, unchanged


def refuse_foreign(live: Object, *, applyset: str) -> None:
    """Raise `Conflict` unless *live* carries the label of our ApplySet."""
    if (live["metadata"].get("labels") or {}).get(PART_OF_LABEL) != applyset:
        raise Conflict(
            f"{ref(live)} is already there, and kvobs did not make it",
            status=409,
            reason="AlreadyExists",
            hint="rename or delete it, or install into another namespace with --namespace",
        )


def create_secret(cluster: WriteCluster, at: Ref, *, applyset: str) -> bool:
    """Create the admin Secret with a random password unless it is there; return whether it was made.

    The password exists in this function and in the Secret only.
    """
    live = cluster.get(at.kind, at.name, at.namespace)
    if live is not None:
        refuse_foreign(live, applyset=applyset)
        return False
    password = secrets.token_urlsafe(24)
    secret: Mapping[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": at.name, "namespace": at.namespace},
        "type": "Opaque",
        "data": {
            "admin-user": base64.b64encode(b"admin").decode(),
            "admin-password": base64.b64encode(password.encode()).decode(),
        },
    }
    try:
        cluster.create(owned(secret, applyset_id=applyset))
    except Conflict as error:
        # Another run of ours was faster: its password is as good.
        if error.reason != "AlreadyExists":
            raise
        return False
    return True


def write_parent(cluster: WriteCluster, record: Record, namespace: str, refs: Iterable[Ref], *, narrow: bool) -> None:
    """Write the ApplySet parent: before acting it covers old and new kinds, after it (*narrow*) the new ones only."""
    live = cluster.get("ConfigMap", PARENT_NAME, namespace)
    if live is not None:
        check_parent(live)
    desired = parent(PARENT_NAME, namespace, refs=refs, record=record)
    cluster.apply(desired if narrow else widened(desired, live))


def find_members(cluster: WriteCluster, parent_object: Object) -> list[Ref]:
    """Return every object that carries the ApplySet's label, of the kinds that its parent names."""
    selector = member_selector(check_parent(parent_object))
    found: list[Ref] = []
    for kind in members(parent_object):
        try:
            listed = cluster.list(kind, labels=selector, metadata_only=True)
        except ApiError as error:
            # A kind that is no longer served has no objects.
            if error.status != 404:
                raise
            continue
        found += [ref(each) for each in listed]
    return found


def delete_members(cluster: WriteCluster, refs: Sequence[Ref]) -> list[Ref]:
    """Delete *refs*, dependents first; return those that were there."""
    return [each for each in delete_order(refs) if cluster.delete(each.kind, each.name, each.namespace or None)]


def set_fields(cluster: WriteCluster, changes: Sequence[ForeignFieldChange]) -> tuple[int, int]:
    """Set fields of objects that are not ours, all of one object in one apply; return (changed, unchanged)."""
    changed = unchanged = 0
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
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is None:
            raise ActionError(f"{at} is gone since it was looked at", hint="run the command again")
        applied = cluster.apply(patch, force=any(each.owner is not None for each in of_one))
        if applied["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]:
            unchanged += 1
        else:
            changed += 1
    return changed, unchanged


def restore_fields(cluster: WriteCluster, fields: Sequence[ForeignField]) -> list[tuple[ForeignField, str]]:
    """Give each field its earlier value back unless somebody set it since; return what happened, in words.

    Afterwards no field of these objects is ours any more: what had a value before gets it back, what had none
    goes, and our entry leaves `managedFields`, so that the owner's next apply meets no conflict.
    """
    outcomes: list[tuple[ForeignField, str]] = []
    by_object: dict[Ref, list[ForeignField]] = {}
    for each in fields:
        by_object.setdefault(each.ref, []).append(each)
    for at, of_one in by_object.items():
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is None:
            outcomes += [(each, "its object is gone") for each in of_one]
            continue
        document = copy.deepcopy(dict(live))
        restored = False
        for each in of_one:
            now = _value_at(document, each.path)
            others = sorted(set(_owners_of(document, each.path)) - {OURS})
            if now == each.after and others:
                outcomes.append((each, f"{' and '.join(others)} says the same since, left as it is"))
                continue
            if now != each.after:
                outcomes.append(
                    (
                        each,
                        f"changed since, left as it is: {json.dumps(now)}" if now is not ABSENT else "gone",
                    )
                )
                continue
            outcomes.append((each, "given back" if each.before is not ABSENT else "taken away again"))
            _put(document, each.path, each.before)
            restored = True
        if restored:
            live = cluster.replace(document)
        document = copy.deepcopy(dict(live))
        entries = document["metadata"].get("managedFields") or []
        document["metadata"]["managedFields"] = [each for each in entries if each.get("manager") != OURS]
        if len(document["metadata"]["managedFields"]) != len(entries):
            cluster.replace(document)
    return outcomes


def _owners_of(document: Object, path: tuple[str, ...]) -> tuple[str, ...]:
    """The field managers of the field at *path*."""
    return field_managers(document, path[:-1]).get(path[-1], ())


def _value_at(document: Object, path: Sequence[str]) -> Any:
    here: Any = document
    for key in path:
        if not isinstance(here, Mapping) or key not in here:
            return ABSENT
        here = here[key]
    return here


def _put(document: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the field at *path*, or take it away with every parent that is empty without it."""
    parents = [document]
    for key in path[:-1]:
        parents.append(parents[-1].setdefault(key, {}))
    if value is not ABSENT:
        parents[-1][path[-1]] = value
        return
    parents[-1].pop(path[-1], None)
    for depth in range(len(parents) - 1, 0, -1):
        if not parents[depth]:
            del parents[depth - 1][path[depth - 1]]
