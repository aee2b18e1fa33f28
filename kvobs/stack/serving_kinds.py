"""What is known of the programs and stacks that serve language models, as data: what says vLLM, and what says not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VLLM_PORT = 8000
"""Where vLLM serves its API and /metrics unless it is told otherwise."""

PORT_LABEL = "kvobs.dev/port"
"""On a Service: the name of the port to scrape; on a pod: its number."""

SCRAPE_LABEL = "kvobs.dev/scrape"
"""Says that a server wants to be scraped by the generic monitor of its kind."""
SCRAPE_SERVICE = "vllm"
SCRAPE_POD = "vllm-pod"

PORT_LABELS = (PORT_LABEL, "model.aibrix.ai/metric-port", "model.aibrix.ai/port")
"""Labels of a pod whose value is the number of its metrics port, the surest first."""

LABELS: Mapping[str, tuple[str, ...]] = {
    "app.kubernetes.io/name": ("vllm", "vllm-openai"),
    "app": ("vllm", "vllm-openai"),
    "llm-d.ai/inference-serving": ("true",),
    "llm-d.ai/inferenceServing": ("true",),
}
"""Labels whose value says that a pod serves with vLLM, or with a simulator that serves vLLM's metrics."""

ENGINE_LABELS = ("model.aibrix.ai/engine", "llm-d.ai/engine-type", "inference.networking.k8s.io/engine-type")
"""Labels whose value is the engine's name."""

ROLE_LABELS = ("app.kubernetes.io/component", "nvidia.com/dynamo-component-type")
"""Labels whose value is the part that a pod plays in its stack; `BESIDE` tells which parts are no engines."""

BESIDE = (
    *("router", "routing", "proxy", "gateway", "epp", "scheduler", "controller", "operator", "frontend", "planner"),
    *("sidecar", "downloader", "exporter", "webui", "semantic", "bench", "loadgen", "guidellm", "tokenizer", "queue"),
    *("sglang", "sgl", "tgi", "triton", "tritonserver", "trtllm", "tensorrt", "lmdeploy", "ollama", "litellm"),
    *("nginx", "envoy", "haproxy", "traefik", "caddy", "istio", "redis", "etcd", "nats", "oauth2", "jupyter", "gradio"),
)
"""Beginnings of words in the name of an image (or a part) that stands beside vLLM, or serves with something else."""

BESIDE_NAMES = ("text-generation",)
"""Beginnings of such names as a whole."""

ROUTER = "router"
ROUTER_IMAGES = ("lmstack-router", "production-stack/router")
"""How images of the production stack's router end: its gauges have vLLM's names, and a label `server`."""

OTHER_COMMANDS = ("bench", "chat", "complete", "run-batch", "collect-env", "launch")
"""vLLM's subcommands that serve none of an engine's metrics; `launch` starts a renderer, beside llm-d's router."""

OTHER_MODULES = ("run_batch", "grpc_server")
"""Modules below vllm.entrypoints that serve no metrics over HTTP."""

OTHER_PROGRAMS = (
    *("multi-node-serving.sh", "dynamo.", "lmcache", "mooncake", "vllm-router", "vllm_router"),
    *("sglang", "text-generation-", "tritonserver", "trtllm-", "tensorrt_llm", "lmdeploy", "ollama", "llama-server"),
)
"""Beginnings of the names of programs in vLLM's images, or in images built on them, that serve none of its metrics."""

INTERPRETERS = ("sh", "bash", "ash", "env", "exec", "nohup", "python", "python3", "uv", "run", "torchrun")
"""What is followed by the program that really runs."""

IDLE = ("sleep", "tail")
"""What the container of somebody's workbench runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A program that serves vLLM's metrics."""

    program: str
    """How a word of a command line ends that starts it."""
    port: int | None
    """Where it listens unless told otherwise; None: nowhere."""
    variables: tuple[str, ...] = ()
    """Environment variables that hold the number of its metrics port."""
    port_names: tuple[str, ...] = ()
    """What the stack calls its metrics port. Where there are such names, no other declared port is taken for it."""


SERVERS = (
    # NVIDIA Dynamo's worker serves metrics on its system port, and none where that is not set.
    Server(
        program="dynamo.vllm", port=None, variables=("DYN_SYSTEM_PORT",), port_names=("system", "system-0", "system-1")
    ),
    Server(program="/vllm/inference_api.py", port=5000),  # KAITO
)
"""Programs beside vLLM's own command line."""

RAY_NODE = "ray.io/node-type"
RAY_SERVE: Mapping[str, tuple[str, ...]] = {
    "ray.io/originated-from-crd": ("RayService",),
    "ray.io/serve": ("true", "false"),
}
"""Labels of Ray's pods that run Ray Serve."""
RAY_LLM_IMAGE = "ray-llm"
RAY_METRICS_PORT = 8080
"""Where Ray serves the metrics of a node, those of a vLLM that runs inside it included."""
RAY_PREFIX = "ray_vllm_"
