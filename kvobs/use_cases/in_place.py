"""What is in place already of what a plan wants, and whether anything is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..errors import ApiError
from ..stack.applied import stands
from ..stack.applyset import (
    PARENT_NAME,
    applyset_id,
    check_parent,
    member_namespaces,
    member_selector,
    members,
    parent,
)
from ..stack.facts import Object, Ref
from ..stack.objects import ref
from ..stack.plan import Plan
from .act import ListCluster, refuse_foreign
from .foreign_fields import patches


class SeenCluster(ListCluster, Protocol):
    """What seeing what is in place needs of an API server."""

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...


class TryCluster(Protocol):
    """What trying an apply needs of an API server."""

    def apply(self, obj: Object, *, dry_run: bool = False) -> Object: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class InPlace:
    """The objects that a run works on, as they were before it."""

    parent: Object | None = None
    """The ApplySet parent that an earlier run wrote."""
    live: Mapping[Ref, Object] = field(default_factory=dict)
    """Every object of ours, wanted or no longer (of a Secret the metadata), and those of which we set fields."""
    ours: frozenset[Ref] = frozenset()
    """Which of them are ours."""
    settled: frozenset[Ref] = frozenset()
    """Those of which the server says itself that applying what is wanted would change nothing."""

    def stale(self, plan: Plan) -> list[Ref]:
        """Return what an earlier run made and *plan* no longer wants."""
        return sorted(self.ours - plan.refs)

    def is_all(self, plan: Plan) -> bool:
        """Whether carrying *plan* out, its release aside, would change nothing."""
        return self.ours == plan.refs and not plan.give_back and all(map(self.holds, _wanted(plan)))

    def holds(self, wanted: Object) -> bool:
        """Whether applying *wanted* would change nothing."""
        at = ref(wanted)
        live = self.live.get(at)
        return live is not None and (at in self.settled or stands(wanted, live))


def _wanted(plan: Plan) -> list[Object]:
    """Return all that *plan* applies, and the parent as it is in the end."""
    of_steps = [
        each for step in plan.steps for each in (*step.objects, *(patch for _, patch, _ in patches(step.fields)))
    ]
    return [*of_steps, parent(PARENT_NAME, plan.target.namespace, refs=plan.refs, record=plan.final_record)]


def settle(cluster: TryCluster, in_place: InPlace, plan: Plan) -> InPlace:
    """Ask the server about what is there and looks as if it differed: a default or a webhook may make it look so."""
    settled: set[Ref] = set()
    for wanted in _wanted(plan):
        live = in_place.live.get(ref(wanted))
        if live is None or in_place.holds(wanted):
            continue
        try:
            after = cluster.apply(wanted, dry_run=True)
        except ApiError:
            # Applying it will say so, with what was done until then.
            continue
        if after == live:
            settled.add(ref(wanted))
    return replace(in_place, settled=frozenset(settled))


def find_in_place(seen: SeenCluster, plan: Plan, before: Object | None) -> InPlace:
    """See what is in place of *plan* and of the set whose parent is *before*: one list for each kind and namespace.

    Raises `ActionError` where the parent or a name that is wanted is there and not ours, before anything is changed.
    """
    home = plan.target.namespace
    parent_there = before or seen.get("ConfigMap", PARENT_NAME, home)
    applyset = applyset_id(PARENT_NAME, home)
    kinds, namespaces = {each.kind for each in plan.refs}, {each.namespace for each in plan.refs}
    if parent_there is not None:
        check_parent(parent_there)
        kinds, namespaces = kinds | {*members(parent_there)}, namespaces | {*member_namespaces(parent_there)}
    if any(step.id == "namespace" for step in plan.steps):
        namespaces.discard(home)  # it is still to be made
    selector = member_selector(applyset)
    live = {
        ref(each): each
        for kind in sorted(kinds)
        for namespace in sorted(namespaces)
        for each in seen.list(kind, namespace=namespace, labels=selector, metadata_only=kind == "Secret")
    }
    ours = frozenset(live)
    if parent_there is not None:
        live[ref(parent_there)] = parent_there
    for at in sorted(plan.refs - ours):
        found = seen.get(at.kind, at.name, at.namespace) if at.namespace in namespaces else None
        if found is not None:
            refuse_foreign(found, applyset=applyset, take=plan.take_ownership)
    for at in sorted({change.ref for step in plan.steps for change in step.fields}):
        if (found := seen.get(at.kind, at.name, at.namespace or None)) is not None:
            live[at] = found
    return InPlace(parent=parent_there, live=live, ours=ours)
