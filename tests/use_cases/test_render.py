"""What render hands over is whoever's who applies it: kvobs beside it neither takes it over nor doubles it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kvobs.errors import ActionError
from kvobs.settings import Settings
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, Object
from kvobs.stack.objects import kind_of
from kvobs.stack.plan import Plan, make_plan
from kvobs.stack.recognise import Snapshot, facts
from kvobs.stack.targets import ENDPOINTS
from kvobs.use_cases.inputs import read_dashboards, shipped_monitors
from kvobs.use_cases.render import render
from tests.stack.snapshots import DATA

RELEASE = Settings(namespace="elsewhere", release="kps")
"""Rendered into another namespace than the one that an install here takes, so that no name is taken."""


def objects_of(case: str) -> list[Object]:
    """Return the raw objects of a part of the recorded clusters."""
    return list(yaml.safe_load_all((DATA / "_parts" / f"{case}.yaml").read_text()))


def seen(*more: Object, settings: Settings) -> Facts:
    """Return the facts of a cluster with somebody's release `kps`, and *more*."""
    objects: dict[str, list[Object]] = {}
    for each in (*objects_of("kps"), *more):
        objects.setdefault(kind_of(each), []).append(each)
    return facts(Snapshot(server_version="", kinds=frozenset(objects), objects=objects), settings=settings)


def planned(found: Facts, settings: Settings, documents: Any = ()) -> Plan:
    """Return the plan for *found*."""
    return make_plan(found, choose(found, settings), settings, dashboards=documents, monitors=shipped_monitors())


def test_nobody_owns_it() -> None:
    """No rendered object says that kvobs looks after it."""
    labels = [each["metadata"]["labels"] for each in render().objects]

    assert labels
    assert not [each for each in labels if {"app.kubernetes.io/managed-by", "applyset.kubernetes.io/part-of"} & {*each}]


@pytest.mark.parametrize(
    ("set_values", "interval"), [((), "15s"), (("prometheus.prometheusSpec.scrapeInterval=1s",), "1s")]
)
def test_monitors_scrape_as_often_as_the_stack_reckons_with(set_values: tuple[str, ...], interval: str) -> None:
    """What the values say of the scrapes holds for the rendered monitors too, those for GPUs included."""
    monitors = [each for each in render(Settings(set_values=set_values)).objects if each["kind"] in ENDPOINTS]

    assert {each["metadata"]["name"].removesuffix("-pods") for each in monitors} >= {
        "kvobs-vllm",
        "kvobs-dcgm-gpu-operator-nvidia-dcgm-exporter",
    }
    assert {end["interval"] for each in monitors for end in each["spec"][ENDPOINTS[each["kind"]]]} == {interval}


def test_targets_are_not_doubled() -> None:
    """The monitors of a render that somebody applied are read already: install says so and adds none beside them."""
    settings = Settings(grafana="none")
    plan = planned(seen(*render(RELEASE).objects, settings=settings), settings)
    already = [note.text for note in plan.notes if note.id == "already-scraped"]

    assert plan.objects == ()
    assert any("ServiceMonitor elsewhere/kvobs-vllm already" in text for text in already), already
    assert any("PodMonitor elsewhere/kvobs-vllm-pods already" in text for text in already), already
    alone = planned(seen(settings=settings), settings)
    assert {each["metadata"]["name"] for each in alone.objects} == {"kvobs-vllm", "kvobs-vllm-pods"}


def test_labelled_server_is_scraped_once() -> None:
    """A Service with the label is what the rendered monitor is for: nothing says that it would be scraped twice."""
    settings = Settings(grafana="none")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "chat", "namespace": "ml", "labels": {"kvobs.dev/scrape": "vllm"}},
        "spec": {"selector": {"app.kubernetes.io/name": "chat"}, "ports": [{"port": 80, "targetPort": "http"}]},
    }
    plan = planned(seen(*objects_of("vllm-pod"), service, *render(RELEASE).objects, settings=settings), settings)

    assert plan.objects == ()
    assert not {"scraped-twice", "no-vllm"} & {note.id for note in plan.notes}


def test_dashboards_are_not_doubled() -> None:
    """The dashboards of a render that somebody applied clash with install's; the way on is named."""
    settings = Settings()
    found = seen(*render(RELEASE).objects, settings=settings)

    with pytest.raises(ActionError, match=r"elsewhere/kvobs-dashboard-kvobs-vllm\[") as refused:
        planned(found, settings, read_dashboards(()).documents)

    assert "--grafana none" in (refused.value.hint or "")
