"""The bed: a Kubernetes cluster for one test module or one demonstration.

    with Bed(monitoring=True) as bed:
        bed.apply_crds("prometheus-operator")
        subprocess.run([bed.helm("4"), "install", …], env=bed.environment(), check=True)

etcd, API server, controller-manager, scheduler, Helm, Prometheus Operator and Prometheus are the real programs; nodes,
kubelets, the GPU Operator and the pod network are simulated. Everything is on loopback and in one temporary folder,
and goes when the `with` ends or when this process dies, however it dies.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from tests.cluster import build, controlplane
from tests.cluster.api import Api, Object, eventually
from tests.cluster.certificates import Pair
from tests.cluster.clusterpolicy import EXPORTER, EXPORTER_PORT, NAMESPACE, GpuOperator
from tests.cluster.exporters import Exposition
from tests.cluster.kubelet import Kubelet
from tests.cluster.monitoring import Monitoring
from tests.cluster.network import Address, Network
from tests.cluster.nodes import CPU_MACHINE, GPU_MACHINE, KUBELET_PORT
from tests.cluster.processes import Processes, free_port
from tests.cluster.simulator import Simulator

METRICS = Path(__file__).parent.parent / "data" / "metrics"


class Bed:
    """A cluster that is up between `__enter__` and `__exit__`."""

    kubeconfig: Path
    """The administrator's kubeconfig, context `bed`."""
    api: Api
    """A thin client with the administrator's rights."""
    simulated = True
    """Whether pods can be held, exposed and so on; on somebody else's cluster (ForeignCluster) they cannot."""

    def __init__(self, *, gpu: bool = True, monitoring: bool = False) -> None:
        """Describe a cluster with a CPU node and, unless *gpu* is false, a GPU node.

        With *monitoring*, a Prometheus Operator whose Deployment appears on the cluster really runs, and so does
        each Prometheus that it makes; without, their pods are as empty as all others.
        """
        self._gpu = gpu
        self._monitoring = monitoring
        self._stopping: list[Callable[[], None]] = []
        self._closing: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        """Start everything; when that fails, nothing is left running."""
        # /tmp and not $TMPDIR: the path of a unix socket holds 107 bytes at most, and that one may be long.
        self.folder = Path(tempfile.mkdtemp(prefix="kvobs-bed-", dir="/tmp"))
        self._processes = Processes(self.folder)
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything and remove the bed's folder."""
        self._stop()

    def kubeconfig_for(self, user: str, *groups: str, expired: bool = False) -> Path:
        """Return a kubeconfig for *user*, who may do what RBAC grants them; with *expired*, nothing at all."""
        pair = self._plane.authority.client(user, groups, expired=expired)
        path = self.folder / f"{user.replace(':', '-')}{'-expired' if expired else ''}.kubeconfig"
        return self._plane.kubeconfig(path, user, pair=pair)

    def server_certificate(self, *hosts: str) -> Pair:
        """Return a certificate and key for a server known by *hosts*, which whoever trusts the bed's server trusts."""
        return self._plane.authority.server(*hosts)

    def helm(self, major: str = "4") -> Path:
        """Return the executable `helm` of the major version "4" or "3"."""
        return build.binary(f"helm{major}")

    def environment(self, helm: str = "4") -> dict[str, str]:
        """Return this process's environment with the bed's kubeconfig, and with Helm first on PATH and at home here."""
        homes = {f"HELM_{kind}_HOME": str(self.folder / f"helm-{kind.lower()}") for kind in ("CACHE", "CONFIG", "DATA")}
        # What Helm and kubectl remember of an API server, by its port, would be there for the next bed on that port.
        homes["KUBECACHEDIR"] = str(self.folder / "kube-cache")
        return _environment(self.helm(helm), self.kubeconfig) | homes

    def apply_crds(self, name: str) -> None:
        """Apply the CRDs of "prometheus-operator" or "gpu-operator", and return once they are served."""
        apply_crds(self.api, name)

    def expose(self, pattern: str, port: int, exposition: Exposition | Address) -> None:
        """Let *port* of the pods that match, now or later, lead to an exposition or any server on loopback."""
        if isinstance(exposition, Exposition):
            self._closing.append(exposition.close)
        self._simulator.serve(pattern, port, exposition.address if isinstance(exposition, Exposition) else exposition)

    def write_log(self, pattern: str, text: str) -> None:
        """Let the containers of the pods that match have written *text*."""
        self._simulator.write_log(pattern, text)

    def hold(self, pattern: str, reason: str = "Unready", message: str = "") -> None:
        """Keep the pods that match from being ready, now and later, until `release` with the same pattern.

        "Unready" and "CrashLoopBackOff" leave them running; any other reason ("ImagePullBackOff", …) is that of a
        container which waits in a pending pod.
        """
        self._simulator.hold(pattern, reason, message)

    def release(self, pattern: str) -> None:
        """Let go of what `hold` holds by *pattern*."""
        self._simulator.release(pattern)

    def running(self) -> set[str]:
        """Return the names of the bed's real processes that run now, "kube-apiserver", "operator-0" and so on."""
        return self._processes.running()

    def log(self, process: str) -> str:
        """Return what a process of the bed ("kube-apiserver", "operator-0", "prometheus-0", …) has written."""
        return self._processes.log(process).read_text(errors="replace")

    def _start(self) -> None:
        self._network = Network(self.folder / "proxy.sock")
        self._closing.append(self._network.close)
        self._plane = controlplane.start(self._processes, self._network.socket)
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.api = Api(self.kubeconfig)
        self._closing.append(self.api.close)
        self._network.route(controlplane.ADVERTISED, self._plane.port, ("127.0.0.1", self._plane.port))
        machines = [CPU_MACHINE, GPU_MACHINE] if self._gpu else [CPU_MACHINE]
        monitoring = Monitoring(self.api, self._network, self._processes, self.kubeconfig)
        runners = [monitoring.run] if self._monitoring else []
        self._simulator = Simulator(self.api, self._network, machines, runners)
        forward = ("127.0.0.1", free_port())
        self._processes.start(
            "port-forward",
            [
                str(build.binary("controlplane")), "port-forward", "{}:{}".format(*forward),
                f"127.0.0.1:{self._network.port}",
            ],
        )  # fmt: skip
        pair = self._plane.authority.server(*(machine.ip for machine in machines))
        kubelet = Kubelet(self._simulator, pair, self.folder, forward)
        self._closing.append(kubelet.close)
        for machine in machines:
            self._network.route(machine.ip, KUBELET_PORT, kubelet.address)
        gpus = Exposition.of_file(METRICS / "dcgm-4.5-hostname-old-case.txt", growth=0.01)
        self.expose(f"{NAMESPACE}/{EXPORTER}-*", EXPORTER_PORT, gpus)
        for part in (self._simulator, GpuOperator(self.api)):
            self._stopping.append(part.stopping)
            self._closing.append(part.close)
        self._simulator.start()

    def _stop(self) -> None:
        # Watches end when the API server does, and only then can the threads that hold them be waited for.
        for stopping in self._stopping:
            stopping()
        self._processes.close()
        for close in reversed(self._closing):
            close()


class ForeignCluster:
    """Any other cluster, by its kubeconfig, behind the part of Bed's interface that needs no simulation."""

    simulated = False

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.api = Api(kubeconfig)

    def helm(self, major: str = "4") -> Path:
        """Return the executable `helm` of the major version "4" or "3"."""
        return build.binary(f"helm{major}")

    def environment(self, helm: str = "4") -> dict[str, str]:
        """Return this process's environment with the cluster's kubeconfig, and with Helm first on PATH."""
        return _environment(self.helm(helm), self.kubeconfig)

    def apply_crds(self, name: str) -> None:
        """Apply the CRDs of "prometheus-operator" or "gpu-operator", and return once they are served."""
        apply_crds(self.api, name)


def _environment(helm: Path, kubeconfig: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")}
    path = f"{helm.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"KUBECONFIG": str(kubeconfig), "PATH": path}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml is six times faster
    """PyYAML, but a plain `=` is text, as it is to Go: the operator's CRDs list it among Alertmanager's operators."""


_Loader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)


def apply_crds(api: Api, name: str) -> None:
    """Apply the CRDs that come with the pinned module of *name*, and return once they are served."""
    crds: list[Object] = [yaml.load(file.read_text(), _Loader) for file in build.crd_files(name)]
    api.apply(*crds)
    until_served(api, *crds)


def until_served(api: Api, *crds: Object) -> None:
    """Return once what the CRDs define can be listed, and stands in both kinds of discovery.

    An established definition is none of that yet: the API server takes it up in several places, one after the other.
    """
    for crd in crds:
        spec = crd["spec"]
        for version in (each["name"] for each in spec["versions"] if each["served"]):
            eventually(lambda at=f"{spec['group']}/{version}", kind=spec["names"]["kind"]: api.lists(at, kind))
