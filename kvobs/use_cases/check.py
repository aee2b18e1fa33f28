"""`kvobs check`: what may stand in the way of an install, asked without a change.

First what has to be known is gathered, then every check judges it. A question that cannot be asked is an answer too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..errors import ActionError, ApiError, Conflict, Forbidden, HelmError, KubeconfigError, Unanswered
from ..settings import Settings
from ..stack.checks.crds import chart_crds, may_conflict
from ..stack.checks.evidence import DryRun, Evidence, Permit, Refusal, Trouble
from ..stack.checks.permissions import missing_role, permits
from ..stack.checks.run import run_checks
from ..stack.checks.verdict import Checked
from ..stack.facts import Facts, Object
from ..stack.gitops import without_tests
from ..stack.installs import parent_of
from ..stack.kinds import in_namespaces
from ..stack.leftovers import CRD_KIND
from ..stack.objects import ref
from ..stack.plan import Plan
from ..stack.prometheus_pods import FORWARD
from ..stack.rbac import PROXY, helm_rights, proxied
from ..stack.remembered import record_of
from ..stack.rights import Right, rights_needed
from ..stack.secret_names import secret_texts
from ..stack.target import DesiredRelease
from .in_place import find_in_place
from .look import look
from .one_look import OneLook
from .prepare import Preparation
from .progress import Progress, Silent
from .release import pending_release, with_values_of_release
from .second_look import trouble, with_surroundings
from .try_objects import together, try_objects, worth_trying

Answer = TypeVar("Answer")

FIRST = ("install", "reinstall")
"""Actions on our release that begin with its first revision."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What stands in the way of an install, and what does not."""

    server: str
    server_version: str | None
    namespace: str | None
    """Where install would put its objects; None: that could not be found out."""
    checks: tuple[Checked, ...]
    missing_role: Mapping[str, Any] | None
    """A ClusterRole with the rights that are missing, to hand to the administrator."""

    @property
    def exit_code(self) -> int:
        """0 fine, or warnings only; 1 something would stop an install; 4 whether something would could not be asked."""
        if any(each.outcome == "failed" for each in self.checks):
            return 1
        return 4 if any(each.outcome == "not asked" and each.severity == "fatal" for each in self.checks) else 0


def check(
    settings: Settings | None = None,
    *,
    cluster: Cluster | None = None,
    helm: Helm | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Return what may stand in the way of an install by *settings*; nothing is changed.

    Raises `UsageError` where the settings contradict themselves or what an earlier run recorded.
    """
    settings = settings or Settings()
    evidence = gather(settings, cluster, helm, progress or Silent())
    lacking = _known(evidence.lacking)
    return CheckReport(
        server=evidence.server,
        server_version=evidence.facts.server_version if evidence.facts else None,
        namespace=evidence.plan.target.namespace if evidence.plan else settings.namespace,
        checks=run_checks(evidence, ignored=settings.ignored_checks),
        missing_role=missing_role(lacking, evidence.ungranted) if lacking or evidence.ungranted else None,
    )


def gather(settings: Settings, cluster: Cluster | None, helm: Helm | None, progress: Progress) -> Evidence:
    """Return all that the checks judge, as far as it can be asked. Raises `UsageError`."""
    progress.step("look at the cluster")
    try:
        preparation = Preparation(settings, cluster, helm, progress)
    except KubeconfigError as error:
        return Evidence(kubeconfig=trouble(error))
    except Unanswered as error:
        return Evidence(unreached=trouble(error))
    cluster = preparation.cluster
    seen = OneLook(cluster)
    evidence = Evidence(server=cluster.server)
    try:
        facts = look(seen, preparation.settings)
        evidence = _planned(replace(evidence, facts=facts), facts, preparation)
        plan = evidence.plan
        if plan is None:
            return evidence
        progress.step("ask Helm for the chart")
        evidence = _with_chart(evidence, plan, facts, preparation.helm)
        chart = evidence.rendered if isinstance(evidence.rendered, tuple) else ()
        own = tuple(each for step in plan.steps for each in step.objects)
        progress.step("ask the API server what it would take")
        evidence = with_surroundings(evidence, seen, (*own, *chart))
        if plan.target.release is not None:
            evidence = with_chart_crds(evidence, preparation.helm, plan.target.release, facts)
        evidence = replace(evidence, lacking=_lacking(cluster, evidence, plan, facts, chart))
        evidence = replace(evidence, proof=_may_prove(cluster, plan))
        tried = _tried(cluster, evidence, plan, facts, own=own, chart=chart)
        evidence = replace(evidence, ungranted=_ungranted(cluster, tried, chart))
        return replace(evidence, dry_run=together(_taken_names(seen, plan, facts), tried))
    except (Unanswered, ApiError) as error:
        return replace(evidence, unreached=trouble(error))
    except HelmError as error:
        return replace(evidence, rendered=trouble(error))


def _planned(evidence: Evidence, facts: Facts, preparation: Preparation) -> Evidence:
    """*evidence* with the plan, or with why there is none."""
    record = record_of(facts.parents, preparation.settings.namespace)
    told = preparation.settings
    helm: Trouble | None = None
    try:
        told, _ = with_values_of_release(told, record, preparation.helm, control_plane=facts.control_plane)
    except HelmError as error:
        helm = trouble(error)
    try:
        return replace(evidence, helm=helm, plan=preparation.planned(facts, told))
    except (Unanswered, ActionError) as error:
        return replace(evidence, undecided=trouble(error))


def _with_chart(evidence: Evidence, plan: Plan, facts: Facts, helm: Helm) -> Evidence:
    """*evidence* with Helm, the chart and what it renders to; each only where the one before it is there."""
    release = plan.target.release
    if release is None or evidence.helm is not None:
        return evidence
    recorded = plan.target.record.release is not None
    version = _of_helm(helm.version)
    evidence = replace(evidence, helm=version)
    if isinstance(version, Trouble):
        return evidence
    pending = _of_helm(lambda: pending_release(helm, release, recorded=recorded))
    if isinstance(pending, Trouble):
        return replace(evidence, chart=pending)
    evidence = replace(evidence, chart=pending.chart_version, first_release=pending.action in FIRST)
    return replace(evidence, rendered=_of_helm(lambda: rendered(helm, release, facts)))


def rendered(helm: Helm, release: DesiredRelease, facts: Facts) -> tuple[Object, ...]:
    """Return what Helm would apply on the cluster of *facts*, each object with its namespace, CRDs aside.

    Raises `HelmError`.
    """
    return without_tests(in_namespaces(_template(helm, release, facts), release.namespace))


def with_chart_crds(evidence: Evidence, helm: Helm, release: DesiredRelease, facts: Facts) -> Evidence:
    """Return *evidence* with the chart's CRDs where they may conflict with those that are there. Raises `HelmError`."""
    if not may_conflict(evidence):
        return evidence
    return replace(evidence, chart_crds=chart_crds(_template(helm, release, facts, include_crds=True)))


def _template(helm: Helm, release: DesiredRelease, facts: Facts, *, include_crds: bool = False) -> tuple[Object, ...]:
    return helm.template(
        release.name,
        release.chart,
        version=release.version,
        namespace=release.namespace,
        values=release.values,
        set_integers=release.set_integers,
        kube_version=facts.server_version,
        include_crds=include_crds,
    )


def _of_helm(question: Callable[[], Answer]) -> Answer | Trouble:
    try:
        return question()
    except ActionError as error:
        return trouble(error)


def _lacking(
    cluster: Cluster, evidence: Evidence, plan: Plan, facts: Facts, chart: tuple[Object, ...]
) -> tuple[Right, ...] | Trouble:
    """The rights of the plan and of Helm that the credentials have not."""
    administrator = cluster.allows("*", "*", "*")
    if administrator is None:
        return Trouble(
            "the API server does not say what the credentials may do", "kubectl auth can-i --list", asked=False
        )
    if administrator:
        return ()
    target = plan.target
    needed = list(rights_needed(plan, release=target.release is not None, before=parent_of(facts, target.namespace)))
    if target.release is not None:
        needed += helm_rights(chart, target.release.namespace)
        needed += [Right("create", CRD_KIND, "")] if evidence.crds == () else []
    return tuple(
        each for each in dict.fromkeys(needed) if not cluster.may(each.verb, each.kind, each.namespace or None)
    )


def _may_prove(cluster: Cluster, plan: Plan) -> bool | None:
    """Whether the plan's Prometheus may be asked through the API server, by its proxy or a port-forward; None: nobody
    says."""
    prometheus = plan.target.prometheus
    named = proxied(prometheus)
    if named is not None:
        allowed = cluster.allows("get", "", PROXY, prometheus.namespace, name=named)
        if allowed is not False:
            return allowed
    needed = [cluster.allows(verb, "", resource, prometheus.namespace) for verb, resource in FORWARD]
    return False if False in needed else None if None in needed else True


def _known(lacking: tuple[Right, ...] | Trouble | None) -> tuple[Right, ...]:
    return lacking if isinstance(lacking, tuple) else ()


def _tried(
    cluster: Cluster,
    evidence: Evidence,
    plan: Plan,
    facts: Facts,
    *,
    own: tuple[Object, ...],
    chart: tuple[Object, ...],
) -> DryRun:
    """What the API server says of kvobs' own objects and of the chart's."""
    lacking = _known(evidence.lacking)
    ours = try_objects(cluster, own, facts, lacking=lacking, force=plan.take_ownership)
    release = plan.target.release
    theirs = try_objects(
        cluster,
        worth_trying(chart),
        facts,
        lacking=lacking,
        force=True,
        field_manager="helm",
        secrets=secret_texts(release.values) if release is not None else (),
    )
    return together(ours, theirs)


def _ungranted(cluster: Cluster, tried: DryRun, chart: tuple[Object, ...]) -> tuple[Permit, ...]:
    """What the roles that were refused grant and the credentials do not hold."""
    refused = {each.ref for each in tried.refusals if each.kind == "grants"}
    wanted = permits(each for each in chart if ref(each) in refused)
    return tuple(
        each for each in wanted if cluster.allows(each.verb, each.group, each.resource, each.namespace or None) is False
    )


def _taken_names(seen: OneLook, plan: Plan, facts: Facts) -> DryRun:
    """The refusal of a name of ours that somebody else's object has; names that may not be read are not known."""
    try:
        find_in_place(seen, plan, parent_of(facts, plan.target.namespace))
    except Forbidden:
        return DryRun(forbidden=tuple(sorted(plan.refs)))
    except ActionError as error:
        if isinstance(error, ApiError) and not isinstance(error, Conflict):
            raise
        refusal = Refusal(ref=min(plan.refs), kind="refused", said=str(error), hint=error.hint or "")
        return DryRun(refusals=(refusal,))
    return DryRun()
