"""Recognise vLLM servers among pods: by what they run, by their image, by a well-known label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from .command_lines import Command
from .facts import MetricsPod, Object
from .serving_kinds import (
    BESIDE,
    BESIDE_NAMES,
    ENGINE_LABELS,
    LABELS,
    PORT_LABELS,
    RAY_LLM_IMAGE,
    RAY_METRICS_PORT,
    RAY_NODE,
    RAY_SERVE,
    ROLE_LABELS,
    ROUTER,
    ROUTER_IMAGES,
    VLLM_PORT,
)
from .workloads import (
    containers_of,
    environment_of,
    image_path,
    is_finished,
    labels_of,
    name_of,
    namespace_of,
    owner_of,
    tcp_ports_of,
)


def vllm_pod(pod: Object) -> MetricsPod | None:
    """Return *pod* as a vLLM server, None where it is none.

    A pod that has run to its end is none; nor is one that only takes part in a server (a Ray worker, a
    `--headless` node), since /metrics is not served there. A Job's pod is one by its command only.
    """
    if is_finished(pod):
        return None
    of_job = owner_of(pod)[0] == "Job"
    containers = containers_of(pod.get("spec") or {})
    for container in containers:
        runs = Command(container)
        if runs.serves:
            return _metrics_pod(pod, container, runs)
    if of_job:
        return None
    by_label = _by_label(labels_of(pod))
    for container in containers:
        runs = Command(container)
        if by_label is False or _beside(container):
            continue
        if runs.something_else:
            if runs.is_ray_head and _is_vllm_image(container) and (port := _health_port(container, "/health")):
                return _of(pod, metrics_port=port, scheme=_scheme(container, runs))
        elif by_label or _is_vllm_image(container):
            return _metrics_pod(pod, container, runs)
    return None


def _by_label(labels: Mapping[str, str]) -> bool | None:
    """Whether labels say that a pod is a vLLM server: yes, no, or nothing of it."""
    engines = {labels[key].lower() for key in ENGINE_LABELS if key in labels}
    roles = [labels[key].lower() for key in ROLE_LABELS if key in labels]
    if (engines and "vllm" not in engines) or any(_is_beside(role) for role in roles):
        return False
    if engines or any(labels.get(key) in values for key, values in LABELS.items()):
        return True
    return None


def ray_pod(pod: Object) -> MetricsPod | None:
    """Return *pod* as one of Ray that runs vLLM inside Ray Serve, None where it is none or has run to its end."""
    labels = labels_of(pod)
    if is_finished(pod) or RAY_NODE not in labels or vllm_pod(pod) is not None:
        return None
    serves = any(labels.get(key) in values for key, values in RAY_SERVE.items())
    for container in containers_of(pod.get("spec") or {}):
        is_ray_llm = image_path(container.get("image") or "")[-1] == RAY_LLM_IMAGE
        if is_ray_llm or (serves and _is_vllm_image(container)):
            return _of(pod, metrics_port=RAY_METRICS_PORT, scheme="http")
    return None


def bystander(pod: Object) -> MetricsPod | None:
    """Return *pod* as one whose metrics are not wanted, None where it has run to its end; `kind` tells a `router`."""
    if is_finished(pod):
        return None
    images = ("/".join(image_path(c.get("image") or "")) for c in containers_of(pod.get("spec") or {}))
    is_router = any(image.endswith(ROUTER_IMAGES) for image in images)
    return replace(_of(pod, metrics_port=None, scheme="http"), kind=ROUTER if is_router else "")


def pod_behind(pod: Object) -> MetricsPod | None:
    """Return *pod* as a server because the user says so, None where it has run to its end."""
    if is_finished(pod):
        return None
    return vllm_pod(pod) or _of(pod, metrics_port=None, scheme="http")


def _metrics_pod(pod: Object, container: Object, runs: Command) -> MetricsPod:
    port = _stated_port(labels_of(pod)) or runs.port or _default_port(container, runs)
    return _of(pod, metrics_port=port, scheme=_scheme(container, runs))


def _of(pod: Object, *, metrics_port: int | None, scheme: str) -> MetricsPod:
    return MetricsPod(
        namespace=namespace_of(pod),
        name=name_of(pod),
        labels=labels_of(pod),
        ports=tcp_ports_of(pod.get("spec") or {}),
        metrics_port=metrics_port,
        owner=owner_of(pod)[1],
        scheme=scheme,
    )


def _stated_port(labels: Mapping[str, str]) -> int | None:
    for key in PORT_LABELS:
        if labels.get(key, "").isdecimal():
            return int(labels[key])
    return None


def _scheme(container: Object, runs: Command) -> str:
    probes = [(container.get(name) or {}).get("httpGet") or {} for name in _PROBES]
    tls = runs.has_flag("--ssl-certfile") or any(probe.get("scheme") == "HTTPS" for probe in probes)
    return "https" if tls else "http"


def _default_port(container: Object, runs: Command) -> int | None:
    """The port of a server whose arguments name none that can be read.

    What its environment says, or the name that its stack gives the port; vLLM's own default, where vLLM's own command
    line is what runs; else (a wrapper's image, a configuration file, `--port $PORT` with a variable from elsewhere)
    what the container says of itself: its health probe, or its only port.
    """
    declared: dict[int, str | None] = {
        int(port["containerPort"]): port.get("name") for port in container.get("ports") or ()
    }
    if runs.server is not None:
        environment = environment_of(container)
        told = [environment.get(name, "") for name in runs.server.variables]
        named = [number for number, name in declared.items() if name in runs.server.port_names]
        found = next((int(text) for text in told if text.isdecimal()), None) or next(iter(named), None)
        if found is not None or runs.server.port_names:
            return found
    elsewhere = runs.has_flag("--config") or runs.has_flag("--port")
    if runs.default_port and not elsewhere:
        return runs.default_port
    probed = _health_port(container)
    if probed is not None:
        return probed
    if VLLM_PORT in declared:
        return VLLM_PORT
    if len(declared) == 1:
        return next(iter(declared))
    return None if declared or runs.has_flag("--port") or not _is_vllm_image(container) else VLLM_PORT


_PROBES = ("readinessProbe", "livenessProbe", "startupProbe")


def _health_port(container: Object, path: str | None = None) -> int | None:
    """The port that a probe of the container asks over HTTP, at *path* if one is given."""
    names = {port.get("name"): int(port["containerPort"]) for port in container.get("ports") or ()}
    for probe in _PROBES:
        asked = (container.get(probe) or {}).get("httpGet") or {}
        port = asked.get("port")
        if path is not None and asked.get("path") != path:
            continue
        if isinstance(port, int):
            return port
        if port and port in names:
            return names[port]
    return None


def _beside(container: Object) -> bool:
    path = image_path(container.get("image") or "")
    parts = path[1:] or path  # whose image it is says nothing about what it is
    return any(map(_is_beside, parts))


def _is_beside(name: str) -> bool:
    return name.startswith(BESIDE_NAMES) or any(word.startswith(BESIDE) for word in _words_in(name))


def _is_vllm_image(container: Object) -> bool:
    """Whether the image's name says vLLM: in its last part, or a folder called just so.

    KServe's huggingfaceserver serves language models with vLLM, and its metrics are vLLM's.
    """
    *folders, last = image_path(container.get("image") or "")
    if last == "huggingfaceserver":
        return "--backend=huggingface" not in (container.get("args") or ())
    return "vllm" in folders or any(word.startswith("vllm") for word in _words_in(last))


def _words_in(name: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", name)
