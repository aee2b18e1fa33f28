"""How the objects of an install stand: which are missing, which are not as they were made. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..adapters.helm_release import HelmRelease
from ..adapters.helm_storage import stored_release
from ..errors import ActionError, Forbidden, KvobsError
from ..settings import Settings
from ..stack.applyset import named_members
from ..stack.changes import ObjectChange, drifted, is_hook, of_release
from ..stack.choice import choose
from ..stack.facts import Facts, Object, Ref
from ..stack.notes import Note
from ..stack.objects import ref
from ..stack.plan import make_plan
from ..stack.record import Record, read_record
from ..stack.secret_names import secret_texts
from .compare import Live
from .inputs import read_dashboards, shipped_monitors
from .one_look import OneLook


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What is not as an install left it."""

    missing: tuple[Ref, ...] = ()
    drifted: tuple[ObjectChange, ...] = ()
    notes: tuple[Note, ...] = ()
    """What could not be compared, and why."""


def standing(cluster: OneLook, facts: Facts, parent: Object, listed: Sequence[Ref], settings: Settings) -> Standing:
    """Return how kvobs' own objects and those of its release stand; *listed* are those that carry its label.

    Its own are compared with what an install without further options would make now, those of the release with the
    manifest that Helm keeps. What cannot be asked becomes a note.
    """
    look = _Look(cluster)
    record = read_record(parent)
    stored = look.stored(record)
    wanted = look.wanted(facts, settings if stored is None else replace(settings, values=(stored.values,)))
    own = look.own(named_members(parent) or listed, wanted)
    made = look.made(stored) if stored is not None else Standing()
    unread = [
        Note("not-asked", f"{kind} could not be read: {why}")
        for kind, why in look.unread.items()
        if kind not in facts.unasked
    ]
    return Standing(
        missing=(*own.missing, *made.missing),
        drifted=(*own.drifted, *made.drifted),
        notes=(*look.notes, *unread),
    )


class _Look:
    """One look at live objects, which remembers what it may not see."""

    def __init__(self, cluster: OneLook) -> None:
        self._cluster = cluster
        self._live = Live(cluster)
        self.unread: dict[str, str] = {}
        """Kind -> why it could not be read."""
        self.notes: list[Note] = []

    def find(self, at: Ref) -> Object | None:
        """Return the live object; None where there is none, or where its kind is `unread`."""
        if at.kind in self.unread:
            return None
        try:
            return self._live.find(at)
        except Forbidden as error:
            self.unread[at.kind] = str(error)
            return None

    def stored(self, record: Record) -> HelmRelease | None:
        """Return our release as Helm keeps it; None where there is none, or none that can be read."""
        if record.release is None:
            return None
        try:
            return stored_release(self._cluster, record.release.name, record.release.namespace)
        except ActionError as error:
            at = f"{record.release.namespace}/{record.release.name}"
            self.notes.append(Note("not-compared", f"The objects of release {at} could not be compared: {error}"))
            return None

    def wanted(self, facts: Facts, settings: Settings) -> Mapping[Ref, Object]:
        """Return what an install would apply of kvobs' own; nothing where it would stop before."""
        try:
            plan = make_plan(
                facts,
                choose(facts, settings),
                settings,
                dashboards=read_dashboards(()).documents,
                monitors=shipped_monitors(),
            )
        except KvobsError as error:
            self.notes.append(Note("not-compared", f"The objects of kvobs could not be compared: {error}"))
            return {}
        return {ref(each): each for each in plan.objects}

    def own(self, members: Sequence[Ref], wanted: Mapping[Ref, Object]) -> Standing:
        """Say how the *members* stand; those that are not among *wanted* need only be there."""
        live = {at: self.find(at) for at in members}
        changes = [drifted(wanted[at], there) for at, there in live.items() if there is not None and at in wanted]
        return Standing(
            missing=tuple(at for at, there in live.items() if there is None and at.kind not in self.unread),
            drifted=tuple(each for each in changes if each.differs),
        )

    def made(self, stored: HelmRelease) -> Standing:
        """Say how the objects of our release stand."""

        def place(each: Object) -> Ref:
            return self._live.place(each, stored.namespace)

        manifest = [each for each in stored.manifest if not is_hook(each)]
        live = {place(each): self.find(place(each)) for each in manifest}
        seen = [each for each in manifest if place(each).kind not in self.unread]
        changes = of_release(seen, seen, live.get, place=place, secrets=secret_texts(stored.values))
        return Standing(
            missing=tuple(each.ref for each in changes if each.verdict == "create"),
            drifted=tuple(each for each in changes if each.verdict in ("change", "theirs")),
        )
