"""Two kvobs on one cluster at the same time: one acts, the other waits for it, and both end as one after the other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

import kvobs as library
from kvobs.adapters.helm import ChartInfo, Helm
from kvobs.settings import Settings
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.commands import LIMIT_S, Running, kvobs
from tests.cluster.lean import HOOK, INSTALL, empty_cluster, made, pending, releases, remove, whole_install
from tests.cluster.snapshots import Key, Snapshot, settled, versions

ELSEWHERE = "elsewhere/17/0"
WAITS = "  another kvobs ("
EVERYTHING = ("uninstall", "--yes", "--delete-namespace")


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """An empty cluster."""
    with empty_cluster() as empty:
        yield empty


@pytest.fixture(scope="module")
def alone(bed: Bed) -> tuple[dict[Key, Any], Snapshot]:
    """What one install makes that is alone."""
    return whole_install(bed)


def lease(bed: Bed) -> Object | None:
    """Return the Lease."""
    return bed.api.find("coordination.k8s.io/v1", "Lease", "kvobs", "monitoring")


@contextmanager
def begun(bed: Bed, *more: str) -> Iterator[Running]:
    """Have an install in the midst of Helm's work; it goes on afterwards."""
    bed.hold(HOOK)
    running = Running(*INSTALL, *more, env=bed.environment())
    try:
        eventually(lambda: pending(bed, "pending-install") or running.process.poll() is not None)
        assert running.process.poll() is None, running.end()
        yield running
    except BaseException:
        # What goes on would be in the way of every later test.
        running.cut_power()
        raise
    finally:
        bed.release(HOOK)


def test_two_installs_started_together(bed: Bed, alone: tuple[dict[Key, Any], Snapshot]) -> None:
    """Both end well and leave what one leaves: one release, installed once; and no Lease."""
    whole, before = alone
    both = [Running(*INSTALL, "-o", "json", env=bed.environment()) for _ in range(2)]
    ends = [(*running.process.communicate(timeout=LIMIT_S), running.process.returncode) for running in both]

    assert [code for _, _, code in ends] == [0, 0], ends
    outcomes = [{step["id"]: step["outcome"] for step in json.loads(report)["steps"]} for report, _, _ in ends]
    assert sorted(each["release"] for each in outcomes) == ["changed", "unchanged"]
    assert made(settled(bed.api), before) == whole
    assert releases(bed) == [("1", "deployed")]
    assert lease(bed) is None
    remove(bed)


def test_a_second_install_amid_the_first(bed: Bed, alone: tuple[dict[Key, Any], Snapshot]) -> None:
    """A release that another run is installing is not taken for one that was left pending: it is waited for."""
    whole, before = alone
    with begun(bed) as first:
        second = Running(*INSTALL, env=bed.environment())
        second.until(WAITS)
        assert f", pid {first.process.pid}, since 20" in second.said[-1]
    assert (first.end(), second.end()) == (0, 0)

    assert "look at what another kvobs did" in "".join(second.said)
    assert releases(bed) == [("1", "deployed")]
    assert made(settled(bed.api), before) == whole
    assert lease(bed) is None
    remove(bed)


def test_an_uninstall_amid_an_install(bed: Bed, alone: tuple[dict[Key, Any], Snapshot]) -> None:
    """It waits until there is something whole to take away; then nothing is left, the Lease's namespace included."""
    _, before = alone
    with begun(bed) as install:
        uninstall = Running(*EVERYTHING, env=bed.environment())
        uninstall.until(WAITS)
    assert (install.end(), uninstall.end()) == (0, 0)

    eventually(lambda: bed.api.find("v1", "Namespace", "monitoring") is None)
    assert made(settled(bed.api), before) == {}


def test_one_that_came_and_went(bed: Bed, alone: tuple[dict[Key, Any], Snapshot]) -> None:
    """What another run did between our look and our turn is looked at, though nobody had to be waited for."""
    whole, before = alone

    report = install_during_which(bed, lambda: kvobs(*INSTALL, env=bed.environment()))

    assert not report.changed
    assert releases(bed) == [("1", "deployed")]
    assert made(settled(bed.api), before) == whole
    remove(bed)


def install_during_which(bed: Bed, comes: Callable[[], object], *more: str) -> library.InstallReport:
    """Install, with more `--set`, by a Helm that takes as long to fetch a chart as what *comes* meanwhile takes."""

    class Slow(Helm):
        came = False

        def chart(self, ref: str, version: str | None = None) -> ChartInfo:
            if not self.came:
                self.came = True
                comes()
            return super().chart(ref, version)

    values = tuple(INSTALL[at + 1] for at, word in enumerate(INSTALL) if word == "--set")
    chart = INSTALL[INSTALL.index("--chart") + 1]
    helm = Slow(kubeconfig=str(bed.kubeconfig), environment=bed.environment(), executable=str(bed.helm()))
    settings = Settings(kubeconfig=str(bed.kubeconfig), chart=chart, set_values=(*values, *more), wait=False)
    report = library.install(settings, helm=helm)
    assert helm.came
    return report


EXPORTER = "nodeExporter.enabled=true"
REFUSED = {"pod-security.kubernetes.io/enforce": "baseline"}
"""By these labels of its namespace an install of the node exporter is refused."""


@pytest.fixture
def home(bed: Bed) -> Iterator[Object]:
    """A namespace for which an install is refused, for as long as it has its labels."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}
    bed.api.apply({**namespace, "metadata": {"name": "monitoring", "labels": REFUSED}})
    yield namespace
    kvobs("uninstall", "--yes", env=bed.environment())
    bed.api.delete("v1", "Namespace", "monitoring")
    eventually(lambda: bed.api.find("v1", "Namespace", "monitoring") is None)


def put_right(bed: Bed, namespace: Object) -> None:
    """Take away for what an install into the namespace is refused."""
    bed.api.merge(namespace, {"metadata": {"labels": dict.fromkeys(REFUSED)}})


def test_what_another_is_at_work_on_is_not_judged(bed: Bed, home: Object) -> None:
    """The checks come after the wait: what would refuse an install still is told then; what no longer does is not."""
    before = versions(settled(bed.api))
    for right, code in ((False, 3), (True, 0)):
        with at_work_elsewhere(bed, renewals=120):
            waiting = Running(*INSTALL, "--set", EXPORTER, env=bed.environment())
            waiting.until(WAITS)
        if right:
            put_right(bed, home)
        bed.api.delete("coordination.k8s.io/v1", "Lease", "kvobs", "monitoring")
        assert waiting.end() == code, waiting.said
        assert ("breaks level baseline" in "".join(waiting.said)) == (not right)
        if not right:
            assert versions(settled(bed.api)) == before
    assert releases(bed) == [("1", "deployed")]


def test_a_refusal_that_is_out_of_date(bed: Bed, home: Object) -> None:
    """What was judged as it stood before another run came and went is judged anew, and no reason to refuse."""

    def come() -> None:
        put_right(bed, home)
        kvobs(*INSTALL, "--set", EXPORTER, env=bed.environment())

    assert not install_during_which(bed, come, EXPORTER).changed
    assert releases(bed) == [("1", "deployed")]
    assert lease(bed) is None


@contextmanager
def at_work_elsewhere(bed: Bed, *, renewals: int) -> Iterator[None]:
    """Have a Lease that a machine elsewhere renews every second for a while, with a clock that is an hour late."""
    started = datetime.now(UTC).timestamp() - 3600

    def stamp(after_s: float) -> str:
        return datetime.fromtimestamp(started + after_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    spec = {"holderIdentity": ELSEWHERE, "leaseDurationSeconds": 15, "acquireTime": stamp(0), "renewTime": stamp(0)}
    metadata = {"name": "kvobs", "namespace": "monitoring"}
    held = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    bed.api.create(held)
    stopped = threading.Event()

    def renew() -> None:
        for number in range(1, renewals + 1):
            if stopped.wait(1):
                return
            bed.api.merge(held, {"spec": {"renewTime": stamp(number)}})

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        yield
    finally:
        stopped.set()
        renewing.join()


def test_a_holder_elsewhere(bed: Bed) -> None:
    """One on another machine is named when time is up, and nothing is changed; once it stands still, it is replaced."""
    kvobs(*INSTALL, env=bed.environment())
    before = versions(settled(bed.api))
    with at_work_elsewhere(bed, renewals=10):
        done = kvobs(*INSTALL, "--timeout", "1s", env=bed.environment(), code=3)
        assert "kvobs: another kvobs (elsewhere, pid 17, since 20" in done.stderr
        assert "is still at work in namespace monitoring after 1 s" in done.stderr
        assert "what to do: let it end" in done.stderr
        assert versions(settled(bed.api)) == before
        begin = time.monotonic()
        done = kvobs(*EVERYTHING, env=bed.environment())
    assert WAITS in done.stderr
    assert time.monotonic() - begin > 15
    eventually(lambda: bed.api.find("v1", "Namespace", "monitoring") is None)


def test_the_lease_is_taken_away(bed: Bed) -> None:
    """A run that has lost its Lease to another begins no further step, and says whose it is; that one's stays."""
    with begun(bed) as running:
        held = lease(bed)
        assert held is not None
        threads = running.threads()
        bed.api.merge(held, {"spec": {"holderIdentity": ELSEWHERE}})
        # The thread that keeps the Lease ends when it sees that; Helm ends no sooner than we let it.
        eventually(lambda: running.threads() < threads)
    assert running.end() == 3
    said = "".join(running.said)
    assert "lost the lease monitoring/kvobs to another kvobs (elsewhere, pid 17, since " in said
    assert "look at the installed stack" not in said
    held = lease(bed)
    assert held is not None
    assert held["spec"]["holderIdentity"] == ELSEWHERE
    bed.api.delete("coordination.k8s.io/v1", "Lease", "kvobs", "monitoring")
    remove(bed)
