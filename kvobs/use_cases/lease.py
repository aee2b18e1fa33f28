"""One kvobs at a time: a Lease in kvobs' namespace, held while a run acts.

Helm cannot tell an interrupted run from one that goes on: without the Lease, a second run would take the first one's
pending release for a wreck, and remove it under it. Who may not write Leases may not act (`rights_needed` asks):
the others would not see such a run, nor it them. The built-in roles admin and edit include Leases.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from ..adapters.identity import has_died, own_identity
from ..errors import ActionError, ApiError, Conflict, Forbidden, KvobsError, NotReady
from ..stack.facts import Object
from ..stack.objects import MANAGED_BY, OURS
from ..stack.rights import LEASE_KIND
from .progress import Progress

NAME = "kvobs"

DURATION_S = 15
"""A Lease that nobody has renewed for so long is nobody's; as Kubernetes' own controllers have it."""

RENEW_S = 5.0
"""Between two renewals: two of them may fail before the Lease is lost."""

POLL_S = 2.0
"""Between two looks at a Lease that another run holds."""

_AGAIN = "run the same command again: it goes on where this run stopped"


class LeaseCluster(Protocol):
    """What a Lease needs of an API server; called from two threads."""

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...

    def create(self, obj: Object) -> Object: ...

    def replace(self, obj: Object) -> Object: ...

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A run's turn to act."""

    waited: bool
    """Whether another run had its turn first: what was looked at before is out of date."""
    progress: Progress
    """Tells as the given one does; where the Lease is lost, the next step raises `ActionError` instead."""


@contextlib.contextmanager
def at_work(
    cluster: LeaseCluster, namespace: str, *, timeout_s: float, progress: Progress, renew_s: float = RENEW_S
) -> Iterator[Turn]:
    """Wait for the Lease of *namespace*, which must exist, and hold it meanwhile; it is gone afterwards.

    Raises `NotReady` that names the holder when another run is still at work after *timeout_s*.
    """
    lease = Lease(cluster, namespace)
    ended = threading.Event()
    keeper = threading.Thread(target=lease.keep, args=(ended.wait, renew_s), name="kvobs-lease", daemon=True)
    try:
        waited = lease.take(timeout_s=timeout_s, progress=progress)
        keeper.start()
        yield Turn(waited=waited, progress=_Guarded(progress, lease))
    finally:
        ended.set()
        if keeper.ident is not None:
            # Not for ever: it may be in a request that nobody answers.
            keeper.join(RENEW_S)
        # What cannot be deleted runs out by itself.
        with contextlib.suppress(KvobsError):
            lease.give_back()


def somebody_at_work(cluster: LeaseCluster, namespace: str) -> bool:
    """Whether *namespace* has a Lease, of a run that goes on or of one that died; who may not see it sees none."""
    try:
        return cluster.get(LEASE_KIND, NAME, namespace) is not None
    except Forbidden:
        return False


class Lease:
    """Our hold on the Lease of one namespace: taken by one thread, kept by another."""

    def __init__(
        self,
        cluster: LeaseCluster,
        namespace: str,
        *,
        identity: str | None = None,
        died: Callable[[str], bool] = has_died,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._identity = identity or own_identity()
        self._died = died
        self._sleep = sleep
        self._clock = clock
        self._renewed_s = 0.0
        self._acquired = ""
        self._taken_by: str | None = None
        """The other run, in words."""
        self._trouble = ""

    def take(self, *, timeout_s: float, progress: Progress) -> bool:
        """Take the Lease as soon as it is free; return whether that took a wait.

        It is free where there is none, where its holder has died, or where it stood still for its whole duration while
        we watched: by our own clock, since that of its holder may be wrong.
        """
        deadline = self._clock() + timeout_s
        seen: tuple[Any, ...] = ()
        since_s = 0.0
        waited = False
        while True:
            live = self._live()
            spec: Object = (live or {}).get("spec") or {}
            if (now := (spec.get("holderIdentity"), spec.get("renewTime"))) != seen:
                seen, since_s = now, self._clock()
            still_s = self._clock() - since_s
            # Ours already: the reply to an earlier try was lost, the try was not.
            if spec.get("holderIdentity") == self._identity or (self._free(spec, still_s) and self._try(live)):
                return waited
            if self._clock() >= deadline:
                raise NotReady(
                    f"{_described(spec)} is still at work in namespace {self._namespace} after {timeout_s:.0f} s",
                    hint="let it end, or stop it there, then run the same command again; --timeout says how long to"
                    f" wait, and one that has died is taken over after {DURATION_S} s",
                )
            progress.state(f"{_described(spec)} is at work here; waiting")
            waited = True
            self._sleep(min(POLL_S, max(0.0, deadline - self._clock())))

    def keep(self, ended: Callable[[float], bool], renew_s: float = RENEW_S) -> None:
        """Renew until *ended*, a wait of some seconds, says so, or until another run has the Lease."""
        while self._taken_by is None and not ended(renew_s):
            try:
                self._renew(ended)
            except KvobsError as error:
                # `check` says so, once it matters.
                self._trouble = str(error)

    def check(self) -> None:
        """Raise `ActionError` where the Lease is another's, or has not been renewed for so long that it may be."""
        what = f"lost the lease {self._namespace}/{NAME}"
        if self._taken_by is not None:
            raise ActionError(f"{what} to {self._taken_by}", hint=f"let it end, then {_AGAIN}")
        if self._clock() - self._renewed_s > DURATION_S:
            why = f": {self._trouble}" if self._trouble else ""
            raise ActionError(f"{what}: it could not be renewed for {DURATION_S} s{why}", hint=_AGAIN)

    def give_back(self) -> None:
        """Delete the Lease, unless it is not ours (any more)."""
        live = self._live()
        if live is not None and _holder(live) == self._identity:
            at = live["metadata"]
            version = at["resourceVersion"]
            self._cluster.delete(LEASE_KIND, NAME, self._namespace, uid=at["uid"], resource_version=version)

    def _live(self) -> Object | None:
        return self._cluster.get(LEASE_KIND, NAME, self._namespace)

    def _free(self, spec: Object, still_s: float) -> bool:
        holder = spec.get("holderIdentity")
        return not holder or self._died(holder) or still_s >= (spec.get("leaseDurationSeconds") or DURATION_S)

    def _try(self, live: Object | None) -> bool:
        """Write ourselves into the Lease as it was seen; return whether nobody was faster."""
        self._renewed_s, self._acquired = self._clock(), _now()
        try:
            self._write(live)
        except Conflict:
            return False
        except ApiError as error:
            if live is None or error.reason != "NotFound":
                raise
            return False
        return True

    def _renew(self, ended: Callable[[float], bool]) -> None:
        # Counted from before the request: another run counts from when it arrived.
        sent_s = self._clock()
        live = self._live()
        if live is not None and _holder(live) != self._identity:
            self._taken_by = _described(live.get("spec") or {})
        elif live is not None or not ended(0):
            # One that somebody has deleted is still ours, as long as nobody else has made another.
            self._write(live)
            self._renewed_s, self._trouble = sent_s, ""

    def _write(self, live: Object | None) -> None:
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_S,
            "acquireTime": self._acquired,
            "renewTime": _now(),
        }
        if live is not None:
            # With its resourceVersion: refused where another has written since.
            self._cluster.replace({**live, "spec": spec})
            return
        metadata = {"name": NAME, "namespace": self._namespace, "labels": {MANAGED_BY: OURS}}
        self._cluster.create(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        )


class _Guarded:
    """A progress by which no step begins without the Lease."""

    def __init__(self, progress: Progress, lease: Lease) -> None:
        self._progress = progress
        self._lease = lease

    def step(self, title: str) -> None:
        self._lease.check()
        self._progress.step(title)

    def state(self, text: str) -> None:
        self._lease.check()
        self._progress.state(text)


def _holder(lease: Object) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "nobody")


def _described(spec: Object) -> str:
    """Name the holder as its Lease does."""
    host, _, rest = str(spec.get("holderIdentity") or "").partition("/")
    pid = rest.partition("/")[0]
    since = str(spec.get("acquireTime") or "").partition(".")[0]
    told = [host, f"pid {pid}" if pid else "", f"since {since}Z" if since else ""]
    named = ", ".join(each for each in told if each)
    return f"another kvobs ({named})" if named else "another kvobs"


def _now() -> str:
    """The time as Kubernetes' MicroTime has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
