"""Recognise what serves GPU metrics: DCGM exporters, the GPU Operator's ClusterPolicy, nodes with GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from .facts import ClusterPolicy, MetricsPod, Object
from .workloads import (
    containers_of,
    environment_of,
    helm_release,
    image_name,
    is_finished,
    labels_of,
    name_of,
    namespace_of,
    owner_of,
    tcp_ports_of,
)

DCGM_PORT = 9400
"""Where dcgm-exporter listens unless it is told otherwise."""

_NAMES = ("nvidia-dcgm-exporter", "dcgm-exporter")
_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-")


def dcgm_pod(pod: Object) -> MetricsPod | None:
    """Return *pod* as a DCGM exporter, None where it is none or has run to its end."""
    if is_finished(pod):
        return None
    containers = containers_of(pod.get("spec") or {})
    exporter = next((c for c in containers if image_name(c) == "dcgm-exporter"), None)
    labels = labels_of(pod)
    if exporter is None and not any(labels.get(key) in _NAMES for key in ("app", "app.kubernetes.io/name")):
        return None
    ports = tcp_ports_of(pod.get("spec") or {})
    return MetricsPod(
        namespace=namespace_of(pod),
        name=name_of(pod),
        labels=labels,
        ports=ports,
        metrics_port=_listens_on(exporter or next(iter(containers), {}), ports),
        owner=owner_of(pod)[1],
    )


def _listens_on(container: Object, ports: Mapping[int, str | None]) -> int:
    args = [str(each) for each in container.get("args") or ()]
    stated = [environment_of(container).get("DCGM_EXPORTER_LISTEN", "")]
    stated += [value for flag, value in pairwise(args) if flag in ("-a", "--address")]
    stated += [each.removeprefix("--address=") for each in args if each.startswith("--address=")]
    for address in reversed(stated):
        port = address.rpartition(":")[2]
        if port.isdecimal():
            return int(port)
    by_name = next((number for number, name in ports.items() if name == "metrics"), None)
    if by_name is not None:
        return by_name
    return next(iter(ports)) if len(ports) == 1 else DCGM_PORT


def gpu_nodes(nodes: Iterable[Object]) -> int:
    """How many *nodes* offer NVIDIA GPUs, or slices of them, to pods."""
    return sum(
        any(
            resource.startswith(_GPU_RESOURCES) and str(amount) != "0"
            for resource, amount in ((each.get("status") or {}).get("allocatable") or {}).items()
        )
        for each in nodes
    )


def cluster_policies(raw: Iterable[Object]) -> tuple[ClusterPolicy, ...]:
    """Return the GPU Operator's policies."""
    return tuple(_cluster_policy(each) for each in raw)


def _cluster_policy(each: Object) -> ClusterPolicy:
    exporter = (each.get("spec") or {}).get("dcgmExporter") or {}
    monitor = exporter.get("serviceMonitor") or {}
    return ClusterPolicy(
        name=name_of(each),
        api_version=each["apiVersion"],
        exporter_enabled=exporter.get("enabled", True) is not False,
        monitor_enabled=monitor.get("enabled"),
        additional_labels=monitor.get("additionalLabels") or {},
        managers=field_managers(each, ("spec", "dcgmExporter", "serviceMonitor")),
        release=helm_release(each),
    )


def field_managers(each: Object, below: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return who manages which field below a path: dotted path from there -> managers, in name order.

    A manager may own a value as a whole (it set it as one atomic leaf); it then owns every field inside that
    nobody owns by itself. (A map that a manager set empty looks the same, and others may have put their keys
    into it.) Owners of the status only do not count.
    """
    own: dict[tuple[str, ...], set[str]] = {}
    whole: list[tuple[tuple[str, ...], str]] = []
    for entry in each["metadata"].get("managedFields") or ():
        if entry.get("subresource"):
            continue
        for path in _owned(entry.get("fieldsV1") or {}, ()):
            if isinstance(_at(each, path), Mapping) and _at(each, path):
                whole.append((path, entry["manager"]))
            else:
                own.setdefault(path, set()).add(entry["manager"])
    inside: dict[tuple[str, ...], set[str]] = {}
    for path, manager in whole:
        for leaf in _leaves(_at(each, path), path):
            if leaf not in own:
                inside.setdefault(leaf, set()).add(manager)
    return {
        ".".join(path[len(below) :]): tuple(sorted(managers))
        for path, managers in sorted({**own, **inside}.items())
        if path[: len(below)] == below and len(path) > len(below)
    }


def _owned(fields: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths that a `fieldsV1` owns; a list counts as one leaf, `.` is a map and not its content."""
    children = {key[2:]: value for key, value in fields.items() if key.startswith("f:")}
    if path and not children and "." not in fields:
        yield path
    for key, value in children.items():
        yield from _owned(value, (*path, key))


def _leaves(live: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(live, Mapping) and live:
        for key, value in live.items():
            yield from _leaves(value, (*path, key))
    else:
        yield path


def _at(live: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        live = live.get(key) if isinstance(live, Mapping) else None
    return live
