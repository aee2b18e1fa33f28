"""What a run must be allowed to do: asked first, so that a missing right stops it before it changes anything. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .applyset import member_namespaces, members
from .facts import Object
from .leftovers import (
    CRD_KIND,
    MADE_KINDS,
    OWNER_KINDS,
    leftovers,
    operator_kinds,
    stack_namespaces,
    volume_namespaces,
)
from .objects import kind_of
from .plan import Plan, Step
from .record import ForeignField, Record

LEASE_KIND = "Lease.coordination.k8s.io"
"""What keeps two runs apart while they act."""

HOOK = "helm.sh/hook"
"""Annotation of an object that Helm makes for a moment of an install, and deletes again."""


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one kind (with its group), in a namespace or, for "", in the whole cluster."""

    verb: str
    kind: str
    namespace: str

    @property
    def what(self) -> str:
        """The kind and the place, in words."""
        return f"{self.kind} in namespace {self.namespace}" if self.namespace else f"any {self.kind}"


def rights_needed(plan: Plan, *, release: bool, before: Object | None = None) -> tuple[Right, ...]:
    """Return the rights that the steps of *plan* take, each once; with *release*, those that Helm takes in any case.

    *before* is the ApplySet parent that an earlier run wrote: what that run made may have to be deleted. What else
    the chart holds depends on its values; there Helm says itself what it may not do.
    """
    needed = [*_lease(plan.target.namespace), *_applied("ConfigMap", plan.target.namespace)]
    for step in plan.steps:
        needed += _of_step(step, release=release)
    needed += _given_back(plan.give_back)
    kinds, namespaces = {each.kind for each in plan.refs}, {each.namespace for each in plan.refs}
    if before is not None:
        kinds, namespaces = kinds | set(members(before)), namespaces | set(member_namespaces(before))
        needed += _members(before, "delete")
    needed += _each(kinds, {*namespaces, plan.target.namespace}, "list")
    return tuple(dict.fromkeys(needed))


def rights_to_uninstall(
    parent: Object,
    record: Record,
    *,
    served: Iterable[str],
    delete_crds: bool,
    delete_pvcs: bool,
    delete_namespace: bool,
) -> tuple[Right, ...]:
    """Return the rights that an uninstall by this ApplySet *parent* takes, each once; *served*: the cluster's kinds.

    What the chart's own objects take is left to Helm, but for what no stack is without.
    """
    home = parent["metadata"]["namespace"]
    needed = [*_lease(home), *_given_back(record.foreign_fields), *_members(parent, "list", "delete")]
    needed.append(Right("delete", "ConfigMap", home))
    if record.release is not None:
        needed += _each(("Secret", "Deployment.apps"), (record.release.namespace,), "list", "delete")
        needed.append(Right("list", "Deployment.apps", ""))
        needed += [Right("delete", each.kind, each.namespace) for each in leftovers(record)]
        needed += _each(MADE_KINDS, stack_namespaces(record), "list", "delete")
        needed += _each(OWNER_KINDS, stack_namespaces(record), "list")
        claims = ("list", "delete") if delete_pvcs else ("list",)
        needed += _each(("PersistentVolumeClaim",), volume_namespaces(record), *claims)
    if record.release is not None or delete_crds:
        needed.append(Right("list", CRD_KIND, ""))
    if delete_crds:
        needed.append(Right("delete", CRD_KIND, ""))
        needed += _each(operator_kinds(served), ("",), "list")
    if delete_namespace and record.settings.get("namespace_created"):
        needed.append(Right("delete", "Namespace", ""))
    return tuple(dict.fromkeys(needed))


def rights_of_release(objects: Iterable[Object]) -> tuple[Right, ...]:
    """Return the rights that Helm takes to bring *objects* (each with its namespace), each once.

    It looks whether each is there, makes or changes it; hooks of an earlier run are deleted first, and waited for, as
    are definitions until they are served.
    """
    needed: list[Right] = []
    for each in objects:
        kind, namespace = kind_of(each), each["metadata"].get("namespace") or ""
        needed += _applied(kind, namespace)
        if kind == CRD_KIND:
            needed += _each((kind,), (namespace,), "list", "watch")
        if HOOK in (each["metadata"].get("annotations") or {}):
            needed += _each((kind,), (namespace,), "delete", "list", "watch")
    return tuple(dict.fromkeys(needed))


def named(rights: Iterable[Right]) -> str:
    """Return *rights* in words, the verbs of one kind and place together."""
    verbs: dict[str, list[str]] = {}
    for each in rights:
        verbs.setdefault(each.what, []).append(each.verb)
    return "; ".join(f"{' or '.join(those)} {what}" for what, those in verbs.items())


def _lease(namespace: str) -> Iterator[Right]:
    return _each((LEASE_KIND,), (namespace,), "get", "create", "update", "delete")


def _each(kinds: Iterable[str], namespaces: Iterable[str], *verbs: str) -> Iterator[Right]:
    for kind in sorted(set(kinds)):
        for namespace in sorted(set(namespaces)):
            for verb in verbs:
                yield Right(verb, kind, namespace)


def _members(parent: Object, *verbs: str) -> Iterator[Right]:
    return _each(members(parent), member_namespaces(parent), *verbs)


def _given_back(fields: Iterable[ForeignField]) -> Iterator[Right]:
    """A field is given back by a replacement of its object."""
    for each in fields:
        for verb in ("get", "update"):
            yield Right(verb, each.ref.kind, each.ref.namespace)


def _of_step(step: Step, *, release: bool) -> Iterator[Right]:
    for each in step.objects:
        yield from _applied(kind_of(each), each["metadata"].get("namespace", ""))
    for change in step.fields:
        yield Right("get", change.ref.kind, change.ref.namespace)
        yield Right("patch", change.ref.kind, change.ref.namespace)
    if step.secret is not None:
        yield Right("create", step.secret.kind, step.secret.namespace)
    if step.release is not None and release:
        # Where Helm keeps its releases, and what no stack is without.
        yield Right("create", "Secret", step.release.namespace)
        yield Right("create", "Deployment.apps", step.release.namespace)


def _applied(kind: str, namespace: str) -> Iterator[Right]:
    """Server-side apply is a patch, and a creation too where the object is not there yet."""
    yield Right("get", kind, namespace)
    yield Right("patch", kind, namespace)
    yield Right("create", kind, namespace)
