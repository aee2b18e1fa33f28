"""Small readings of raw Kubernetes objects that every recognition shares. A missing part reads as empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .facts import Object, Service, ServicePort, Workload
from .objects import MANAGED_BY

_OPERATOR = "prometheus-operator"
_OPERATOR_ARGUMENT = "--prometheus-config-reloader"
"""Tells an operator whose image has a name of its own (a mirror, a digest): the charts tell each of them this."""


def namespace_of(each: Object) -> str:
    """Namespace of a namespaced object."""
    return str(each["metadata"].get("namespace", ""))


def name_of(each: Object) -> str:
    """Name of an object."""
    return str(each["metadata"]["name"])


def labels_of(each: Object) -> Mapping[str, str]:
    """Labels of an object."""
    return each["metadata"].get("labels") or {}


def annotations_of(each: Object) -> Mapping[str, str]:
    """Annotations of an object."""
    return each["metadata"].get("annotations") or {}


def helm_release(each: Object) -> tuple[str, str] | None:
    """(namespace, name) of the Helm release that the object's annotations name."""
    annotations = annotations_of(each)
    name = annotations.get("meta.helm.sh/release-name")
    if not name:
        return None
    return annotations.get("meta.helm.sh/release-namespace") or namespace_of(each), name


def tracked_by(each: Object) -> str | None:
    """The GitOps tool that tracks the object, in words.

    `app.kubernetes.io/instance` alone says nothing: Argo CD may track by it, but every Helm chart sets it; the manager
    of its fields tells the two apart. A chart's object that Helm did not annotate tells more: something else rendered
    the chart, and may well do it again.
    """
    labels, annotations = labels_of(each), annotations_of(each)
    application = annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
    application = application or labels.get("argocd.argoproj.io/instance", "")
    if application:
        return f"Argo CD application {application}"
    managers = {str(entry.get("manager")) for entry in each["metadata"].get("managedFields") or ()}
    if any(manager.startswith("argocd-") for manager in managers):
        name = labels.get("app.kubernetes.io/instance")
        return f"Argo CD application {name}" if name else "Argo CD"
    for kind, group in (("HelmRelease", "helm"), ("Kustomization", "kustomize")):
        name = labels.get(f"{group}.toolkit.fluxcd.io/name")
        if name:
            return f"Flux {kind} {labels.get(f'{group}.toolkit.fluxcd.io/namespace', namespace_of(each))}/{name}"
    if helm_release(each) is None and (labels.get(MANAGED_BY) == "Helm" or "helm.sh/chart" in labels):
        return "something that renders charts without Helm (Argo CD, helm template)"
    return None


def image_path(image: str) -> list[str]:
    """The parts of an image's name, lower case, without registry, tag and digest.

    >>> image_path("registry.local:5000/vllm/vllm-openai:v0.32.0@sha256:12ab")
    ['vllm', 'vllm-openai']
    >>> image_path("grafana:13.2.0")
    ['grafana']
    """
    parts = image.lower().partition("@")[0].split("/")
    if len(parts) > 1 and ("." in parts[0] or ":" in parts[0] or parts[0] == "localhost"):
        parts = parts[1:]
    return [*parts[:-1], parts[-1].partition(":")[0]]


def image_name(container: Object) -> str:
    """The last part of a container's image name, `` where it names none."""
    return image_path(container.get("image") or "")[-1]


def template_of(workload: Object) -> Object:
    """The pod template of a Deployment or StatefulSet."""
    template: Object = (workload.get("spec") or {}).get("template") or {}
    return template


def containers_of(pod_spec: Object, *, sidecars: bool = True) -> list[Object]:
    """The containers that run while the pod runs; *sidecars*: with restartable init containers."""
    running = list(pod_spec.get("containers") or ())
    if sidecars:
        running += [c for c in pod_spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    return running


def environment_of(container: Object) -> dict[str, str]:
    """The variables whose value stands in the container itself."""
    return {each["name"]: str(each["value"]) for each in container.get("env") or () if each.get("value") is not None}


def tcp_ports_of(pod_spec: Object) -> dict[int, str | None]:
    """Declared TCP container ports of a pod: number -> name."""
    return {
        int(port["containerPort"]): port.get("name")
        for container in containers_of(pod_spec)
        for port in container.get("ports") or ()
        if port.get("protocol", "TCP") == "TCP"
    }


def owner_of(pod: Object) -> tuple[str, str]:
    """(kind, name) of the workload that a pod belongs to; a ReplicaSet stands for its Deployment."""
    for each in pod["metadata"].get("ownerReferences") or ():
        if not each.get("controller", False):
            continue
        kind, name = each["kind"], each["name"]
        suffix = "-" + labels_of(pod).get("pod-template-hash", "")
        if kind == "ReplicaSet" and suffix != "-" and name.endswith(suffix):
            return "Deployment", name.removesuffix(suffix)
        return kind, name
    return "Pod", name_of(pod)


def is_finished(pod: Object) -> bool:
    """Whether the pod has run to its end."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def sleeping_pods(workloads: Iterable[Object], pods: Sequence[Object]) -> Iterator[Object]:
    """Yield the pod that each workload without any live pod would make: scaled to zero, or not started yet.

    A server that sleeps is still a server: a monitor made for it must not go away with its last pod.
    """
    live: dict[str, list[Mapping[str, str]]] = {}
    for pod in pods:
        if not is_finished(pod):
            live.setdefault(namespace_of(pod), []).append(labels_of(pod))
    for workload in workloads:
        wanted = ((workload.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        where, template = namespace_of(workload), template_of(workload)
        if not wanted or any(wanted.items() <= labels.items() for labels in live.get(where, ())):
            continue
        labels = (template.get("metadata") or {}).get("labels") or {}
        owner = {"kind": "Workload", "name": name_of(workload), "controller": True}
        metadata = {
            "namespace": where,
            "name": name_of(workload),
            "labels": labels,
            "ownerReferences": [owner],
        }
        yield {"metadata": metadata, "spec": template.get("spec") or {}}


def services(raw: Iterable[Object]) -> tuple[Service, ...]:
    """Return the Services; one without a selector has nobody behind it that could be known."""
    return tuple(
        Service(
            namespace=namespace_of(each),
            name=name_of(each),
            labels=labels_of(each),
            selector=(each.get("spec") or {}).get("selector") or {},
            ports=tuple(_service_port(port) for port in (each.get("spec") or {}).get("ports") or ()),
        )
        for each in raw
    )


def _service_port(port: Mapping[str, Any]) -> ServicePort:
    target = port.get("targetPort") or port["port"]
    if isinstance(target, str) and re.fullmatch(r"\d+", target):
        target = int(target)
    return ServicePort(name=port.get("name") or None, port=int(port["port"]), target=target)


def selects_pod(service: Service, namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether a pod with *labels* in *namespace* stands behind *service*."""
    return bool(service.selector) and service.namespace == namespace and service.selector.items() <= labels.items()


def operators(deployments: Iterable[Object]) -> tuple[Workload, ...]:
    """Return the Prometheus Operators among *deployments*."""
    return tuple(
        Workload(
            kind="Deployment",
            namespace=namespace_of(each),
            name=name_of(each),
            release=helm_release(each),
        )
        for each in deployments
        if labels_of(each).get("app.kubernetes.io/name") == _OPERATOR
        or any(_is_operator(c) for c in containers_of(template_of(each).get("spec") or {}, sidecars=False))
    )


def _is_operator(container: Object) -> bool:
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    # A mirror may put the name of the source in front: rancher/mirrored-prometheus-operator-prometheus-operator.
    return image_name(container).endswith(_OPERATOR) or any(w.startswith(_OPERATOR_ARGUMENT) for w in words)
