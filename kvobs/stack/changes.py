"""What would happen to each object: made, changed (which field, from what to what), left, deleted, or refused. Pure.

Two sources of comparison. What kvobs applies itself is compared with what the server says that it would be (a dry
run): defaults and conversions are in both. What Helm applies is compared by what its manifest says. No secret is in
any of these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .drift import Drift, Item, Path, differences, drift, dropped, path_text
from .facts import Object, Ref
from .managers import helms_managers, is_applied_by_helm, managers_of
from .objects import OURS, is_built_in, ref
from .record import ABSENT, ForeignField
from .secret_names import masked
from .workloads import annotations_of

Verdict = Literal["create", "change", "unchanged", "theirs", "delete", "refused"]
"""theirs: it stands as wanted but for fields that somebody else manages, which are left alone."""

OTHERS_FIELDS = "an install stops at fields that others manage"
"""Why an object of kvobs' own is refused."""
HELM_STOPS = "Helm stops at fields that others manage"
SAY_THE_SAME = "give the release the value that they have (--set), or take the field back from them"


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldChange:
    """A field that would get another value."""

    path: str
    live: Any
    """Its value now; None: it is not there."""
    wanted: Any
    """None: it goes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TheirField:
    """A field that stands otherwise than wanted, because somebody else manages it."""

    path: str
    managers: tuple[str, ...]
    live: Any
    wanted: Any

    @property
    def is_wanted(self) -> bool:
        """Whether it is wanted at all; a field that is only no longer wanted is nothing to dispute over."""
        return self.wanted is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectChange:
    """What would happen to one object."""

    ref: Ref
    verdict: Verdict
    fields: tuple[FieldChange, ...] = ()
    theirs: tuple[TheirField, ...] = ()
    reason: str | None = None
    """Why it is refused or deleted."""
    hint: str | None = None
    """What to do about a refusal."""
    unvalidated: str | None = None
    """Why the server could not be asked whether it takes the object: `arrives with step 1`."""

    @property
    def differs(self) -> bool:
        """Whether an install would do anything to it, or be stopped by it."""
        return self.verdict not in ("unchanged", "theirs")


def applied(
    wanted: Object, live: Object | None, after: Object, *, conflict: bool = False, secrets: Sequence[str] = ()
) -> ObjectChange:
    """Return what applying *wanted* does to *live*, where the server says that *after* is what it then is.

    *conflict*: others manage fields of it, and *after* is what it would be if these were taken: it is refused.
    """
    at = ref(wanted)
    if live is None:
        return ObjectChange(ref=at, verdict="create")
    fields, theirs = _sorted_out(live, differences(live, after), (OURS,) if conflict else None, secrets)
    verdict: Verdict = "refused" if conflict else "change" if fields else "unchanged"
    return ObjectChange(ref=at, verdict=verdict, fields=fields, theirs=theirs)


def of_release(
    wanted: Sequence[Object],
    stored: Sequence[Object],
    find: Callable[[Ref], Object | None],
    *,
    place: Callable[[Object], Ref],
    secrets: Sequence[str] = (),
) -> tuple[ObjectChange, ...]:
    """Return what an upgrade from the manifest *stored* to *wanted* does to each object; hooks belong to no release.

    *find* gives the live object, *place* says which one a manifest means that names no namespace. *secrets* are the
    texts in the values that nobody may see.
    """
    before = {place(each): each for each in stored if not is_hook(each)}
    after = {place(each): each for each in wanted if not is_hook(each)}
    found = [_of_helm(each, at, find(at), before.get(at), secrets) for at, each in after.items()]
    for at, each in before.items():
        if at not in after and not is_kept(each) and (live := find(at)) is not None and not is_kept(live):
            found.append(ObjectChange(ref=at, verdict="delete", reason="the chart makes it no more"))
    return tuple(found)


def upgraded(change: ObjectChange, live: Object, *, applies: bool = True) -> ObjectChange:
    """Return *change*, where Helm will upgrade its release, with what that does to fields that others manage.

    Helm stops at them where it applies on the server's side (*applies*: whether this Helm knows how), but for those
    of which it says nothing any more. Else it takes them, but for custom resources, of which it never looks at the
    live one.
    """
    if not change.theirs:
        return change
    if applies and is_applied_by_helm(live):
        if not any(each.is_wanted for each in change.theirs):
            return change
        return replace(change, verdict="refused", reason=HELM_STOPS, hint=SAY_THE_SAME)
    if not is_built_in(change.ref.kind):
        return change
    taken = (FieldChange(path=each.path, live=each.live, wanted=each.wanted) for each in change.theirs)
    return replace(change, verdict="change", fields=(*change.fields, *taken), theirs=())


def drifted(wanted: Object, live: Object) -> ObjectChange:
    """Return how *live* stands to what kvobs applied; nothing is asked of a server.

    Fields that others manage make it refused, as an install would find.
    """
    fields, theirs = _sorted_out(live, drift(wanted, live), (OURS,), ())
    verdict: Verdict = "refused" if theirs else "change" if fields else "unchanged"
    reason = OTHERS_FIELDS if theirs else None
    return ObjectChange(ref=ref(wanted), verdict=verdict, fields=fields, theirs=theirs, reason=reason)


def given_back(at: Ref, fields: Iterable[ForeignField]) -> ObjectChange:
    """Return what giving *fields* of one object, which stand as kvobs set them, back does to it."""
    changes = (
        FieldChange(path=path_text(each.path), live=_value(each.after), wanted=_value(each.before)) for each in fields
    )
    return ObjectChange(ref=at, verdict="change", fields=tuple(changes))


def is_hook(each: Object) -> bool:
    """Whether Helm runs it and forgets it; a hook is no object of its release."""
    return "helm.sh/hook" in annotations_of(each)


def is_kept(each: Object) -> bool:
    """Whether Helm leaves it where it is when it is of the release no more."""
    return annotations_of(each).get("helm.sh/resource-policy") == "keep"


def _of_helm(
    wanted: Object, at: Ref, live: Object | None, before: Object | None, secrets: Sequence[str]
) -> ObjectChange:
    if live is None:
        return ObjectChange(ref=at, verdict="create")
    found = drift(wanted, live) + (() if before is None else dropped(before, wanted, live))
    fields, theirs = _sorted_out(live, found, helms_managers(live), secrets)
    verdict: Verdict = "change" if fields else "theirs" if theirs else "unchanged"
    return ObjectChange(ref=at, verdict=verdict, fields=fields, theirs=theirs)


def _sorted_out(
    live: Object, found: Sequence[Drift], ours: Sequence[str] | None, secrets: Sequence[str]
) -> tuple[tuple[FieldChange, ...], tuple[TheirField, ...]]:
    """Tell the fields that would change from those that managers beside *ours* have; None: all would change."""
    fields: list[FieldChange] = []
    theirs: list[TheirField] = []
    for each in found:
        path, name = path_text(each.path), _name(each.path)
        live_value, wanted = (masked(_value(value), secrets, name) for value in (each.live, each.wanted))
        managers = managers_of(live, each.path) if ours is not None else ()
        if managers and not any(each in (ours or ()) for each in managers):
            theirs.append(TheirField(path=path, managers=managers, live=live_value, wanted=wanted))
        else:
            fields.append(FieldChange(path=path, live=live_value, wanted=wanted))
    return tuple(fields), tuple(theirs)


def _name(path: Path) -> str:
    """What the value at *path* is called: the variable, where it is one of a container's."""
    last = path[-1]
    if last == "value" and isinstance(path[-2], Item):
        last = path[-2]
    return last.name if isinstance(last, Item) else last


def _value(value: Any) -> Any:
    return None if value is ABSENT else value


def by_verdict(changes: Sequence[ObjectChange]) -> Mapping[Verdict, int]:
    """Count objects by what would happen to them."""
    counts: dict[Verdict, int] = {}
    for each in changes:
        counts[each.verdict] = counts.get(each.verdict, 0) + 1
    return counts
