"""`kvobs install`: look, plan, act, report. The steps in order; a second run changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..adapters.sources import from_anywhere
from ..errors import ActionError
from ..settings import Settings
from ..stack.applyset import PARENT_NAME, applyset_id
from ..stack.choice import choose, parent_of
from ..stack.dcgm_notes import POLICY_TAKEN
from ..stack.facts import Facts
from ..stack.notes import Note
from ..stack.plan import Plan, Step, make_plan
from ..stack.remembered import record_of
from ..stack.rights import rights_needed
from .access import Access, access
from .act import (
    acting,
    apply_objects,
    create_secret,
    delete_members,
    find_members,
    parent_moved,
    refuse_taken,
    require,
    write_parent,
)
from .foreign_fields import restore_fields, set_fields
from .inputs import Dashboards, read_dashboards, shipped_monitors
from .lease import at_work
from .look import look
from .progress import Progress, Silent
from .release import PendingRelease, pending_release, with_values_of_release
from .wait import wait_ready

Outcome = Literal["changed", "unchanged"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """What one step did."""

    id: str
    title: str
    outcome: Outcome
    detail: str = ""


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

    @property
    def changed(self) -> bool:
        """Whether this run changed anything on the cluster."""
        return any(step.outcome == "changed" for step in self.steps)

    @property
    def exit_code(self) -> int:
        """0, or 1 where a dashboard was refused or keeps a reference that nothing was given for."""
        return 1 if self.refused or any(each.unresolved for each in self.dashboards) else 0


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
    if settings.chart:
        settings = replace(settings, chart=from_anywhere(settings.chart))
    progress = progress or Silent()
    progress.step("look at the cluster")
    cluster = cluster or Cluster.connect(
        settings.kubeconfig, settings.context, request_timeout_s=settings.request_timeout_s
    )
    dashboards = read_dashboards(settings.dashboards)
    monitors = shipped_monitors()

    # Making it runs nothing: where the stack is reused, no Helm is needed.
    helm = helm or Helm(
        executable=settings.helm,
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        timeout_s=settings.timeout_s,
    )
    told = settings
    kept: tuple[Note, ...] = ()

    def planned(facts: Facts) -> Plan:
        return make_plan(facts, choose(facts, told), told, dashboards=dashboards.documents, monitors=monitors)

    def prepared() -> tuple[Facts, Plan, PendingRelease | None]:
        nonlocal told, kept
        facts = look(cluster, settings)
        told, kept = with_values_of_release(settings, record_of(facts.parents, settings.namespace), helm)
        plan = planned(facts)
        release = plan.target.release
        pending: PendingRelease | None = None
        if release is not None:
            pending = pending_release(helm, release, recorded=plan.target.record.release is not None)
        before = parent_of(facts, plan.target.namespace)
        require(cluster, rights_needed(plan, release=pending is not None and pending.action != "keep", before=before))
        refuse_taken(cluster, plan.target.namespace, plan.refs)
        return facts, plan, pending

    facts, plan, pending = prepared()
    namespace = plan.target.namespace
    results: list[StepResult] = []
    with acting():
        results += _make_namespace(cluster, plan, progress)
    with acting(), at_work(cluster, namespace, timeout_s=settings.timeout_s, progress=progress) as turn:
        progress = turn.progress
        moved = parent_moved(cluster, namespace, parent_of(facts, namespace))
        if turn.waited or moved or (pending is not None and pending.outdated()):
            progress.step("look at what another kvobs did")
            facts, plan, pending = prepared()
            if plan.target.namespace != namespace:
                raise ActionError(
                    f"another kvobs has ended, and namespace {namespace} is no longer where this one would install",
                    hint=f"run the same command again; with --namespace {namespace} it goes there in any case",
                )
        results += _act(cluster, plan, progress, only=("secret",))
        if pending is not None:
            progress.step(pending.title)
            changed, detail = pending.carry_out(timeout_s=settings.timeout_s, on_line=progress.state)
            outcome: Outcome = "changed" if changed else "unchanged"
            results.append(StepResult(id="release", title=pending.name, outcome=outcome, detail=detail))
            if changed:
                # What the chart really made is what dashboards and monitors are fitted to, not what was predicted.
                progress.step("look at the installed stack")
                facts = look(cluster, settings)
                plan = planned(facts)
        results += _act(cluster, plan, progress, only=("monitors", "dcgm", "dashboards"))
        results += _tidy(cluster, plan, progress)
        if settings.wait:
            progress.step("wait until everything is ready")
            wait_ready(cluster, plan.target, timeout_s=settings.timeout_s, progress=progress)
    return _report(facts, replace(plan, notes=(*kept, *plan.notes)), results, dashboards, settings)


def _make_namespace(cluster: Cluster, plan: Plan, progress: Progress) -> list[StepResult]:
    """Make the namespace where it is missing: all else, the Lease too, goes into it."""
    applyset = applyset_id(PARENT_NAME, plan.target.namespace)
    results: list[StepResult] = []
    for step in plan.steps:
        if step.id == "namespace":
            progress.step(step.title)
            results.append(_result(step, *apply_objects(cluster, step.objects, applyset=applyset)))
    return results


def _act(cluster: Cluster, plan: Plan, progress: Progress, *, only: Sequence[str]) -> list[StepResult]:
    """Write the ApplySet parent, then do the steps whose id is among *only*."""
    namespace = plan.target.namespace
    applyset = applyset_id(PARENT_NAME, namespace)
    results: list[StepResult] = []
    write_parent(cluster, plan.record, namespace, plan.refs, narrow=False)
    for step in plan.steps:
        if step.id not in only:
            continue
        progress.step(step.title)
        if step.secret is not None:
            made = create_secret(cluster, step.secret, applyset=applyset)
            results.append(_result(step, int(made), int(not made)))
        elif step.fields:
            # Whose field it is, and what that means for them, is said before it is taken.
            for note in plan.notes:
                if note.id == POLICY_TAKEN:
                    progress.state(note.text)
            results.append(_result(step, *set_fields(cluster, step.fields)))
        elif step.objects:
            results.append(_result(step, *apply_objects(cluster, step.objects, applyset=applyset)))
    return results


def _result(step: Step, changed: int, unchanged: int) -> StepResult:
    if changed and unchanged:
        detail = f"{changed} applied, {unchanged} as they were"
    else:
        detail = f"{changed} applied" if changed else f"{unchanged} as before"
    return StepResult(id=step.id, title=step.title, outcome="changed" if changed else "unchanged", detail=detail)


def _tidy(cluster: Cluster, plan: Plan, progress: Progress) -> list[StepResult]:
    """Give back and delete what earlier runs of ours did and this one no longer wants; then say so in the parent."""
    namespace = plan.target.namespace
    results: list[StepResult] = []
    if plan.give_back:
        progress.step("give back fields that are no longer wanted")
        given = [
            f"{field.ref} {'.'.join(field.path)}: {what}" for field, what in restore_fields(cluster, plan.give_back)
        ]
        results.append(StepResult(id="restore", title="fields given back", outcome="changed", detail="; ".join(given)))
    live = cluster.get("ConfigMap", PARENT_NAME, namespace)
    stale = [each for each in find_members(cluster, live) if each not in plan.refs] if live is not None else []
    if stale:
        progress.step("delete what is no longer wanted")
        gone = ", ".join(str(each) for each in delete_members(cluster, stale))
        results.append(StepResult(id="prune", title="no longer wanted", outcome="changed", detail=gone))
    write_parent(cluster, plan.final_record, namespace, plan.refs, narrow=True)
    return results


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
