"""See how far the live objects of our release are from what Helm applied. Nothing is changed.

One list for each kind and namespace of the release; of a Secret only that it is there. What looks changed and is
nobody else's is tried on the server: what it would default or convert back to what stands there is no change. Where
the server does not say, a difference is one: mending ends in its refusal, and not in silence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ..adapters.helm_release import HelmRelease
from ..errors import ApiError, Forbidden, HelmError
from ..stack.changes import ObjectChange, of_release
from ..stack.drift import differences
from ..stack.facts import Object, Ref
from ..stack.managers import helms_managers
from ..stack.objects import OURS
from ..stack.release_drift import Mending, ReleaseDrift, as_helm_applies, compared, sorted_out
from .compare import Live
from .one_look import OneLook


class MendCluster(Protocol):
    """What trying, and mending, needs of an API server."""

    def apply(
        self,
        obj: Object,
        *,
        dry_run: bool = False,
        force: bool = False,
        field_manager: str = OURS,
        strict: bool = True,
    ) -> Object: ...


def release_drift(cluster: MendCluster, seen: OneLook, release: HelmRelease) -> ReleaseDrift:
    """Return how the objects of *release* stand; what may not be read is taken to be as it was."""
    try:
        manifest = compared(release.manifest)
    except HelmError as error:
        return ReleaseDrift(unread=str(error))
    live = Live(seen)
    wanted = {live.place(each, release.namespace): each for each in manifest}
    changes = of_release(
        list(wanted.values()),
        list(wanted.values()),
        _Finder(seen, live, wanted),
        place=lambda each: live.place(each, release.namespace),
    )
    mending: dict[Ref, Mending] = {}
    kept: list[ObjectChange] = []
    for change in changes:
        at = change.ref
        whole = as_helm_applies(wanted[at], at, (release.namespace, release.name))
        there = live.find(at) if change.verdict == "change" else None
        if there is not None and not _would_change(cluster, whole, there):
            continue
        kept.append(change)
        if change.verdict in ("create", "change") and not change.theirs:
            mending[at] = Mending(wanted=whole, manager=helms_managers(there)[0] if there is not None else "helm")
    return replace(sorted_out(kept), mending=tuple(mending.values()))


class _Finder:
    """Finds live objects; one that may not be read stands as it was wanted."""

    def __init__(self, seen: OneLook, live: Live, wanted: dict[Ref, Object]) -> None:
        self._seen = seen
        self._live = live
        self._wanted = wanted

    def __call__(self, at: Ref) -> Object | None:
        try:
            if at.kind != "Secret":
                return self._live.find(at)
            # Its content is nobody's business: that it is there is enough.
            there = self._seen.list("Secret", namespace=at.namespace, metadata_only=True)
        except Forbidden:
            return self._wanted[at]
        return self._wanted[at] if any(each["metadata"]["name"] == at.name for each in there) else None


def _would_change(cluster: MendCluster, wanted: Object, live: Object) -> bool:
    """Whether the server would change anything if Helm applied *wanted* again, as far as it says."""
    try:
        manager = helms_managers(live)[0]
        after = cluster.apply(wanted, dry_run=True, force=True, field_manager=manager, strict=False)
    except ApiError:
        return True
    return bool(differences(live, after))


def mend(cluster: MendCluster, drift: ReleaseDrift) -> None:
    """Apply what puts the objects right. Raises `ActionError` where the API server refuses one."""
    for each in drift.mending:
        # By force: the fields are Helm's, under another operation of its own, or nobody's.
        cluster.apply(each.wanted, force=True, field_manager=each.manager, strict=False)
