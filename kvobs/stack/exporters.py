"""Recognise what serves GPU metrics: DCGM exporters, the GPU Operator's ClusterPolicy, nodes with GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from .dcgm_kinds import (
    IMAGE,
    MIG_PRODUCT,
    MIG_RESOURCE,
    NODE_LABEL,
    PRODUCT_LABEL,
    WEB_CONFIG_FLAG,
    WEB_CONFIG_VARIABLE,
    kind_of_exporter,
)
from .facts import ClusterPolicy, MetricsPod, Object
from .provisioned import text_of
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

_GPU_RESOURCES = ("nvidia.com/gpu", MIG_RESOURCE)


def dcgm_pod(pod: Object) -> MetricsPod | None:
    """Return *pod* as a DCGM exporter, None where it is none or has run to its end."""
    if is_finished(pod):
        return None
    containers = containers_of(pod.get("spec") or {})
    exporter = next((c for c in containers if image_name(c).endswith(IMAGE)), None)
    labels = labels_of(pod)
    kind = kind_of_exporter(labels)
    if exporter is None and kind is None:
        return None
    container = exporter or next(iter(containers), {})
    ports = tcp_ports_of(pod.get("spec") or {})
    web = _web_config(container)
    return MetricsPod(
        namespace=namespace_of(pod),
        name=name_of(pod),
        labels=labels,
        ports=ports,
        metrics_port=_listens_on(container, ports),
        owner=owner_of(pod)[1],
        scheme="https" if web == "https" else "http",
        kind=kind.id if kind else "",
        asks_password=web == "password",
    )


def _web_config(container: Object) -> str:
    """What the exporter's web configuration asks of a client, as far as its probes tell: `https`, `password`, ``.

    The configuration itself is in a ConfigMap or a Secret. A probe cannot know a password, so that NVIDIA's chart
    only tries the port where there is one.
    """
    probes = [container.get(name) or {} for name in ("readinessProbe", "livenessProbe")]
    if any((probe.get("httpGet") or {}).get("scheme") == "HTTPS" for probe in probes):
        return "https"
    flags = [str(each).partition("=")[0] for each in container.get("args") or ()]
    if WEB_CONFIG_FLAG not in flags and not environment_of(container).get(WEB_CONFIG_VARIABLE):
        return ""
    return "password" if any("tcpSocket" in probe for probe in probes) else "https"


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
    return sum(_offers(each, _GPU_RESOURCES) for each in nodes)


def mig_nodes(nodes: Iterable[Object]) -> int:
    """How many *nodes* slice their GPUs by MIG: as resources of their own, or (strategy `single`) by the product."""
    return sum(
        _offers(each, (MIG_RESOURCE,)) or MIG_PRODUCT in labels_of(each).get(PRODUCT_LABEL, "") for each in nodes
    )


def exporting_nodes(nodes: Iterable[Object]) -> int:
    """How many *nodes* serve GPU metrics by themselves, in no pod."""
    key, value = NODE_LABEL
    return sum(labels_of(each).get(key) == value for each in nodes)


def _offers(node: Object, resources: tuple[str, ...]) -> bool:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return any(name.startswith(resources) and str(amount) != "0" for name, amount in allocatable.items())


def cluster_policies(raw: Iterable[Object]) -> tuple[ClusterPolicy, ...]:
    """Return the GPU Operator's policies, without those of which it says that it ignores them: only one counts."""
    return tuple(_cluster_policy(each) for each in raw if (each.get("status") or {}).get("state") != "ignored")


def _cluster_policy(each: Object) -> ClusterPolicy:
    exporter = (each.get("spec") or {}).get("dcgmExporter") or {}
    monitor = exporter.get("serviceMonitor") or {}
    return ClusterPolicy(
        name=name_of(each),
        api_version=each["apiVersion"],
        exporter_enabled=exporter.get("enabled", True) is not False,
        monitor_enabled=monitor.get("enabled"),
        additional_labels=monitor.get("additionalLabels") or {},
        interval=text_of(monitor.get("interval")),
        managers=field_managers(each, ("spec", "dcgmExporter", "serviceMonitor")),
        release=helm_release(each),
        in_conflict=any(map(_names_rival, (each.get("status") or {}).get("conditions") or ())),
    )


def _names_rival(condition: Object) -> bool:
    """Whether a policy's condition says that a GPUCluster keeps the operator from carrying the policy out."""
    failed = condition.get("type") == "Error" and condition.get("status") == "True"
    return failed and "GPUCluster" in str(condition.get("message", ""))


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
