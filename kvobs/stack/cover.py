"""Monitors for pods that serve metrics, such that each of them is scraped once.

A pod is reached through a Service in front of it where one fits, else by itself. Whatever a monitor would
find beside the pods that still lack one speaks against it: nothing is scraped twice, and no target is dead
from birth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .facts import Facts, MetricsPod, Monitor, Object, Prometheus, Service
from .monitor_objects import Kit, lasting, lasting_owner, service_endpoint
from .notes import Note
from .objects import dns_name
from .of_no_use import of_no_use
from .placement import Home, home_of
from .selectors import matches
from .strangers import apart_from, strangers
from .targets import Target, covered, in_words, monitor_of, pods_behind, selected, target_of, targets


@dataclass(frozen=True, kw_only=True, slots=True)
class Cover:
    """The monitors for a set of pods."""

    objects: tuple[Object, ...]
    notes: tuple[Note, ...]
    unselected: tuple[Monitor, ...]
    """Monitors of somebody else that would find the pods, but that the Prometheus does not read."""


def cover(
    pods: Sequence[MetricsPod],
    facts: Facts,
    prometheus: Prometheus,
    kit: Kit,
    *,
    namespace: str,
    settled: frozenset[Target] = frozenset(),
) -> Cover:
    """Return monitors such that *prometheus* scrapes each of *pods* once; all have a `metrics_port`.

    *settled* targets are somebody's already, and count as taken.
    """
    return _Builder(pods, facts, prometheus, kit, namespace, settled).cover()


@dataclass(frozen=True, slots=True)
class _Planned:
    """A monitor without its name, which is made of *place* and *subject*, and *detail* where that is not enough."""

    document: dict[str, Any]
    place: str
    subject: str
    detail: str


class _Builder:
    def __init__(
        self,
        pods: Sequence[MetricsPod],
        facts: Facts,
        prometheus: Prometheus,
        kit: Kit,
        namespace: str,
        settled: frozenset[Target],
    ) -> None:
        self.facts, self.prometheus, self.kit, self.namespace = facts, prometheus, kit, namespace
        self.wanted = {target_of(pod, pod.metrics_port): pod for pod in pods if pod.metrics_port is not None}
        self.remaining = {target: pod for target, pod in self.wanted.items() if target not in settled}
        self.planned: list[_Planned] = []
        self.notes: list[Note] = []
        self.reasons: dict[Target, str] = {}

    def cover(self) -> Cover:
        self._leave_what_others_scrape()
        lacking = dict(self.remaining)
        for service, pods in self._services_in_front():
            left = [pod for pod in pods if self._target(pod) in self.remaining]
            if left and not self._through(service, left):
                self._by_pods(left, lasting(service.selector), service.namespace, service.name, detail="")
        for (place, labels, port), pods in self._groups():
            owner = min(map(lasting_owner, pods))
            self._by_pods(pods, dict(labels), place, owner, detail=f"{labels}{port}")
        for reason, those in groupby(sorted(self.remaining, key=self._reason), key=self._reason):
            names = in_words(self.remaining[target] for target in those)
            self.notes.append(Note("not-scraped", f"{self.kit.what} {names} is not scraped: {reason}."))
        taken = {target: pod for target, pod in lacking.items() if target not in self.remaining}
        self.notes += of_no_use(taken, self.facts, self.prometheus, what=self.kit.what)
        unselected = covered(self.facts.monitors, self.facts, taken, lambda m: not m.ours)
        return Cover(
            objects=tuple(sorted(self._named(), key=lambda each: (each["metadata"]["name"], each["kind"]))),
            notes=tuple(self.notes),
            unselected=tuple({(m.kind, m.namespace, m.name): m for m in unselected.values()}.values()),
        )

    def _leave_what_others_scrape(self) -> None:
        def keep(monitor: Monitor) -> bool:
            return not monitor.ours and selected(self.prometheus, monitor, self.facts.namespaces)

        theirs = covered(self.facts.monitors, self.facts, self.remaining, keep)
        pods_of: dict[str, list[MetricsPod]] = {}
        for target, monitor in theirs.items():
            pods_of.setdefault(f"{monitor.kind} {monitor.namespace}/{monitor.name}", []).append(
                self.remaining.pop(target)
            )
        for name, pods in sorted(pods_of.items()):
            text = f"{self.kit.what} {in_words(pods)} is already scraped through {name}; kvobs adds no monitor."
            self.notes.append(Note("already-scraped", text))

    def _services_in_front(self) -> list[tuple[Service, list[MetricsPod]]]:
        """Services and their pods that lack a monitor; first those that reach most, by the easiest port."""
        pods = list(self.remaining.values())
        found = [
            (service, behind)
            for service in self.facts.services
            if (behind := pods_behind(service, pods)) and not self.kit.leaves("ServiceMonitor", service.labels)
        ]
        return sorted(found, key=lambda f: (-len(f[1]), _port_rank(f[0], f[1]), f[0].namespace, f[0].name))

    def _through(self, service: Service, pods: list[MetricsPod]) -> bool:
        """Plan a ServiceMonitor for *service*; say whether that could be done."""
        labels = lasting(service.labels)
        selector = self.kit.selector("ServiceMonitor", labels)
        endpoint = service_endpoint(service, pods)
        home = self._home("ServiceMonitor", service.namespace)
        if not labels or endpoint is None or isinstance(home, str):
            self._because(pods, home if isinstance(home, str) else f"no monitor can select Service {service.name}")
            return False
        if any(
            (other.namespace, other.name) != (service.namespace, service.name)
            and other.namespace == service.namespace
            and matches(selector, other.labels)
            for other in self.facts.services
        ):
            self._because(pods, f"Service {service.name} shares its labels with another")
            return False
        document = self.kit.monitor(
            "ServiceMonitor", home, reach=service.namespace, selector=selector, endpoints=[endpoint]
        )
        return self._take(document, pods, service.namespace, service.name, detail="")

    def _by_pods(
        self, pods: list[MetricsPod], labels: Mapping[str, str], place: str, subject: str, *, detail: str
    ) -> bool:
        """Plan a PodMonitor for the pods with *labels*; say whether that could be done."""
        home = self._home("PodMonitor", place)
        if not labels or isinstance(home, str):
            self._because(pods, home if isinstance(home, str) else "its pods have no label that lasts")
            return False
        endpoints = []
        for port, those in groupby(sorted(pods, key=_metrics_port), key=_metrics_port):
            group = list(those)
            endpoints.append(self.kit.pod_endpoint(port, group))
        selector = self.kit.selector("PodMonitor", labels)
        document = self.kit.monitor("PodMonitor", home, reach=place, selector=selector, endpoints=endpoints)
        return self._take(document, pods, place, subject, detail=detail)

    def _home(self, kind: str, reach: str) -> Home | str:
        labels = self.kit.template(kind)["metadata"].get("labels") or {}
        where = self.namespace
        home = home_of(self.prometheus, self.facts, kind=kind, namespace=where, reach=reach, labels=labels)
        if isinstance(home, Home) and home.namespace in self.kit.closed:
            who = f"Prometheus {self.prometheus.namespace}/{self.prometheus.name}"
            return f"{who} reads a {kind} for it only from namespace {home.namespace}, where none may be made"
        return home

    def _take(self, document: dict[str, Any], pods: list[MetricsPod], place: str, subject: str, *, detail: str) -> bool:
        """Keep the monitor if it finds nothing but pods that lack one, and some of those."""
        beside = self._beside(document)
        if beside and document["kind"] == "PodMonitor":
            document = apart_from(document, beside, pods)
            beside = self._beside(document)
        found = self._found(document)
        what = f"a {document['kind']} for {place}/{subject} would"
        if beside:
            others = [pod for pod in beside if pod not in pods]
            names = "another port of it"
            if others:
                names = f"{in_words(others)}; give one of the two a label that the other has not"
            self._because(pods, f"{what} also find {names}")
            return False
        if not found:
            self._because(pods, f"{what} find nothing")
            return False
        for target in found:
            del self.remaining[target]
        self.planned.append(_Planned(document, place, subject, detail))
        return True

    def _beside(self, document: Object) -> list[MetricsPod]:
        """The pods that a monitor would find and must not: those of others, and those that have a monitor."""
        taken = {name for name, _ in self._found(document) - set(self.remaining)}
        everyone = (*self.facts.vllm_pods, *self.facts.dcgm_pods)
        return [
            *strangers(document, self.facts),
            *(pod for pod in everyone if f"{pod.namespace}/{pod.name}" in taken),
        ]

    def _found(self, document: Object) -> frozenset[Target]:
        return targets(monitor_of(document, document["kind"], ours=True), self.facts)

    def _groups(self) -> Iterator[tuple[tuple[str, tuple[tuple[str, str], ...], int], list[MetricsPod]]]:
        """The pods left over, by namespace, lasting labels and port."""

        def key(pod: MetricsPod) -> tuple[str, tuple[tuple[str, str], ...], int]:
            labels = tuple(sorted(lasting(pod.labels).items()))
            return pod.namespace, labels, _metrics_port(pod)

        for group, pods in groupby(sorted(self.remaining.values(), key=lambda p: (key(p), p.name)), key=key):
            yield group, list(pods)

    def _named(self) -> Iterator[Object]:
        """The planned monitors with their names; those that would be called alike get a hash."""

        def plain(each: _Planned) -> tuple[str, str]:
            return each.document["kind"], dns_name(f"{self.kit.prefix}-{each.place}-{each.subject}")

        taken = [plain(each) for each in self.planned]
        for each in self.planned:
            name = plain(each)[1]
            if taken.count(plain(each)) > 1:
                name = dns_name(f"{self.kit.prefix}-{each.place}-{each.subject}/{each.place}/{each.detail}")
            document = each.document
            yield {**document, "metadata": {**document["metadata"], "name": name}}

    def _target(self, pod: MetricsPod) -> Target:
        return target_of(pod, _metrics_port(pod))

    def _because(self, pods: Iterable[MetricsPod], reason: str) -> None:
        for pod in pods:
            self.reasons[self._target(pod)] = reason

    def _reason(self, target: Target) -> str:
        return self.reasons.get(target, "no monitor reaches it")


def _metrics_port(pod: MetricsPod) -> int:
    assert pod.metrics_port is not None  # `cover` asks for it
    return pod.metrics_port


def _port_rank(service: Service, pods: Sequence[MetricsPod]) -> int:
    endpoint = service_endpoint(service, pods)
    return 2 if endpoint is None else 0 if "port" in endpoint else 1
