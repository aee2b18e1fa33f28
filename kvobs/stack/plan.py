"""Facts and settings in, ordered steps with their exact objects out. Pure: nothing is asked, nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..settings import Settings
from .applyset import PARENT_NAME, applyset_id
from .choice import PROMETHEUS_KIND, DesiredRelease, Target
from .dashboards import PlannedDashboard, dashboard_notes, kept_dashboards, kept_notes, plan_dashboards
from .dcgm import DcgmPlan, dcgm_plan
from .dcgm_policy import ForeignFieldChange
from .facts import Facts, Object, Prometheus, Ref
from .installs import BESIDE
from .leftovers import names_left
from .monitors import vllm_monitors
from .notes import Note
from .objects import MANAGED_BY, OURS, owned, ref
from .record import ForeignField, Record, ReleaseRecord
from .remembered import recalled, remembered
from .scrape_intervals import told_intervals, with_intervals
from .values import names_of

StepId = Literal["namespace", "secret", "release", "monitors", "dcgm", "dashboards"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One thing to do, safe to do again. Exactly one of the fields below `title` is set."""

    id: StepId
    title: str
    objects: tuple[Object, ...] = ()
    """To apply under our field manager; all carry our ownership labels, but for a namespace."""
    secret: Ref | None = None
    """To create with a random password, once."""
    release: DesiredRelease | None = None
    """To install or upgrade through Helm, unless it is as desired."""
    fields: tuple[ForeignFieldChange, ...] = ()
    """To set on objects that are not ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a run will do."""

    target: Target
    record: Record
    """What the ApplySet parent says before the first step is done."""
    give_back: tuple[ForeignField, ...]
    """Fields that an earlier run set and this one no longer wants; they are in `record` until they are given back."""
    steps: tuple[Step, ...]
    dashboards: tuple[PlannedDashboard, ...]
    refused: Mapping[str, str]
    """Dashboard source -> why it is not loaded."""
    notes: tuple[Note, ...]
    kept: frozenset[Ref] = frozenset()
    """What an earlier run made and this one can neither make nor tell to be unwanted."""
    take_ownership: bool = False
    """Whether objects of our names that nobody looks after, and fields of ours that others took, are taken."""

    @property
    def final_record(self) -> Record:
        """What the ApplySet parent says when all is done."""
        kept = tuple(each for each in self.record.foreign_fields if each not in self.give_back)
        return replace(self.record, foreign_fields=kept)

    @property
    def objects(self) -> tuple[Object, ...]:
        """Every object of ours, in the order of the steps."""
        return tuple(each for step in self.steps for each in step.objects if step.id != "namespace")

    @property
    def refs(self) -> frozenset[Ref]:
        """Every object of ours, the Secret included: what pruning keeps."""
        secrets = {step.secret for step in self.steps if step.secret is not None}
        return frozenset({ref(each) for each in self.objects} | secrets | self.kept)


def make_plan(
    facts: Facts,
    target: Target,
    settings: Settings,
    *,
    dashboards: Sequence[tuple[str, Any]],
    monitors: Mapping[str, Object],
    incomplete: bool = False,
) -> Plan:
    """Return the steps that bring the cluster of *facts* to what *settings* ask for.

    *dashboards* are (source, document) pairs, *monitors* the shipped monitor objects by name. *incomplete*: some
    dashboard that was asked for could not be had. Raises `ActionError` where a dashboard's uid or title is taken by
    somebody else's.
    """
    settings = recalled(settings, target.record)
    applyset = applyset_id(PARENT_NAME, target.namespace)
    steps: list[Step] = []
    # Where namespaces may not be read, it is taken to be there: who may not read them makes none either.
    if target.namespace not in facts.namespaces and "Namespace" not in facts.unasked:
        labels = {MANAGED_BY: OURS}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": target.namespace, "labels": labels}}
        steps.append(Step(id="namespace", title=f"namespace {target.namespace}", objects=(namespace,)))
    if target.admin_secret is not None:
        secret = Ref("Secret", target.namespace, target.admin_secret)
        steps.append(Step(id="secret", title="Grafana admin's password", secret=secret))
    if target.release is not None:
        version = f" {target.release.version}" if target.release.version else ""
        title = f"Helm release {target.release.name} (kube-prometheus-stack{version})"
        steps.append(Step(id="release", title=title, release=target.release))

    told = told_intervals(target)
    monitors = with_intervals(monitors, told)
    vllm = vllm_monitors(facts, target.prometheus, settings, namespace=target.namespace, templates=monitors)
    dcgm = (
        DcgmPlan()
        if target.beside
        else dcgm_plan(facts, target.prometheus, settings, namespace=target.namespace, templates=monitors, told=told)
    )
    if vllm.objects:
        steps.append(Step(id="monitors", title="vLLM monitors", objects=_owned(vllm.objects, applyset)))
    if dcgm.objects:
        steps.append(Step(id="dcgm", title="DCGM monitors", objects=_owned(dcgm.objects, applyset)))
    if dcgm.fields:
        steps.append(Step(id="dcgm", title="DCGM monitor of the GPU Operator", fields=dcgm.fields))

    planned, refused = plan_dashboards(facts, target, dashboards)
    if planned:
        maps = _owned([each for _, each in planned], applyset)
        steps.append(Step(id="dashboards", title="dashboards", objects=maps))

    kept = kept_dashboards(facts, planned, applyset=applyset) if incomplete or refused else frozenset()

    wanted = {(each.ref, each.path) for each in dcgm.fields}
    return Plan(
        target=target,
        record=_record(facts, target, settings, dcgm.fields),
        give_back=tuple(each for each in target.record.foreign_fields if (each.ref, each.path) not in wanted),
        steps=tuple(steps),
        dashboards=tuple(each for each, _ in planned),
        refused=refused,
        notes=(
            *target.notes,
            *(dashboard_notes(target) if planned else ()),
            *kept_notes(kept),
            *vllm.notes,
            *dcgm.notes,
            *(() if target.beside else metrics_kept(target.prometheus, ours=target.release is not None)),
            *_took_over(target),
            *unasked(facts),
        ),
        kept=kept,
        take_ownership=settings.take_ownership,
    )


def _took_over(target: Target) -> tuple[Note, ...]:
    """Say where this install does now what another one did that is gone."""
    before = target.record.settings.get(BESIDE)
    if before is None or target.beside is not None:
        return ()
    text = f"kvobs in namespace {before} is gone: dashboards, GPU metrics and generic monitors are now this one's."
    return (Note("took-over", text),)


def _owned(objects: Sequence[Object], applyset: str) -> tuple[Object, ...]:
    return tuple(owned(each, applyset_id=applyset) for each in objects)


def _record(facts: Facts, target: Target, settings: Settings, changes: Sequence[ForeignFieldChange]) -> Record:
    """The record of earlier runs with this plan's release, foreign fields and choices."""
    before = target.record
    told = remembered(before.settings, settings)
    # By its label too: a run may have been killed after it made the namespace and before it wrote this down.
    labels = facts.namespaces.get(target.namespace)
    missing = labels is None and "Namespace" not in facts.unasked
    if missing or (labels or {}).get(MANAGED_BY) == OURS:
        told["namespace_created"] = True
    # What was chosen stays chosen, also when another Prometheus or Grafana appears beside it; and status says of
    # what is recorded here and gone that it is not there.
    told["prometheus"] = f"{target.prometheus.namespace}/{target.prometheus.name}"
    told["grafana"] = f"{target.grafana.namespace}/{target.grafana.name}" if target.grafana else "none"
    if target.beside is not None and target.grafana is None:
        del told["grafana"]  # none was chosen here: when this one takes over, it looks anew
    told["uids"] = {kind: uid for kind, (uid, _) in sorted(target.datasources.items())}
    told.pop(BESIDE, None)
    if target.beside is not None:
        told[BESIDE] = target.beside
    release = None
    if target.release is None:
        if settings.stack == "reuse":
            told["stack"] = "reuse"
    else:
        wanted = target.release
        release = ReleaseRecord(
            namespace=wanted.namespace,
            name=wanted.name,
            chart=wanted.chart,
            chart_version=wanted.version or "",
        )
        told.pop("stack", None)
        told |= names_left(before, names_of(wanted.name, wanted.namespace, wanted.values))
        if before.release is None and PROMETHEUS_KIND not in facts.kinds:
            told["crds_created"] = True
    return Record(release=release, foreign_fields=_foreign_fields(before, changes), settings=told)


def _foreign_fields(before: Record, changes: Sequence[ForeignFieldChange]) -> tuple[ForeignField, ...]:
    """The recorded fields with those that are to be set now.

    A field that stands as an earlier run left it keeps the value it had before that run; else somebody gave it
    another one since, and that is what is to be given back.
    """
    fields = {(each.ref, each.path): each for each in before.foreign_fields}
    for each in changes:
        known = fields.get((each.ref, each.path))
        if known is not None and each.before == known.after:
            field = replace(known, after=each.value)
        else:
            field = ForeignField(ref=each.ref, path=each.path, before=each.before, after=each.value, owner=each.owner)
        fields[each.ref, each.path] = field
    return tuple(fields.values())


def metrics_kept(prometheus: Prometheus, *, ours: bool) -> tuple[Note, ...]:
    """Say where metrics do not outlive the pod, and how to keep them in a release that is *ours* or somebody's."""
    if prometheus.keeps_metrics:
        return ()
    where = f"{prometheus.namespace}/{prometheus.name}"
    storage = "prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec"
    # Quoted for the shell: without, it takes the braces for a list of words.
    settings = [f"--set '{storage}.accessModes={{ReadWriteOnce}}'", f"--set {storage}.resources.requests.storage=50Gi"]
    how = (
        f"kvobs install {' '.join(settings)}, together with the --values and --set of earlier runs, which they replace"
        if ours
        else f"set {storage} in the values of its release"
    )
    return (
        Note(
            "metrics-not-kept",
            f"Metrics are lost when the pod of Prometheus {where} restarts; to keep them: {how}",
        ),
    )


def unasked(facts: Facts) -> tuple[Note, ...]:
    """Say what could not be read, and why."""
    return tuple(Note("not-asked", f"{kind} could not be read: {why}") for kind, why in sorted(facts.unasked.items()))
