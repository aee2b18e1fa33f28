"""Why a server that runs is no target: its monitors, as the operator and Kubernetes' discovery read them. Pure.

A monitor that is read and aims at the servers explains most, then one that aims at them and is not read, then one
that is meant for them by its name and reaches none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..stack.facts import Facts, MetricsPod, Monitor, Prometheus
from ..stack.serving_kinds import SCRAPE_LABEL, SCRAPE_SERVICE
from ..stack.targets import aimed_at, in_words, pods_behind, reached, reaches, selected, target_of
from .answers import ScrapeTarget
from .causes import found
from .events import about, said, when
from .evidence import ClusterEvidence, ServerEvidence
from .scrape_kinds import KINDS, ServerKind
from .scrape_ports import no_such_port
from .scrape_selection import not_selected, reaches_no_server
from .verdict import Finding


def monitor_finding(
    kind: ServerKind, pods: Sequence[MetricsPod], evidence: ClusterEvidence, server: ServerEvidence
) -> Finding | None:
    """Return why none of *pods* is a target of the *server*, the evidence's Prometheus; None where that is not told."""
    facts, prometheus = evidence.facts, evidence.prometheus
    if prometheus is None or any(f"{each}.monitoring.coreos.com" in facts.unasked for each in _KINDS):
        return None
    aiming = [each for each in _in_order(facts.monitors) if aimed_at(each, facts, pods)]
    read = [each for each in aiming if selected(prometheus, each, facts.namespaces)]
    meant = [each for each in _in_order(facts.monitors) if each not in aiming and _is_meant(kind, each)]
    meant_and_read = [each for each in meant if selected(prometheus, each, facts.namespaces)]
    for monitor in (*read, *meant_and_read):
        rejection = rejection_of(monitor, evidence, server.pools)
        if rejection is not None:
            return _rejected(monitor, rejection, prometheus)
    for monitor in read:
        if _out_of_reach(prometheus, monitor, facts, pods):
            return reaches_no_server(kind, monitor, facts, prometheus, pods)
        if reached(monitor, facts, pods) & _wanted(pods):
            return _not_discovered(kind, monitor, evidence, pods, server.dropped or ())
    if read:
        return no_such_port(kind, read[0], facts, aimed_at(read[0], facts, pods))
    if aiming:
        return not_selected(kind, aiming, facts, prometheus)
    meant_and_read.sort(key=lambda each: _is_generic(each))
    if meant_and_read:
        return reaches_no_server(kind, meant_and_read[0], facts, prometheus, pods)
    if meant:
        return not_selected(kind, meant, facts, prometheus)
    return _no_monitor(kind, facts, prometheus, pods)


_KINDS = ("ServiceMonitor", "PodMonitor")


def monitors_in_question(facts: Facts) -> list[Monitor]:
    """The monitors that may be for vLLM or for a DCGM exporter: what the operator says of these is worth reading."""
    return [
        each
        for each in facts.monitors
        if any(_is_meant(kind, each) or aimed_at(each, facts, kind.pods(facts)) for kind in KINDS.values())
    ]


def rejection_of(monitor: Monitor, evidence: ClusterEvidence, pools: Iterable[str] | None) -> str | None:
    """What the operator's newest warning says about *monitor*, None where there is none that still holds.

    A warning outlives what it warns of. Whose scrape config is among the *pools* that Prometheus reads is rejected no
    more: what was missing has come, or the operator looked once more at what it had before.
    """
    if any(each.startswith(_pools_of(monitor)) for each in pools or ()):
        return None
    of_it = [each for each in evidence.events if about(each) == (monitor.kind, monitor.namespace, monitor.name)]
    return said(max(of_it, key=when)) if of_it else None


def _pools_of(monitor: Monitor) -> str:
    """What the names of the scrape configs begin with that the operator writes for it; an endpoint's number follows."""
    return f"{monitor.kind[0].lower()}{monitor.kind[1:]}/{monitor.namespace}/{monitor.name}/"


def _in_order(monitors: Iterable[Monitor]) -> list[Monitor]:
    return sorted(monitors, key=lambda each: (each.kind != "ServiceMonitor", each.namespace, each.name))


def _is_meant(kind: ServerKind, monitor: Monitor) -> bool:
    """Whether its name, its labels or what it selects by name this kind of server."""
    chosen = monitor.selector or {}
    values = [value for each in chosen.get("matchExpressions") or () for value in each.get("values") or ()]
    values += (chosen.get("matchLabels") or {}).values()
    return kind.names((monitor.name, *monitor.labels.values(), *map(str, values)))


def _is_generic(monitor: Monitor) -> bool:
    """Whether it is for what carries kvobs' own label."""
    return SCRAPE_LABEL in ((monitor.selector or {}).get("matchLabels") or {})


def _wanted(pods: Iterable[MetricsPod]) -> set[tuple[str, int]]:
    numbers = [(pod, (pod.metrics_port,) if pod.metrics_port else tuple(pod.ports)) for pod in pods]
    return {target_of(pod, each) for pod, ports in numbers for each in ports}


def _out_of_reach(prometheus: Prometheus, monitor: Monitor, facts: Facts, pods: Iterable[MetricsPod]) -> bool:
    """Whether all that it aims at is in namespaces that this Prometheus does not let a monitor reach."""
    aimed = aimed_at(monitor, facts, pods)
    return prometheus.ignores_namespace_selectors and all(pod.namespace != monitor.namespace for pod in aimed)


def _rejected(monitor: Monitor, words: str, prometheus: Prometheus) -> Finding:
    name = f"{monitor.kind} {monitor.namespace}/{monitor.name}"
    return found(
        "KVO-402",
        subject=name,
        said=f"the Prometheus Operator rejects {name}: {words}",
        fix=f"kubectl -n {monitor.namespace} edit {monitor.kind.lower()} {monitor.name}   # or make what it refers to",
        evidence=(
            f"a warning event about it; Prometheus {prometheus.namespace}/{prometheus.name} selects it by its labels",
        ),
    )


def _not_discovered(
    kind: ServerKind,
    monitor: Monitor,
    evidence: ClusterEvidence,
    pods: Sequence[MetricsPod],
    dropped: Sequence[ScrapeTarget],
) -> Finding:
    """The monitor is right, and there is no target: no pod yet, dropped by its relabelings, or no right to see it."""
    facts, prometheus = evidence.facts, evidence.prometheus
    assert prometheus is not None
    name = f"{monitor.kind} {monitor.namespace}/{monitor.name}"
    aimed = aimed_at(monitor, facts, pods)
    where = f"Prometheus {prometheus.namespace}/{prometheus.name}"
    if aimed and all(f"{pod.namespace}/{pod.name}" in evidence.asleep for pod in aimed):
        return found(
            "KVO-407",
            subject=name,
            said=f"{kind.what} {in_words(aimed)} has no pod: it is scaled to zero, or not started yet",
            fix="\n".join(f"kubectl -n {pod.namespace} get deployment,statefulset {pod.owner}" for pod in aimed),
            evidence=(f"{name} is read by {where} and selects it",),
        )
    wanted = {(pod.namespace, pod.name) for pod in aimed}
    pool = _pools_of(monitor)
    if any(each.pool.startswith(pool) and _pod_before(each) in wanted for each in dropped):
        return found(
            "KVO-405",
            subject=name,
            said=f"{where} discovers {kind.what} {in_words(aimed)} through {name} and drops it: a keep or drop among"
            " the relabelings of its endpoint says so",
            fix=f"kubectl -n {monitor.namespace} edit {monitor.kind.lower()} {monitor.name}   # relabelings",
            evidence=("/api/v1/targets?state=dropped has it",),
        )
    place = aimed[0].namespace if aimed else monitor.namespace
    steps = [f"kubectl -n {place} get endpointslices,pods   # has its Service ready endpoints?"]
    if not facts.operators and "Deployment.apps" not in facts.unasked:
        steps.insert(
            0, "kubectl get deployments -A | grep prometheus-operator   # none was found: who writes the targets?"
        )
    steps.append(
        f"kubectl -n {prometheus.namespace} logs prometheus-{prometheus.name}-0 -c prometheus | grep -i forbidden"
        f"   # may it list pods and endpointslices in {place}?"
    )
    return found(
        "KVO-405",
        subject=name,
        said=f"{name} is read by {where} and finds {kind.what} {in_words(aimed)}, and {where} has no such target: the"
        " operator has not written it yet, its Service has no endpoint, or Prometheus may not list them there",
        fix="\n".join(steps),
        evidence=(f"/api/v1/targets has no target of {pool}",),
    )


def _pod_before(target: ScrapeTarget) -> tuple[str, str]:
    labels = {**target.discovered, **{k: v for k, v in target.labels.items() if k.startswith("__meta_")}}
    return labels.get("__meta_kubernetes_namespace", ""), labels.get("__meta_kubernetes_pod_name", "")


def _no_monitor(kind: ServerKind, facts: Facts, prometheus: Prometheus, pods: Sequence[MetricsPod]) -> Finding:
    generic = [m for m in facts.monitors if _is_generic(m) and selected(prometheus, m, facts.namespaces)]
    fix = "kvobs install"
    if all(pod.asks_password for pod in pods):
        fix = "give it a ServiceMonitor with basicAuth, since it wants a password, and the labels to be selected by"
    if kind.family == "vllm":
        services = [each for each in facts.services if pods_behind(each, pods)]
        fix += "".join(
            f"\nkubectl -n {each.namespace} label service {each.name} {SCRAPE_LABEL}={SCRAPE_SERVICE}   # does as well:"
            f" {generic[0].kind} {generic[0].namespace}/{generic[0].name} is read"
            for each in services[:1]
            if any(m.kind == "ServiceMonitor" and reaches(m, each.namespace) for m in generic)
        )
    return found(
        "KVO-401",
        subject=kind.what,
        said=f"no ServiceMonitor or PodMonitor is for {kind.what} {in_words(pods)}, so that Prometheus"
        f" {prometheus.namespace}/{prometheus.name} does not scrape it",
        fix=fix,
        evidence=(f"{len(facts.monitors)} monitors on the cluster, and none selects it",),
    )
