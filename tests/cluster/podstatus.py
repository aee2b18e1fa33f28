"""PURE. The status that a kubelet would give a pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True)
class Hold:
    """Why a pod does not get ready.

    "CrashLoopBackOff" and "Unready" leave it running without being ready; every other reason (ContainerCreating,
    ImagePullBackOff, CreateContainerConfigError, …) leaves it Pending.
    """

    reason: str
    message: str = ""


def ready(pod: Object, *, ip: str, node_ip: str, now: str) -> Object:
    """Return the status of a pod that runs and is ready."""
    return _status(pod, "Running", "True", _running(pod, now, ready=True), ip=ip, node_ip=node_ip, now=now)


def held(pod: Object, hold: Hold, *, ip: str, node_ip: str, now: str) -> Object:
    """Return the status of a pod that *hold* keeps from being ready."""
    if hold.reason == "Unready":
        containers = _running(pod, now, ready=False)
        return _status(pod, "Running", "False", containers, ip=ip, node_ip=node_ip, now=now)
    waiting = {"waiting": {"reason": hold.reason, "message": hold.message}}
    crashes = hold.reason == "CrashLoopBackOff"
    containers = _containers(pod, waiting, ready=False, restarts=3 if crashes else 0)
    phase = "Running" if crashes else "Pending"
    return _status(pod, phase, "False", containers, ip=ip, node_ip=node_ip, now=now)


def ended(pod: Object, *, failure: str | None, ip: str, node_ip: str, now: str) -> Object:
    """Return the status of a pod whose work is done, or has failed for the reason *failure*."""
    code, reason = (0, "Completed") if failure is None else (1, "Error")
    terminated = {
        "terminated": {
            "exitCode": code, "reason": reason, "message": failure or "", "startedAt": now, "finishedAt": now,
        }
    }  # fmt: skip
    containers = _containers(pod, terminated, ready=False)
    phase = "Succeeded" if failure is None else "Failed"
    return _status(pod, phase, "False", containers, ip=ip, node_ip=node_ip, now=now)


def is_ready(pod: Object) -> bool:
    """Return whether the pod's own status says that it is ready."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def needs(pod: Object) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, key) of the Secrets and ConfigMaps without which the pod's containers are not started.

    The key is "" where the whole object is mounted.
    """
    spec = pod["spec"]
    for volume in spec.get("volumes", ()):
        sources = [volume, *volume.get("projected", {}).get("sources", ())]
        for source in sources:
            for kind, field, name in (("Secret", "secret", "secretName"), ("ConfigMap", "configMap", "name")):
                wanted = source.get(field)
                if wanted and not wanted.get("optional"):
                    yield kind, wanted.get(name) or wanted["name"], ""
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        for variable in container.get("env", ()):
            value = variable.get("valueFrom", {})
            for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
                wanted = value.get(field)
                if wanted and not wanted.get("optional"):
                    yield kind, wanted["name"], wanted["key"]
        for source in container.get("envFrom", ()):
            for kind, field in (("Secret", "secretRef"), ("ConfigMap", "configMapRef")):
                wanted = source.get(field)
                if wanted and not wanted.get("optional"):
                    yield kind, wanted["name"], ""


def _running(pod: Object, now: str, *, ready: bool) -> list[Object]:
    return _containers(pod, {"running": {"startedAt": now}}, ready=ready)


def _containers(pod: Object, state: Object, *, ready: bool, restarts: int = 0) -> list[Object]:
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "state": state,
            "ready": ready,
            "started": "running" in state,
            "restartCount": restarts,
        }
        for container in pod["spec"]["containers"]
    ]


def _status(
    pod: Object, phase: str, is_ready: str, containers: list[Object], *, ip: str, node_ip: str, now: str
) -> Object:
    since = pod.get("status", {}).get("startTime", now)
    conditions = {
        "PodScheduled": "True",
        "Initialized": "False" if phase == "Pending" else "True",
        "ContainersReady": is_ready,
        "Ready": is_ready,
    }
    status: Object = {
        "phase": phase,
        "hostIP": node_ip,
        "hostIPs": [{"ip": node_ip}],
        "startTime": since,
        "conditions": [
            {"type": name, "status": value, "lastTransitionTime": now} for name, value in conditions.items()
        ],
        "containerStatuses": containers,
    }
    if phase != "Pending":
        status |= {"podIP": ip, "podIPs": [{"ip": ip}]}
        status["initContainerStatuses"] = [
            _init_status(container, now) for container in pod["spec"].get("initContainers", ())
        ]
    return status


def _init_status(container: Object, now: str) -> Object:
    stays = container.get("restartPolicy") == "Always"  # a sidecar in the form of an init container
    done = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": True,
        "started": stays,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}} if stays else {"terminated": done},
    }
