"""`kvobs status`: what is installed, whether it is ready, and how to open it. Reads only.

It says what is recorded and what is live, and decides nothing: what is recorded and gone is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from ..adapters.cluster import Cluster
from ..errors import ActionError, Forbidden, Unanswered
from ..settings import Settings
from ..stack.applyset import members as kinds_of_members
from ..stack.changes import ObjectChange
from ..stack.choice import PROMETHEUS_KIND, parent_of, sidecar_notes
from ..stack.facts import Facts, Grafana, Object, Prometheus, Ref
from ..stack.installs import beside_notes
from ..stack.leftovers import stack_namespaces
from ..stack.notes import Note
from ..stack.plan import metrics_kept, unasked
from ..stack.readiness import not_ready
from ..stack.record import Record, read_record
from .access import Access, access
from .act import members_of_kind
from .connect import cluster_of
from .look import look
from .one_look import OneLook
from .standing import standing
from .wait import CUSTOM, WORKLOADS, of_release

_Kind = TypeVar("_Kind", Prometheus, Grafana)


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusReport:
    """One look at an install."""

    installed: bool
    server_version: str
    namespace: str | None = None
    stack: str | None = None
    release: str | None = None
    """Helm release of ours, with its status and revision."""
    prometheus: str | None = None
    grafana: str | None = None
    datasource: str | None = None
    """UID that the dashboards' Prometheus references point to."""
    members: tuple[str, ...] = ()
    """Every object that kvobs applied, as far as it could be read."""
    unready: tuple[str, ...] = ()
    """One sentence for each workload that is not ready, or not there."""
    unread: tuple[str, ...] = ()
    """One sentence for each kind of workload that could not be read, so that it is not known whether it is ready."""
    missing: tuple[Ref, ...] = ()
    """What kvobs or its release made and is not there."""
    drifted: tuple[ObjectChange, ...] = ()
    """What is not as kvobs or its release made it, by field; where a field is somebody else's, with whose it is."""
    notes: tuple[Note, ...] = ()
    access: Access | None = None
    elsewhere: tuple[str, ...] = ()
    """Where it is not installed as asked: the namespaces in which it is."""

    @property
    def exit_code(self) -> int:
        """0 where everything stands as it was made and is ready, 1 where not, 4 where readiness could not be read.

        A field of the release that somebody else manages (an autoscaler's replicas) is shown, and nothing bad; what
        could not be compared is a note.
        """
        if not self.installed or self.unready or self.missing or any(each.differs for each in self.drifted):
            return 1
        return 4 if self.unread else 0


def status(settings: Settings | None = None, *, cluster: Cluster | None = None) -> StatusReport:
    """Return what kvobs installed on the cluster, from its ApplySet and the live objects.

    Raises `Unanswered` where the cluster cannot be asked, several installs could be meant, or the record is damaged.
    """
    settings = settings or Settings()
    cluster = cluster or cluster_of(settings)
    seen = OneLook(cluster)
    with _asking():
        facts = look(seen, settings)
        parent = parent_of(facts, settings.namespace)
        if parent is None:
            return StatusReport(
                installed=False,
                server_version=facts.server_version,
                elsewhere=tuple(sorted(each["metadata"]["namespace"] for each in facts.parents)),
            )
        return _report(seen, facts, parent, settings)


@contextmanager
def _asking() -> Iterator[None]:
    """Turn whatever kept a question from an answer into `Unanswered`: nothing was to be changed."""
    try:
        yield
    except ActionError as error:
        raise Unanswered(str(error), hint=error.hint) from error


def _report(cluster: OneLook, facts: Facts, parent: Object, settings: Settings) -> StatusReport:
    record = read_record(parent)
    found = _Found.of(facts, record)
    seen = _readiness(cluster, facts, record, found)
    dashboards = tuple((each.uid, each.title or each.uid) for each in facts.dashboards if each.ours and each.uid)
    members, unlisted = _members(cluster, parent)
    stands = standing(cluster, facts, parent, members, settings)
    told = [
        *(sidecar_notes(found.grafana) if found.grafana else ()),
        *(metrics_kept(found.prometheus, ours=record.release is not None) if found.prometheus else ()),
        *beside_notes(facts.parents, parent["metadata"]["namespace"], record),
        *unasked(facts),
        *(Note("not-asked", f"{kind} could not be read: {why}") for kind, why in unlisted if kind not in facts.unasked),
    ]
    notes = [*told, *(each for each in stands.notes if each not in told)]
    return StatusReport(
        installed=True,
        server_version=facts.server_version,
        namespace=parent["metadata"]["namespace"],
        stack="installed by kvobs" if record.release else "reused",
        release=_release(facts, record),
        prometheus=found.prometheus_name,
        grafana=found.grafana_name,
        datasource=(record.settings.get("uids") or {}).get("prometheus"),
        members=tuple(map(str, members)),
        missing=stands.missing,
        drifted=stands.drifted,
        unready=tuple(seen.unready),
        unread=tuple(seen.unread),
        notes=tuple(notes),
        access=access(found.grafana, dashboards, settings) if found.grafana else None,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """The Prometheus and the Grafana of an install: what is live, and else the names that are recorded."""

    prometheus: Prometheus | None
    grafana: Grafana | None
    prometheus_name: str | None
    grafana_name: str | None
    """None: none is wanted."""

    @classmethod
    def of(cls, facts: Facts, record: Record) -> _Found:
        """Find them: by the release where it is ours, by the recorded name else."""
        told = record.settings
        prometheus = _live(facts.prometheuses, told.get("prometheus"), record)
        wanted = None if told.get("grafana") == "none" else told.get("grafana")
        grafana = _live(facts.grafanas, wanted, record) if wanted else None
        return cls(
            prometheus=prometheus,
            grafana=grafana,
            prometheus_name=_name(prometheus) if prometheus else told.get("prometheus"),
            grafana_name=_name(grafana) if grafana else wanted,
        )


def _live(those: Sequence[_Kind], name: str | None, record: Record) -> _Kind | None:
    release = record.release
    if release is not None:
        made = [each for each in those if each.release == (release.namespace, release.name)]
        return next((each for each in made if _name(each) == name), made[0] if made else None)
    return next((each for each in those if _name(each) == name), None)


def _name(each: Prometheus | Grafana) -> str:
    return f"{each.namespace}/{each.name}"


@dataclass(frozen=True, slots=True)
class _Readiness:
    unready: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def _readiness(cluster: OneLook, facts: Facts, record: Record, found: _Found) -> _Readiness:
    """Say what is not ready, what is not there, and which kinds of workload could not be read."""
    seen = _Readiness()
    workloads: list[Object] = []
    release = record.release
    if release is not None:
        made = (release.namespace, release.name)
        places = {release.namespace, *stack_namespaces(record)}
        places |= {each.namespace for each in (found.prometheus, found.grafana) if each is not None}
        for kind in (*WORKLOADS, *CUSTOM):
            try:
                workloads += of_release(cluster, kind, made, places)
            except Forbidden as error:
                seen.unread.append(f"{kind}: {error}")
    elif found.prometheus is not None:
        try:
            live = cluster.get(PROMETHEUS_KIND, found.prometheus.name, found.prometheus.namespace)
            workloads += [live] if live is not None else []
        except Forbidden as error:
            seen.unread.append(f"{PROMETHEUS_KIND}: {error}")
    for each in workloads:
        if (why := not_ready(each)) is not None:
            seen.unready.append(f"{each['kind']} {each['metadata']['name']}: {why}")

    recorded = (
        ("Prometheus", found.prometheus, found.prometheus_name, (PROMETHEUS_KIND,)),
        ("Grafana", found.grafana, found.grafana_name, ("Deployment.apps", "StatefulSet.apps")),
    )
    for word, live_one, name, kinds in recorded:
        if live_one is not None or name is None:
            continue
        denied = [f"{word} {name}: {facts.unasked[kind]}" for kind in kinds if kind in facts.unasked]
        if not denied:
            seen.unready.append(f"{word} {name} is not there")
        elif release is None:  # else said already, of the whole kind
            seen.unread.append(denied[0])
    return seen


def _members(cluster: OneLook, parent: Object) -> tuple[list[Ref], list[tuple[str, str]]]:
    """Return what carries the ApplySet's label, and (kind, why) of each kind that could not be listed."""
    found: list[Ref] = []
    unlisted: list[tuple[str, str]] = []
    for kind in kinds_of_members(parent):
        try:
            found += members_of_kind(cluster, parent, kind)
        except Forbidden as error:
            unlisted.append((kind, str(error)))
    return found, unlisted


def _release(facts: Facts, record: Record) -> str | None:
    if record.release is None:
        return None
    at = f"{record.release.namespace}/{record.release.name}"
    for each in facts.releases:
        if (each.namespace, each.name) == (record.release.namespace, record.release.name):
            return f"{at}, {each.status}, revision {each.revision}"
    # Helm keeps its releases in Secrets.
    return f"{at}, could not be read" if "Secret" in facts.unasked else f"{at}, not there"
