"""Carry out single steps against the API server; each is safe to do again."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import ActionError, Conflict, Forbidden, Unanswered
from ..stack.applyset import (
    PARENT_NAME,
    PART_OF_LABEL,
    Record,
    applyset_id,
    check_parent,
    member_namespaces,
    member_selector,
    members,
    parent,
    widened,
)
from ..stack.facts import Object, Ref
from ..stack.objects import delete_order, owned, ref
from ..stack.rights import Right


class AskCluster(Protocol):
    """What asking for rights needs of an API server."""

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool: ...


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
    """Raise `Forbidden` that names each of *rights* which the credentials lack."""
    missing: dict[str, list[str]] = {}
    for each in rights:
        if not cluster.may(each.verb, each.kind, each.namespace or None):
            missing.setdefault(each.what, []).append(each.verb)
    if missing:
        named = "; ".join(f"{' or '.join(verbs)} {what}" for what, verbs in missing.items())
        raise Forbidden(
            f"nothing was changed, since the credentials may not {named}",
            status=403,
            reason="Forbidden",
            hint="ask the cluster's administrator; kubectl auth can-i VERB KIND -n NAMESPACE says when it is there",
        )


def apply_objects(cluster: WriteCluster, objects: Iterable[Object], *, applyset: str) -> tuple[int, int]:
    """Apply each object server-side; return how many changed and how many stood already as they are.

    Raises `Conflict` where an object of that name is there and is not ours, or where another field manager has
    taken a field of one that is: nothing is ever taken over.
    """
    changed = unchanged = 0
    for each in objects:
        at = ref(each)
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is not None and at.kind != "Namespace":
            refuse_foreign(live, applyset=applyset)
        try:
            applied = cluster.apply(each)
        except Conflict as error:
            if live is None or at.kind == "Namespace":
                raise
            raise _taken(error, at) from error
        before = live["metadata"].get("resourceVersion") if live is not None else None
        if applied["metadata"].get("resourceVersion") == before:
            unchanged += 1
        else:
            changed += 1
    return changed, unchanged


def _taken(error: Conflict, at: Ref) -> Conflict:
    """*error* with the way out: an object of ours holds nothing that kvobs could not make anew."""
    where = f" -n {at.namespace}" if at.namespace else ""
    delete = f"kubectl delete {at.kind.partition('.')[0].lower()}/{at.name}{where}"
    anew = f"to have it as kvobs makes it: {delete}, then run the same command again"
    hint = f"{error.hint}; {anew}" if error.hint else anew
    return Conflict(str(error), status=error.status, reason=error.reason, hint=hint)


def refuse_taken(cluster: WriteCluster, namespace: str, refs: Iterable[Ref]) -> None:
    """Raise `ActionError` where the parent or one of *refs* is there and not ours, before anything is changed."""
    parent_there = cluster.get("ConfigMap", PARENT_NAME, namespace)
    if parent_there is not None:
        check_parent(parent_there)
    for at in sorted(refs):
        live = cluster.get(at.kind, at.name, at.namespace or None)
        if live is not None:
            refuse_foreign(live, applyset=applyset_id(PARENT_NAME, namespace))


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


def parent_moved(cluster: WriteCluster, namespace: str, seen: Object | None) -> bool:
    """Whether somebody has made, written or deleted the parent since it was *seen*."""
    live = cluster.get("ConfigMap", PARENT_NAME, namespace)
    versions = [each["metadata"]["resourceVersion"] if each is not None else None for each in (seen, live)]
    return versions[0] != versions[1]


def find_members(cluster: WriteCluster, parent_object: Object) -> list[Ref]:
    """Return every object that carries the ApplySet's label, of the kinds and in the namespaces its parent names."""
    return [each for kind in members(parent_object) for each in members_of_kind(cluster, parent_object, kind)]


def members_of_kind(cluster: WriteCluster, parent_object: Object, kind: str) -> list[Ref]:
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
