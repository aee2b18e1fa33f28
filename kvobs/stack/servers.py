"""Recognise vLLM servers among pods: by what they run, by their image, by a well-known label."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise

from .facts import MetricsPod, Object
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

VLLM_PORT = 8000
"""Where vLLM serves its API and /metrics unless it is told otherwise."""

PORT_LABEL = "kvobs.dev/port"
"""On a Service: the name of the port to scrape; on a pod: its number."""

_LABELS: Mapping[str, tuple[str, ...]] = {
    "app.kubernetes.io/name": ("vllm", "vllm-openai"),
    "app": ("vllm", "vllm-openai"),
    "llm-d.ai/inference-serving": ("true",),
    "llm-d.ai/inferenceServing": ("true",),
    "model.aibrix.ai/engine": ("vllm",),
}
"""Labels whose value says that a pod serves with vLLM, or with a simulator that serves vLLM's metrics."""

_BESIDE = (
    "router",
    "routing",
    "operator",
    "bench",
    "proxy",
    "gateway",
    "controller",
    "scheduler",
    "sidecar",
    "webui",
    "semantic",
    "downloader",
    "exporter",
    "sglang",
    "epp",
    "loadgen",
    "guidellm",
)
"""Beginnings of words in the name of an image that stands beside vLLM, or serves with something else."""

_OTHER_COMMANDS = ("bench", "chat", "complete", "run-batch", "collect-env")
"""vLLM's subcommands that serve no metrics."""

_OTHER_MODULES = ("run_batch", "grpc_server")
"""Modules below vllm.entrypoints that serve no metrics over HTTP."""

_OTHER_PROGRAMS = ("dynamo.frontend", "multi-node-serving.sh")
"""Programs of vLLM's images, and of images built on them, that serve none of vLLM's metrics by themselves."""

_IDLE = ("sleep", "tail")
"""What the container of somebody's workbench runs."""


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
        runs = _Command(container)
        if runs.serves:
            return _metrics_pod(pod, container, runs)
    if of_job:
        return None
    labels = labels_of(pod)
    by_label = any(labels.get(key) in values for key, values in _LABELS.items())
    for container in containers:
        runs = _Command(container)
        if runs.something_else or _beside(container):
            continue
        if by_label or _is_vllm_image(container):
            return _metrics_pod(pod, container, runs)
    return None


def pod_behind(pod: Object) -> MetricsPod | None:
    """Return *pod* as a server because the user says so, None where it has run to its end."""
    if is_finished(pod):
        return None
    return vllm_pod(pod) or _of(pod, metrics_port=None, scheme="http")


def _metrics_pod(pod: Object, container: Object, runs: _Command) -> MetricsPod:
    port = _stated_port(labels_of(pod)) or runs.port or _default_port(container, runs)
    return _of(pod, metrics_port=port, scheme="https" if runs.has_flag("--ssl-certfile") else "http")


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
    for key in (PORT_LABEL, "model.aibrix.ai/port"):
        if labels.get(key, "").isdecimal():
            return int(labels[key])
    return None


def _default_port(container: Object, runs: _Command) -> int | None:
    """The port of a server whose arguments name none that can be read.

    vLLM's own default, where vLLM's own command line is what runs; else (a wrapper's image, a configuration
    file, `--port $PORT` with a variable from elsewhere) what the container says of itself: its health probe, or its
    only port.
    """
    elsewhere = runs.has_flag("--config") or runs.has_flag("--port")
    if runs.default_port and not elsewhere:
        return runs.default_port
    declared: dict[int, str | None] = {
        int(port["containerPort"]): port.get("name") for port in container.get("ports") or ()
    }
    for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
        port = ((container.get(probe) or {}).get("httpGet") or {}).get("port")
        if isinstance(port, int):
            return port
        by_name = next((number for number, name in declared.items() if name == port), None)
        if port and by_name is not None:
            return by_name
    if VLLM_PORT in declared:
        return VLLM_PORT
    if len(declared) == 1:
        return next(iter(declared))
    return None if declared or runs.has_flag("--port") or not _is_vllm_image(container) else VLLM_PORT


def _beside(container: Object) -> bool:
    path = image_path(container.get("image") or "")
    parts = path[1:] or path  # whose image it is says nothing about what it is
    return any(word.startswith(_BESIDE) for part in parts for word in _words_in(part))


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


class _Command:
    """What a container runs, as words; a shell's script is read word by word."""

    def __init__(self, container: Object) -> None:
        command, args = container.get("command") or (), container.get("args") or ()
        environment = environment_of(container)
        self.words: list[str] = [w for each in (*command, *args) for w in _words(str(each), environment)]
        self.serves, start, self.default_port = _serving(self.words)
        self._given = self.words[start:]
        if self.serves and self.has_flag("--headless"):
            self.serves = ""
        self._overridden = bool(command)
        self.something_else = self._is_something_else()

    @property
    def port(self) -> int | None:
        """The port that the arguments name."""
        for flag, value in pairwise((*self._given, "")):
            text = value if flag == "--port" else flag.removeprefix("--port=") if flag.startswith("--port=") else ""
            if text.isdecimal():
                return int(text)
        return None

    def has_flag(self, name: str) -> bool:
        """Whether a flag is given, with or without `=value`."""
        return any(word == name or word.startswith(name + "=") for word in self._given)

    def _is_something_else(self) -> bool:
        """Whether the words say that no server of vLLM's is started here."""
        if self.serves:
            return False
        if self.has_flag("--headless") or any("vllm.entrypoints." in w.replace("/", ".") for w in self.words):
            return True
        words = [_base(word) for word in self.words]
        pairs = set(pairwise(words))
        if ("ray", "start") in pairs or any(("vllm", each) in pairs for each in _OTHER_COMMANDS):
            return True
        if any("bench" in word or word in _OTHER_PROGRAMS for word in words):
            return True
        return self._overridden and any(word in _IDLE for word in words)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _words(text: str, environment: Mapping[str, str]) -> Sequence[str]:
    """Split a shell's script into words; `$(X)`, `$X` and `${X}` are filled in from *environment*."""
    text = re.sub(
        r"\$(?:\((\w+)\)|\{(\w+)(?::?-([^}]*))?\}|(\w+))",
        lambda m: environment.get(m[1] or m[2] or m[4], m[3] if m[3] is not None else m[0]),
        text,
    )
    if not re.search(r"\s", text):
        return (text,)
    script = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quote: a here-document, say; the words are still worth a look
        return script.split()
    # A quoted command inside a command: `eval "vllm serve …"`.
    return [each for word in words for each in _words(word, environment)]


def _serving(words: Sequence[str]) -> tuple[str, int, int | None]:
    """(what is run of vLLM, where its arguments start, the port it takes by default); "" where nothing is."""
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if _base(word) == "vllm" and following == "serve":
            return "vllm serve", index + 2, VLLM_PORT
        dotted = word.replace("/", ".")
        at = dotted.find("vllm.entrypoints.")
        if at >= 0:
            module = dotted[at:].removesuffix(".py")
            is_cli = module.startswith("vllm.entrypoints.cli")
            if module.endswith(_OTHER_MODULES) or (is_cli and following != "serve"):
                continue
            return module, index + 1, VLLM_PORT
        if word == "dynamo.vllm":  # NVIDIA Dynamo's worker serves metrics on its system port
            return word, index + 1, None
        if word.endswith("/vllm/inference_api.py"):  # KAITO
            return "vllm/inference_api.py", index + 1, 5000
    return "", 0, None
