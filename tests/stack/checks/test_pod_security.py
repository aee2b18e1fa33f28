"""What the Pod Security Standards refuse, by the fields of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.checks.pod_security import violations

GOOD = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(security: dict[str, Any] | None = None, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return the spec of a pod with one container."""
    return {"containers": [{"name": "c", "securityContext": security or {}, **(container or {})}], **spec}


CASES = [
    ("nothing said", pod(), "baseline", []),
    ("host namespaces", pod(hostNetwork=True, hostPID=True, hostIPC=False), "baseline", ["hostNetwork", "hostPID"]),
    ("the host's files", pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), "baseline", ["hostPath volumes"]),
    ("a port of the host", pod(container={"ports": [{"hostPort": 9100}]}), "baseline", ["hostPort"]),
    ("privileged", pod({"privileged": True}), "baseline", ["privileged"]),
    ("one more capability", pod({"capabilities": {"add": ["SYS_ADMIN"]}}), "baseline", ["added capabilities"]),
    ("a capability that everybody has", pod({"capabilities": {"add": ["CHOWN"]}}), "baseline", []),
    ("an init container counts", {"initContainers": [pod({"privileged": True})["containers"][0]]}, "baseline",
     ["privileged"]),
    ("all that is asked", pod(GOOD), "restricted", []),
    ("said of the whole pod", pod({key: GOOD[key] for key in ("allowPrivilegeEscalation", "capabilities")},
     securityContext={key: GOOD[key] for key in ("runAsNonRoot", "seccompProfile")}), "restricted", []),
    ("root by number", pod({**GOOD, "runAsUser": 0}), "restricted", ["runAsUser 0"]),
    ("nothing said, restricted", pod(), "restricted",
     ["runAsNonRoot", "allowPrivilegeEscalation", "capabilities that are not dropped", "seccompProfile"]),
    ("a volume of a kind that is not listed", pod(GOOD, volumes=[{"name": "v", "nfs": {}}]), "restricted",
     ["volume types"]),
    ("usual volumes", pod(GOOD, volumes=[{"name": "v", "emptyDir": {}}, {"name": "w", "secret": {}}]), "restricted",
     []),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "level", "broken"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_violations(spec: dict[str, Any], level: str, broken: list[str]) -> None:
    """A pod breaks a level by the fields that are named, each once."""
    assert violations(spec, level) == broken
