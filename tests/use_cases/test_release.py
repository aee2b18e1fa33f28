"""What has to happen to our release, and with which version of the chart, is found out without a change."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.adapters.helm import ChartInfo, HelmRelease
from kvobs.errors import Forbidden, Undecided, UsageError
from kvobs.settings import Settings
from kvobs.stack.choice import DesiredRelease, choose
from kvobs.stack.facts import Ref, Release
from kvobs.stack.record import Record, ReleaseRecord
from kvobs.stack.release_drift import Mending, ReleaseDrift
from kvobs.stack.scrape_intervals import told_intervals
from kvobs.stack.values import stack_values
from kvobs.use_cases.release import Releases, pending_release, with_values_of_release
from tests.stack.clusters import after_helm, cluster


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
        return ChartInfo(name="kube-prometheus-stack", version=self.chart_version)


def desired(version: str | None, **values: Any) -> DesiredRelease:
    """Return a release that is wanted."""
    return DesiredRelease(namespace="m", name="r", chart="/charts/c", version=version, values=values)


def deployed(version: str = "88.5.3", status: str = "deployed", **values: Any) -> HelmRelease:
    """Return a release that is there."""
    return HelmRelease(name="r", namespace="m", revision=1, status=status, chart_version=version, values=values)


CASES = [
    ("nothing there", None, desired("88.5.3"), "install", "88.5.3", ["88.5.3"]),
    ("as it should be: the registry is not asked", deployed(), desired("88.5.3"), "keep", "88.5.3", []),
    ("the same with a v", deployed(), desired("v88.5.3"), "keep", "88.5.3", []),
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


OURS = Record(release=ReleaseRecord(namespace="m", name="r", chart="c", chart_version="88.5.3"))
GIVEN = {"prometheus": {"prometheusSpec": {"scrapeInterval": "5s"}}, "grafana": {"env": {"TOKEN": "hunter2"}}}
STORED = stack_values(GIVEN, admin_secret="r-grafana-admin")


def test_values_of_an_earlier_run_are_kept() -> None:
    """A run without values keeps the user's, changes nothing, keeps our Secret, and says what it keeps."""
    helm = ReadOnlyHelm(current=deployed(**STORED))
    settings, (note,) = with_values_of_release(Settings(), OURS, helm)  # type: ignore[arg-type]
    facts = after_helm(cluster(kinds=frozenset()), name="r", namespace="m", values=STORED, record=OURS)
    target = choose(facts, settings)

    assert target.release is not None
    assert pending_release(helm, target.release, recorded=True).action == "keep"  # type: ignore[arg-type]
    assert target.admin_secret == "r-grafana-admin"
    assert told_intervals(target) == ("5s", "5s"), "monitors scrape as often as those values say"
    assert settings.values == (GIVEN,)
    assert "(grafana, prometheus)" in note.text
    assert "hunter2" not in repr(settings) + note.text


@pytest.mark.parametrize(
    ("record", "settings", "current"),
    [
        (Record(), Settings(), deployed(a=1)),
        (OURS, Settings(set_values=("b=2",)), deployed(a=1)),
        (OURS, Settings(values=({},)), deployed(a=1)),
        (OURS, Settings(), None),
        (OURS, Settings(), deployed(**stack_values({}, admin_secret="r-grafana-admin"))),
    ],
    ids=["no release of ours", "other values", "an empty file", "not there", "ours only"],
)
def test_nothing_is_kept(record: Record, settings: Settings, current: HelmRelease | None) -> None:
    """Whoever gives values gives all of them; without values of the user's own there is nothing to keep."""
    helm = ReadOnlyHelm(current=current)

    assert with_values_of_release(settings, record, helm) == (settings, ())  # type: ignore[arg-type]


@pytest.mark.parametrize("registry", [None, "", "mirror.local"])
def test_images_that_are_told_anew(registry: str | None) -> None:
    """A run that takes the registry back, cut off once it has recorded that, is finished by running it again."""
    stored = stack_values(GIVEN, admin_secret="r-grafana-admin") | {"global": {"imageRegistry": "old.local"}}
    helm = ReadOnlyHelm(current=deployed(**stored))
    settings, _ = with_values_of_release(Settings(image_registry=registry), OURS, helm)  # type: ignore[arg-type]

    assert settings.values == (GIVEN if registry is not None else {**GIVEN, "global": {"imageRegistry": "old.local"}},)


def test_a_release_that_moves_on() -> None:
    """What was found out is out of date once the release stands otherwise, unless there is nothing to do."""
    helm = ReadOnlyHelm()
    pending = pending_release(helm, desired("88.5.3"), recorded=True)  # type: ignore[arg-type]
    assert not pending.outdated()
    helm.current = deployed()
    assert pending.outdated()
    pending = pending_release(helm, desired("88.5.3"), recorded=True)  # type: ignore[arg-type]
    helm.current = deployed(a=1)
    assert (pending.action, pending.outdated()) == ("keep", False)


class Stored(ReadOnlyHelm):
    """A Helm that must not be asked how a release stands."""

    keeps_secrets = True

    def release(self, name: str, namespace: str) -> HelmRelease | None:
        """Fail."""
        raise AssertionError("Helm was asked")


class Records:
    """Helm's records in a namespace: revision -> (status, values); None for one that cannot be read."""

    def __init__(self, records: dict[int, tuple[str, dict[str, Any]] | None], *, forbidden: bool = False) -> None:
        self.records = records
        self.forbidden = forbidden
        self.asked: list[str] = []

    def list(self, kind: str, **asked: Any) -> list[Any]:
        """Give their labels."""
        self.asked.append("list")
        if self.forbidden:
            raise Forbidden("no", status=403)
        return [{"metadata": {"name": "x", "labels": {"version": str(each)}}} for each in self.records]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Any:
        """Give one whole."""
        self.asked.append(name.rpartition(".")[2])
        number = int(name.rpartition(".v")[2])
        if number not in self.records:
            return None
        record = self.records[number]
        if record is None:
            return {"metadata": {"name": name}, "data": {}}
        status, values = record
        document = {
            "name": "r",
            "namespace": "m",
            "version": number,
            "info": {"status": status},
            "chart": {"metadata": {"version": "88.5.3"}},
            "config": values,
        }
        packed = base64.b64encode(base64.b64encode(json.dumps(document).encode())).decode()
        return {"metadata": {"name": name}, "data": {"release": packed}}


def test_helm_is_not_asked() -> None:
    """How a release stands is read from its newest record, once; Helm has nothing to do."""
    records = Records({1: ("superseded", {}), 2: ("deployed", {})})
    helm = Stored()
    releases = Releases(records, helm)  # type: ignore[arg-type]
    for _ in range(2):
        pending = pending_release(helm, desired("88.5.3"), recorded=True, releases=releases)  # type: ignore[arg-type]
        assert (pending.action, pending.chart_version) == ("keep", "88.5.3")
    assert helm.asked == []
    assert records.asked == ["list", "v2"]


def test_a_release_that_was_seen() -> None:
    """A revision that the look has seen is read without a list, unless it is gone meanwhile."""
    records = Records({2: ("deployed", {})})
    seen = [Release(namespace="m", name="r", status="deployed", revision=2)]
    assert Releases(records, Stored(), seen=seen).release("r", "m") is not None  # type: ignore[arg-type]
    assert records.asked == ["v2"]

    records = Records({3: ("deployed", {})})
    found = Releases(records, Stored(), seen=seen).release("r", "m")  # type: ignore[arg-type]
    assert found is not None
    assert found.revision == 3


@pytest.mark.parametrize(
    ("records", "keeps_secrets"),
    [
        (Records({1: None}), True),
        (Records({1: ("deployed", {})}, forbidden=True), True),
        (Records({1: ("deployed", {})}), False),
    ],
    ids=["cannot be read", "may not be read", "HELM_DRIVER names something else"],
)
def test_helm_is_asked_after_all(records: Records, keeps_secrets: bool) -> None:
    """Where its records are elsewhere or unreadable, Helm says how the release stands."""
    helm = ReadOnlyHelm(current=deployed(a=1))
    helm.keeps_secrets = keeps_secrets  # type: ignore[attr-defined]

    found = Releases(records, helm).release("r", "m")  # type: ignore[arg-type]

    assert found == helm.current


def missing(kind: str) -> ReleaseDrift:
    """Return a drift: an object of that kind is missing."""
    wanted = {"apiVersion": "v1", "kind": kind.partition(".")[0], "metadata": {"name": "s"}}
    return ReleaseDrift(missing=(Ref(kind, "m", "s"),), mending=(Mending(wanted=wanted, manager="helm"),))


@pytest.mark.parametrize(
    ("current", "drift", "action", "asked"),
    [
        (deployed(), missing("Service"), "mend", []),
        (deployed(), missing("ValidatingWebhookConfiguration.admissionregistration.k8s.io"), "upgrade", ["88.5.3"]),
        (deployed(), ReleaseDrift(unread="why"), "keep", []),
        (deployed(a=1), missing("Service"), "upgrade", ["88.5.3"]),
    ],
    ids=["an object is missing", "one that hooks complete", "not compared", "an upgrade mends it anyway"],
)
def test_objects_that_are_not_as_helm_left_them(
    current: HelmRelease, drift: ReleaseDrift, action: str, asked: list[str]
) -> None:
    """What is missing is mended without the chart, unless only its hooks make it whole."""
    helm = ReadOnlyHelm(current=current)

    pending = pending_release(helm, desired("88.5.3"), recorded=True, drift=lambda _: drift)  # type: ignore[arg-type]

    assert (pending.action, helm.asked) == (action, asked)
