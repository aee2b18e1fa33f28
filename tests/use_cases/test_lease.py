"""Who may act when two runs meet: decided against a stand-in for the API server, on a clock of the test's own."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvobs.errors import ActionError, ClusterUnreachable, Conflict, Forbidden, KvobsError, NotReady
from kvobs.use_cases.lease import DURATION_S, NAME, POLL_S, RENEW_S, Lease, at_work
from kvobs.use_cases.progress import Silent

OURS, THEIRS = "here/2/b", "there/1/a"


def refused(reason: str) -> Conflict:
    """What the API server says to a write that comes too late."""
    return Conflict("cannot write", status=409, reason=reason)


class Cluster:
    """Holds at most one Lease, and a clock; what others do to it comes while we sleep."""

    def __init__(self, lease: dict[str, Any] | None = None) -> None:
        self.now = 1000.0
        self.lease = lease
        self.version = 1
        self.fails: KvobsError | None = None
        self.then: list[tuple[float, Callable[[], None]]] = []

    def get(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """Read it."""
        assert (kind, name, namespace) == ("Lease.coordination.k8s.io", NAME, "m")
        if self.fails:
            raise self.fails
        return self.lease

    def create(self, obj: Any) -> dict[str, Any]:
        """Make it."""
        if self.fails:
            raise self.fails
        if self.lease is not None:
            raise refused("AlreadyExists")
        return self.write(obj["spec"], uid=f"uid-{self.version}")

    def replace(self, obj: Any) -> dict[str, Any]:
        """Write it, unless it was written since."""
        if self.lease is None or obj["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise refused("Conflict")
        return self.write(obj["spec"], uid=self.lease["metadata"]["uid"])

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> bool:
        """Delete that very one."""
        assert self.lease is not None
        assert (uid, resource_version) == (self.lease["metadata"]["uid"], self.lease["metadata"]["resourceVersion"])
        self.lease = None
        return True

    def write(self, spec: dict[str, Any], uid: str = "uid-0") -> dict[str, Any]:
        """Let somebody write it."""
        self.version += 1
        metadata = {"name": NAME, "namespace": "m", "uid": uid, "resourceVersion": str(self.version)}
        self.lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        return self.lease

    def sleep(self, seconds: float) -> None:
        """Let time pass, and others act."""
        assert seconds > 0
        self.now += seconds
        while self.then and self.then[0][0] <= self.now:
            self.then.pop(0)[1]()

    @property
    def holder(self) -> str | None:
        """Who has the Lease."""
        return self.lease["spec"]["holderIdentity"] if self.lease else None


class Said(Silent):
    """Remembers the states."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def state(self, text: str) -> None:
        """Remember it."""
        self.states.append(text)


def held(holder: str | None = THEIRS, renewed: str = "2001-02-03T04:05:06.000007Z", **more: Any) -> dict[str, Any]:
    """Return a spec as the holder writes it, by a clock of its own."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": DURATION_S, "renewTime": renewed, "acquireTime": renewed}
    return {key: value for key, value in {**spec, **more}.items() if value is not None}


def lease_on(cluster: Cluster, *, died: Sequence[str] = ()) -> Lease:
    """Return ours, on the cluster's clock; the holders in *died* are known to be dead."""
    return Lease(
        cluster,
        "m",
        identity=OURS,
        died=lambda holder: holder in died,
        sleep=cluster.sleep,
        clock=lambda: cluster.now,
    )


def took(cluster: Cluster, *, timeout_s: float = 600, **how: Any) -> tuple[bool, float]:
    """Take it; return whether that was said to take a wait, and how long it took."""
    start = cluster.now
    waited = lease_on(cluster, **how).take(timeout_s=timeout_s, progress=Silent())
    assert cluster.holder == OURS
    return waited, cluster.now - start


FREE = [
    ("there is none", None, ()),
    ("its holder has died on this machine", held(), (THEIRS,)),
    ("it was given up, not deleted", held(holder=""), ()),
    ("nobody has written into it", {}, ()),
]


@pytest.mark.parametrize(("spec", "died"), [case[1:] for case in FREE], ids=[case[0] for case in FREE])
def test_free_at_once(spec: dict[str, Any] | None, died: Sequence[str]) -> None:
    """What nobody holds is taken without a wait."""
    cluster = Cluster()
    if spec is not None:
        cluster.write(spec)
    assert took(cluster, died=died) == (False, 0)


def test_what_is_written() -> None:
    """The Lease says who holds it, for how long, since when and renewed when (MicroTime); a renewal moves the last."""
    cluster = Cluster()
    lease = lease_on(cluster)
    lease.take(timeout_s=1, progress=Silent())
    assert cluster.lease is not None
    first = dict(cluster.lease["spec"])
    assert (first.pop("holderIdentity"), first.pop("leaseDurationSeconds")) == (OURS, 15)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", each) for each in first.values())
    lease.keep(ends_after(cluster, 1))
    second = cluster.lease["spec"]
    assert second["acquireTime"] == first["acquireTime"]
    assert second["renewTime"] > first["renewTime"]


@pytest.mark.parametrize("renewed", ["2001-02-03T04:05:06.0Z", "2101-02-03T04:05:06.0Z", None])
def test_the_holders_clock_does_not_count(renewed: str | None) -> None:
    """However late or early its date, a Lease that stands still is taken over when we have watched it for so long."""
    cluster = Cluster()
    cluster.write(held(renewed=renewed))  # type: ignore[arg-type]
    waited, took_s = took(cluster)
    assert waited
    assert DURATION_S <= took_s < DURATION_S + POLL_S


@pytest.mark.parametrize("at_first", [None, held(holder="")], ids=["made", "written"])
def test_a_try_whose_reply_was_lost(at_first: dict[str, Any] | None) -> None:
    """A Lease that has our name in it is ours, though the API server refused the second try of the same write."""
    cluster = Cluster()
    if at_first is not None:
        cluster.write(at_first)

    def write_and_refuse(obj: Any) -> dict[str, Any]:
        cluster.write(obj["spec"])
        raise refused("Conflict")

    cluster.create = cluster.replace = write_and_refuse  # type: ignore[method-assign]
    waited, took_s = took(cluster)
    assert waited
    assert took_s == POLL_S


def test_a_renewal_starts_the_watch_anew() -> None:
    """As long as it is renewed it is waited for, and then for its duration; for its own, where it names another."""
    cluster = Cluster()
    cluster.write(held(leaseDurationSeconds=30))
    for number in range(1, 6):
        spec = held(renewed=f"2001-02-03T04:05:0{number}.0Z", leaseDurationSeconds=30)
        cluster.then.append((cluster.now + 10 * number, lambda spec=spec: cluster.write(spec)))
    _, took_s = took(cluster)
    assert 50 + 30 <= took_s < 50 + 30 + 2 * POLL_S


def test_given_back_while_we_wait() -> None:
    """A Lease that goes is taken at the next look."""
    cluster = Cluster()
    cluster.write(held())
    cluster.then.append((cluster.now + 5, lambda: setattr(cluster, "lease", None)))
    waited, took_s = took(cluster)
    assert waited
    assert 5 <= took_s < 5 + POLL_S


@pytest.mark.parametrize("at_first", [None, held(holder="")], ids=["made", "written"])
def test_somebody_is_faster(at_first: dict[str, Any] | None) -> None:
    """Of two that find it free one has it: the other waits on."""
    cluster = Cluster()
    if at_first is not None:
        cluster.write(at_first)
    seen = cluster.lease
    # Another run writes between our look and our write.
    look = cluster.get

    def late(*at: Any) -> dict[str, Any] | None:
        cluster.get = look  # type: ignore[method-assign]
        cluster.write(held())
        return seen

    cluster.get = late  # type: ignore[method-assign]
    waited, took_s = took(cluster)
    assert waited
    assert took_s >= DURATION_S


def test_time_is_up() -> None:
    """After the time-out the holder is named, by host, process and time, with what to do; its Lease stays."""
    cluster = Cluster()
    cluster.write(held(leaseDurationSeconds=3600))
    said = Said()
    with pytest.raises(NotReady) as late:
        lease_on(cluster).take(timeout_s=60, progress=said)
    assert cluster.now == 1060
    who = "another kvobs (there, pid 1, since 2001-02-03T04:05:06Z)"
    assert set(said.states) == {f"{who} is at work here; waiting"}
    assert str(late.value) == f"{who} is still at work in namespace m after 60 s"
    assert "run the same command again" in str(late.value.hint)
    assert late.value.exit_code == 3
    assert cluster.holder == THEIRS


# --- while it is held ---


def ends_after(cluster: Cluster, renewals: int) -> Callable[[float], bool]:
    """Return a wait that lets time pass, and says that it is over after so many renewals."""
    left = [renewals]

    def ended(seconds: float) -> bool:
        if seconds:
            cluster.sleep(seconds)
            left[0] -= 1
        return left[0] < 0

    return ended


def taken(cluster: Cluster) -> Lease:
    """Return a Lease that is ours."""
    lease = lease_on(cluster)
    lease.take(timeout_s=1, progress=Silent())
    return lease


def test_kept() -> None:
    """As long as it is renewed it is ours."""
    cluster = Cluster()
    lease = taken(cluster)
    lease.keep(ends_after(cluster, 100))
    lease.check()
    assert cluster.now > 1000 + 100 * RENEW_S


def test_not_renewed() -> None:
    """A renewal that fails is made up for; only when the whole duration is over without one, the next step says so."""
    cluster = Cluster()
    lease = taken(cluster)
    cluster.fails = ClusterUnreachable("https://x does not answer")
    lease.keep(ends_after(cluster, 3))
    cluster.now = 1000 + DURATION_S
    lease.check()
    cluster.now += 0.1
    with pytest.raises(ActionError, match=r"lost the lease m/kvobs: .* for 15 s: https://x does not answer"):
        lease.check()
    # Nobody took it meanwhile: it is still ours.
    cluster.fails = None
    lease.keep(ends_after(cluster, 1))
    lease.check()


def test_taken_by_another() -> None:
    """Where another run has it, it is not written any more, the next step says whose it is, and it stays theirs."""
    cluster = Cluster()
    lease = taken(cluster)
    cluster.then.append((cluster.now + 8, lambda: cluster.write(held())))
    lease.keep(ends_after(cluster, 100))
    assert cluster.now == 1010
    with pytest.raises(ActionError, match=r"lost the lease m/kvobs to another kvobs \(there, pid 1, since 2001"):
        lease.check()
    lease.give_back()
    assert cluster.holder == THEIRS


def test_deleted_by_hand() -> None:
    """A Lease that somebody deletes under us is made again, before anybody takes us for gone; not after the end."""
    cluster = Cluster()
    lease = taken(cluster)
    cluster.lease = None
    lease.keep(ends_after(cluster, 1))
    assert cluster.holder == OURS
    cluster.lease = None
    ending = iter([False, True, True])
    lease.keep(lambda _: next(ending))
    assert cluster.lease is None


# --- a run ---


@pytest.mark.parametrize("end", [None, ActionError("refused"), KeyboardInterrupt()], ids=["done", "failed", "Ctrl-C"])
def test_nothing_is_left(end: BaseException | None) -> None:
    """However a run ends, its Lease is gone, and its error is not changed."""
    cluster = Cluster()

    def run() -> None:
        with at_work(cluster, "m", timeout_s=1, progress=Silent()) as turn:
            assert not turn.waited
            assert cluster.holder
            turn.progress.step("a step")
            if end is not None:
                raise end

    if end is None:
        run()
    else:
        with pytest.raises(type(end)) as ended:
            run()
        assert ended.value is end
    assert cluster.lease is None


def test_a_lease_that_cannot_be_deleted() -> None:
    """It runs out by itself: the run has done its work all the same."""
    cluster = Cluster()
    with at_work(cluster, "m", timeout_s=1, progress=Silent()):
        cluster.fails = ClusterUnreachable("https://x does not answer")
    assert cluster.lease is not None


def test_who_may_not_make_one() -> None:
    """A missing right is passed on as the API server names it."""
    cluster = Cluster()
    cluster.fails = Forbidden("user u may not create leases", status=403)
    with pytest.raises(Forbidden, match="leases"), at_work(cluster, "m", timeout_s=1, progress=Silent()):
        raise AssertionError("it acts without the Lease")


def test_the_next_step_is_told() -> None:
    """A run that has lost its Lease stops where it tells the next thing that it does."""
    cluster = Cluster()

    def run() -> None:
        with at_work(cluster, "m", timeout_s=1, progress=Silent(), renew_s=0.01) as turn:
            cluster.write(held())
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                turn.progress.state("working")

    with pytest.raises(ActionError, match="lost the lease"):
        run()
    assert cluster.holder == THEIRS
