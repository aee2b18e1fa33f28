"""What has to happen to our release, and with which version of the chart, is found out without a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.adapters.helm import ChartInfo, HelmRelease
from kvobs.errors import Undecided, UsageError
from kvobs.stack.choice import DesiredRelease
from kvobs.use_cases.release import pending_release


@dataclass
class ReadOnlyHelm:
    """Answers questions; has nothing by which anything could be changed."""

    chart_version: str = "88.5.3"
    current: HelmRelease | None = None
    asked: list[str | None] = field(default_factory=list)
    """The version that each question after the chart named."""

    def version(self) -> str:
        """Say that it can be used."""
        return "4.3.1"

    def release(self, name: str, namespace: str) -> HelmRelease | None:
        """Say how the release stands."""
        return self.current

    def chart(self, ref: str, version: str | None = None) -> ChartInfo:
        """Say which version the chart has, whatever was asked for: as Helm does of a folder."""
        self.asked.append(version)
        return ChartInfo(name="kube-prometheus-stack", version=self.chart_version, app_version=None)


def desired(version: str | None, **values: Any) -> DesiredRelease:
    """Return a release that is wanted."""
    return DesiredRelease(namespace="m", name="r", chart="/charts/c", version=version, values=values)


def deployed(version: str = "88.5.3", status: str = "deployed", **values: Any) -> HelmRelease:
    """Return a release that is there."""
    return HelmRelease(
        name="r", namespace="m", revision=1, status=status, chart_name="c", chart_version=version, values=values
    )


CASES = [
    ("nothing there", None, desired("88.5.3"), "install", "88.5.3", ["88.5.3"]),
    ("as it should be: the registry is not asked", deployed(), desired("88.5.3"), "keep", "88.5.3", []),
    ("other values: the chart must be there", deployed(), desired("88.5.3", a=1), "upgrade", "88.5.3", ["88.5.3"]),
    ("whatever version it has", deployed(), desired(None), "keep", "88.5.3", [None]),
    ("a range that leads to what is there", deployed(), desired("88.x"), "keep", "88.5.3", ["88.x"]),
    ("an older one there", deployed("87.0.0"), desired("v88.5.3"), "upgrade", "88.5.3", ["v88.5.3"]),
    ("left pending", deployed(status="pending-install"), desired("88.5.3"), "reinstall", "88.5.3", ["88.5.3"]),
]


@pytest.mark.parametrize(
    ("current", "wanted", "action", "version", "asked"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_action(
    current: HelmRelease | None, wanted: DesiredRelease, action: str, version: str, asked: list[str | None]
) -> None:
    """The action, the version that the chart really has, and how often the chart was asked for."""
    helm = ReadOnlyHelm(current=current)
    pending = pending_release(helm, wanted, recorded=True)  # type: ignore[arg-type]
    assert (pending.action, pending.chart_version, helm.asked) == (action, version, asked)


def test_a_folder_with_another_version() -> None:
    """Helm installs a folder whatever version was asked for; that would be asked for again in every run."""
    with pytest.raises(UsageError, match=r"is version 88\.5\.3, not 1\.2\.3"):
        pending_release(ReadOnlyHelm(), desired("1.2.3"), recorded=False)  # type: ignore[arg-type]


def test_a_release_that_is_not_recorded() -> None:
    """A release of our name that no run of ours began is somebody else's, however it stands."""
    for status in ("deployed", "failed", "pending-install", "uninstalling"):
        helm = ReadOnlyHelm(current=deployed(status=status))
        with pytest.raises(Undecided, match="kvobs did not make it"):
            pending_release(helm, desired("88.5.3"), recorded=False)  # type: ignore[arg-type]
