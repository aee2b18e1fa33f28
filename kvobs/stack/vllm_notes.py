"""What a run says about vLLM's metrics, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..settings import Settings
from .cover import Cover
from .facts import Facts, MetricsPod, Prometheus
from .notes import Note
from .serving_kinds import (
    PORT_LABEL,
    RAY_METRICS_PORT,
    RAY_PREFIX,
    ROUTER,
    SCRAPE_LABEL,
    SCRAPE_POD,
    SCRAPE_SERVICE,
)
from .targets import in_words, reached, selected


def unknown_ports(pods: Sequence[MetricsPod]) -> Iterator[Note]:
    """Servers whose metrics port nothing tells."""
    if pods:
        yield Note(
            "port-unknown",
            f"vLLM {in_words(pods)} is not scraped: it does not tell which port serves /metrics; say so with"
            " --vllm-port NAME|NUMBER.",
        )


def not_read(found: Cover, prometheus: Prometheus) -> Iterator[Note]:
    """Monitors of others that would do, if only *prometheus* read them."""
    for each in found.unselected:
        yield Note(
            "monitor-not-read",
            f"{each.kind} {each.namespace}/{each.name} is for vLLM too, but Prometheus"
            f" {prometheus.namespace}/{prometheus.name} does not read it, by its labels or its namespace; kvobs"
            " applies its own beside it.",
        )


def inside_ray(facts: Facts, prometheus: Prometheus, settings: Settings) -> Iterator[Note]:
    """Say of a vLLM inside Ray Serve what its metrics are called, and how Ray's pods come to be scraped."""
    if settings.vllm_selector is not None:
        return
    pods = [pod for pod in facts.ray_pods if settings.vllm_namespace in (None, pod.namespace)]
    theirs = [m for m in facts.monitors if not m.ours and selected(prometheus, m, facts.namespaces)]
    scraped = {name for each in theirs for name, _ in reached(each, facts, pods)}
    lacking = [
        pod
        for pod in pods
        if f"{pod.namespace}/{pod.name}" not in scraped and pod.labels.get(SCRAPE_LABEL) != SCRAPE_POD
    ]
    if not pods:
        return
    text = (
        f"vLLM runs inside Ray Serve in {in_words(pods)}, where its metrics are called {RAY_PREFIX}… and no dashboard"
        " for vllm:… matches; Ray's own does: kvobs install --dashboard kuberay-serve-llm"
    )
    if lacking:
        text += (
            f". Ray's pods are not scraped yet: label them {SCRAPE_LABEL}={SCRAPE_POD} and"
            f" {PORT_LABEL}={RAY_METRICS_PORT} in the pod templates of the RayService"
        )
    yield Note("vllm-in-ray", text)


def router_gauges(facts: Facts, prometheus: Prometheus) -> Iterator[Note]:
    """Name the monitors of others by which a router's gauges arrive under vLLM's names."""
    routers = [pod for pod in facts.bystanders if pod.kind == ROUTER]
    for each in facts.monitors:
        found = {name for name, _ in reached(each, facts, routers)}
        if found and not each.ours and selected(prometheus, each, facts.namespaces):
            pods = in_words(pod for pod in routers if f"{pod.namespace}/{pod.name}" in found)
            yield Note(
                "router-gauges",
                f"{each.kind} {each.namespace}/{each.name} scrapes the router {pods}, whose gauges have names of vLLM's"
                " (vllm:num_requests_running) and a label server: a sum over all series counts its requests twice;"
                ' {server=""} leaves them out of a query.',
            )


def nothing_found(settings: Settings) -> Note:
    """No server: what to do once there is one."""
    if settings.vllm_selector is not None:
        where = f" in namespace {settings.vllm_namespace}" if settings.vllm_namespace else ""
        return Note("no-vllm", f"--vllm-selector {settings.vllm_selector!r} matches no Service{where}.")
    label = f"kubectl -n NAMESPACE label service NAME {SCRAPE_LABEL}={SCRAPE_SERVICE}"
    where = f"in namespace {settings.vllm_namespace}" if settings.vllm_namespace else "on this cluster"
    return Note("no-vllm", f"No vLLM server was found {where}; one deployed later is scraped after: {label}")
