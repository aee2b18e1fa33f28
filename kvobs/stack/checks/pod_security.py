"""What the Pod Security Standards forbid in a pod, as far as the pods of a monitoring stack come near it. Pure.

A namespace enforces a level on pods only: a Deployment or DaemonSet is taken, a dry-run of it too, and its pods never
come. https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..facts import Object
from ..workloads import template_of

ENFORCE = "pod-security.kubernetes.io/enforce"
LEVELS = ("baseline", "restricted")

_HOST = ("hostNetwork", "hostPID", "hostIPC")
_ADDABLE = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
_VOLUMES = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
        *("persistentVolumeClaim", "projected", "secret", "name"),
    }
)
_SECCOMP = ("RuntimeDefault", "Localhost")
_WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "Job")


def hosts_of(objects: Iterable[Object], namespace: str) -> Iterator[tuple[str, str, Object]]:
    """Yield (namespace, kind and name, pod spec) of each workload; one that names no namespace is in *namespace*."""
    for each in objects:
        if each["kind"] in _WORKLOADS:
            metadata = each["metadata"]
            where = metadata.get("namespace") or namespace
            yield where, f"{each['kind']} {where}/{metadata['name']}", template_of(each).get("spec") or {}


def violations(spec: Object, level: str) -> list[str]:
    """Return what a pod of this *spec* breaks of *level* (baseline, restricted), in the words of its fields.

    >>> violations({"hostNetwork": True, "containers": []}, "baseline")
    ['hostNetwork']
    """
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    broken = [*_baseline(spec, containers)]
    if level == "restricted":
        broken += _restricted(spec, containers)
    return list(dict.fromkeys(broken))


def _baseline(spec: Object, containers: Iterable[Object]) -> Iterator[str]:
    yield from (field for field in _HOST if spec.get(field))
    if any("hostPath" in each for each in spec.get("volumes") or ()):
        yield "hostPath volumes"
    for each in containers:
        security = each.get("securityContext") or {}
        if security.get("privileged"):
            yield "privileged"
        if set((security.get("capabilities") or {}).get("add") or ()) - _ADDABLE:
            yield "added capabilities"
        # With hostNetwork the API server sets each hostPort itself.
        if any(port.get("hostPort") for port in each.get("ports") or ()):
            yield "hostPort"


def _restricted(spec: Object, containers: Iterable[Object]) -> Iterator[str]:
    pod: Any = spec.get("securityContext") or {}
    if any(set(each) - _VOLUMES - {"hostPath"} for each in spec.get("volumes") or ()):
        yield "volume types"
    for each in containers:
        own = each.get("securityContext") or {}
        if not own.get("runAsNonRoot", pod.get("runAsNonRoot")):
            yield "runAsNonRoot"
        if own.get("runAsUser", pod.get("runAsUser")) == 0:
            yield "runAsUser 0"
        if own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation"
        if "ALL" not in ((own.get("capabilities") or {}).get("drop") or ()):
            yield "capabilities that are not dropped"
        if ((own.get("seccompProfile") or pod.get("seccompProfile")) or {}).get("type") not in _SECCOMP:
            yield "seccompProfile"
