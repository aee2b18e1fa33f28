"""What has to happen to our Helm release, from what Helm says about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from .choice import DesiredRelease
from .values import same_values

Action = Literal["keep", "mend", "install", "upgrade", "reinstall", "roll back and upgrade"]
"""mend: without Helm, the objects that are not as Helm left them are applied anew."""


class ReleaseState(Protocol):
    """What Helm says about a release."""

    @property
    def status(self) -> str:
        """Helm's word: deployed, failed, pending-install, …"""

    @property
    def chart_version(self) -> str:
        """Version of its chart."""

    @property
    def values(self) -> Mapping[str, Any]:
        """What the user gave, not the chart's defaults."""


def release_action(current: ReleaseState | None, desired: DesiredRelease, chart_version: str) -> Action:
    """Return what brings our release from *current* to *desired*, whose chart has *chart_version*.

    A release of ours that an interrupted run left pending is mended: a first install that never ended holds
    nothing worth keeping and is done anew, an upgrade is rolled back first, since Helm refuses both as they stand.
    Helm itself takes an upgrade over a failed revision.
    """
    if current is None:
        return "install"
    if current.status in ("pending-install", "uninstalling", "uninstalled"):
        return "reinstall"
    if current.status in ("pending-upgrade", "pending-rollback"):
        return "roll back and upgrade"
    same = current.chart_version == chart_version and same_values(current.values, desired.values)
    return "keep" if same and current.status == "deployed" else "upgrade"
