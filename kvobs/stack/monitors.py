"""Monitors for vLLM: one for each server that runs, and one for those to come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..settings import Settings
from .cover import cover
from .facts import Facts, MetricsPod, Monitor, Object, Prometheus, Service, ServicePort
from .monitor_objects import Kit
from .notes import Note
from .placement import home_of
from .recognise import selected_services
from .serving_kinds import PORT_LABEL, SCRAPE_LABEL, SCRAPE_POD, SCRAPE_SERVICE, VLLM_PORT
from .targets import Target, container_port, covered, pods_behind, selected, target_of
from .vllm_notes import inside_ray, not_read, nothing_found, router_gauges, unknown_ports

_GENERIC = {"ServiceMonitor": "vllm", "PodMonitor": "vllm-podmonitor"}
"""Kind of monitor -> name of its template, which is the generic monitor as it is shipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MonitorPlan:
    """The vLLM monitors to apply, and what there is to say."""

    objects: tuple[Object, ...]
    notes: tuple[Note, ...]


def vllm_monitors(
    facts: Facts,
    prometheus: Prometheus,
    settings: Settings,
    *,
    namespace: str,
    templates: Mapping[str, Object],
) -> MonitorPlan:
    """Return the monitors by which *prometheus* scrapes every vLLM server of *facts* once.

    They sit in *namespace* if *prometheus* reads monitors there. *templates* are the shipped monitors by
    name: `vllm` and `vllm-podmonitor`. First come the generic ones, which take Services (and pods) that are
    labelled for them; such servers, and those that somebody else's monitor finds, get none of their own.
    """
    notes: list[Note] = []
    pods = [*facts.vllm_pods, *_unseen(facts, settings)]
    facts = replace(facts, vllm_pods=tuple(pods))
    pods = [_with_port(pod, facts.services, settings) for pod in pods]
    facts = replace(facts, vllm_pods=tuple(pods))
    generic, reasons = _generic_monitors(facts, prometheus, namespace, templates)
    notes += reasons

    labelled = [each for each in facts.services if each.labels.get(SCRAPE_LABEL) == SCRAPE_SERVICE]
    settled = frozenset(_left_to_generic(labelled, pods))
    notes += _labelled_notes(labelled, facts, prometheus)

    known = [pod for pod in pods if pod.metrics_port is not None]
    notes += unknown_ports([p for p in pods if p.metrics_port is None and not _is_behind(p, labelled)])
    kit = Kit(
        what="vLLM",
        prefix="kvobs-vllm",
        service_monitor=templates["vllm"],
        pod_monitor=templates["vllm-podmonitor"],
        opt_out={"ServiceMonitor": (SCRAPE_LABEL, SCRAPE_SERVICE), "PodMonitor": (SCRAPE_LABEL, SCRAPE_POD)},
    )
    found = cover(known, facts, prometheus, kit, namespace=namespace, settled=settled)
    notes += [*found.notes, *not_read(found, prometheus)]
    ray = list(inside_ray(facts, prometheus, settings))
    if not pods and not ray:
        notes.append(nothing_found(settings))
    notes += ray
    notes += router_gauges(facts, prometheus)
    return MonitorPlan(objects=(*generic, *found.objects), notes=tuple(notes))


def _generic_monitors(
    facts: Facts, prometheus: Prometheus, namespace: str, templates: Mapping[str, Object]
) -> tuple[list[Object], list[Note]]:
    """The monitors for servers to come, placed; a note where one has no place, or where somebody's does the same."""
    objects: list[Object] = []
    notes: list[Note] = []
    for kind, name in _GENERIC.items():
        theirs = next((m for m in facts.monitors if m.kind == kind and _is_theirs(m, facts, prometheus)), None)
        if theirs is not None:
            text = (
                f"Servers labelled {SCRAPE_LABEL} are scraped through {kind} {theirs.namespace}/{theirs.name} already,"
                " which this kvobs did not make; it adds none."
            )
            notes.append(Note("already-scraped", text))
            continue
        template = templates[name]
        metadata: Mapping[str, Any] = template["metadata"]
        labels = metadata.get("labels") or {}
        home = home_of(prometheus, facts, kind=kind, namespace=namespace, reach=None, labels=labels)
        if not isinstance(home, str):
            placed = {**metadata, "namespace": home.namespace, "labels": {**labels, **home.labels}}
            objects.append({**template, "metadata": placed})
        elif kind == "ServiceMonitor":
            notes.append(Note("no-generic-monitor", f"vLLM servers deployed later are not scraped: {home}."))
    return objects, notes


def _is_theirs(monitor: Monitor, facts: Facts, prometheus: Prometheus) -> bool:
    """Whether it is a generic monitor that *prometheus* reads and that is not ours: `kvobs render` made it, say."""
    value = {"ServiceMonitor": SCRAPE_SERVICE, "PodMonitor": SCRAPE_POD}[monitor.kind]
    return (
        not monitor.ours
        and monitor.selector == {"matchLabels": {SCRAPE_LABEL: value}}
        and bool(monitor.namespace_selector.get("any"))
        and selected(prometheus, monitor, facts.namespaces)
    )


def generic_port(service: Service) -> ServicePort | None:
    """The port of a labelled Service that the generic monitor scrapes.

    The one that its label `kvobs.dev/port` names, else `http`, else its only port if that has no name.
    """
    wanted = service.labels.get(PORT_LABEL) or "http"
    return next((port for port in service.ports if port.name in (wanted, None)), None)


def _left_to_generic(labelled: Sequence[Service], pods: Sequence[MetricsPod]) -> Iterator[Target]:
    for pod in pods:
        if pod.metrics_port is not None and (pod.labels.get(SCRAPE_LABEL) == SCRAPE_POD or _is_behind(pod, labelled)):
            yield target_of(pod, pod.metrics_port)


def _is_behind(pod: MetricsPod, services: Sequence[Service]) -> bool:
    return any(pods_behind(each, (pod,)) for each in services)


def _labelled_notes(labelled: Sequence[Service], facts: Facts, prometheus: Prometheus) -> Iterator[Note]:
    """What keeps a labelled Service from being scraped well: no such port, or a second monitor."""

    def foreign(monitor: Monitor) -> bool:
        if monitor.ours or _is_theirs(monitor, facts, prometheus):
            return False  # it is the one that the label asks for
        return selected(prometheus, monitor, facts.namespaces)

    taken: dict[Target, str] = {}
    for service in labelled:
        pods = pods_behind(service, facts.vllm_pods)
        where = f"Service {service.namespace}/{service.name}"
        label = f"kubectl -n {service.namespace} label service {service.name}"
        port = generic_port(service)
        named = next(
            (p.name for p in service.ports for pod in pods if container_port(p, pod) == pod.metrics_port),
            None,
        )
        if port is None:
            how = f"{label} {PORT_LABEL}={named or 'PORT-NAME'}"
            what = service.labels.get(PORT_LABEL) or "http"
            yield Note("no-such-port", f"{where} is labelled to be scraped, but has no port called {what}: {how}")
            continue
        found = {
            target_of(pod, pod.metrics_port)
            for pod in pods
            if pod.metrics_port is not None and pod.metrics_port == container_port(port, pod)
        }
        doubled = covered(facts.monitors, facts, found, foreign)
        others = {f"{m.kind} {m.namespace}/{m.name}" for m in doubled.values()}
        others |= {taken[target] for target in found if target in taken}
        if any(pod.labels.get(SCRAPE_LABEL) == SCRAPE_POD for pod in pods):
            others.add(f"their own label {SCRAPE_LABEL}={SCRAPE_POD}")
        if others:
            by = " and ".join(sorted(others))
            yield Note(
                "scraped-twice",
                f"{where} carries {SCRAPE_LABEL}={SCRAPE_SERVICE}, and its pods are scraped through {by} too,"
                f" hence twice: {label} {SCRAPE_LABEL}-",
            )
        taken.update(dict.fromkeys(found, where))


def _unseen(facts: Facts, settings: Settings) -> Iterator[MetricsPod]:
    """A stand-in for the pod behind each Service that the user named and that has none yet.

    Its port is the one that the user named, or `http`, or the only one.
    """
    for service in selected_services(facts.services, settings):
        if not service.selector or pods_behind(service, facts.vllm_pods):
            continue
        asked = settings.vllm_port
        port = next((p for p in service.ports if asked in (p.name, str(p.port), str(p.target))), None)
        if asked is None:
            port = next((p for p in service.ports if p.name == "http"), None)
            port = port or (service.ports[0] if len(service.ports) == 1 else None)
        number = VLLM_PORT if port is None or isinstance(port.target, str) else port.target
        name = port.target if port is not None and isinstance(port.target, str) else None
        yield MetricsPod(
            namespace=service.namespace,
            name=service.name,
            labels=service.selector,
            ports={number: name} if port else {},
            metrics_port=number if port else None,
            owner=service.name,
        )


def _with_port(pod: MetricsPod, services: Sequence[Service], settings: Settings) -> MetricsPod:
    """The pod with the port that the user named; where it tells none by itself, a Service's only port."""
    in_front = [each for each in services if pods_behind(each, (pod,))]
    asked = settings.vllm_port
    if asked is None:
        if pod.metrics_port is not None:
            return pod
        only = {container_port(each.ports[0], pod) for each in in_front if len(each.ports) == 1}
        return replace(pod, metrics_port=only.pop()) if len(only) == 1 else pod
    number = next((n for n, name in pod.ports.items() if asked in (name, str(n))), None)
    if number is None:
        led_to = [container_port(p, pod) for each in in_front for p in each.ports if asked in (p.name, str(p.port))]
        number = next((n for n in led_to if n is not None), None)
    if number is None and asked.isdecimal():
        number = int(asked)
    return replace(pod, metrics_port=number)
