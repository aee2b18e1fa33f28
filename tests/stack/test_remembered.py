"""What an earlier run was told holds for a later one that is told nothing of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvobs.settings import CHART, CHART_VERSION, Settings
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, MetricsPod
from kvobs.stack.plan import make_plan
from kvobs.stack.recognise import Snapshot, facts
from kvobs.stack.record import Record, ReleaseRecord
from kvobs.stack.remembered import recalled, record_of, remembered

from .clusters import after_helm, cluster, parent_in, stack
from .snapshots import TEMPLATES

CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("nothing told, nothing recorded", {}, {}, {}),
    ("a chart of the user's", {"chart": "/c", "chart_version": "1.2.3"}, {}, {"chart": "/c", "chart_version": "1.2.3"}),
    ("a version alone", {"chart_version": "87.0.0"}, {}, {"chart_version": "87.0.0"}),
    ("another version of that chart", {"chart": "/c", "chart_version": "1"}, {"chart_version": "2"},
     {"chart": "/c", "chart_version": "2"}),
    ("another chart has versions of its own", {"chart": "/c", "chart_version": "1"}, {"chart": "/d"}, {"chart": "/d"}),
    ("the default chart takes both back", {"chart": "/c", "chart_version": "1"}, {"chart": CHART}, {}),
    ("how GPUs are scraped", {"dcgm": "operator"}, {}, {"dcgm": "operator"}),
    ("another way for GPUs", {"dcgm": "operator"}, {"dcgm": "none"}, {"dcgm": "none"}),
    ("auto takes it back", {"dcgm": "none"}, {"dcgm": "auto"}, {}),
    ("where vLLM is", {"vllm_namespace": "ml", "vllm_selector": "a=b", "vllm_port": "x"}, {},
     {"vllm_namespace": "ml", "vllm_selector": "a=b", "vllm_port": "x"}),
    ("one thing about vLLM anew", {"vllm_namespace": "ml", "vllm_port": "x"}, {"vllm_port": "y"},
     {"vllm_namespace": "ml", "vllm_port": "y"}),
    ("an empty text takes it back", {"vllm_namespace": "ml", "vllm_selector": "a=b", "vllm_port": "x"},
     {"vllm_namespace": "", "vllm_selector": "", "vllm_port": ""}, {}),
    ("datasources", {"datasources": ("prometheus=a",)}, {}, {"datasources": ["prometheus=a"]}),
    ("other datasources", {"datasources": ("prometheus=a", "loki=l")}, {"datasources": ("prometheus=b",)},
     {"datasources": ["prometheus=b"]}),
    ("a registry of one's own", {"image_registry": "r.io/m", "image_pull_secrets": ("a", "b")}, {},
     {"image_registry": "r.io/m", "image_pull_secrets": ["a", "b"]}),
    ("another registry, with the same secrets", {"image_registry": "r.io", "image_pull_secrets": ("a",)},
     {"image_registry": "s.io"}, {"image_registry": "s.io", "image_pull_secrets": ["a"]}),
    ("an empty text takes back what images are pulled with", {"image_registry": "r.io", "image_pull_secrets": ("a",)},
     {"image_registry": "", "image_pull_secrets": ("",)}, {}),
    ("dashboards are what this run says", {"dashboards": ("x.json",)}, {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("first", "then", "told"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_told(first: dict[str, Any], then: dict[str, Any], told: dict[str, Any]) -> None:
    """After one run and another, the record says what holds; what else it says is left alone."""
    before = Record(settings=remembered({"other": 1}, recalled(Settings(**first), Record())))
    after = recalled(Settings(**then), before)

    assert remembered(before.settings, after) == {"other": 1, **told}
    assert {name: getattr(after, name) or None for name in told} == {
        name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
    }
    assert recalled(Settings(), Record(settings=remembered(before.settings, after))) == replace(
        recalled(Settings(), Record()), **{k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
    )


def own(record: Record) -> Facts:
    """Our own release, as the run that wrote *record* left it."""
    empty = cluster(kinds=frozenset())
    return after_helm(empty, name="kube-prometheus-stack", namespace="monitoring", values={}, record=record)


@pytest.mark.parametrize(
    ("told", "settings", "chart", "version"),
    [
        ({}, Settings(), CHART, CHART_VERSION),
        ({"chart": "/c"}, Settings(), "/c", None),
        ({"chart_version": "87.0.0"}, Settings(), CHART, "87.0.0"),
        ({"chart": "/c", "chart_version": "1.0.0"}, Settings(chart_version="2.0.0"), "/c", "2.0.0"),
    ],
    ids=["kvobs' own pin moves on", "the user's chart", "the user's version", "another version of it"],
)
def test_chart_of_a_later_run(told: dict[str, Any], settings: Settings, chart: str, version: str | None) -> None:
    """A run that names no chart upgrades to the chart that the user named, not to that of an older kvobs."""
    release = ReleaseRecord(namespace="monitoring", name="kube-prometheus-stack", chart="old", chart_version="80.0.0")
    found = own(Record(release=release, settings=told))
    target = choose(found, settings)
    record = make_plan(found, target, settings, dashboards=(), monitors=TEMPLATES).record

    assert target.release is not None
    assert (target.release.chart, target.release.version) == (chart, version)
    assert {key: record.settings.get(key) for key in told} == told | (
        {"chart_version": version} if settings.chart_version else {}
    )


def test_monitors_of_a_later_run() -> None:
    """What was said of vLLM and GPUs decides the monitors of a run that says nothing."""
    pod = MetricsPod(
        namespace="ml", name="p", labels={"app": "p"}, ports={8000: None, 9000: "other"}, metrics_port=8000, owner="p"
    )
    facts_now = stack(namespaces={"mon": {}, "ml": {}}, vllm_pods=(pod,))
    first = Settings(vllm_port="other", dcgm="none")
    plan = make_plan(facts_now, choose(facts_now, first), first, dashboards=(), monitors=TEMPLATES)
    later = replace(facts_now, parents=(parent_in("mon", plan.record),))
    again = make_plan(later, choose(later, Settings()), Settings(), dashboards=(), monitors=TEMPLATES)

    assert again.objects == plan.objects
    assert any("other" in str(each["spec"]) for each in plan.objects)
    assert again.record == plan.record


@pytest.mark.parametrize(("told", "found"), [({}, 1), ({"vllm_namespace": "elsewhere"}, 0)])
def test_look_of_a_later_run(told: dict[str, Any], found: int) -> None:
    """Which pods count as vLLM is decided by what an earlier run was told, too."""
    container = {"name": "v", "image": "vllm/vllm-openai:v0.32.0", "ports": [{"containerPort": 8000}]}
    pod = {"metadata": {"name": "v", "namespace": "ml", "labels": {}}, "spec": {"containers": [container]}}
    objects = {"Pod": [pod], "ConfigMap": [parent_in("mon", Record(settings=told))]}
    seen = facts(Snapshot(server_version="v1", kinds=frozenset(), objects=objects), settings=Settings())

    assert len(seen.vllm_pods) == found


def test_record_that_is_meant() -> None:
    """The record in the namespace, or the only one; of two, none."""
    one, two = Record(settings={"dcgm": "none"}), Record(settings={"dcgm": "exporter"})
    parents = (parent_in("a", one), parent_in("b", two))

    assert record_of(parents, "a") == one
    assert record_of(parents[1:], None) == two
    assert record_of(parents, None) == record_of((), None) == record_of(parents, "c") == Record()
