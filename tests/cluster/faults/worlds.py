"""The clusters on which kvobs meets faults: one with somebody's stack, and one with nothing, where Helm has work."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import kvobs
from kvobs.adapters.cluster import Cluster
from kvobs.adapters.helm import Helm
from kvobs.settings import DEFAULT_NAMESPACE, Settings
from kvobs.use_cases.progress import Silent
from tests.cluster.api import Api, ApiError, Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import chart_under_test, small_chart
from tests.cluster.faults.proxy import FaultProxy
from tests.cluster.lean import LEAN, made
from tests.cluster.snapshots import Snapshot, differences, settled, snapshot
from tests.cluster.workloads import gpu_operator, helm_run, vllm

Action = Literal["install", "uninstall"]
ACTIONS: tuple[Action, ...] = ("install", "uninstall")
Client = Literal["kvobs", "Helm"]
State = tuple[Any, Any]
"""What is there beyond the world as it was, and what is different of what was there."""

STACK_NAMESPACE = "observability"
DIFFER = "ConfigMap", "Namespace", "Secret"
CUSTOM = "ServiceMonitor.monitoring.coreos.com", "PodMonitor.monitoring.coreos.com", "ClusterPolicy.nvidia.com"
LEASE_S = 10
"""How long a run beside somebody's stack waits for another: none takes longer, but the one that never comes."""
HELM_SILENT_S = 10
"""How long Helm may take, and kvobs gives it half a minute more, where nobody answers it: it has no other limit."""
SILENT_S = 3.0
"""The time-out of one request where the fault is silence."""
PATIENCE_S = 120
"""How long controllers may take for what they make or take away, on a machine that has other things to do."""


class Steps(Silent):
    """Remembers the step of a run."""

    def __init__(self) -> None:
        self.now = "look at the cluster"

    def step(self, title: str) -> None:
        """Remember it."""
        self.now = title


@dataclass(frozen=True, kw_only=True)
class World:
    """A cluster, kvobs' settings on it, and how it looks with and without kvobs."""

    name: str
    bed: Bed
    proxy: FaultProxy
    settings: Settings
    client: Client
    """Whose requests take the way through the proxy."""
    look: Callable[[Api], Snapshot]
    before: Snapshot = field(repr=False)
    delete_namespace: bool = False

    def run(self, action: Action, *, faulty: bool = False, silent: bool = False, steps: Steps | None = None) -> None:
        """Do it to the end; *faulty*: through the proxy, with *silent* requests given up soon."""
        through = str(self.proxy.kubeconfig)
        direct = str(self.bed.kubeconfig)
        cluster = Cluster.connect(
            through if faulty and self.client == "kvobs" else direct,
            request_timeout_s=SILENT_S if silent else 30,
            sleep=_no_pause,
        )
        hurried = silent and self.client == "Helm"
        settings = replace(self.settings, timeout_s=HELM_SILENT_S) if hurried else self.settings
        helm = Helm(
            executable=settings.helm,
            kubeconfig=through if faulty and self.client == "Helm" else direct,
            environment=self.bed.environment(),
            timeout_s=settings.timeout_s,
        )
        with contextlib.closing(cluster):
            if action == "install":
                kvobs.install(settings, cluster=cluster, helm=helm, progress=steps)
            else:
                kvobs.uninstall(
                    settings, cluster=cluster, helm=helm, progress=steps, delete_namespace=self.delete_namespace
                )

    def arguments(self, action: Action) -> list[str]:
        """The same as a command."""
        if action == "uninstall":
            return ["uninstall", "--yes", *(["--delete-namespace"] if self.delete_namespace else [])]
        chart = ["--chart", self.settings.chart] if self.settings.chart else []
        values = [word for value in self.settings.set_values for word in ("--set", value)]
        return ["install", "--no-wait", *chart, *values]

    def emptied(self, *, by_force: bool = False) -> None:
        """Return once a namespace that an uninstall has deleted is gone: nothing can be made in one that is going."""
        if self.delete_namespace and by_force:
            self.bed.api.delete("v1", "Namespace", DEFAULT_NAMESPACE)
        if self.delete_namespace:
            eventually(lambda: self.bed.api.find("v1", "Namespace", DEFAULT_NAMESPACE) is None, timeout_s=PATIENCE_S)

    def state(self) -> State:
        """How the cluster looks now."""
        now = self.look(self.bed.api)
        changed = {key: how for key, how in differences(self.before, now).items() if key in self.before}
        return made(now, self.before), changed

    def settled(self) -> State:
        """How the cluster looks once nothing changes on it."""
        settled(self.bed.api)
        return self.state()

    def until(self, wanted: State) -> State:
        """How the cluster looks as soon as that is as *wanted*, or after a while: what controllers make comes later."""
        end = time.monotonic() + PATIENCE_S
        while (now := self.state()) != wanted and time.monotonic() < end:
            time.sleep(0.2)
        return now

    def let_the_process_end(self) -> None:
        """Let a Lease that a run could not give back be that of a process which has ended, as a command has by now."""
        for lease in self.bed.api.list("coordination.k8s.io/v1", "Lease"):
            if lease["metadata"]["name"] == "kvobs":
                host, _, mark = lease["spec"]["holderIdentity"].split("/")
                self.bed.api.merge(lease, {"spec": {"holderIdentity": f"{host}/{_dead()}/{mark}"}})


def _no_pause(seconds: float) -> None:
    """Let a fault that comes once be over at once."""


def _dead() -> int:
    ended = subprocess.Popen(["true"])
    ended.wait()
    return ended.pid


@contextmanager
def reused(folder: Path) -> Iterator[World]:
    """Give a GPU cluster with vLLM and somebody's stack: a run takes half a second, and Helm has nothing to do."""
    with Bed(gpu=True) as bed, _proxied(bed, folder) as proxy:
        helm_run(bed, "install", "kps", str(small_chart()), "-n", STACK_NAMESPACE, "--create-namespace")
        gpu_operator(bed, "--set", "dcgmExporter.serviceMonitor.enabled=true")
        vllm(bed)
        vllm(bed, "alone", service=False)
        exporter = ("monitoring.coreos.com/v1", "ServiceMonitor", "nvidia-dcgm-exporter", "gpu-operator")
        eventually(lambda: bed.api.find(*exporter))
        settled(bed.api)
        settings = Settings(wait=False, helm="/no/helm", timeout_s=LEASE_S)
        yield World(
            name="somebody's stack", bed=bed, proxy=proxy, settings=settings, client="kvobs",
            look=_focused, before=_focused(bed.api),
        )  # fmt: skip


@contextmanager
def fresh(folder: Path) -> Iterator[World]:
    """Give an empty cluster, where an install makes a namespace, a Secret and a Helm release."""
    with Bed(gpu=False) as bed, _proxied(bed, folder) as proxy:
        bed.apply_crds("prometheus-operator")
        settings = Settings(
            chart=str(chart_under_test()), set_values=tuple(LEAN), wait=False, helm=str(bed.helm()), timeout_s=60
        )
        world = World(
            name="an empty cluster", bed=bed, proxy=proxy, settings=settings, client="kvobs",
            look=_whole, before={}, delete_namespace=True,
        )  # fmt: skip
        # What the first install leaves for good (Helm's mark on CRDs that were there) is there before all others.
        world.run("install")
        world.run("uninstall")
        world.emptied()
        yield replace(world, before=settled(bed.api))


def helms(world: World) -> World:
    """Return an empty *world* for Helm's requests: with a namespace that stays, since one takes longest to go."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": DEFAULT_NAMESPACE}}
    world.bed.api.apply(namespace)
    helm = replace(world, client="Helm", delete_namespace=False)
    # What Helm has once read of the API's schema by this way it keeps, and asks for no more.
    for action in ACTIONS:
        helm.run(action, faulty=True)
    return replace(helm, before=settled(world.bed.api))


@contextmanager
def _proxied(bed: Bed, folder: Path) -> Iterator[FaultProxy]:
    with contextlib.closing(FaultProxy(bed, folder)) as proxy:
        yield proxy


def _whole(api: Api) -> Snapshot:
    """Return every object, where no kind is about to come or go."""

    def look() -> Snapshot | None:
        with contextlib.suppress(ApiError):
            return snapshot(api)
        return None

    return eventually(look)


def _focused(api: Api) -> Snapshot:
    """Return the objects of the kinds that kvobs makes or changes beside a stack that is there."""
    found: dict[tuple[str, str, str], Object] = {}
    for kind in (*DIFFER, *CUSTOM):
        name, _, group = kind.partition(".")
        version = f"{group}/v1" if group else "v1"
        for each in api.list(version, name):
            found[kind, each["metadata"].get("namespace", ""), each["metadata"]["name"]] = each
    return found
