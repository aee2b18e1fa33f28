"""The steps of an install, each carried out from how things stood: what stands as wanted is not written again."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Literal

from ..adapters.cluster import Cluster
from ..errors import KvobsError
from ..stack.applyset import PARENT_NAME, applyset_id
from ..stack.dcgm_notes import POLICY_TAKEN
from ..stack.plan import Plan, Step, StepId
from .act import apply_objects, create_secret, delete_members, write_parent
from .foreign_fields import restore_fields, set_fields
from .in_place import InPlace
from .progress import Progress

Outcome = Literal["changed", "unchanged"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """What one step did."""

    id: str
    title: str
    outcome: Outcome
    detail: str = ""


class Steps:
    """Carries a plan out on a cluster of which is known how it stood."""

    def __init__(self, cluster: Cluster, plan: Plan, in_place: InPlace, progress: Progress) -> None:
        self._cluster = cluster
        self._plan = plan
        self._in_place = in_place
        self._progress = progress
        self._namespace = plan.target.namespace
        self._applyset = applyset_id(PARENT_NAME, self._namespace)
        self._parent = in_place.parent

    def make_namespace(self) -> list[StepResult]:
        """Make the namespace where it is missing: all else, the Lease too, goes into it."""
        return [self._do(step) for step in self._plan.steps if step.id == "namespace"]

    def do(self, *ids: StepId) -> list[StepResult]:
        """Write the ApplySet parent, then do the steps with these *ids*."""
        self._write_parent(final=False)
        return [self._do(step) for step in self._plan.steps if step.id in ids]

    def forget(self) -> None:
        """Write down again what earlier runs had written, where this one came to nothing."""
        record = self._plan.target.record
        with contextlib.suppress(KvobsError):  # the error that is on its way says more
            write_parent(self._cluster, record, self._namespace, self._plan.refs, narrow=False, live=self._parent)

    def tidy(self) -> list[StepResult]:
        """Give back and delete what earlier runs did and this one no longer wants; then say so in the parent."""
        results: list[StepResult] = []
        if self._plan.give_back:
            self._progress.step("give back fields that are no longer wanted")
            given = "; ".join(
                f"{field.ref} {'.'.join(field.path)}: {what}"
                for field, what in restore_fields(self._cluster, self._plan.give_back)
            )
            results.append(StepResult(id="restore", title="fields given back", outcome="changed", detail=given))
        if stale := self._in_place.stale(self._plan):
            self._progress.step("delete what is no longer wanted")
            gone = ", ".join(str(each) for each in delete_members(self._cluster, stale))
            results.append(StepResult(id="prune", title="no longer wanted", outcome="changed", detail=gone))
        self._write_parent(final=True)
        return results

    def _write_parent(self, *, final: bool) -> None:
        record = self._plan.final_record if final else self._plan.record
        self._parent = write_parent(
            self._cluster, record, self._namespace, self._plan.refs, narrow=final, live=self._parent
        )

    def _do(self, step: Step) -> StepResult:
        self._progress.step(step.title)
        if step.secret is not None:
            there = step.secret in self._in_place.ours
            made = not there and create_secret(self._cluster, step.secret, applyset=self._applyset)
            return _result(step, int(made), int(not made))
        if step.fields:
            # Whose field it is, and what that means for them, is said before it is taken.
            for note in self._plan.notes:
                if note.id == POLICY_TAKEN:
                    self._progress.state(note.text)
            return _result(step, *set_fields(self._cluster, step.fields))
        changed, unchanged = apply_objects(
            self._cluster,
            step.objects,
            applyset=self._applyset,
            live=self._in_place.live,
            holds=self._in_place.holds,
            take=self._plan.take_ownership,
        )
        return _result(step, changed, unchanged)


def _result(step: Step, changed: int, unchanged: int) -> StepResult:
    if changed and unchanged:
        detail = f"{changed} applied, {unchanged} as they were"
    else:
        detail = f"{changed} applied" if changed else f"{unchanged} as before"
    return StepResult(id=step.id, title=step.title, outcome="changed" if changed else "unchanged", detail=detail)
