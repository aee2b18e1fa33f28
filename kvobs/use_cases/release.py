"""Our Helm release: what has to happen to it is found out first, without a change; then it is carried out.

Where nothing has to happen, Helm is not started at all: how the release stands is read where Helm keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..adapters.helm import Helm
from ..adapters.helm_release import HelmRelease
from ..adapters.helm_storage import SecretReader, stored_release
from ..errors import Forbidden, HelmError, NotUpgraded, UsageError
from ..settings import Settings
from ..stack.chart_versions import refuse_too_old
from ..stack.choice import DesiredRelease, admin_secret_name, foreign_release
from ..stack.facts import Release
from ..stack.images import image_values, without_images
from ..stack.notes import Note
from ..stack.record import Record
from ..stack.release import Action, release_action
from ..stack.release_drift import ReleaseDrift
from ..stack.values import given_values
from .release_drift import MendCluster, mend
from .release_failure import Failure, FailureCluster

_EXACT = re.compile(r"v?(\d+\.\d+\.\d+\S*)")
"""A whole version, where Helm takes a range too."""


class ReleaseReader(Protocol):
    """Says how a release stands; Helm does, and `Releases`."""

    def release(self, name: str, namespace: str) -> HelmRelease | None: ...


class ReleaseCluster(FailureCluster, MendCluster, Protocol):
    """What a release needs of an API server beside Helm."""


class Releases:
    """How releases stand: by Helm's own records, and by its word where they are elsewhere or cannot be read."""

    def __init__(self, cluster: SecretReader, helm: Helm, *, seen: Iterable[Release] = ()) -> None:
        self._cluster = cluster
        self._helm = helm
        self._newest = {(each.namespace, each.name): each.revision for each in seen}
        self._read: dict[tuple[str, str], HelmRelease | None] = {}

    def release(self, name: str, namespace: str) -> HelmRelease | None:
        """Return the newest revision, read once; *seen* releases are read without looking for their newest."""
        at = (namespace, name)
        if at not in self._read:
            self._read[at] = self._ask(name, namespace)
        return self._read[at]

    def _ask(self, name: str, namespace: str) -> HelmRelease | None:
        if self._helm.keeps_secrets:
            try:
                revision = self._newest.get((namespace, name))
                found = stored_release(self._cluster, name, namespace, revision) if revision else None
                return found or stored_release(self._cluster, name, namespace)
            except (HelmError, Forbidden):
                # Helm says better than we what is wrong with a record, or which right it lacks.
                pass
        return self._helm.release(name, namespace)


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingRelease:
    """What has to happen to our release."""

    helm: Helm
    desired: DesiredRelease
    current: HelmRelease | None
    chart_version: str
    """The version that the chart really has."""
    action: Action
    drift: ReleaseDrift = field(default_factory=ReleaseDrift)
    """How its objects stand; looked at where all else is as it should be."""
    cluster: ReleaseCluster | None = None
    """Where to read how it stands later; None: Helm is asked."""

    @property
    def name(self) -> str:
        """The release, for a report."""
        return f"Helm release {self.desired.namespace}/{self.desired.name}"

    @property
    def title(self) -> str:
        """What is done, for the progress."""
        return f"Helm release {self.desired.name}: {self.action}"

    @property
    def upgrades(self) -> bool:
        """Whether Helm brings objects that are there to another revision."""
        return self.action in ("upgrade", "roll back and upgrade")

    def outdated(self) -> bool:
        """Whether there is something to do, and the release no longer stands as it did when that was found out."""
        return self.action != "keep" and self.stands_now() != self.current

    def stands_now(self) -> HelmRelease | None:
        """Return how the release stands at this moment."""
        reader: ReleaseReader = self.helm if self.cluster is None else Releases(self.cluster, self.helm)
        return reader.release(self.desired.name, self.desired.namespace)

    def carry_out(self, *, timeout_s: int, on_line: Callable[[str], None]) -> tuple[bool, str]:
        """Do it; return whether anything was changed, and the revision and chart as they are then.

        Raises `NotUpgraded` where an upgrade failed and nothing of it is in force, `HelmError` else.
        """
        desired = self.desired
        if self.action == "keep":
            revision = f"revision {self.current.revision}, " if self.current else ""
            return False, f"{revision}chart {self.chart_version}"
        if self.action == "mend" and self.current is not None and self.cluster is not None:
            mend(self.cluster, self.drift)
            return True, f"{self.drift.mended} mended, revision {self.current.revision}, chart {self.chart_version}"
        before = self.current
        if self.action == "reinstall":
            self.helm.uninstall(desired.name, desired.namespace, timeout_s=timeout_s)
            before = None
        if self.action == "roll back and upgrade":
            try:
                self.helm.rollback(desired.name, desired.namespace, timeout_s=timeout_s)
            except HelmError as error:
                raise NotUpgraded(str(error), hint=error.hint) from error
            before = self.stands_now()
        try:
            # No --wait: kvobs waits itself, with more to say, and Helm waits for its hooks in any case.
            made = self.helm.install_or_upgrade(
                desired.name,
                desired.chart,
                version=desired.version,
                namespace=desired.namespace,
                values=desired.values,
                set_integers=desired.set_integers,
                wait=False,
                timeout_s=timeout_s,
                on_line=on_line,
            )
        except HelmError as error:
            failure = Failure(
                error=error,
                helm=self.helm,
                cluster=self.cluster if self.helm.keeps_secrets else None,
                desired=desired,
                before=before,
                timeout_s=timeout_s,
                on_line=on_line,
            )
            raise failure.taken_back(self.stands_now) from error
        return True, f"{self.action}, revision {made.revision}, chart {made.chart_version}"


def with_values_of_release(
    settings: Settings, record: Record, releases: ReleaseReader, *, control_plane: str | None = None
) -> tuple[Settings, tuple[Note, ...]]:
    """Return *settings* with the user's values of our release where they give none, and a note that says so.

    As Helm does: none given, those of the last revision stay; some given, they are all there is. Raises `HelmError`.
    """
    if record.release is None or settings.values or settings.set_values:
        return settings, ()
    current = releases.release(record.release.name, record.release.namespace)
    # What this run is told of images holds, whatever a run that was cut off has recorded: it may not have come so far.
    stored = without_images(
        (current.values if current else None) or {},
        registry=settings.image_registry is not None,
        pull_secrets=bool(settings.image_pull_secrets),
    )
    told = record.settings
    given = given_values(
        stored,
        admin_secret=admin_secret_name(record.release.name),
        control_plane=control_plane,
        images=image_values(told.get("image_registry"), told.get("image_pull_secrets") or ()),
    )
    if not given:
        return settings, ()
    text = (
        f"Values of the release are kept ({', '.join(sorted(given))}): --values/--set of an earlier run; give them"
        " anew to replace them."
    )
    return replace(settings, values=(given,)), (Note("values-kept", text),)


def pending_release(
    helm: Helm,
    desired: DesiredRelease,
    *,
    recorded: bool,
    releases: ReleaseReader | None = None,
    drift: Callable[[HelmRelease], ReleaseDrift] | None = None,
    cluster: ReleaseCluster | None = None,
) -> PendingRelease:
    """See how our release stands, and what its chart is; *recorded*: whether an earlier run of ours began it.

    *releases* says how it stands (None: Helm), *drift* how its objects do, where all else is as it should be; *cluster*
    is asked how it stands later. Where a pinned version is there already, the chart is not asked for; a folder, or a
    chart without a version, has to be, since only it knows its version.

    A chart that cannot be had is found out here, before anything is changed. Raises `HelmError`; `Undecided` for
    a release of that name that is not ours; `UsageError` where the chart has not the version that was asked for.
    """
    current = (releases or helm).release(desired.name, desired.namespace)
    if current is not None and not recorded:
        # The look may have missed it: not everybody may list the Secrets in which Helm keeps its releases.
        raise foreign_release(desired.namespace, desired.name)
    # Where all is as it should be, the registry is left alone.
    asked = desired.version or ""
    known = current is not None and current.chart_version in (asked, asked.removeprefix("v"))
    version = current.chart_version if current is not None and known else _version_of(helm, desired)
    action = release_action(current, desired, version)
    found = ReleaseDrift()
    if action == "keep" and current is not None and drift is not None:
        found = drift(current)
        action = "upgrade" if found.needs_hooks else "mend" if found.mending else action
    if known and action not in ("keep", "mend"):
        _version_of(helm, desired)
    return PendingRelease(
        helm=helm,
        desired=desired,
        current=current,
        chart_version=version,
        action=action,
        drift=found,
        cluster=cluster,
    )


def _version_of(helm: Helm, desired: DesiredRelease) -> str:
    """Return the version that the chart has. Helm takes a folder or an archive whatever version was asked for."""
    chart = helm.chart(desired.chart, desired.version)
    refuse_too_old(chart.name, chart.version)
    found = chart.version
    asked = _EXACT.fullmatch(desired.version or "")
    if asked and asked[1] != found.removeprefix("v"):
        raise UsageError(
            f"the chart {desired.chart} is version {found}, not {desired.version}",
            hint="leave --chart-version out, or name another chart with --chart",
        )
    return found
