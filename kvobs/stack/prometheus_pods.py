"""Which pod of a Prometheus is asked where no Service stands in front of it, or none may be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .facts import Object
from .workloads import labels_of, name_of, namespace_of

WEB_PORT = 9090
"""Where the operator lets every Prometheus listen; on the pod's own loopback with `spec.listenLocal`."""

FORWARD = (("list", "pods"), ("get", "pods/portforward"), ("create", "pods/portforward"))
"""The rights that a port-forward takes, verb and resource: to find the pod, and to connect. A WebSocket is opened with
a GET; since Kubernetes 1.35 the right to create is asked for beside that to get."""

RIGHTS = "list pods and get and create pods/portforward"
"""The same in words."""

_CONTAINER = "prometheus"
_WEB = ("web", "http-web")
_SHARD = "operator.prometheus.io/shard"


@dataclass(frozen=True, kw_only=True, slots=True)
class PodPort:
    """A port of a pod."""

    namespace: str
    pod: str
    port: int

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.pod}, port {self.port}"


def pod_labels(prometheus: str) -> str:
    """Return the selector of the pods that the operator makes for a Prometheus object; an agent's are not among them.

    >>> pod_labels("k8s")
    'app.kubernetes.io/name=prometheus,operator.prometheus.io/name=k8s'
    """
    return f"app.kubernetes.io/name=prometheus,operator.prometheus.io/name={prometheus}"


def ready_pod(pods: Iterable[Object]) -> PodPort | None:
    """Return the first pod that is ready and stays, with the port of its Prometheus; None where there is none.

    Always the same of several: replicas scrape at different moments, and each shard knows its own targets.
    """
    ready = sorted(filter(_serves, pods), key=lambda pod: (labels_of(pod).get(_SHARD, ""), name_of(pod)))
    return next((PodPort(namespace=namespace_of(pod), pod=name_of(pod), port=_port(pod)) for pod in ready), None)


def _serves(pod: Object) -> bool:
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _port(pod: Object) -> int:
    """The port that Prometheus' own container names, and not that of a proxy which stands in front of it in the pod."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    own = [each for each in containers if each.get("name") == _CONTAINER]
    ports = [port for each in own for port in each.get("ports") or () if port.get("name") in _WEB]
    return next((int(port["containerPort"]) for port in ports), WEB_PORT)
