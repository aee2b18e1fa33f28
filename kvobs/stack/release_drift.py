"""How far the objects of our release are from what Helm applied, and what puts them right again. Pure.

Each object is applied anew by itself, as Helm would. An upgrade with the same values would do more than that: Helm 4
refuses it where somebody else has set any field of the release, and Helm 3 sets that field back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .changes import ObjectChange, TheirField
from .facts import Object, Ref
from .notes import Note
from .objects import MANAGED_BY, kind_of
from .ownership import shown
from .workloads import annotations_of, labels_of

ENDING = frozenset({"Job.batch", "Pod"})
"""Kinds whose objects end, and may go by themselves: that one is missing says nothing."""

COMPLETED_BY_HOOKS = "WebhookConfiguration"
"""How the kinds end whose objects are of no use before a hook has written an authority into them."""

_NAMED = 5
"""Fields of others that are named; the rest is counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mending:
    """An object of the release to be applied anew."""

    wanted: Object
    manager: str
    """The name by which Helm wrote it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseDrift:
    """What of a release is not as Helm left it."""

    missing: tuple[Ref, ...] = ()
    changed: tuple[ObjectChange, ...] = ()
    """Objects with fields that nobody else has, and that differ."""
    theirs: tuple[ObjectChange, ...] = ()
    """Objects with fields that others have set since: left to them."""
    mending: tuple[Mending, ...] = ()
    """What puts the missing and the changed ones right."""
    unread: str | None = None
    """Why the objects could not be compared."""

    @property
    def needs_hooks(self) -> bool:
        """Whether only an upgrade makes whole again what is missing."""
        return any(each.kind.partition(".")[0].endswith(COMPLETED_BY_HOOKS) for each in self.missing)

    @property
    def mended(self) -> str:
        """What is mended, in a few words."""
        counted = (len(self.missing), "missing"), (len(self.changed), "changed")
        told = " and ".join(f"{number} {what}" for number, what in counted if number)
        return f"{told} {'object' if len(self.mending) == 1 else 'objects'}"

    @property
    def notes(self) -> tuple[Note, ...]:
        """Name the fields that are left to others, and say what could not be compared."""
        if self.unread:
            return (
                Note("release-not-compared", f"The stack's objects were not compared with the release: {self.unread}"),
            )
        fields = [
            f"{each.ref} {field.path} ({' and '.join(field.managers)})" for each in self.theirs for field in each.theirs
        ]
        if not fields:
            return ()
        text = (
            f"Others have set fields of the stack's objects, which are left as they are: {_named(fields, ', ')}; kvobs"
            " diff shows their values."
        )
        return (Note("release-fields-of-others", text),)


def where_helm_stops(changes: Iterable[ObjectChange]) -> str | None:
    """Name the fields at which the upgrade that makes *changes* would stop, whose they are and both values, or None."""
    fields = [
        f"{each.ref} {_disputed(field)}"
        for each in changes
        if each.verdict == "refused"
        for field in each.theirs
        if field.is_wanted
    ]
    return _named(fields, "; ") if fields else None


def _disputed(field: TheirField) -> str:
    there = "taken away" if field.live is None else shown(field.live)
    return f"{field.path} of {' and '.join(field.managers)} ({there}, where the release has {shown(field.wanted)})"


def _named(fields: Sequence[str], between: str) -> str:
    more = f" and {len(fields) - _NAMED} more" if len(fields) > _NAMED else ""
    return between.join(fields[:_NAMED]) + more


def compared(manifest: Iterable[Object]) -> list[Object]:
    """Return those objects of a *manifest* that should stand as they were applied, for as long as the release does."""
    return [each for each in manifest if kind_of(each) not in ENDING]


def sorted_out(changes: Sequence[ObjectChange]) -> ReleaseDrift:
    """Sort what differs by what is to be done about it; an object of which others have set a field is left to them."""
    return ReleaseDrift(
        missing=tuple(each.ref for each in changes if each.verdict == "create"),
        changed=tuple(each for each in changes if each.verdict == "change" and not each.theirs),
        theirs=tuple(each for each in changes if each.theirs),
    )


def as_helm_applies(obj: Object, at: Ref, release: tuple[str, str]) -> Object:
    """Return *obj* of a manifest in its place, with what Helm writes on all that is of *release* (namespace, name)."""
    namespace, name = release
    helms = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
    metadata = {
        **obj["metadata"],
        **({"namespace": at.namespace} if at.namespace else {}),
        "labels": {**labels_of(obj), MANAGED_BY: "Helm"},
        "annotations": {**annotations_of(obj), **helms},
    }
    return {**obj, "metadata": metadata}
