"""What stands on a cluster before kvobs comes: vLLM servers, a GPU Operator, somebody's own stack."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.bed import METRICS, Bed
from tests.cluster.exporters import Exposition

CHARTS = Path(__file__).parents[1] / "data" / "charts"
VLLM_PORT = 8000


def vllm(
    bed: Bed,
    name: str = "vllm",
    namespace: str = "llm",
    *,
    service: bool = True,
    port_name: str | None = "http",
    labels: Mapping[str, str] | None = None,
    growth: float = 0.01,
) -> None:
    """Deploy a vLLM server as its documentation does, with its metrics behind it and a Service in front."""
    own = {"app.kubernetes.io/name": name}
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "command": ["vllm", "serve", "meta-llama/Llama-3.2-1B", "--port", str(VLLM_PORT)],
        "ports": [{"containerPort": VLLM_PORT, **({"name": port_name} if port_name else {})}],
    }
    deployment: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": own},
        "spec": {
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": own}, "spec": {"containers": [container]}},
        },
    }
    port = {"port": 80, "targetPort": VLLM_PORT, **({"name": port_name} if port_name else {})}
    front: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": {**own, **(labels or {})}},
        "spec": {"selector": own, "ports": [port]},
    }
    bed.expose(f"{namespace}/{name}-*", VLLM_PORT, Exposition.of_file(METRICS / "vllm-0.32.txt", growth=growth))
    bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    bed.api.apply(deployment, *([front] if service else []))


def gpu_operator(bed: Bed, *arguments: str, helm: str = "4") -> None:
    """Install (or upgrade) the GPU Operator's release, whose ClusterPolicy has the exporter's monitor off."""
    bed.apply_crds("gpu-operator")
    helm_run(bed, "upgrade", "--install", "gpu-operator", str(CHARTS / "gpu-operator"), "-n", "gpu-operator",
             "--create-namespace", *arguments, helm=helm)  # fmt: skip
    # A new policy says when it has been followed: the exporter's Service is there then, and its monitor if asked for.
    bed.api.until(
        "nvidia.com/v1", "ClusterPolicy", "cluster-policy", None, lambda found: "state" in found.get("status", {})
    )


def helm_run(bed: Bed, *arguments: str, helm: str = "4") -> str:
    """Run Helm on the bed; return what it printed."""
    done = subprocess.run(
        [str(bed.helm(helm)), *arguments], env=bed.environment(helm=helm), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
