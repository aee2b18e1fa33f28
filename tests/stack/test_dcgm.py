"""GPU metrics: the cases are files, see `snapshots.py`."""

from __future__ import annotations

from collections import Counter

import pytest

from kvobs.stack.dcgm import DcgmPlan, dcgm_plan
from kvobs.stack.exporters import cluster_policies, field_managers
from kvobs.stack.facts import Facts
from kvobs.stack.targets import selected, targets

from .snapshots import TEMPLATES, Case, applied, as_far_as, cases, plain

CASES = cases("dcgm")


def plan_of(case: Case, facts: Facts | None = None) -> DcgmPlan:
    """The plan for a case, or for other facts of its cluster."""
    return dcgm_plan(facts or case.facts, case.prometheus, case.settings, namespace="monitoring", templates=TEMPLATES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plan(case: Case) -> None:
    """The monitors, the fields and the notes are what the case says."""
    expected = case.expected["dcgm"]
    plan = plan_of(case)
    notes = {note.id: note.text for note in plan.notes}

    assert as_far_as(expected["objects"], plain(plan.objects)) == expected["objects"]
    assert as_far_as(expected["fields"], plain(plan.fields)) == expected["fields"]
    assert notes.keys() == expected["notes"].keys()
    assert all(text in notes[key] for key, text in expected["notes"].items()), notes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plan_is_stable(case: Case) -> None:
    """With its own monitors on the cluster, the plan is the same."""
    plan = plan_of(case)

    assert plan_of(case, applied(case.facts, plan.objects)) == plan


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_scraped_once(case: Case) -> None:
    """The Prometheus reads every monitor of ours, and no exporter is scraped twice."""
    after = applied(case.facts, plan_of(case).objects)
    read = [each for each in after.monitors if selected(case.prometheus, each, case.facts.namespaces)]

    assert [each.name for each in after.monitors if each.ours and each not in read] == []
    found = Counter(target for each in read for target in targets(each, case.facts))
    assert [target for target, times in found.items() if times > 1] == []


def test_field_managers_of_an_atomic_value() -> None:
    """Who set a value as a whole owns what is inside, but for what somebody owns by itself."""
    each = {
        "metadata": {
            "managedFields": [
                {"manager": "whole", "fieldsV1": {"f:spec": {}}},
                {"manager": "one", "fieldsV1": {"f:spec": {"f:a": {"f:x": {}}}}},
                {"manager": "nothing", "fieldsV1": {}},
                {"manager": "map", "fieldsV1": {"f:spec": {"f:a": {".": {}}}}},
                {"manager": "status", "subresource": "status", "fieldsV1": {"f:spec": {"f:a": {"f:y": {}}}}},
            ]
        },
        "spec": {"a": {"x": 1, "y": 2}, "b": 3},
    }

    assert field_managers(each, ("spec", "a")) == {"x": ("one",), "y": ("whole",)}


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({}, [("p", False)]),
        ({"state": "ready", "conditions": [{"type": "Error", "status": "False"}]}, [("p", False)]),
        ({"conditions": [{"type": "Error", "status": "True", "message": "no driver"}]}, [("p", False)]),
        ({"conditions": [{"type": "Error", "status": "True", "message": 'conflicting GPUCluster "g"'}]}, [("p", True)]),
        ({"conditions": [{"type": "Error", "status": "False", "message": "a GPUCluster"}]}, [("p", False)]),
        ({"state": "ignored"}, []),
    ],
)
def test_policies_that_are_not_carried_out(status: dict[str, object], found: list[tuple[str, bool]]) -> None:
    """A policy beside another does not count, one beside a GPUCluster is in conflict; a passing error is neither."""
    policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}, "status": status}

    assert [(each.name, each.in_conflict) for each in cluster_policies([policy])] == found
