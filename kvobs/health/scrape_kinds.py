"""The two kinds of servers whose metrics the dashboards show, and which targets of a Prometheus are of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ..stack.exporters import DCGM_PORT
from ..stack.facts import Facts, MetricsPod
from ..stack.targets import DCGM_METRICS, VLLM_METRICS
from .answers import ScrapeTarget
from .gpu_fields import DCGM
from .spellings import of_vllm

Family = Literal["vllm", "dcgm"]

_ROUTER = "router"
"""Stands in the names of what routes requests to vLLM, and serves none of its metrics."""
_TOLD_BY = (
    *("job", "container", "service", "pod", "app", "endpoint", "app_kubernetes_io_name"),
    "__meta_kubernetes_pod_container_image",
    "__meta_kubernetes_pod_name",
)
"""Labels that say what a target is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerKind:
    """One kind of server."""

    family: Family
    what: str
    """In words."""
    word: str
    """Stands in the names of what belongs to it."""
    metrics: tuple[str, ...]
    """Some of its metrics, any of which tells that it is scraped."""

    def pods(self, facts: Facts) -> tuple[MetricsPod, ...]:
        """The pods of this kind; of vLLM those in which Ray runs it, too."""
        return (*facts.vllm_pods, *facts.ray_pods) if self.family == "vllm" else facts.dcgm_pods

    def names(self, texts: Iterable[str]) -> bool:
        """Whether any of *texts* names this kind of server."""
        return any(self.word in text.lower() and _ROUTER not in text.lower() for text in texts)


KINDS: dict[Family, ServerKind] = {
    "vllm": ServerKind(family="vllm", what="vLLM", word="vllm", metrics=VLLM_METRICS),
    "dcgm": ServerKind(family="dcgm", what="DCGM exporter", word="dcgm", metrics=DCGM_METRICS),
}


def family_of(metric: str) -> Family | None:
    """The family that a metric's name belongs to, in any spelling of it; None for others.

    >>> family_of("ray_vllm_num_requests_running"), family_of("DCGM_FI_DEV_GPU_TEMP"), family_of("up")
    ('vllm', 'dcgm', None)
    """
    if of_vllm(metric):
        return "vllm"
    return "dcgm" if metric.startswith(DCGM) else None


def pod_of(target: ScrapeTarget) -> tuple[str, str] | None:
    """(namespace, name) of the pod that a target is, None where nothing tells."""
    for namespace, pod in (("__meta_kubernetes_namespace", "__meta_kubernetes_pod_name"), ("namespace", "pod")):
        labels = target.discovered if namespace.startswith("__") else target.labels
        if labels.get(namespace) and labels.get(pod):
            return labels[namespace], labels[pod]
    return None


def of_pods(pods: Sequence[MetricsPod], targets: Iterable[ScrapeTarget]) -> list[ScrapeTarget]:
    """The *targets* that are the metrics port of one of *pods*; any port where the pod's is not known."""
    ports = {(pod.namespace, pod.name): pod.metrics_port for pod in pods}
    found = []
    for target in targets:
        pod = pod_of(target)
        if pod in ports and ports[pod] in (None, _port(target)):
            found.append(target)
    return found


def by_their_look(kind: ServerKind, targets: Iterable[ScrapeTarget]) -> list[ScrapeTarget]:
    """The *targets* that are of *kind* by the name of their job, of their pod or of its image."""
    return [each for each in targets if _looks(kind, each)]


def _looks(kind: ServerKind, target: ScrapeTarget) -> bool:
    labels = {**target.discovered, **target.labels}
    told = [target.pool, *(labels[key] for key in _TOLD_BY if key in labels)]
    if any(_ROUTER in each.lower() for each in told):
        return False
    return kind.names(told) or (kind.family == "dcgm" and _port(target) == DCGM_PORT)


def _port(target: ScrapeTarget) -> int | None:
    try:
        return urlsplit(target.url).port
    except ValueError:  # somebody's relabeling wrote it
        return None
