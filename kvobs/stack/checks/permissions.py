"""May the credentials do what install does?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..facts import Object
from ..kinds import resource_of
from ..prometheus_pods import RIGHTS
from ..rbac import GROUP, PROXY, granted_by_chart, proxied
from ..rbac import PURPOSE as PURPOSE_ANNOTATION
from ..rights import Right, named
from .evidence import Evidence, Permit, Trouble
from .verdict import Bad, Check, Fine, NotAsked, Verdict

ROLE_NAME = "kvobs-missing"
PURPOSE = "what kvobs install takes and these credentials have not"
NAMED = 12
"""Permits named in a sentence; missing_role has them all."""
ROLE_KINDS = (f"ClusterRole.{GROUP}", f"Role.{GROUP}")


def missing_role(lacking: Iterable[Right], ungranted: Iterable[Permit] = ()) -> Object:
    """Return a ClusterRole with what is *lacking* and *ungranted* and no more, to bind where it is wanted."""
    permits = [Permit(each.verb, *resource_of(each.kind), each.namespace) for each in lacking]
    rules = [_rule(each) for each in (*permits, *ungranted)]
    identity = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": ROLE_NAME}}
    (merged,) = granted_by_chart(ROLE_NAME, PURPOSE, [{**identity, "rules": rules}])
    metadata = {"name": ROLE_NAME, "annotations": {PURPOSE_ANNOTATION: PURPOSE}}
    return {**identity, "metadata": metadata, "rules": [dict(rule) for rule in merged.rules]}


def _rule(permit: Permit) -> Object:
    if permit.resource.startswith("/"):
        return {"nonResourceURLs": [permit.resource], "verbs": [permit.verb]}
    return {"apiGroups": [permit.group], "resources": [permit.resource], "verbs": [permit.verb]}


def permits(roles: Iterable[Object]) -> tuple[Permit, ...]:
    """Return what *roles* grant, each verb of each rule by itself; objects by name count as the whole kind."""
    found: list[Permit] = []
    for role in roles:
        namespace = role["metadata"].get("namespace") or ""
        for rule in role.get("rules") or ():
            paths = rule.get("nonResourceURLs") or ()
            found += (Permit(verb, "", path, namespace) for path in paths for verb in rule["verbs"])
            found += (
                Permit(verb, group, resource, namespace)
                for group in rule.get("apiGroups") or ()
                for resource in rule.get("resources") or ()
                for verb in rule["verbs"]
            )
    return tuple(dict.fromkeys(found))


def _rights(evidence: Evidence) -> Verdict:
    lacking = evidence.lacking
    if lacking is None:
        return None
    if isinstance(lacking, Trouble):
        return NotAsked(lacking.said, lacking.hint)
    if lacking:
        return Bad(
            f"the credentials may not {named(lacking)}",
            "hand the administrator the missing rules, in missing_role of kvobs check -o yaml; or all that kvobs"
            " takes: kvobs render --rbac",
        )
    return Fine()


def _grants(evidence: Evidence) -> Verdict:
    if evidence.dry_run is None or not isinstance(evidence.rendered, tuple):
        return None
    refused = [each for each in evidence.dry_run.refusals if each.kind == "grants"]
    if not refused:
        roles = [each for each in evidence.dry_run.forbidden if each.kind in ROLE_KINDS]
        if roles:
            return NotAsked(f"who may not make {roles[0]} is not told what it would take", "first the rights above")
        unheard = [
            each for each in evidence.dry_run.refusals if each.kind == "no answer" and each.ref.kind in ROLE_KINDS
        ]
        if unheard:
            return NotAsked(unheard[0].said, unheard[0].hint)
        later = sum(each.kind in ROLE_KINDS for each in evidence.dry_run.later)
        return Fine(f"{later} roles cannot be asked about before their namespace is there" if later else "")
    names = ", ".join(str(each.ref) for each in refused)
    held = _some(evidence.ungranted) or refused[0].said
    return Bad(
        f"the credentials do not hold all that {names} would grant: {held}",
        "who creates a role must hold what it grants: let an administrator install, or hand them the rules in"
        " missing_role of kvobs check -o yaml; all that kvobs takes: kvobs render --rbac",
    )


def _proof(evidence: Evidence) -> Verdict:
    if evidence.proof is None or evidence.plan is None:
        return None
    if evidence.proof:
        return Fine()
    prometheus = evidence.plan.target.prometheus
    named, kubectl = proxied(prometheus), f"kubectl -n {prometheus.namespace} create"
    unproved = "neither the end of kvobs install nor kvobs verify can prove that data arrives"
    if named is None:
        return Bad(
            f"Prometheus {prometheus.namespace}/{prometheus.name} has no Service, and the credentials may not {RIGHTS}"
            f" there: {unproved}",
            f"an administrator can give them the right to {RIGHTS} in namespace {prometheus.namespace}",
        )
    return Bad(
        f"the credentials may not get {PROXY} of {named} in namespace {prometheus.namespace}, nor {RIGHTS} there:"
        f" {unproved}",
        f"{kubectl} role kvobs-prove --verb=get --resource={PROXY} --resource-name={named}; {kubectl} rolebinding"
        " kvobs-prove --role=kvobs-prove --user=USER; kvobs render --rbac has it too",
    )


def _some(those: Sequence[Permit]) -> str:
    """The first few of *those* by name, the others by their number."""
    more = f" and {len(those) - NAMED} more" if len(those) > NAMED else ""
    return ", ".join(map(str, those[:NAMED])) + more


CHECKS = (
    Check(id="rights", title="the credentials may do all that install does", severity="fatal", verdict=_rights),
    Check(id="grants", title="the credentials hold what the stack's roles grant", severity="fatal", verdict=_grants),
    Check(id="proof", title="the credentials may ask whether data arrives", severity="warning", verdict=_proof),
)
