"""What a run must be allowed to do: asked first, so that a missing right stops it before it changes anything. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .objects import kind_of
from .plan import Plan, Step


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


def rights_needed(plan: Plan, *, release: bool) -> tuple[Right, ...]:
    """Return the rights that the steps of *plan* take, each once; with *release*, those that Helm takes in any case.

    What else the chart holds depends on its values; there Helm says itself what it may not do.
    """
    needed = [*_applied("ConfigMap", plan.target.namespace)]
    for step in plan.steps:
        needed += _of_step(step, release=release)
    return tuple(dict.fromkeys(needed))


def _of_step(step: Step, *, release: bool) -> Iterator[Right]:
    for each in step.objects:
        yield from _applied(kind_of(each), each["metadata"].get("namespace", ""))
    for change in step.fields:
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
