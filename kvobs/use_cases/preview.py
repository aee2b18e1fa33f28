"""What an install would do, step by step, asked of the server and of nobody else. Nothing is changed."""

from __future__ import annotations

import base64
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..errors import ActionError, Conflict
from ..stack.applied import stands
from ..stack.applyset import PARENT_NAME, applyset_id, check_parent, parent
from ..stack.changes import ObjectChange, given_back, of_release, upgraded
from ..stack.choice import PROMETHEUS_KIND
from ..stack.facts import Object, Ref
from ..stack.leftovers import CRD_KIND
from ..stack.objects import kind_of, owned, ref
from ..stack.plan import Step
from ..stack.rbac import role_of
from ..stack.record import ForeignField
from ..stack.release_drift import compared
from ..stack.secret_names import secret_texts
from ..stack.values import ADMIN_PASSWORD_KEY, ADMIN_USER_KEY, same_values
from .act import find_members, refuse_foreign, require
from .compare import Arrivals, Live, ask, validated
from .foreign_fields import patches, what_happens
from .prepare import Prepared
from .release import PendingRelease

_STAND_IN = base64.b64encode(b"made up when it is created").decode()


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPreview:
    """One step of an install, with what it would do to each object."""

    number: int
    id: str
    title: str
    detail: str = ""
    objects: tuple[ObjectChange, ...] = ()


class Preview:
    """Asks what the steps of a prepared install would do.

    With *validate*, the server is also asked whether it takes what Helm would apply; what kvobs applies itself is
    always asked for, unless it stands as it is to be. A question to the server is a dry run, which takes the rights
    of an install. Raises what the API server and Helm raise, `Forbidden` that names each right that is lacking.
    """

    def __init__(self, cluster: Cluster, helm: Helm, prepared: Prepared, *, validate: bool) -> None:
        self._cluster = cluster
        self._helm = helm
        self._prepared = prepared
        self._validate = validate
        self._allowed = False
        self._live = Live(prepared.seen)
        self._applyset = applyset_id(PARENT_NAME, prepared.plan.target.namespace)
        self._secrets = _secrets_of(prepared.pending)
        self._arrivals = _arrivals(prepared)

    def steps(self) -> Iterator[StepPreview]:
        """Yield the steps in their order: those of the plan, then what is given back, deleted and written down."""
        plan = self._prepared.plan
        number = 0
        for number, step in enumerate(plan.steps, 1):
            detail = self._detail() if step.release is not None else ""
            yield StepPreview(
                number=number, id=step.id, title=step.title, detail=detail, objects=tuple(self._of_step(step))
            )
        last = (
            ("restore", "fields given back", tuple(self._given_back())),
            ("prune", "no longer wanted", tuple(self._pruned())),
            ("record", "what kvobs owns, written down", (self._record(),)),
        )
        for step_id, title, objects in last:
            if objects:
                number += 1
                yield StepPreview(number=number, id=step_id, title=title, objects=objects)

    def _of_step(self, step: Step) -> Iterator[ObjectChange]:
        if step.release is not None:
            yield from self.release()
        if step.secret is not None:
            yield self._secret(step.secret)
        for each in step.objects:
            yield self._own(each, shared=step.id == "namespace")
        for at, patch, force in patches(step.fields):
            yield self._asked(patch, self._live.find(at), force=force)

    def _own(self, wanted: Object, *, shared: bool = False) -> ObjectChange:
        """What happens to an object that kvobs applies; one that is *shared* may be of others, and nothing is taken."""
        at = self._live.place(wanted, "")
        if (why := self._arrivals.of(at, self._live)) is not None:
            return ObjectChange(ref=at, verdict="create", unvalidated=why)
        live = self._live.find(at)
        if live is not None and not shared and (refused := self._foreign(at, live)) is not None:
            return refused
        return self._asked(wanted, live, force=self._prepared.plan.take_ownership and not shared)

    def _asked(self, wanted: Object, live: Object | None, *, force: bool = False) -> ObjectChange:
        """What applying *wanted* does: as the live object tells, else as the server says."""
        if live is not None and stands(wanted, live):
            return ObjectChange(ref=ref(wanted), verdict="unchanged")
        self._require()
        return ask(self._cluster, wanted, live, force=force, secrets=self._secrets)

    def _require(self) -> None:
        if not self._allowed:
            require(self._cluster, self._prepared.rights)
            self._allowed = True

    def _foreign(self, at: Ref, live: Object) -> ObjectChange | None:
        try:
            refuse_foreign(live, applyset=self._applyset, take=self._prepared.plan.take_ownership)
        except Conflict as error:
            return ObjectChange(ref=at, verdict="refused", reason=str(error), hint=error.hint)
        return None

    def _secret(self, at: Ref) -> ObjectChange:
        """What happens to the Secret that is made once: it stays as it is when it is there."""
        live = self._live.find(at)
        if live is not None:
            return self._foreign(at, live) or ObjectChange(ref=at, verdict="unchanged")
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": at.name, "namespace": at.namespace},
            "data": dict.fromkeys((ADMIN_USER_KEY, ADMIN_PASSWORD_KEY), _STAND_IN),
        }
        return self._own(owned(secret, applyset_id=self._applyset))

    def release(self) -> Iterator[ObjectChange]:
        """Yield what happens to the objects of our release; where the stack is somebody else's, there are none."""
        pending = self._prepared.pending
        if pending is None:
            return
        same = _as_stored(pending)
        stored = compared(pending.current.manifest) if pending.current is not None else ()
        wanted = stored if same else self._rendered(pending)

        def place(each: Object) -> Ref:
            return self._live.place(each, pending.desired.namespace)

        by_place = {place(each): each for each in wanted}
        for change in of_release(wanted, stored, self._live.find, place=place, secrets=self._secrets):
            change = _mended(change, pending) if same else change
            live = self._live.find(change.ref)
            if live is not None and pending.action not in ("keep", "mend"):
                change = upgraded(change, live, applies=bool(change.theirs) and self._helm.applies())
            yield self._of_helm(change, by_place.get(change.ref), brought=by_place)

    def _of_helm(self, change: ObjectChange, wanted: Object | None, *, brought: Container[Ref]) -> ObjectChange:
        """*change* with the server's word on it, where that is asked for; *brought*: what the same step brings."""
        if wanted is None or change.verdict not in ("create", "change") or not self._validate:
            return change
        if (why := self._arrivals.of(change.ref, self._live)) is not None:
            return replace(change, unvalidated=why)
        self._require()
        with_it = f"arrives with step {self._arrivals.release}" if role_of(wanted, change.ref) in brought else None
        return validated(self._cluster, change, wanted, needs=with_it, secrets=self._secrets)

    def _rendered(self, pending: PendingRelease) -> tuple[Object, ...]:
        """What Helm would apply; CRDs only where they are not there, since Helm leaves the others alone."""
        facts, desired = self._prepared.facts, pending.desired
        without_crds = PROMETHEUS_KIND not in facts.kinds
        rendered = self._helm.template(
            desired.name,
            desired.chart,
            version=desired.version,
            namespace=desired.namespace,
            values=desired.values,
            set_integers=desired.set_integers,
            kube_version=facts.server_version,
            api_versions=self._live.extensions(),
            include_crds=without_crds,
        )
        if not without_crds:
            return rendered
        return tuple(
            each
            for each in rendered
            if kind_of(each) != CRD_KIND or self._live.find(self._live.place(each, "")) is None
        )

    def _detail(self) -> str:
        pending = self._prepared.pending
        if pending is None:
            return ""
        revision = f" revision {pending.current.revision}" if pending.current is not None else ""
        return f"{pending.action}{revision}, chart {pending.chart_version}"

    def _given_back(self) -> Iterator[ObjectChange]:
        by_object: dict[Ref, list[ForeignField]] = {}
        for field in self._prepared.plan.give_back:
            live = self._live.find(field.ref)
            if live is not None and what_happens(live, field)[1]:
                by_object.setdefault(field.ref, []).append(field)
        for at, fields in by_object.items():
            yield given_back(at, fields)

    def _pruned(self) -> Iterator[ObjectChange]:
        live = self._prepared.parent
        for at in find_members(self._cluster, live) if live is not None else ():
            if at not in self._prepared.plan.refs:
                yield ObjectChange(ref=at, verdict="delete", reason="kvobs makes it no more")

    def _record(self) -> ObjectChange:
        plan = self._prepared.plan
        desired = parent(PARENT_NAME, plan.target.namespace, refs=plan.refs, record=plan.final_record)
        live = self._live.find(ref(desired))
        if live is not None:
            try:
                check_parent(live)
            except ActionError as error:
                return ObjectChange(ref=ref(desired), verdict="refused", reason=str(error), hint=error.hint)
        return self._own(desired, shared=True)


def _as_stored(pending: PendingRelease) -> bool:
    """Whether the release, as Helm keeps it, is what it is to be: then its manifest is too, and Helm is not asked."""
    current = pending.current
    return (
        current is not None
        and bool(current.manifest)
        and current.chart_version == pending.chart_version
        and same_values(current.values, pending.desired.values)
    )


def _mended(change: ObjectChange, pending: PendingRelease) -> ObjectChange:
    """*change* of a release that is as it is to be but for what was done to its objects: as an install mends it."""
    if pending.action not in ("keep", "mend") or not change.differs:
        return change
    if change.ref in pending.drift.missing or any(change.ref == each.ref for each in pending.drift.changed):
        return change
    # The server itself makes no difference of it.
    return replace(change, verdict="theirs" if change.theirs else "unchanged", fields=())


def _secrets_of(pending: PendingRelease | None) -> tuple[str, ...]:
    """The texts of the release's values, as they are and as they are to be, that nobody may see."""
    if pending is None:
        return ()
    before = secret_texts(pending.current.values) if pending.current is not None else ()
    return (*secret_texts(pending.desired.values), *before)


def _arrivals(prepared: Prepared) -> Arrivals:
    """What the plan's own steps bring."""
    namespaces: dict[str, int] = {}
    release: int | None = None
    for number, step in enumerate(prepared.plan.steps, 1):
        if step.id == "namespace":
            namespaces |= {each["metadata"]["name"]: number for each in step.objects}
        if step.release is not None:
            release = number
    return Arrivals(namespaces=namespaces, release=release)
