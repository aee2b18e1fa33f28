"""Monitors for vLLM: the cases are files, see `snapshots.py`."""

from __future__ import annotations

from collections import Counter

import pytest

from kvobs.stack.facts import Facts, Object
from kvobs.stack.monitors import MonitorPlan, vllm_monitors
from kvobs.stack.targets import monitor_of, selected, targets

from .snapshots import TEMPLATES, Case, applied, as_far_as, cases, plain

GENERIC = {template["metadata"]["name"] for template in TEMPLATES.values()}
CASES = cases("vllm")


def plan_of(case: Case, facts: Facts | None = None) -> MonitorPlan:
    """The plan for a case, or for other facts of its cluster."""
    return vllm_monitors(
        facts or case.facts, case.prometheus, case.settings, namespace="monitoring", templates=TEMPLATES
    )


def specific(plan: MonitorPlan) -> list[Object]:
    """The monitors for servers that run."""
    return [each for each in plan.objects if each["metadata"]["name"] not in GENERIC]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plan(case: Case) -> None:
    """The monitors and the notes are what the case says."""
    expected = case.expected["vllm"]
    plan = plan_of(case)
    objects = plain(specific(plan))
    notes = {note.id: note.text for note in plan.notes}

    assert as_far_as(expected["objects"], objects) == expected["objects"]
    assert notes.keys() == expected["notes"].keys()
    assert all(text in notes[key] for key, text in expected["notes"].items()), notes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plan_is_stable(case: Case) -> None:
    """With its own monitors on the cluster, the plan is the same."""
    plan = plan_of(case)

    assert plan_of(case, applied(case.facts, plan.objects)) == plan


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_scraped_once(case: Case) -> None:
    """The Prometheus reads every monitor of ours, each finds something, and no pod is scraped twice."""
    plan = plan_of(case)
    after = applied(case.facts, plan.objects)
    ours = [each for each in after.monitors if each.ours]
    read = [each for each in after.monitors if selected(case.prometheus, each, case.facts.namespaces)]

    assert [each.name for each in ours if each not in read] == []
    found = Counter(target for each in read if each.name not in GENERIC for target in targets(each, case.facts))
    assert case.expected.get("doubled") or [target for target, times in found.items() if times > 1] == []
    stand_ins = {name for name in ("kvobs-vllm-ml-later", "kvobs-vllm-ml-custom") if case.settings.vllm_selector}
    empty = [each.name for each in ours if each.name not in GENERIC | stand_ins and not targets(each, case.facts)]
    assert empty == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_templates_are_not_changed(case: Case) -> None:
    """Templates and facts are read only."""
    before = (plain(TEMPLATES), plain(case.facts))
    plan_of(case)

    assert (plain(TEMPLATES), plain(case.facts)) == before


def test_generic_monitors_come_first() -> None:
    """Servers to come are scraped by their label, in any namespace."""
    case = next(each for each in CASES if each.name == "vllm-service")
    generic = plan_of(case).objects[:2]

    assert [(each["kind"], each["metadata"]["name"]) for each in generic] == [
        ("ServiceMonitor", "kvobs-vllm"),
        ("PodMonitor", "kvobs-vllm-pods"),
    ]
    for each in generic:
        assert each["metadata"]["namespace"] == "monitoring"
        assert each["metadata"]["labels"] == {"release": "kps"}
        assert each["spec"]["namespaceSelector"] == {"any": True}
        assert monitor_of(each, each["kind"], ours=True).selector["matchLabels"].keys() == {"kvobs.dev/scrape"}
