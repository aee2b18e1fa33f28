"""`kvobs install`: look, plan, act, report. The steps in order; a second run changes nothing."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..errors import ActionError, Forbidden, NotUpgraded
from ..settings import Settings
from ..stack.choice import parent_of
from ..stack.facts import Facts
from ..stack.notes import Note
from ..stack.plan import Plan
from .access import Access, access
from .act import acting, parent_moved, require
from .in_place import InPlace, find_in_place, settle
from .inputs import Dashboards
from .lease import at_work, somebody_at_work
from .look import look
from .one_look import OneLook
from .preflight import preflight, refuse_fields_of_others
from .prepare import Preparation, Prepared
from .progress import Progress, Silent
from .prove import prove
from .release import PendingRelease
from .steps import StepResult as StepResult
from .steps import Steps
from .verify_report import VerifyReport
from .wait import wait_ready


@dataclass(frozen=True, kw_only=True, slots=True)
class DashboardResult:
    """One loaded dashboard."""

    uid: str
    title: str
    source: str
    config_map: str
    references: int
    """How many datasource references it holds."""
    warnings: tuple[str, ...]
    """What a person should know about the dashboard, one sentence each."""
    changes: tuple[str, ...]
    """One sentence for each reference that the patch changed."""
    unresolved: tuple[str, ...]
    """One sentence for each reference that nothing was given for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallReport:
    """What an install found, did and left to do."""

    server_version: str
    namespace: str
    stack: str
    """`installed by kvobs` or `reused`."""
    prometheus: str
    grafana: str | None
    datasource: str | None
    """UID that Prometheus references point to now."""
    steps: tuple[StepResult, ...]
    dashboards: tuple[DashboardResult, ...]
    refused: tuple[tuple[str, str], ...]
    """(source, why) of each dashboard that could not be loaded."""
    notes: tuple[Note, ...]
    access: Access | None
    ready: bool | None
    """Whether the wait ended with everything ready; None when it was not asked for."""
    verified: VerifyReport | None = None
    """What verify says of the panels of kvobs' own dashboards; None: it was not asked for, or could not look, which a
    note `not-verified` says."""

    @property
    def changed(self) -> bool:
        """Whether this run changed anything on the cluster."""
        return any(step.outcome == "changed" for step in self.steps)

    @property
    def exit_code(self) -> int:
        """0, or 1 where a dashboard was refused, has a reference that nothing was given for, or a broken panel."""
        if self.refused or any(each.unresolved for each in self.dashboards):
            return 1
        return 1 if self.verified is not None and self.verified.exit_code == 1 else 0


def install(
    settings: Settings | None = None,
    *,
    cluster: Cluster | None = None,
    helm: Helm | None = None,
    progress: Progress | None = None,
) -> InstallReport:
    """Bring the stack, the monitors and the patched dashboards onto the cluster; return what was done.

    Safe to run again at any time: what stands already is left alone, what an interrupted run left is finished.
    Raises `Unanswered` (nothing was changed), `Undecided` (nothing was changed; the hint names the flag that
    decides), `UsageError`, or another `ActionError` for what was refused, failed or timed out.
    """
    settings = settings or Settings()
    progress = told = progress or Silent()
    progress.step("look at the cluster")
    preparation = Preparation(settings, cluster, helm, progress)
    cluster = preparation.cluster
    found, in_place, to_do = _seen(preparation)
    namespace = found.plan.target.namespace
    results: list[StepResult] = []
    with contextlib.ExitStack() as held:
        if to_do:
            judged = _judged_alone(preparation, found, in_place)
            held.enter_context(acting())
            results += Steps(cluster, found.plan, in_place, progress).make_namespace()
            turn = held.enter_context(at_work(cluster, namespace, timeout_s=settings.timeout_s, progress=progress))
            progress = turn.progress
            if judged is None or turn.waited or _moved(cluster, found):
                progress.step("look at what another kvobs did")
                found, in_place, to_do = _seen(preparation)
                _stay(found, namespace)
                judged = _judged(preparation, found, in_place)
            found = judged
        steps = Steps(cluster, found.plan, in_place, progress)
        results += steps.do("secret")
        facts, plan, seen = found.facts, found.plan, found.seen
        if found.pending is not None:
            try:
                result = _release(found.pending, settings, progress)
            except NotUpgraded:
                # What this run was told of the stack is not in force: a later one goes by what was recorded before.
                steps.forget()
                raise
            results.append(result)
            if result.outcome == "changed":
                # What the chart really made is what dashboards and monitors are fitted to, not what was predicted.
                progress.step("look at the installed stack")
                seen = OneLook(cluster)
                facts = look(seen, preparation.settings)
                plan = preparation.planned(facts, found.settings)
                steps = Steps(cluster, plan, find_in_place(seen, plan, parent_of(facts, namespace)), progress)
        results += steps.do("monitors", "dcgm", "dashboards")
        results += steps.tidy()
        if settings.wait:
            progress.step("wait until everything is ready")
            first = None if to_do else seen
            wait_ready(cluster, plan.target, timeout_s=settings.timeout_s, progress=progress, seen=first)
    report = _report(facts, replace(plan, notes=(*found.notes, *plan.notes)), results, preparation.dashboards, settings)
    if not (settings.wait and settings.verify):
        return report
    # The Lease is given back by now: this only reads, and may take minutes.
    fresh = None if to_do else seen
    verified, said = prove(cluster, plan.target, settings, progress=told, seen=fresh, parent=found.parent)
    if verified is not None:
        verified = replace(verified, notes=tuple(each for each in verified.notes if each not in report.notes))
    return replace(report, verified=verified, notes=(*report.notes, *said))


def _seen(preparation: Preparation) -> tuple[Prepared, InPlace, bool]:
    """Look and plan; return how things stand too, and whether there is anything to do.

    Where there is nothing, the rest of the run only reads: it needs no right to write, and nobody has to wait for it.
    """
    found = preparation.prepared()
    cluster = preparation.cluster
    try:
        in_place = find_in_place(found.seen, found.plan, found.parent)
    except Forbidden:
        require(cluster, found.rights)
        raise
    if in_place.ours == found.plan.refs:
        in_place = settle(cluster, in_place, found.plan)
    kept = found.pending is None or found.pending.action == "keep"
    to_do = not (kept and in_place.is_all(found.plan)) or somebody_at_work(cluster, found.plan.target.namespace)
    if to_do:
        require(cluster, found.rights)
    return found, in_place, to_do


def _judged_alone(preparation: Preparation, found: Prepared, in_place: InPlace) -> Prepared | None:
    """*found* with what the checks say of it, or None where another run is in the midst of it: it ends first.

    The Lease lies in the namespace. Where somebody holds it, the namespace is there, and the checks can wait until
    the Lease is ours: what they would see now is half made. Where nobody does, they come before the Lease, so that a
    refusal leaves no namespace that was made for its sake; one that speaks of what a run that has begun meanwhile is
    making is not believed. Either way they are made anew after a wait. So nothing but the Lease, and a namespace for
    it which the checks found nothing against, is made before they have said yes.
    """
    cluster, namespace = preparation.cluster, found.plan.target.namespace
    if somebody_at_work(cluster, namespace):
        return None
    try:
        return _judged(preparation, found, in_place)
    except ActionError:
        if somebody_at_work(cluster, namespace) or _moved(cluster, found):
            return None
        raise


def _judged(preparation: Preparation, found: Prepared, in_place: InPlace) -> Prepared:
    """*found* with what the checks say of it. Raises `ActionError` for what would stop the install half-way."""
    said = preflight(found, preparation.cluster, preparation.settings, in_place=in_place)
    refuse_fields_of_others(found, preparation.cluster)
    return replace(found, notes=(*found.notes, *said))


def _moved(cluster: Cluster, found: Prepared) -> bool:
    """Whether somebody did something between our look and our turn."""
    if parent_moved(cluster, found.plan.target.namespace, found.parent):
        return True
    return found.pending is not None and found.pending.outdated()


def _stay(found: Prepared, namespace: str) -> None:
    """Raise `ActionError` where the install would go elsewhere now: the Lease is in *namespace*."""
    if found.plan.target.namespace != namespace:
        raise ActionError(
            f"another kvobs has ended, and namespace {namespace} is no longer where this one would install",
            hint=f"run the same command again; with --namespace {namespace} it goes there in any case",
        )


def _release(pending: PendingRelease, settings: Settings, progress: Progress) -> StepResult:
    progress.step(pending.title)
    changed, detail = pending.carry_out(timeout_s=settings.timeout_s, on_line=progress.state)
    return StepResult(id="release", title=pending.name, outcome="changed" if changed else "unchanged", detail=detail)


def _report(
    facts: Facts,
    plan: Plan,
    results: list[StepResult],
    read: Dashboards,
    settings: Settings,
) -> InstallReport:
    target = plan.target
    dashboards = tuple(
        DashboardResult(
            uid=each.uid,
            title=each.title,
            source=each.source,
            config_map=f"{each.config_map.namespace}/{each.config_map.name}",
            references=len(each.patched.references),
            warnings=(*read.warnings.get(each.source, ()), *each.patched.warnings),
            changes=tuple(f"{ref.path}: {ref.why}" for ref in each.patched.references if ref.changed),
            unresolved=tuple(f"{ref.path}: {ref.why}" for ref in each.patched.unresolved),
        )
        for each in plan.dashboards
    )
    return InstallReport(
        server_version=facts.server_version,
        namespace=target.namespace,
        stack="installed by kvobs" if target.release else "reused",
        prometheus=f"{target.prometheus.namespace}/{target.prometheus.name}",
        grafana=f"{target.grafana.namespace}/{target.grafana.name}" if target.grafana else None,
        datasource=target.datasources["prometheus"][0] if "prometheus" in target.datasources else None,
        steps=tuple(results),
        dashboards=dashboards,
        refused=(*read.unreadable, *plan.refused.items()),
        notes=plan.notes,
        access=access(target.grafana, tuple((each.uid, each.title) for each in dashboards), settings)
        if target.grafana
        else None,
        ready=True if settings.wait else None,
    )
