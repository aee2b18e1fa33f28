"""The checks that an install makes first: a fatal one stops it before its first change, a warning becomes a note.

What an install finds out in any case (rights, the chart, how the release stands) is not asked again, and what only a
render of the chart can tell is asked only where something speaks for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..adapters.cluster import Cluster
from ..errors import ActionError, Forbidden
from ..settings import Settings
from ..stack.changes import SAY_THE_SAME
from ..stack.checks.evidence import Evidence
from ..stack.checks.permissions import ROLE_KINDS
from ..stack.checks.pod_security import ENFORCE, LEVELS
from ..stack.checks.run import every_check, run_checks
from ..stack.facts import Object
from ..stack.notes import Note
from ..stack.objects import kind_of
from ..stack.release_drift import where_helm_stops
from ..stack.secret_names import secret_texts
from .check import FIRST, rendered, with_chart_crds
from .in_place import InPlace
from .prepare import Prepared
from .preview import Preview
from .second_look import with_surroundings
from .try_objects import together, try_objects

_STACK_KINDS = (
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("monitoring.coreos.com/v1", "Prometheus"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
)
"""Kinds that every stack has: what webhooks are asked about, without a render."""


def preflight(
    found: Prepared, cluster: Cluster, settings: Settings, *, in_place: InPlace | None = None
) -> tuple[Note, ...]:
    """Return what is to be said of what stands around an install; nothing where it has begun already.

    What stands *in_place* as it is wanted is not tried: it will not be written.
    Raises `ActionError` for the first thing that would stop it half-way, `Unanswered`.
    """
    to_release = found.helm_acts
    if found.parent is not None and not to_release:
        return ()
    results = run_checks(_evidence(found, cluster, to_release, in_place or InPlace()), ignored=settings.ignored_checks)
    for each in results:
        if each.outcome == "failed":
            anyway = f"to go on all the same: --ignore-check {each.id}"
            raise ActionError(each.said, hint=f"{each.hint}; {anyway}" if each.hint else anyway)
    noted = {check.id for _, check in every_check() if check.noted}
    return tuple(
        Note(f"check-{each.id}", f"{each.said}; {each.hint}" if each.hint else each.said)
        for each in results
        if each.outcome == "warning" and each.id not in noted
    )


def refuse_fields_of_others(found: Prepared, cluster: Cluster) -> None:
    """Raise `ActionError` where an upgrade is to come that Helm would stop at a field which somebody else manages.

    Helm would find that out half-way, and its roll-back stops at the same field. It is what a diff says of the same
    objects; where nothing is to be upgraded, such a field is left to whoever set it.
    """
    if found.pending is None or not found.pending.upgrades:
        return
    try:
        fields = where_helm_stops(Preview(cluster, found.pending.helm, found, validate=False).release())
    except Forbidden:
        # Helm gets each object by its name, which takes less than the right to list them: it goes on, and finds out.
        return
    if fields is not None:
        raise ActionError(
            f"nothing was changed, since Helm would stop at what others manage: {fields}",
            hint=f"{SAY_THE_SAME}; then run the same command again. kvobs diff shows all that it would change",
        )


def _evidence(found: Prepared, cluster: Cluster, to_release: bool, in_place: InPlace) -> Evidence:
    plan, facts, pending = found.plan, found.facts, found.pending
    own = tuple(each for step in plan.steps for each in step.objects)
    stack = tuple(_stand_ins(plan.target.namespace)) if to_release else ()
    evidence = with_surroundings(Evidence(server=cluster.server, facts=facts, plan=plan), found.seen, (*own, *stack))
    chart: tuple[Object, ...] = ()
    administrator = to_release and cluster.allows_everything()
    enforced = facts.namespaces.get(plan.target.namespace, {}).get(ENFORCE) in LEVELS
    if pending is not None and to_release and (enforced or evidence.crds or not administrator):
        chart = rendered(pending.helm, pending.desired, facts)
        first = pending.action in FIRST
        evidence = replace(evidence, rendered=chart, helm=pending.helm.version(), first_release=first)
        evidence = with_chart_crds(evidence, pending.helm, pending.desired, facts)
    to_write = [each for each in own if not in_place.holds(each)]
    tried = try_objects(cluster, to_write, facts, force=plan.take_ownership)
    if pending is not None and not administrator:
        secrets = secret_texts(pending.desired.values)
        roles = [each for each in chart if kind_of(each) in ROLE_KINDS]
        tried = together(tried, try_objects(cluster, roles, facts, force=True, field_manager="helm", secrets=secrets))
    return replace(evidence, dry_run=tried)


def _stand_ins(namespace: str) -> list[dict[str, Any]]:
    metadata = {"name": "stack", "namespace": namespace}
    return [{"apiVersion": version, "kind": kind, "metadata": metadata} for version, kind in _STACK_KINDS]
