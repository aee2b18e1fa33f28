"""Does the API server take what install makes: policies, quotas, Pod Security, and the webhooks behind them?"""

from __future__ import annotations

from collections.abc import Sequence

from .evidence import Evidence, Refusal, Trouble
from .pod_security import ENFORCE, LEVELS, hosts_of, violations
from .verdict import Bad, Check, Fine, NotAsked, Verdict

_COMPUTE = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""What a quota limits by the sum over pods; each pod must then say how much it takes."""


def _taken(evidence: Evidence) -> Verdict:
    if evidence.dry_run is None:
        return None
    refused = _of_kind(evidence, "refused")
    if refused:
        more = f"; {len(refused) - 1} more are refused" if len(refused) > 1 else ""
        return Bad(refused[0].said + more, refused[0].hint)
    if evidence.dry_run.forbidden:
        number = len(evidence.dry_run.forbidden)
        return NotAsked(
            f"the credentials may not make or read {number} of the objects, so that nothing more is known of them",
            "first the rights above",
        )
    if silent := _of_kind(evidence, "no answer"):
        return NotAsked(silent[0].said, silent[0].hint)
    later = len(evidence.dry_run.later)
    waits = f", {later} cannot be asked about before their namespace or kind is there" if later else ""
    return Fine(f"{evidence.dry_run.taken} objects tried without a change{waits}")


def _answered(evidence: Evidence) -> Verdict:
    if evidence.dry_run is None:
        return None
    slow = evidence.dry_run.slow
    if not slow:
        return Fine() if evidence.dry_run.taken or evidence.dry_run.refusals else None
    kinds = " and ".join(dict.fromkeys(each.ref.kind.partition(".")[0] for each in slow))
    return Bad(
        f"a dry-run of {slow[0].ref} took {slow[0].seconds:.0f} s; each {kinds} may cost an install that time",
        "an admission webhook that does not answer is the likely reason, often a firewall between the API server and"
        " the nodes: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
    )


def _webhooks(evidence: Evidence) -> Verdict:
    found = evidence.webhooks
    if found is None:
        return None
    if isinstance(found, Trouble):
        return NotAsked(found.said, found.hint)
    dead = sorted((each for each in found if each.refuses and not each.ready), key=lambda each: each.conditional)
    if dead:
        first = dead[0]
        mend = (
            f"mend its pods: kubectl -n {first.service.partition('/')[0]} get pods; where nothing uses it any more:"
            f" kubectl delete {first.configuration}"
        )
        unready = f"no pod behind its Service {first.service} is ready: whatever it is asked about is refused"
        webhook = f"webhook {first.name} of {first.configuration}"
        if first.conditional:
            return NotAsked(f"its match conditions say whether {webhook} is asked, and {unready}", mend)
        return Bad(f"{webhook} is asked about what install makes, and {unready}", mend)
    return Fine(f"{len(found)} are asked" if found else "none is asked")


def _pod_security(evidence: Evidence) -> Verdict:
    if evidence.facts is None or evidence.plan is None or not isinstance(evidence.rendered, tuple):
        return None
    refused: list[tuple[str, str, str]] = []
    for namespace, workload, spec in hosts_of(evidence.rendered, evidence.plan.target.namespace):
        level = (evidence.facts.namespaces.get(namespace) or {}).get(ENFORCE, "")
        if level in LEVELS and (broken := violations(spec, level)):
            refused.append((namespace, workload, f"{level}: {', '.join(broken)}"))
    if not refused:
        return Fine()
    namespace, workload, why = refused[0]
    names = ", ".join(dict.fromkeys(each for _, each, _ in refused))
    elsewhere = "without it: --set nodeExporter.enabled=false" if "node-exporter" in workload else "--namespace NAME"
    return Bad(
        f"Pod Security refuses the pods of {names}, and says so nowhere but in events: {workload} breaks level {why}",
        f"kubectl label namespace {namespace} {ENFORCE}=privileged --overwrite; or {elsewhere}",
    )


def _quotas(evidence: Evidence) -> Verdict:
    found = evidence.quotas
    if found is None or evidence.plan is None:
        return None
    if isinstance(found, Trouble):
        return NotAsked(found.said, found.hint)
    if found.defaults:
        return Fine()
    namespace = evidence.plan.target.namespace
    for name, hard in sorted(found.hard.items()):
        if limited := [each for each in hard if each in _COMPUTE]:
            return Bad(
                f"ResourceQuota {namespace}/{name} limits {', '.join(limited)}, so that a pod which does not say how"
                " much it takes is refused, and the chart's pods say nothing unless the values do",
                f"a LimitRange in namespace {namespace} gives every pod a default; or set resources in the values",
            )
    return Fine()


def _of_kind(evidence: Evidence, kind: str) -> Sequence[Refusal]:
    return [each for each in evidence.dry_run.refusals if each.kind == kind] if evidence.dry_run else []


CHECKS = (
    Check(id="webhooks", title="every webhook that may refuse is there", severity="fatal", verdict=_webhooks),
    Check(id="admission", title="the API server takes every object", severity="fatal", verdict=_taken),
    Check(id="answers", title="the API server says so without delay", severity="warning", verdict=_answered),
    Check(id="pod-security", title="Pod Security lets every pod run", severity="fatal", verdict=_pod_security),
    Check(id="quota", title="no quota wants what the pods do not say", severity="warning", verdict=_quotas),
)
