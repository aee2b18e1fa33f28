"""Carry out single steps against the API server; each is safe to do again."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import ActionError, Conflict, Forbidden, Unanswered
from ..stack.applied import stands
from ..stack.applyset import (
    PARENT_NAME,
    PART_OF_LABEL,
    check_parent,
    member_namespaces,
    member_selector,
    members,
    parent,
    widened,
)
from ..stack.facts import Object, Ref
from ..stack.objects import delete_order, owned, ref
from ..stack.ownership import TAKE, fields_named, looked_after_by, may_be_taken
from ..stack.record import Record
from ..stack.rights import Right, named


class AskCluster(Protocol):
    """What asking for rights needs of an API server."""

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool: ...

    def allows_everything(self) -> bool: ...


class ListCluster(Protocol):
    """What finding members needs of an API server."""

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        metadata_only: bool = False,
    ) -> list[Object]: ...


class WriteCluster(ListCluster, Protocol):
    """What acting needs of an API server."""

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...

    def apply(self, obj: Object, *, dry_run: bool = False, force: bool = False) -> Object: ...

    def create(self, obj: Object) -> Object: ...

    def replace(self, obj: Object) -> Object: ...

    def delete(self, kind: str, name: str, namespace: str | None = None) -> bool: ...


@contextmanager
def acting() -> Iterator[None]:
    """Turn an unanswered question into a failed action: once something was changed, `Unanswered` would deny it."""
    try:
        yield
    except Unanswered as error:
        again = "run the same command again: it goes on where this run stopped"
        hint = f"{error.hint}; then {again}" if error.hint else again
        raise ActionError(f"{error}; what was done until then stands", hint=hint) from error


def require(cluster: AskCluster, rights: Iterable[Right]) -> None:
    """Raise `Forbidden` that names each of *rights* which the credentials lack.

    An administrator, as most who install are, is asked about once; of others each right is asked singly.
    """
    if cluster.allows_everything():
        return
    missing = [each for each in rights if not cluster.may(each.verb, each.kind, each.namespace or None)]
    if missing:
        raise Forbidden(
            f"nothing was changed, since the credentials may not {named(missing)}",
            status=403,
            reason="Forbidden",
            hint="ask the cluster's administrator; kvobs check -o yaml has a role with what is missing, and"
            " kubectl auth can-i VERB KIND -n NAMESPACE says when it is there",
        )


def apply_objects(
    cluster: WriteCluster,
    objects: Iterable[Object],
    *,
    applyset: str,
    live: Mapping[Ref, Object],
    holds: Callable[[Object], bool],
    take: bool = False,
) -> tuple[int, int]:
    """Apply each object server-side unless it *holds*; return how many changed and how many did not.

    *live*: those that were there. Raises `Conflict` where an object of that name is there and not ours, or where
    another field manager has taken a field of one that is: without *take* nothing is taken over (`refuse_foreign`).
    """
    changed = unchanged = 0
    for each in objects:
        at = ref(each)
        if holds(each):
            unchanged += 1
            continue
        before = live.get(at)
        if before is None:
            before = cluster.get(at.kind, at.name, at.namespace or None)
            if before is not None and at.kind != "Namespace":
                refuse_foreign(before, applyset=applyset, take=take)
        try:
            applied = cluster.apply(each, force=take and at.kind != "Namespace")
        except Conflict as error:
            if before is None or at.kind == "Namespace":
                raise
            raise taken(error, before) from error
        version = before["metadata"].get("resourceVersion") if before is not None else None
        if applied["metadata"].get("resourceVersion") == version:
            unchanged += 1
        else:
            changed += 1
    return changed, unchanged


def taken(error: Conflict, live: Object) -> Conflict:
    """*error* with what stands in the fields of *live*, and the way out: all there is of ours could be made anew."""
    message = f"cannot apply {ref(live)}: {fields_named(error.fields[:_NAMED], live)}" if error.fields else str(error)
    if more := error.fields[_NAMED:]:
        message += f" and {len(more)} more"
    hint = f"{error.hint}; {TAKE}" if error.hint else TAKE
    return Conflict(message, status=error.status, reason=error.reason, hint=hint, fields=error.fields)


_NAMED = 5
"""Fields of a conflict that are named; the rest is counted."""


def refuse_foreign(live: Object, *, applyset: str, take: bool = False) -> None:
    """Raise `Conflict` unless *live* carries the label of our ApplySet, or may be taken and we *take* it."""
    if (live["metadata"].get("labels") or {}).get(PART_OF_LABEL) == applyset or (take and may_be_taken(live)):
        return
    owner = looked_after_by(live)
    other_name = "rename or delete it, or install into another namespace with --namespace"
    if owner is not None:
        hint = f"{owner} would undo what others make of it: take it out of there first; or {other_name}"
    elif may_be_taken(live):
        hint = f"{TAKE}; or {other_name}"
    else:
        hint = other_name
    raise Conflict(
        f"{ref(live)} is already there, and kvobs did not make it" + (f": it belongs to {owner}" if owner else ""),
        status=409,
        reason="AlreadyExists",
        hint=hint,
    )


def create_secret(cluster: WriteCluster, at: Ref, *, applyset: str) -> bool:
    """Create the admin Secret with a random password unless it is there; return whether it was made.

    The password exists in this function and in the Secret only.
    """
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
        if error.reason != "AlreadyExists":
            raise
        # Another run of ours was faster: its password is as good.
        if (live := cluster.get(at.kind, at.name, at.namespace)) is not None:
            refuse_foreign(live, applyset=applyset)
        return False
    return True


def write_parent(
    cluster: WriteCluster,
    record: Record,
    namespace: str,
    refs: Iterable[Ref],
    *,
    narrow: bool,
    live: Object | None,
) -> Object:
    """Write the ApplySet parent unless it stands so; return it as it then stands.

    Before acting it covers old and new kinds, after it (*narrow*) the new ones only. *live*: as it stands now.
    """
    if live is not None:
        check_parent(live)
    desired = parent(PARENT_NAME, namespace, refs=refs, record=record)
    wanted = desired if narrow else widened(desired, live)
    return live if live is not None and stands(wanted, live) else cluster.apply(wanted)


def parent_moved(cluster: WriteCluster, namespace: str, seen: Object | None) -> bool:
    """Whether somebody has made, written or deleted the parent since it was *seen*."""
    live = cluster.get("ConfigMap", PARENT_NAME, namespace)
    versions = [each["metadata"]["resourceVersion"] if each is not None else None for each in (seen, live)]
    return versions[0] != versions[1]


def find_members(cluster: ListCluster, parent_object: Object) -> list[Ref]:
    """Return every object that carries the ApplySet's label, of the kinds and in the namespaces its parent names."""
    return [each for kind in members(parent_object) for each in members_of_kind(cluster, parent_object, kind)]


def members_of_kind(cluster: ListCluster, parent_object: Object, kind: str) -> list[Ref]:
    """Return those of `find_members` that are of one *kind*; one that is no longer served has no objects."""
    selector = member_selector(check_parent(parent_object))
    return [
        ref(each)
        for namespace in member_namespaces(parent_object)
        for each in cluster.list(kind, namespace=namespace, labels=selector, metadata_only=True)
    ]


def delete_members(cluster: WriteCluster, refs: Sequence[Ref]) -> list[Ref]:
    """Delete *refs*, dependents first; return those that were there."""
    return [each for each in delete_order(refs) if cluster.delete(each.kind, each.name, each.namespace or None)]
