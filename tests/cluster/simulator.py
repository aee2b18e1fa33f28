"""Simulated kubelets: pods that were bound to a node run, get ready, end and go, as told."""

from __future__ import annotations

import contextlib
import fnmatch
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from tests.cluster import hooks, nodes, podstatus
from tests.cluster.api import Api, ApiError, Busy, Object, background
from tests.cluster.network import Address, Network
from tests.cluster.nodes import Machine
from tests.cluster.podstatus import Hold

TICK_S = 0.5
HEARTBEAT_S = 10


class Program(Protocol):
    """A real program that stands for the containers of one pod."""

    def ready(self) -> bool:
        """Return whether it serves; asked twice a second, so that it can also look after itself."""

    def stop(self) -> None:
        """End it."""


Runner = Callable[[Object, str], Program | None]
"""Starts the program that stands for a pod at an address; None for a pod that it knows no program for."""


class Simulator:
    """The kubelets of all machines. Patterns are shell patterns over pod names, or over `namespace/name`."""

    def __init__(self, api: Api, network: Network, machines: Sequence[Machine], runners: Sequence[Runner]) -> None:
        self._api = api
        self._network = network
        self._machines = {machine.name: machine for machine in machines}
        self._runners = runners
        self._addresses = (f"10.1.{n // 250}.{n % 250 + 1}" for n in itertools.count())
        self._pods: dict[str, Object] = {}  # everything here is by the pod's uid
        self._ips: dict[str, str] = {}
        self._programs: dict[str, Program | None] = {}
        self._work_done: dict[str, str | None] = {}
        self._unsettled: set[str] = set()
        self._holds: dict[str, Hold] = {}
        self._servers: list[tuple[str, int, Address]] = []
        self._logs: dict[str, str] = {}
        self._changed: queue.Queue[str] = queue.Queue()
        self._stopped = threading.Event()
        self._watching: list[threading.Thread] = []
        self._working: list[threading.Thread] = []

    def start(self) -> None:
        """Let the machines join the cluster, and run what is bound to them from now on."""
        for machine in self._machines.values():
            nodes.register(self._api, machine)
        self._watching.append(background("bed pods' watch", self._watch_pods, self._stopped))
        self._working.append(background("bed kubelets", self._settle_pods, self._stopped))
        self._working.append(background("bed heartbeat", self._beat, self._stopped))

    def stopping(self) -> None:
        """Leave the pods alone from now on, and expect the API server to go away."""
        self._stopped.set()
        for thread in self._working:
            thread.join()

    def close(self) -> None:
        """Wait for the watch, after `stopping` and after the API server's end: nothing else ends it."""
        for thread in self._watching:
            thread.join()

    def hold(self, pattern: str, reason: str, message: str) -> None:
        """Keep pods from being ready (podstatus.Hold says how), those that are ready already too."""
        self._holds[pattern] = Hold(reason, message)
        self._look_again()

    def release(self, pattern: str) -> None:
        """Let go of what `hold` held by the same pattern."""
        del self._holds[pattern]
        self._look_again()

    def serve(self, pattern: str, port: int, server: Address) -> None:
        """Let connections to *port* of the pods reach *server*; the latest word for a pod and port counts."""
        self._servers.append((pattern, port, server))
        self._look_again()

    def write_log(self, pattern: str, text: str) -> None:
        """Let the pods' containers have written *text*."""
        self._logs[pattern] = text

    def log_of(self, namespace: str, pod: str, container: str) -> str | None:
        """Return what the container has written, None if there is no such pod."""
        found = self._named(namespace, pod)
        if found is None:
            return None
        texts = [text for pattern, text in list(self._logs.items()) if _matches(pattern, found)]
        return texts[-1] if texts else f"{container} started\n"

    def ip_of(self, namespace: str, pod: str) -> str | None:
        """Return the address of a pod, None if there is no such pod."""
        found = self._named(namespace, pod)
        return None if found is None else self._ips.get(found["metadata"]["uid"])

    def _named(self, namespace: str, name: str) -> Object | None:
        for pod in list(self._pods.values()):
            if pod["metadata"]["namespace"] == namespace and pod["metadata"]["name"] == name:
                return pod
        return None

    def _look_again(self) -> None:
        for uid in list(self._pods):
            self._changed.put(uid)

    def _beat(self) -> None:
        while not self._stopped.wait(HEARTBEAT_S):
            for machine in self._machines.values():
                # The next beat makes up for one that the API server had no time for.
                with contextlib.suppress(Busy):
                    nodes.beat(self._api, machine)

    def _watch_pods(self) -> None:
        for event, pod in self._api.follow("v1", "Pod", self._stopped):
            uid = pod["metadata"]["uid"]
            if event == "DELETED":
                self._pods.pop(uid, None)
            else:
                self._pods[uid] = pod
            self._changed.put(uid)

    def _settle_pods(self) -> None:
        looked = time.monotonic()
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Empty):
                self._settle(self._changed.get(timeout=TICK_S))
            if time.monotonic() - looked > TICK_S:
                for uid in sorted(self._unsettled):
                    self._settle(uid)
                looked = time.monotonic()

    def _settle(self, uid: str) -> None:
        """Bring one pod a step further, as its kubelet would."""
        pod = self._pods.get(uid)
        machine = self._machines.get(pod["spec"].get("nodeName", "")) if pod else None
        if pod is None:
            self._forget(uid)
            return
        if machine is None or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            self._unsettled.discard(uid)
        try:
            if machine is not None and "deletionTimestamp" in pod["metadata"]:
                self._forget(uid)
                name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
                self._api.delete("v1", "Pod", name, namespace, grace_s=0)
            elif machine is not None and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                self._report(pod, machine)
        except Busy:
            self._unsettled.add(uid)
        except ApiError as error:
            if error.status not in (404, 409):  # deleted, or changed, meanwhile
                raise
            self._unsettled.add(uid)

    def _report(self, pod: Object, machine: Machine) -> None:
        uid = pod["metadata"]["uid"]
        ip = self._ips.get(uid)
        if ip is None:
            ip = machine.ip if pod["spec"].get("hostNetwork") else next(self._addresses)
            self._ips[uid] = ip
        for pattern, port, server in self._servers:
            if _matches(pattern, pod):
                self._network.route(ip, port, server)
        hold = self._hold(pod, ip)
        facts = {"ip": ip, "node_ip": machine.ip, "now": nodes.now()}
        if hold is not None:
            status = podstatus.held(pod, hold, **facts)
        elif _is_work(pod):
            status = podstatus.ended(pod, failure=self._work(pod), **facts)
        else:
            status = podstatus.ready(pod, **facts)
        if hold is not None or self._programs.get(uid) is not None:
            self._unsettled.add(uid)
        else:
            self._unsettled.discard(uid)
        if _gist(status) != _gist(pod.get("status", {})):
            self._api.merge(pod, {"status": status}, subresource="status")

    def _hold(self, pod: Object, ip: str) -> Hold | None:
        """Return what keeps the pod from being ready: a test's word, something it mounts, or its program."""
        # A copy: a test holds and releases others meanwhile.
        holds = [hold for pattern, hold in list(self._holds.items()) if _matches(pattern, pod)]
        if holds:
            return holds[-1]
        uid = pod["metadata"]["uid"]
        if uid not in self._programs:
            if not podstatus.is_ready(pod):
                for missing in self._missing(pod):
                    return missing
            found = (runner(pod, ip) for runner in self._runners)
            self._programs[uid] = next((program for program in found if program is not None), None)
        program = self._programs[uid]
        return None if program is None or program.ready() else Hold("Unready")

    def _missing(self, pod: Object) -> Iterator[Hold]:
        namespace = pod["metadata"]["namespace"]
        for kind, name, key in podstatus.needs(pod):
            found = self._api.find("v1", kind, name, namespace)
            if found is None:
                reason = "CreateContainerConfigError" if key else "ContainerCreating"
                yield Hold(reason, f'{kind.lower()} "{name}" not found')
            elif key and key not in found.get("data", {}):
                yield Hold("CreateContainerConfigError", f"couldn't find key {key} in {kind} {namespace}/{name}")

    def _work(self, pod: Object) -> str | None:
        """Do a Job's work, once for each pod; return why it failed, None if it did not."""
        uid = pod["metadata"]["uid"]
        if uid not in self._work_done:
            try:
                hooks.run(self._api, pod)
                self._work_done[uid] = None
            except hooks.HookError as error:
                self._work_done[uid] = str(error)
        return self._work_done[uid]

    def _forget(self, uid: str) -> None:
        self._unsettled.discard(uid)
        program = self._programs.pop(uid, None)
        if program is not None:
            program.stop()
        ip = self._ips.pop(uid, None)
        if ip is not None and ip not in {machine.ip for machine in self._machines.values()}:
            self._network.unroute(ip)


def _matches(pattern: str, pod: Object) -> bool:
    name = pod["metadata"]["name"]
    full = f"{pod['metadata']['namespace']}/{name}"
    return fnmatch.fnmatch(full if "/" in pattern else name, pattern)


def _is_work(pod: Object) -> bool:
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences", ()))


def _gist(status: Object) -> object:
    """Return of a pod's status what a change of which is worth a report."""
    waits = [
        (container["state"].get("waiting", {}).get("reason"), container["state"].get("waiting", {}).get("message"))
        for container in status.get("containerStatuses", ())
    ]
    return status.get("phase"), podstatus.is_ready({"status": status}), status.get("podIP"), waits
