"""What the cluster says about the scrape: facts, the operator's warnings, and which versions its images name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ...errors import ApiError
from ...health.events import about, is_outdated
from ...health.evidence import ClusterEvidence
from ...health.images import dcgm_version, vllm_version
from ...health.scrape_monitors import monitors_in_question
from ...stack.facts import Facts, MetricsPod, Object, Prometheus
from ...stack.workloads import containers_of, name_of, namespace_of
from ..look import ReadCluster

EVENTS = ("Event.events.k8s.io", "Event")
"""The two names of one kind: a role may allow either."""
_KINDS = frozenset({"ServiceMonitor", "PodMonitor", "Prometheus"})


def cluster_evidence(cluster: ReadCluster, facts: Facts, prometheus: Prometheus | None) -> ClusterEvidence:
    """Return the evidence around *prometheus*; what may not be read is not among it, and is named in `unread`."""
    pods = {(namespace_of(each), name_of(each)): each for each in _list(cluster, "Pod") or ()}
    unread: dict[str, str] = {}
    warnings = tuple(_warnings(cluster, facts, prometheus, unread))
    return ClusterEvidence(
        facts=facts,
        prometheus=prometheus,
        events=warnings,
        unread=unread,
        vllm_version=_version(facts.vllm_pods, pods, vllm_version),
        dcgm_version=_version(facts.dcgm_pods, pods, dcgm_version),
        asleep=frozenset(
            f"{each.namespace}/{each.name}"
            for each in (*facts.vllm_pods, *facts.dcgm_pods)
            if "Pod" not in facts.unasked and (each.namespace, each.name) not in pods
        ),
    )


def _list(
    cluster: ReadCluster, kind: str, namespace: str | None = None, unread: dict[str, str] | None = None
) -> list[Object] | None:
    try:
        return cluster.list(kind, namespace=namespace)
    except ApiError as error:
        # No right to it, or a group that is not served just now: evidence that is not there.
        if unread is not None:
            unread[kind] = str(error)
        return None


def _warnings(
    cluster: ReadCluster, facts: Facts, prometheus: Prometheus | None, unread: dict[str, str]
) -> Iterator[Object]:
    """Warnings about monitors as they are now, from the namespaces in which one matters: there may be many others."""
    places = {each.namespace for each in monitors_in_question(facts)} | (
        {prometheus.namespace} if prometheus else set()
    )
    names = [each for each in EVENTS if each in facts.kinds] or list(EVENTS)
    told = [
        each for place in sorted(places) for each in _events(cluster, names, place, unread) if about(each)[0] in _KINDS
    ]
    live = {
        (kind, namespace_of(each), name_of(each)): each
        for kind in sorted({about(event)[0] for event in told})
        for each in _list(cluster, f"{kind}.monitoring.coreos.com") or ()
    }
    return (each for each in told if not is_outdated(each, live.get(about(each))))


def _events(cluster: ReadCluster, names: Iterable[str], namespace: str, unread: dict[str, str]) -> Iterator[Object]:
    """The warnings of a namespace; where none of the kind's *names* may be read, why goes into *unread*."""
    refused: dict[str, str] = {}
    for kind in names:
        events = _list(cluster, kind, namespace, refused)
        if events is not None:
            yield from (each for each in events if each.get("type") == "Warning")
            return
    unread.update(refused)


def _version(
    those: Iterable[MetricsPod], pods: Mapping[tuple[str, str], Object], read: Callable[[str], str | None]
) -> str | None:
    """The version that the images of the live pods agree on; None where they differ, or one does not tell."""
    told: set[str | None] = set()
    for pod in those:
        live = pods.get((pod.namespace, pod.name))
        if live is not None:
            images = [str(each.get("image") or "") for each in containers_of(live.get("spec") or {})]
            told.add(next((version for image in images if (version := read(image))), None))
    return told.pop() if len(told) == 1 else None
