"""ServiceMonitors and PodMonitors as objects: a template, filled in for one set of pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .facts import MetricsPod, Object, Service
from .placement import Home
from .targets import ENDPOINTS, PORT_VARIABLE, container_port

_KNATIVE_REVISION = "serving.knative.dev/revision"
_KNATIVE_SERVICE = "serving.knative.dev/service"
_WORKER_HASH = "nvidia.com/dynamo-worker-hash"
"""Dynamo's, at the end of the names of what it makes for a worker."""

_VOLATILE = (
    *("helm.sh/chart", "chart", "app.kubernetes.io/version", "argocd.argoproj.io/instance"),
    *("pod-template-hash", "controller-revision-hash", "pod-template-generation"),
    *("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-uid", "job-name"),
    *("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"),
    *("leaderworkerset.sigs.k8s.io/group-key", "leaderworkerset.sigs.k8s.io/group-index"),
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    *(_WORKER_HASH, "nvidia.com/selector", "nvidia.com/dynamo-component-pod"),
    *("roleset-name", "role-template-hash", "storm-service-revision"),  # AIBrix
    *(f"serving.knative.dev/{each}" for each in ("revision", "revisionUID", "configurationGeneration")),
    *("serving.knative.dev/configurationUID", "serving.knative.dev/serviceUID"),
)
"""Labels that change with a version or from pod to pod: a monitor that selects by them loses its targets."""

_VOLATILE_PREFIXES = (
    "kvobs.dev/",
    "topology.kubernetes.io/",  # the API server copies a node's zone and region onto its pods since 1.35
    *("istio.io/", "security.istio.io/", "service.istio.io/", "sidecar.istio.io/"),
    *("grove.io/", "stormservice.orchestration.aibrix.ai/"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Kit:
    """What the monitors of one sort are made from."""

    what: str
    """The server, in words."""
    prefix: str
    """What their names begin with."""
    service_monitor: Object
    pod_monitor: Object
    opt_out: Mapping[str, tuple[str, str]]
    """Kind of monitor -> the label of what another monitor takes, and this sort must leave."""
    closed: frozenset[str] = frozenset()
    """Namespaces in which no monitor may be."""

    def template(self, kind: str) -> Object:
        """The template of that kind of monitor."""
        return self.service_monitor if kind == "ServiceMonitor" else self.pod_monitor

    def leaves(self, kind: str, labels: Mapping[str, str]) -> bool:
        """Whether what has *labels* is left to another monitor."""
        return kind in self.opt_out and labels.get(self.opt_out[kind][0]) == self.opt_out[kind][1]

    def selector(self, kind: str, labels: Mapping[str, str]) -> dict[str, Any]:
        """What has *labels*, without what is left to another monitor."""
        selector: dict[str, Any] = {"matchLabels": dict(sorted(labels.items()))}
        if kind in self.opt_out:
            key, value = self.opt_out[kind]
            selector["matchLabels"].pop(key, None)
            selector["matchExpressions"] = [{"key": key, "operator": "NotIn", "values": [value]}]
        return selector

    def monitor(
        self,
        kind: str,
        home: Home,
        *,
        reach: str,
        selector: Mapping[str, Any],
        endpoints: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        """A monitor for namespace *reach*, still without a name; an endpoint lacks what it sets to None."""
        template = self.template(kind)
        spec, metadata = template["spec"], template["metadata"]
        pattern = {k: v for k, v in spec[ENDPOINTS[kind]][0].items() if k not in _PORT_KEYS}
        filled = [{**each, **{k: v for k, v in pattern.items() if k not in each}} for each in endpoints]
        labels = {**(metadata.get("labels") or {}), **home.labels}
        return {
            **template,
            "metadata": {**metadata, "namespace": home.namespace, "labels": labels},
            "spec": {
                **spec,
                "namespaceSelector": {"matchNames": [reach]},
                "selector": selector,
                ENDPOINTS[kind]: [{k: v for k, v in each.items() if v is not None} for each in filled],
            },
        }

    def pod_endpoint(self, port: int, pods: Sequence[MetricsPod]) -> dict[str, Any]:
        """By the container port's name where each has it, and once; else by writing the number into the address."""
        names = {pod.ports.get(port) for pod in pods}
        name = names.pop() if len(names) == 1 else None
        if name is not None and all(list(pod.ports.values()).count(name) == 1 for pod in pods):
            return {"port": name, "relabelings": None, **_tls(pods)}
        steps = self.pod_monitor["spec"][ENDPOINTS["PodMonitor"]][0].get("relabelings") or ()
        rewritten = [
            {**step, "replacement": str(port)}
            if step.get("targetLabel") == PORT_VARIABLE and not step.get("sourceLabels")
            else step
            for step in steps
        ]
        return {"relabelings": rewritten, **_tls(pods)}


_PORT_KEYS = ("port", "targetPort", "portNumber")


def is_stable(key: str) -> bool:
    """Whether a label lasts as long as the workload."""
    return key not in _VOLATILE and not key.startswith(_VOLATILE_PREFIXES)


def lasting(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels that last as long as the workload; Knative gives each revision an `app` of its own."""
    revision = labels.get(_KNATIVE_REVISION)
    return {k: v for k, v in labels.items() if is_stable(k) and not (k == "app" and v == revision)}


def lasting_owner(pod: MetricsPod) -> str:
    """What to call the workload of *pod* by, so that the name outlives a rollout of an operator that renames it."""
    labels = pod.labels
    if _KNATIVE_REVISION in labels:
        return labels.get(_KNATIVE_SERVICE) or labels[_KNATIVE_REVISION]
    owner = pod.owner or pod.name
    return owner.removesuffix(f"-{labels.get(_WORKER_HASH)}")


def service_endpoint(service: Service, pods: Sequence[MetricsPod]) -> dict[str, Any] | None:
    """How a ServiceMonitor's endpoint names the port that leads to the metrics of *pods*, None: it cannot.

    A Service's only port may be without a name; the endpoint then names the container's port, which service
    discovery knows only where the container declares it.
    """
    for port in service.ports:
        if not any(container_port(port, pod) == pod.metrics_port for pod in pods):
            continue
        if port.name:
            return {"port": port.name, "relabelings": None, **_tls(pods)}
        numbers = {pod.metrics_port for pod in pods}
        if len(numbers) == 1 and all(pod.metrics_port in pod.ports for pod in pods):
            return {"targetPort": numbers.pop(), "relabelings": None, **_tls(pods)}
    return None


def _tls(pods: Sequence[MetricsPod]) -> dict[str, Any]:
    """A pod's own certificate is for its Service's name, if for any: it is taken as it is."""
    if any(pod.scheme == "https" for pod in pods):
        return {"scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}
    return {}
