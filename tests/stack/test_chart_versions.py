"""Chart versions from the oldest to the pinned one take what kvobs sets, as a table of facts says."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml

from kvobs.errors import UsageError
from kvobs.settings import CHART, CHART_VERSION, Settings
from kvobs.stack import chart, merge, values
from kvobs.stack.chart_versions import OLDEST, newer_than_known, refuse_too_old
from kvobs.stack.choice import choose
from kvobs.stack.control_plane import MANAGED_PARTS
from kvobs.stack.facts import Facts
from kvobs.stack.images import image_values
from tests.cluster.charts import CASES

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "data" / "values" / "chart-paths.yaml").read_text())
PATHS: dict[str, dict[str, str]] = TABLE["paths"]

LATER = {"grafana.sidecar.dashboards.initDashboards", "grafana.sidecar.dashboards.restartPolicy"}
"""Read only, to foretell what the chart makes of a user's own: an older chart has neither, and does without."""

PERSISTENT = {"grafana": {"persistence": {"enabled": True}}}
GIVEN: list[dict[str, Any]] = [{}, PERSISTENT, *(yaml.safe_load(case.read_text()) or {} for case in CASES)]


def number(version: str) -> tuple[int, ...]:
    """Return a version in the form in which versions compare."""
    return tuple(map(int, version.split(".")))


def leaves(of: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the path of every value that is set; what is no map of names is one value."""
    for key, value in of.items():
        at = f"{path}.{key}".removeprefix(".")
        if isinstance(value, dict) and value and at != "grafana.persistence.annotations":
            yield from leaves(value, at)
        else:
            yield at


def paths_set() -> set[str]:
    """Return every path that kvobs itself puts into a release's values."""
    of_kvobs = values.stack_values(PERSISTENT, admin_secret="s", control_plane="EKS")
    return {*leaves(of_kvobs), *leaves(image_values("registry.local", ["pull"]))}


@contextmanager
def asked() -> Iterator[set[str]]:
    """Collect every path that is looked up in values meanwhile."""
    found: set[str] = set()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is merge.value_at.__code__:
            found.add(frame.f_locals["path"])

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield found
    finally:
        sys.setprofile(before)


def paths_read() -> set[str]:
    """Return every path that kvobs looks up to foretell what a release will be."""
    with asked() as found:
        for each in GIVEN:
            chart.names_of("kps", "monitoring", each)
            chart.datasource_of(each)
            chart.sidecar_of(each, "monitoring")
            chart.prometheus_of("kps", "monitoring", each)
            chart.grafana_of("kps", "monitoring", each)
            values.stack_values(each, admin_secret="s")
    return found


def test_the_table_is_of_versions_from_the_oldest_to_the_pinned_one() -> None:
    """Every major version from the oldest accepted one to the pinned one was looked at, and the pinned one itself."""
    looked_at = [number(version) for version in TABLE["looked_at"]]

    assert {major for major, *_ in looked_at} == set(range(OLDEST, number(CHART_VERSION)[0] + 1))
    assert number(CHART_VERSION) == max(looked_at)
    assert min(looked_at) == (OLDEST, 0, 0)


def test_what_is_set_is_known_to_every_version() -> None:
    """A value that kvobs sets is one that each accepted chart has: it would be without effect in another."""
    found = paths_set()

    assert {f"{part}.enabled" for part in MANAGED_PARTS} <= found
    assert "global.imageRegistry" in found
    assert {path: PATHS.get(path, {}).get("since") for path in found} == dict.fromkeys(found, f"{OLDEST}.0.0")


def test_what_is_read_is_known_to_every_version() -> None:
    """A value by which kvobs foretells names and selectors means that in each accepted chart, but for two switches."""
    found = paths_read()

    assert len(found) > 50
    assert found - PATHS.keys() == set()
    assert {path for path in found if PATHS[path]["since"] != f"{OLDEST}.0.0"} <= LATER


@pytest.mark.parametrize(
    ("where", "version", "too_old", "newer"),
    [
        (CHART, "69.8.2", True, False),
        (CHART, "9.0.0", True, False),
        (CHART, "v61.3.1", True, False),
        (CHART, "69", True, False),
        (CHART, "70.0.0", False, False),
        (CHART, CHART_VERSION, False, False),
        (CHART, "88.99.0", False, False),
        (CHART, "89.0.0", False, True),
        (CHART, "104.1.0-rc.1", False, True),
        (CHART, "^60", False, False),
        (CHART, ">=60", False, False),
        (CHART, None, False, False),
        ("kube-prometheus-stack", "45.0.0", True, False),
        ("./charts/kube-prometheus-stack/", "45.0.0", True, False),
        ("oci://registry.local/our-stack", "1.2.0", False, False),
    ],
)
def test_versions(where: str, version: str | None, too_old: bool, newer: bool) -> None:
    """An exact version below the table is refused, one above it is said; a range, and another chart, are not."""
    if too_old:
        with pytest.raises(UsageError, match=r"older than the charts that kvobs knows .*70 to 88") as refused:
            refuse_too_old(where, version)
        assert "--stack reuse" in (refused.value.hint or "")
    else:
        refuse_too_old(where, version)
    assert bool(newer_than_known(where, version)) is newer


def test_choice_refuses_and_says() -> None:
    """The plan for a stack of ours refuses a chart that is too old, and carries the word on one that is newer."""
    nothing = Facts(server_version="", kinds=frozenset())

    with pytest.raises(UsageError, match=r"69\.0\.0 is older"):
        choose(nothing, Settings(chart_version="69.0.0"))
    target = choose(nothing, Settings(chart_version="99.0.0"))
    assert "chart-newer" in [note.id for note in target.notes]
    assert "chart-newer" not in [note.id for note in choose(nothing, Settings()).notes]
