"""Why no metric of vLLM, or of the DCGM exporter, reaches a Prometheus: the scrape, rung by rung. Pure.

What Prometheus says of its targets comes first, since it is what happens; objects of the cluster then tell why a
target is not there. None means that the scrape is not to blame, or that too little is known to blame it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..dashboard.origins import shown
from ..stack.dcgm_notes import exporter_off, exporters_of_nodes
from ..stack.facts import Facts
from ..stack.serving_kinds import SCRAPE_LABEL, SCRAPE_SERVICE
from .answers import ScrapeTarget
from .causes import found
from .evidence import ClusterEvidence, ServerEvidence
from .pools import origin_of
from .scrape_kinds import KINDS, Family, ServerKind, by_their_look, of_pods, pod_of
from .scrape_monitors import monitor_finding
from .texts import duration
from .verdict import Finding

_MANY = 5
"""How many names a sentence lists."""


def scrape_finding(family: Family, evidence: ClusterEvidence | None, server: ServerEvidence) -> Finding | None:
    """Return what keeps the metrics of *family* from the *server*; None where nothing of the scrape does."""
    kind, targets = KINDS[family], server.targets
    if evidence is None:
        return _by_targets(kind, targets)
    pods = kind.pods(evidence.facts)
    own = of_pods(pods, targets or ())
    if not own:
        # A target that is no pod that we know may be a server out of the cluster, or a static address.
        own = [each for each in by_their_look(kind, targets or ()) if not pods or pod_of(each) is None]
    if own:
        return _by_health(kind, own)
    if "Pod" in evidence.facts.unasked:
        return _by_targets(kind, targets)
    if not pods:
        return _nothing_here(kind, evidence, server)
    if evidence.prometheus is None or targets is None:
        return _by_targets(kind, targets)
    return monitor_finding(kind, pods, evidence, server)


def _by_targets(kind: ServerKind, targets: tuple[ScrapeTarget, ...] | None) -> Finding | None:
    """What the targets say by themselves. A server with none at all may be one that others write to."""
    if not targets:
        return None
    own = by_their_look(kind, targets)
    if own:
        return _by_health(kind, own)
    jobs = sorted({each.labels.get("job") or each.pool for each in targets})
    listed = ", ".join(jobs[:_MANY]) + (f" and {len(jobs) - _MANY} more" if len(jobs) > _MANY else "")
    return found(
        "KVO-405",
        subject=kind.what,
        said=f"none of the {len(targets)} targets that this Prometheus scrapes is a {kind.what} by its job, pod or"
        f" image; its jobs: {listed}",
        fix="kvobs install   # on the cluster that it runs on; or add its /metrics to scrape_configs",
        evidence=(f"/api/v1/targets: {len(targets)} active",),
    )


# --- targets that are there ---


def _by_health(kind: ServerKind, own: Sequence[ScrapeTarget]) -> Finding | None:
    if any(each.health == "up" for each in own):
        return None
    down = [each for each in own if each.health == "down"]
    if not down:
        waiting = found(
            "KVO-405",
            subject=own[0].pool,
            said=f"{kind.what} {in_words(own)} was discovered and has not been scraped yet",
            fix="kvobs verify --wait 2m",
            evidence=tuple(f"{shown(each.url)}: {each.health}" for each in own[:_MANY]),
        )
        return replace(waiting, severity="dark", passing=True)  # nothing is wrong with it
    return in_vain(kind.what, down)


def in_vain(what: str, down: Sequence[ScrapeTarget]) -> Finding:
    """Return that targets are down, by the error that most of them have."""
    error, _ = Counter(_error(each) for each in down).most_common(1)[0]
    first = next(each for each in down if _error(each) == error)
    return found(
        "KVO-406",
        subject=first.pool,
        said=f"Prometheus scrapes {what} {in_words(down)} in vain: {error}",
        fix=_remedy(first, error),
        evidence=tuple(f"{shown(each.url)}: {_error(each)}" for each in down[:_MANY]),
    )


def in_words(targets: Sequence[ScrapeTarget]) -> str:
    """Targets by their pods, or by their addresses."""
    names = sorted({"/".join(pod) if (pod := pod_of(each)) else shown(each.url) for each in targets})
    return ", ".join(names[:_MANY]) + (f" and {len(names) - _MANY} more" if len(names) > _MANY else "")


def _error(target: ScrapeTarget) -> str:
    """The last scrape's error, without what an address may hold that is not for every eye."""
    return target.error.replace(target.url, shown(target.url)).strip() or "it gives no reason"


_REMEDIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("connection refused",),
        "kubectl -n {namespace} get pod {pod}   # is it ready? nothing listens on port {port}\n"
        "kubectl -n {namespace} logs {pod} --tail=50",
    ),
    (
        ("context deadline exceeded", "i/o timeout", "no route to host", "Client.Timeout"),
        "kubectl -n {namespace} get networkpolicy   # Prometheus must be let in to port {port}\n"
        "kubectl -n {namespace} exec {pod} -- curl -sm5 -o /dev/null -w '%{{time_total}}\\n' localhost:{port}/metrics"
        "   # slower than scrapeTimeout?",
    ),
    (
        ("401 Unauthorized", "403 Forbidden"),
        "{edit}   # give its endpoint the authorization or basicAuth that {pod} asks for",
    ),
    (
        ("404 Not Found",),
        "{edit}   # path: {pod} serves its metrics elsewhere",
    ),
    (
        ("x509", "tls:", "HTTP response to HTTPS client", "server gave HTTP"),
        "{edit}   # scheme and tlsConfig of its endpoint: {pod} speaks otherwise",
    ),
    (
        ("HTTP request to an HTTPS server", "400 Bad Request", "malformed HTTP response"),
        "{edit}   # scheme: https, if {pod} was given a certificate",
    ),
)
"""What a scrape's error says -> where to look, and with which command."""

_ANY_REMEDY = (
    "kubectl -n {namespace} port-forward {pod} {port}   # then: curl -s localhost:{port}/metrics | head\n"
    "kubectl -n {namespace} logs {pod} --tail=50"
)


def _remedy(target: ScrapeTarget, error: str) -> str:
    pod = pod_of(target)
    if pod is None:
        return f"curl -sv {shown(target.url)}   # from where Prometheus runs"
    text = next((text for words, text in _REMEDIES if any(word in error for word in words)), _ANY_REMEDY)
    port = target.url.partition("://")[2].partition("/")[0].rpartition(":")[2]
    return text.format(namespace=pod[0], pod=pod[1], port=port, edit=_edit(target.pool))


def _edit(pool: str) -> str:
    """The command that opens what a scrape pool was made from."""
    origin = origin_of(pool)
    return origin.edit if origin is not None else f"edit job {pool} of scrape_configs"


# --- nobody there to be scraped ---


def _nothing_here(kind: ServerKind, evidence: ClusterEvidence, server: ServerEvidence) -> Finding | None:
    facts = evidence.facts
    if kind.family == "vllm":
        return found(
            "KVO-407",
            subject="vLLM",
            said="no vLLM server was found on this cluster, so that nothing could serve its metrics",
            fix=f"kubectl -n NAMESPACE label service NAME {SCRAPE_LABEL}={SCRAPE_SERVICE}   # of one that is not"
            " recognised, or is deployed later",
            evidence=("no pod runs vLLM by its command, image or labels",),
        )
    return _no_exporter(facts, evidence, server.datasource_interval_s)


def _no_exporter(facts: Facts, evidence: ClusterEvidence, drawn_s: float | None) -> Finding | None:
    if facts.exporting_nodes and evidence.prometheus is not None:
        told = (evidence.prometheus.scrape_interval, duration(drawn_s) if drawn_s else None)
        said, _, command = exporters_of_nodes(facts, evidence.prometheus, told).text.partition(" A ScrapeConfig ")
        return found(
            "KVO-401",
            subject="DCGM exporter",
            said=f"{said.removeprefix('GPU metrics: ').rstrip('.')}, and no ScrapeConfig does either",
            fix=command.partition("does: ")[2] or f"a ScrapeConfig {command}",
        )
    if "Node" in facts.unasked:
        return None
    if not facts.gpu_nodes:
        nodes = "no node offers nvidia.com/gpu or a slice of one"
        return found("KVO-509", subject="GPU", said="no node of this cluster has an NVIDIA GPU", evidence=(nodes,))
    off = next((each for each in facts.cluster_policies if not each.exporter_enabled), None)
    if off is not None:
        said, _, how = exporter_off(off).text.partition("; to switch it on: ")
        return found("KVO-405", subject=f"ClusterPolicy {off.name}", said=said, fix=how)
    return found(
        "KVO-405",
        subject="DCGM exporter",
        said=f"{facts.gpu_nodes} of the nodes have NVIDIA GPUs, and no DCGM exporter runs here",
        fix="helm upgrade --install dcgm-exporter dcgm-exporter --repo https://nvidia.github.io/dcgm-exporter/helm-charts"
        " --namespace gpu-monitoring --create-namespace   # or the GPU Operator, which brings one\nkvobs install",
        evidence=(f"GPU nodes: {facts.gpu_nodes}; pods of a DCGM exporter: none",),
    )
