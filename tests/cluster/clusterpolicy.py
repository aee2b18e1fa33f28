"""A stand-in for NVIDIA's GPU Operator: what it makes of a ClusterPolicy's `spec.dcgmExporter`, and no more."""

from __future__ import annotations

import threading

from tests.cluster.api import BUSY, Api, ApiError, Object, background

NAMESPACE = "gpu-operator"
EXPORTER = "nvidia-dcgm-exporter"
EXPORTER_PORT = 9400
_MONITORS = "monitoring.coreos.com/v1"
_LABELS = {"app": EXPORTER}
PASSING = frozenset({403, 404, 409, *BUSY})
"""What the API server says of a namespace that goes, a kind that comes, an object that changes; or while it is busy."""


class GpuOperator:
    """Follows ClusterPolicies and keeps the exporter's objects as they say, each change in under a second."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stopped = threading.Event()
        self._thread = background("bed GPU operator", self._follow, self._stopped)

    def stopping(self) -> None:
        """Expect the API server to go away."""
        self._stopped.set()

    def close(self) -> None:
        """Wait for the operator's thread."""
        self._thread.join()

    def _follow(self) -> None:
        for event, policy in self._api.follow("nvidia.com/v1", "ClusterPolicy", self._stopped):
            # What is left behind by a deleted policy is the garbage collector's: it owned everything.
            if event != "DELETED":
                self._until_done(policy)

    def _until_done(self, policy: Object) -> None:
        """Do what the policy says by now, again and again while its namespace goes, kinds come, or objects change."""
        metadata = policy["metadata"]
        while not self._stopped.is_set():
            try:
                now = self._api.find(policy["apiVersion"], policy["kind"], metadata["name"])
                gone = now is None or now["metadata"]["uid"] != metadata["uid"]
                if now is not None and not gone and "deletionTimestamp" not in now["metadata"]:
                    self._reconcile(now)
            except ApiError as error:
                if error.status not in PASSING:
                    raise
                self._stopped.wait(0.3)
            else:
                return

    def _reconcile(self, policy: Object) -> None:
        exporter = policy["spec"].get("dcgmExporter", {})
        monitor = exporter.get("serviceMonitor", {})
        running = exporter.get("enabled", True)
        if running:
            if self._api.find("v1", "Namespace", NAMESPACE) is None:
                self._api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            self._api.apply(_daemon_set(policy), _service(policy), manager="gpu-operator")
        else:
            self._api.delete("apps/v1", "DaemonSet", EXPORTER, NAMESPACE)
            self._api.delete("v1", "Service", EXPORTER, NAMESPACE)
        # Without the Prometheus Operator's CRDs there is nothing to make, and the operator goes on.
        if self._api.serves(_MONITORS, "ServiceMonitor"):
            if running and monitor.get("enabled"):
                self._api.apply(_service_monitor(policy, monitor), manager="gpu-operator")
            else:
                self._api.delete(_MONITORS, "ServiceMonitor", EXPORTER, NAMESPACE)
        if policy.get("status", {}).get("state") != "ready":
            status = {"status": {"state": "ready", "namespace": NAMESPACE}}
            self._api.merge(policy, status, subresource="status")


def _metadata(policy: Object, labels: dict[str, str]) -> Object:
    owner = {
        "apiVersion": policy["apiVersion"], "kind": policy["kind"], "controller": True, "blockOwnerDeletion": True,
        "name": policy["metadata"]["name"], "uid": policy["metadata"]["uid"],
    }  # fmt: skip
    return {"name": EXPORTER, "namespace": NAMESPACE, "labels": labels, "ownerReferences": [owner]}


def _daemon_set(policy: Object) -> Object:
    container = {
        "name": EXPORTER,
        "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.5.2-ubuntu22.04",
        "ports": [{"name": "metrics", "containerPort": EXPORTER_PORT}],
    }
    pod = {"nodeSelector": {"nvidia.com/gpu.deploy.dcgm-exporter": "true"}, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _metadata(policy, _LABELS),
        "spec": {
            "selector": {"matchLabels": _LABELS},
            "template": {"metadata": {"labels": _LABELS}, "spec": pod},
        },
    }


def _service(policy: Object) -> Object:
    port = {"name": "gpu-metrics", "port": EXPORTER_PORT, "targetPort": EXPORTER_PORT, "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(policy, _LABELS) | {"annotations": {"prometheus.io/scrape": "true"}},
        "spec": {"selector": _LABELS, "ports": [port]},
    }


def _service_monitor(policy: Object, wanted: Object) -> Object:
    endpoint: Object = {"port": "gpu-metrics", "path": "/metrics", "interval": wanted.get("interval", "15s")}
    if "honorLabels" in wanted:
        endpoint["honorLabels"] = wanted["honorLabels"]
    return {
        "apiVersion": _MONITORS,
        "kind": "ServiceMonitor",
        "metadata": _metadata(policy, _LABELS | wanted.get("additionalLabels", {})),
        "spec": {
            "jobLabel": "app",
            "namespaceSelector": {"matchNames": [NAMESPACE]},
            "selector": {"matchLabels": _LABELS},
            "endpoints": [endpoint],
        },
    }
