"""A release of ours that failed is put back: an upgrade to what was in force, a first install to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..adapters.helm import Helm
from ..adapters.helm_release import HelmRelease
from ..adapters.helm_storage import SecretReader, recorded_statuses
from ..errors import HelmError, KvobsError, NotUpgraded, RolledBack
from ..stack.kinds import in_namespaces
from ..stack.leftovers import CRD_KIND
from ..stack.objects import delete_order, ref
from ..stack.target import DesiredRelease
from ..stack.values import same_values

_AGAIN = "run the same command again"


class FailureCluster(SecretReader, Protocol):
    """What taking a failed release back needs of an API server beside Helm."""

    def delete(self, kind: str, name: str, namespace: str | None = None) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An upgrade or install of ours that has just failed with `error`."""

    error: HelmError
    helm: Helm
    cluster: FailureCluster | None
    """None: Helm keeps its releases where only it can read them."""
    desired: DesiredRelease
    before: HelmRelease | None
    """The revision that stood before."""
    timeout_s: int
    on_line: Callable[[str], None]

    def taken_back(self, stands_now: Callable[[], HelmRelease | None]) -> HelmError:
        """Undo it, and return the error that says what is in force now and how to go on.

        What is not known to be our own doing is not touched: where somebody else's operation is in progress, Helm
        says so and makes no revision of ours.
        """
        try:
            now = stands_now()
        except KvobsError as unknown:
            return self._told(f"how the release stands now is not known: {unknown}", self._going_on)
        if now is None or not self._made(now):
            return self._not_begun(now)
        if self.before is None:
            return self._uninstalled(now)
        if self.before.status == "deployed":
            return self._rolled_back(self.before.revision)
        statuses = self._statuses()
        if in_force := [revision for revision, status in statuses.items() if status == "deployed"]:
            return self._rolled_back(max(in_force))
        if statuses and "superseded" not in statuses.values():
            # Nothing was ever in force. A roll-back that fails leaves none deployed either, and a stack that runs.
            return self._uninstalled(now)
        return self._told(
            f"revision {self.before.revision} before it is {self.before.status} too, and nothing is undone",
            f"{self._going_on}; helm -n {self.desired.namespace} history {self.desired.name} shows the revisions",
        )

    def _not_begun(self, now: HelmRelease | None) -> HelmError:
        """The error where *now* is no unfinished revision of our attempt."""
        if now is None or self.before is None:
            return self.error
        if now == self.before and now.status == "deployed":
            return NotUpgraded(f"{self.error}; revision {now.revision} is still in force", hint=self.error.hint)
        if now == self.before or not same_values(now.values, self.desired.values):
            return NotUpgraded(str(self.error), hint=self.error.hint)
        # With our values: it may be our revision after all.
        return self.error

    def _made(self, now: HelmRelease) -> bool:
        """Whether *now* is the revision that our attempt made, and has left unfinished."""
        follows = now.revision == (self.before.revision if self.before else 0) + 1
        return follows and now.status != "deployed" and same_values(now.values, self.desired.values)

    def _statuses(self) -> dict[int, str]:
        """Return how each revision stands; nothing where only Helm could read it."""
        if self.cluster is None:
            return {}
        return recorded_statuses(self.cluster, self.desired.name, self.desired.namespace)

    def _rolled_back(self, revision: int) -> HelmError:
        name, namespace = self.desired.name, self.desired.namespace
        self.on_line(f"the upgrade failed; rolling back to revision {revision}")
        try:
            self.helm.rollback(name, namespace, revision=revision, timeout_s=self.timeout_s)
        except HelmError as second:
            history, by_hand = f"helm -n {namespace} history {name}", f"helm -n {namespace} rollback {name} {revision}"
            return self._told(
                f"rolling back to revision {revision} failed too: {second}",
                f"{history} says how it stands; {_then_again(second)}, or {by_hand}",
            )
        return RolledBack(
            f"{self.error}; rolled back: what revision {revision} had made is in force again", hint=self._going_on
        )

    def _uninstalled(self, now: HelmRelease) -> HelmError:
        self.on_line("the first install failed; taking away what it made")
        try:
            self.helm.uninstall(self.desired.name, self.desired.namespace, timeout_s=self.timeout_s)
            self._delete_hooks(now)
        except KvobsError as second:
            return self._told(
                f"taking away what it had made failed too: {second}",
                f"{_then_again(second)}: it takes the rest away first; or kvobs uninstall",
            )
        return self._told(
            "what this first install of the release had made is taken away again",
            f"{self._going_on}; or kvobs uninstall takes away the rest that kvobs made",
        )

    def _delete_hooks(self, now: HelmRelease) -> None:
        """Delete what hooks left: Helm forgets them, and an uninstall leaves them where they are."""
        if self.cluster is None:
            return
        left = [ref(each) for each in in_namespaces(now.hooks, self.desired.namespace)]
        for at in delete_order(each for each in left if each.kind != CRD_KIND):
            self.cluster.delete(at.kind, at.name, at.namespace or None)

    def _told(self, outcome: str, hint: str | None) -> HelmError:
        return HelmError(f"{self.error}; {outcome}", hint=hint)

    @property
    def _going_on(self) -> str:
        return _then_again(self.error)


def _then_again(error: KvobsError) -> str:
    return f"{error.hint}; then {_AGAIN}" if error.hint else f"mend that, then {_AGAIN}"
