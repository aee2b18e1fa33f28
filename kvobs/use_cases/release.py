"""Our Helm release: what has to happen to it is found out first, without a change; then it is carried out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..adapters.helm import Helm, HelmRelease
from ..errors import UsageError
from ..settings import Settings
from ..stack.applyset import Record
from ..stack.choice import DesiredRelease, admin_secret_name, foreign_release
from ..stack.notes import Note
from ..stack.release import Action, release_action
from ..stack.values import given_values

_EXACT = re.compile(r"v?(\d+\.\d+\.\d+\S*)")
"""A whole version, where Helm takes a range too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingRelease:
    """What has to happen to our release."""

    helm: Helm
    desired: DesiredRelease
    current: HelmRelease | None
    chart_version: str
    """The version that the chart really has."""
    action: Action

    @property
    def name(self) -> str:
        """The release, for a report."""
        return f"Helm release {self.desired.namespace}/{self.desired.name}"

    @property
    def title(self) -> str:
        """What is done, for the progress."""
        return f"Helm release {self.desired.name}: {self.action}"

    def outdated(self) -> bool:
        """Whether there is something to do, and the release no longer stands as it did when that was found out."""
        return self.action != "keep" and self.helm.release(self.desired.name, self.desired.namespace) != self.current

    def carry_out(self, *, timeout_s: int, on_line: Callable[[str], None]) -> tuple[bool, str]:
        """Do it; return whether anything was changed, and the revision and chart as they are then."""
        desired = self.desired
        if self.action == "keep":
            revision = f"revision {self.current.revision}, " if self.current else ""
            return False, f"{revision}chart {self.chart_version}"
        if self.action == "reinstall":
            self.helm.uninstall(desired.name, desired.namespace, timeout_s=timeout_s)
        if self.action == "roll back and upgrade":
            self.helm.rollback(desired.name, desired.namespace, timeout_s=timeout_s)
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
        return True, f"{self.action}, revision {made.revision}, chart {made.chart_version}"


def with_values_of_release(settings: Settings, record: Record, helm: Helm) -> tuple[Settings, tuple[Note, ...]]:
    """Return *settings* with the user's values of our release where they give none, and a note that says so.

    As Helm does: none given, those of the last revision stay; some given, they are all there is. Raises `HelmError`.
    """
    if record.release is None or settings.values or settings.set_values:
        return settings, ()
    current = helm.release(record.release.name, record.release.namespace)
    stored = (current.values if current else None) or {}
    given = given_values(stored, admin_secret=admin_secret_name(record.release.name))
    if not given:
        return settings, ()
    text = (
        f"Values of the release are kept ({', '.join(sorted(given))}): --values/--set of an earlier run; give them"
        " anew to replace them."
    )
    return replace(settings, values=(given,)), (Note("values-kept", text),)


def pending_release(helm: Helm, desired: DesiredRelease, *, recorded: bool) -> PendingRelease:
    """Ask Helm how our release stands, and for its chart; *recorded*: whether an earlier run of ours began it.

    A chart that cannot be had is found out here, before anything is changed. Raises `HelmError`; `Undecided` for
    a release of that name that is not ours; `UsageError` where the chart has not the version that was asked for.
    """
    helm.version()
    current = helm.release(desired.name, desired.namespace)
    if current is not None and not recorded:
        # The look may have missed it: not everybody may list the Secrets in which Helm keeps its releases.
        raise foreign_release(desired.namespace, desired.name)
    # Where all is as it should be, the registry is left alone.
    known = current is not None and current.chart_version == desired.version
    version = desired.version if known and desired.version else _version_of(helm, desired)
    action = release_action(current, desired, version)
    if known and action != "keep":
        _version_of(helm, desired)
    return PendingRelease(helm=helm, desired=desired, current=current, chart_version=version, action=action)


def _version_of(helm: Helm, desired: DesiredRelease) -> str:
    """Return the version that the chart has. Helm takes a folder or an archive whatever version was asked for."""
    found = helm.chart(desired.chart, desired.version).version
    asked = _EXACT.fullmatch(desired.version or "")
    if asked and asked[1] != found.removeprefix("v"):
        raise UsageError(
            f"the chart {desired.chart} is version {found}, not {desired.version}",
            hint="leave --chart-version out, or name another chart with --chart",
        )
    return found
