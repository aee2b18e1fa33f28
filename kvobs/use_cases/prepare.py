"""What comes before any change, for an install and for those who only ask: look, plan, see how our release stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..adapters.sources import from_anywhere
from ..settings import Settings
from ..stack.choice import choose, parent_of
from ..stack.facts import Facts, Object
from ..stack.notes import Note
from ..stack.objects import kind_of
from ..stack.plan import Plan, make_plan
from ..stack.remembered import record_of
from ..stack.rights import Right, rights_needed
from .connect import cluster_of, helm_of
from .inputs import Dashboards, read_dashboards, shipped_monitors
from .look import look
from .one_look import OneLook
from .progress import Progress
from .release import PendingRelease, Releases, pending_release, with_values_of_release
from .release_drift import release_drift


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A cluster as it was seen, and what is to be done on it."""

    facts: Facts
    settings: Settings
    """What was told, with the values of our release where none were."""
    plan: Plan
    pending: PendingRelease | None
    """What has to happen to our release; None: the stack is somebody else's."""
    notes: tuple[Note, ...]
    """What is to be said beside the plan's own notes."""
    seen: OneLook
    """What was read, for whoever has more to ask of the same cluster."""

    @property
    def parent(self) -> Object | None:
        """The ApplySet parent that an earlier run wrote."""
        return parent_of(self.facts, self.plan.target.namespace)

    @property
    def rights(self) -> Iterable[Right]:
        """What the credentials must allow."""
        needed = rights_needed(self.plan, release=self.helm_acts, before=self.parent)
        mending = self.pending.drift.mending if self.pending is not None and not self.helm_acts else ()
        kinds = {(kind_of(each.wanted), each.wanted["metadata"].get("namespace", "")) for each in mending}
        return (*needed, *(Right(verb, *where) for where in sorted(kinds) for verb in ("create", "patch")))

    @property
    def helm_acts(self) -> bool:
        """Whether Helm has something to do."""
        return self.pending is not None and self.pending.action not in ("keep", "mend")


class Preparation:
    """Looks at a cluster and plans, as often as it has to; changes nothing.

    Whatever looking, choosing and planning raise is raised by its methods.
    """

    def __init__(
        self, settings: Settings, cluster: Cluster | None, helm: Helm | None, progress: Progress | None = None
    ) -> None:
        self.settings = replace(settings, chart=from_anywhere(settings.chart)) if settings.chart else settings
        self.cluster = cluster or cluster_of(settings)
        self.helm = helm or helm_of(settings)
        self.dashboards: Dashboards = read_dashboards(
            settings.dashboards, offline=settings.offline, ca_file=settings.ca_file, progress=progress
        )
        self._monitors = shipped_monitors()

    def prepared(self) -> Prepared:
        """Look and plan."""
        seen = OneLook(self.cluster)
        facts = look(seen, self.settings)
        record = record_of(facts.parents, self.settings.namespace)
        releases = Releases(seen, self.helm, seen=facts.releases)
        told, notes = with_values_of_release(self.settings, record, releases, control_plane=facts.control_plane)
        plan = self.planned(facts, told)
        release = plan.target.release
        pending: PendingRelease | None = None
        if release is not None:
            pending = pending_release(
                self.helm,
                release,
                recorded=plan.target.record.release is not None,
                releases=releases,
                drift=lambda current: release_drift(self.cluster, seen, current),
                cluster=self.cluster,
            )
            notes = (*notes, *pending.drift.notes)
        return Prepared(facts=facts, settings=told, plan=plan, pending=pending, notes=notes, seen=seen)

    def planned(self, facts: Facts, told: Settings) -> Plan:
        """Plan for *facts*, where *told* are the settings of `prepared`."""
        return make_plan(
            facts,
            choose(facts, told),
            told,
            dashboards=self.dashboards.documents,
            monitors=self._monitors,
            incomplete=bool(self.dashboards.unreadable),
        )
