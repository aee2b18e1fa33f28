"""The real Prometheus Operator and the real Prometheus, run for the pods that would hold them.

The operator's pod gets the operator with the arguments of its own container; a Prometheus StatefulSet's pod gets a
Prometheus with the configuration that the operator wrote for it. Both serve on loopback; the pod's address leads
there.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.cluster import build, promconfig
from tests.cluster.api import Api, Object
from tests.cluster.network import Network
from tests.cluster.processes import Processes, free_port

_OPERATOR_IMAGE = "/prometheus-operator"
_PROMETHEUS_LABEL = "operator.prometheus.io/name"
_PROMETHEUS_PORT = 9090
_KEPT_FLAGS = ("--web.external-url", "--web.route-prefix", "--enable-feature", "--storage.tsdb.retention", "--query.")
"""Which of its container's flags Prometheus is given; the rest are about the pod's files and listeners."""


class Monitoring:
    """Starts the real programs: `run` is a runner for the simulator."""

    def __init__(self, api: Api, network: Network, processes: Processes, kubeconfig: Path) -> None:
        self._api = api
        self._network = network
        self._processes = processes
        self._kubeconfig = kubeconfig
        self._numbers = itertools.count()

    def run(self, pod: Object, ip: str) -> Operator | Prometheus | None:
        """Start the program that stands for *pod*, None if it holds neither."""
        for container in pod["spec"]["containers"]:
            image = container["image"].partition("@")[0].rpartition(":")[0] or container["image"]
            if image.endswith(_OPERATOR_IMAGE):
                return self._operator(pod, container, ip)
            if container["name"] == "prometheus" and _PROMETHEUS_LABEL in pod["metadata"].get("labels", {}):
                return self._prometheus(pod, container, ip)
        return None

    def _operator(self, pod: Object, container: Object, ip: str) -> Operator:
        name = f"operator-{next(self._numbers)}"
        files = _mounted_secrets(self._api, pod, container, self._processes.folder / name)
        port = free_port()
        environment = {v["name"]: v["value"] for v in container.get("env", ()) if "value" in v}
        listen = 8080
        arguments = []
        for argument in container.get("args", ()):
            flag, _, value = promconfig.substituted(argument, environment).partition("=")
            if flag == "--web.listen-address":
                listen = int(value.rpartition(":")[2])
                continue
            arguments.append(f"{flag}={files.get(value, value)}" if value else flag)
        self._processes.start(
            name,
            [str(build.binary("operator")), *arguments, f"--web.listen-address=127.0.0.1:{port}"],
            env=environment | {"KUBECONFIG": str(self._kubeconfig)},
        )
        self._network.route(ip, listen, ("127.0.0.1", port))
        secure = any(argument.startswith("--web.enable-tls=true") for argument in arguments)
        return Operator(self._processes, name, f"http{'s' if secure else ''}://127.0.0.1:{port}/healthz")

    def _prometheus(self, pod: Object, container: Object, ip: str) -> Prometheus:
        name = f"prometheus-{next(self._numbers)}"
        port = free_port()
        self._network.route(ip, _PROMETHEUS_PORT, ("127.0.0.1", port))
        flags = [flag for flag in container.get("args", ()) if flag.startswith(_KEPT_FLAGS)]
        prefix = next((flag.partition("=")[2] for flag in flags if flag.startswith("--web.route-prefix")), "/")
        configuration = _Configuration(
            self._api, pod, self._processes.folder / name,
            kubeconfig=self._kubeconfig, proxy_url=self._network.proxy_url,
        )  # fmt: skip
        configuration.refresh()
        self._processes.start(
            name,
            [
                str(build.binary("prometheus")),
                *flags,
                f"--config.file={configuration.file}",
                f"--storage.tsdb.path={configuration.folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--web.enable-lifecycle",
            ],
        )
        return Prometheus(self._processes, name, f"http://127.0.0.1:{port}{prefix.rstrip('/')}", configuration)


class Operator:
    """A running Prometheus Operator."""

    def __init__(self, processes: Processes, name: str, health_url: str) -> None:
        self._processes = processes
        self._name = name
        self._probe = _Probe(health_url)

    def ready(self) -> bool:
        """Return whether it serves; ProcessError if it has ended."""
        self._processes.check(self._name)
        return self._probe.passes()

    def stop(self) -> None:
        """End it."""
        self._processes.stop(self._name)


class Prometheus:
    """A running Prometheus that follows its configuration."""

    def __init__(self, processes: Processes, name: str, url: str, configuration: _Configuration) -> None:
        self._processes = processes
        self._name = name
        self._url = url
        self._probe = _Probe(f"{url}/-/ready")
        self._configuration = configuration
        self._stale = False
        """Whether it has not read its configuration as it is by now."""

    def ready(self) -> bool:
        """Return whether it serves, after a look at its configuration; ProcessError if it has ended."""
        self._processes.check(self._name)
        if not self._probe.passes():
            return False
        self._stale = self._configuration.refresh() or self._stale
        if self._stale:
            # A refused reload is Prometheus' to tell, in its log and metrics: it goes on with what it had.
            with contextlib.suppress(httpx.TransportError):  # no time for it now; the next look asks again
                httpx.post(f"{self._url}/-/reload", timeout=30, trust_env=False)
                self._stale = False
        return True

    def stop(self) -> None:
        """End it."""
        self._processes.stop(self._name)


class _Configuration:
    """The files of one Prometheus: its configuration and rules, rewritten whenever the operator changes them."""

    def __init__(self, api: Api, pod: Object, folder: Path, *, kubeconfig: Path, proxy_url: str) -> None:
        self.folder = folder
        self.file = folder / "prometheus.yaml"
        self._api = api
        self._pod = pod
        self._kubeconfig = kubeconfig
        self._proxy_url = proxy_url
        self._versions: list[str] = []

    def refresh(self) -> bool:
        """Write the files anew if what they are made from has changed; return whether it has."""
        sources = list(self._sources())
        versions = [source["metadata"]["resourceVersion"] for source in sources]
        if versions == self._versions:
            return False
        self.folder.mkdir(exist_ok=True)
        rules = self.folder / "rules"
        for source in sources:
            if source["kind"] == "ConfigMap":
                directory = rules / source["metadata"]["name"]
                directory.mkdir(parents=True, exist_ok=True)
                for stale in set(directory.iterdir()) - {directory / key for key in source.get("data", {})}:
                    stale.unlink()
                for key, text in source.get("data", {}).items():
                    (directory / key).write_text(text)
            else:
                self.file.write_text(yaml.safe_dump(self._rewritten(source, rules), sort_keys=False))
        self._versions = versions
        return True

    def _rewritten(self, secret: Object, rules: Path) -> dict[str, Any]:
        text = gzip.decompress(base64.b64decode(secret["data"]["prometheus.yaml.gz"])).decode()
        variables = {"POD_NAME": self._pod["metadata"]["name"], "SHARD": "0"}
        return promconfig.outside(
            yaml.safe_load(promconfig.substituted(text, variables)),
            kubeconfig=str(self._kubeconfig),
            proxy_url=self._proxy_url,
            rules=str(rules),
            token=str(self._token()),
        )

    def _token(self) -> Path:
        """Return the file with the token of the pod's service account, which has the rights that RBAC gives it."""
        file = self.folder / "token"
        if not file.exists():
            namespace, account = self._pod["metadata"]["namespace"], self._pod["spec"].get("serviceAccountName")
            path = self._api.path("v1", "ServiceAccount", namespace, account or "default")
            request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
            token = self._api.request("POST", f"{path}/token", request)["status"]["token"]
            file.touch(mode=0o600)
            file.write_text(token)
        return file

    def _sources(self) -> Iterator[Object]:
        namespace = self._pod["metadata"]["namespace"]
        for volume in self._pod["spec"]["volumes"]:
            if volume["name"] == "config":
                yield self._api.get("v1", "Secret", volume["secret"]["secretName"], namespace)
            elif "-rulefiles-" in volume.get("configMap", {}).get("name", ""):
                rules = self._api.find("v1", "ConfigMap", volume["configMap"]["name"], namespace)
                if rules is not None:  # the operator mounts more of them than it fills, as optional volumes
                    yield rules


def _mounted_secrets(api: Api, pod: Object, container: Object, folder: Path) -> dict[str, str]:
    """Write the Secrets that *container* mounts below *folder*; return path in the pod -> path of ours."""
    secrets = {v["name"]: v["secret"]["secretName"] for v in pod["spec"].get("volumes", ()) if "secret" in v}
    written = {}
    for mount in container.get("volumeMounts", ()):
        if mount["name"] in secrets:
            secret = api.get("v1", "Secret", secrets[mount["name"]], pod["metadata"]["namespace"])
            folder.mkdir(mode=0o700, exist_ok=True)
            for key, value in secret.get("data", {}).items():
                (folder / key).write_bytes(base64.b64decode(value))
                written[f"{mount['mountPath'].rstrip('/')}/{key}"] = str(folder / key)
    return written


class _Probe:
    """A readiness probe: who was ready is so until several looks in a row say otherwise, as for a kubelet."""

    FAILURES = 3

    def __init__(self, url: str) -> None:
        self._url = url
        self._failed = self.FAILURES

    def passes(self) -> bool:
        """Look, and return whether the pod is to be called ready."""
        self._failed = 0 if self._answers() else self._failed + 1
        return self._failed < self.FAILURES

    def _answers(self) -> bool:
        try:
            # The operator's certificate names the Service, not the loopback address that is asked here.
            return httpx.get(self._url, timeout=2, verify=False, trust_env=False).is_success
        except httpx.TransportError:
            return False
