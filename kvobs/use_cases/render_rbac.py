"""`kvobs render --rbac`: the service account for kvobs, with the rights that a run here will use and no other."""

from __future__ import annotations

from dataclasses import replace

from ..settings import Settings
from ..stack.applyset import PARENT_NAME, parent
from ..stack.facts import Object
from ..stack.gitops import namespace_object, without_tests
from ..stack.kinds import in_namespaces
from ..stack.plan import Plan
from ..stack.rbac import Grant, account, grant_to_ask, granted_by_chart, grants_of, helm_rights, look_rights, proxied
from ..stack.rights import Right, rights_needed, rights_to_uninstall
from ..stack.target import PROMETHEUS_KIND
from ..stack.webhooks import CONFIGURATIONS
from ..stack.webhooks import GROUP as WEBHOOK_GROUP
from .look import WHOLE
from .render_stack import Templates, stack_objects
from .verifying.cluster_evidence import EVENTS
from .wait import CUSTOM, WORKLOADS

ACCOUNT = "kvobs"
_POLICY = "ClusterPolicy.nvidia.com"

_LOOK = "To see what stands on the cluster; without one of them kvobs says what it could not read."
_PROVE = "To ask Prometheus, through the API server, whether data arrives: kvobs verify, and the end of an install."
_PROVE_REUSED = f"{_PROVE} To narrow it: resourceNames with SERVICE:PORT of that Prometheus."
_ACT = "To keep kvobs' own objects, and to take them away again."
_HELM = "For Helm to install, upgrade and uninstall the chart."
_GRANT = "What the chart's own roles grant: nobody may create a role with more rights than their own."


def render_rbac(plan: Plan, settings: Settings, helm: Templates | None) -> tuple[Object, ...]:
    """Return the service account for runs like that of *plan*; without a *helm*, for a stack that is reused.

    The namespace is among the objects where the stack is kvobs' own, since then no right to make one is needed.
    """
    home = plan.target.namespace
    grants = [
        *grants_of(f"{ACCOUNT}-look", _LOOK, _look_rights(home, plan.target.places, reuse=helm is None)),
        _grant_to_ask(plan, settings, reuse=helm is None),
        *grants_of(ACCOUNT, _ACT, _own_rights(plan, settings, reuse=helm is None)),
    ]
    if helm is None or plan.target.release is None:
        return account(ACCOUNT, home, grants)
    objects = without_tests(in_namespaces(stack_objects(helm, plan.target.release, settings), home))
    grants += grants_of(f"{ACCOUNT}-helm", _HELM, helm_rights(objects, home))
    grants += granted_by_chart(f"{ACCOUNT}-grant", _GRANT, objects)
    return (namespace_object(home), *account(ACCOUNT, home, grants))


def _grant_to_ask(plan: Plan, settings: Settings, *, reuse: bool) -> Grant:
    """The right to ask Prometheus. Which Service somebody else's has, nobody tells here, but where it is."""
    prometheus = plan.target.prometheus
    if not reuse:
        return grant_to_ask(f"{ACCOUNT}-prove", _PROVE, prometheus.namespace, proxied(prometheus))
    told, _, _ = (settings.prometheus or plan.target.namespace).partition("/")
    return grant_to_ask(f"{ACCOUNT}-prove", _PROVE_REUSED, told, None)


def _look_rights(home: str, places: frozenset[str], *, reuse: bool) -> list[Right]:
    """What a look lists, what `kvobs check` and `kvobs verify` ask beside it, and what is waited for in *places*."""
    kinds = [*WHOLE, *(f"{each}.{WEBHOOK_GROUP}" for each in CONFIGURATIONS), EVENTS[0]]
    if not reuse:
        kinds += ["EndpointSlice.discovery.k8s.io", "StorageClass.storage.k8s.io"]
    rights = [*look_rights(kinds), Right("get", PROMETHEUS_KIND, ""), Right("get", "ConfigMap", "")]
    if reuse:
        return rights
    rights += [Right("list", kind, home) for kind in ("ResourceQuota", "LimitRange")]
    return [*rights, *(Right("list", kind, place) for kind in (*WORKLOADS, *CUSTOM) for place in sorted(places))]


def _own_rights(plan: Plan, settings: Settings, *, reuse: bool) -> list[Right]:
    """The rights of an install, of a second one, and of an uninstall."""
    home = plan.target.namespace
    if reuse:
        steps = tuple(each for each in plan.steps if each.id not in ("namespace", "secret", "release"))
        plan = replace(plan, steps=steps, record=replace(plan.record, release=None))
    else:
        plan = replace(plan, steps=tuple(each for each in plan.steps if each.id != "namespace"))
    # As the cluster will have it once an install is done.
    after = parent(PARENT_NAME, home, refs=plan.refs, record=plan.final_record)
    taken = ("get", "patch", "update") if settings.dcgm in (None, "auto", "operator") else ()
    return [
        *rights_needed(plan, release=not reuse, before=after),
        *rights_to_uninstall(
            after, plan.final_record, served=(), delete_crds=False, delete_pvcs=False, delete_namespace=False
        ),
        *(Right(verb, _POLICY, "") for verb in taken),
    ]
