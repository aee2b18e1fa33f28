"""Who scrapes what: exporters and vLLM servers of every known make, in `tests/data/clusters/`, after an install."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kvobs.stack.facts import Facts, Monitor
from kvobs.stack.plan import Plan
from kvobs.stack.targets import monitor_of, selected, targets

from .cases import Case, folders, load

FAMILIES = [case for case in map(load, folders()) if case.plan is not None and "scraped" in case.plan]
MONITORS = ("ServiceMonitor", "PodMonitor")


def carried_out(facts: Facts, plan: Plan) -> list[Monitor]:
    """Return the monitors that the Prometheus reads once *plan* is carried out."""
    ours = [monitor_of(each, each["kind"], ours=True) for each in plan.objects if each["kind"] in MONITORS]
    labels = {
        change.path[-1]: str(change.value)
        for step in plan.steps
        for change in step.fields
        if change.path[-2] == "additionalLabels"
    }
    # The GPU Operator hands the labels on to the monitor that it makes.
    theirs = [
        replace(each, labels={**each.labels, **labels}) if each.name == "nvidia-dcgm-exporter" else each
        for each in facts.monitors
    ]
    everyone = [*theirs, *ours]
    return [each for each in everyone if selected(plan.target.prometheus, each, facts.namespaces)]


def scraped(facts: Facts, read: list[Monitor]) -> Mapping[str, list[str]]:
    """Return `NAMESPACE/POD:PORT` -> the monitors that give its metrics under their own names."""
    found: dict[str, list[str]] = {}
    for each in read:
        name = f"{each.kind} {each.namespace}/{each.name}"
        for pod, port in targets(each, facts):
            over = [
                f"{name} over https" if endpoint.get("scheme") == "https" else name
                for endpoint in each.endpoints
                if (pod, port) in targets(replace(each, endpoints=(endpoint,)), facts)
            ]
            found.setdefault(f"{pod}:{port}", []).extend(over)
    return found


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_scraped(case: Case) -> None:
    """Each server is scraped once, by whom the case says, at the port and by the scheme that it really serves."""
    facts, plan = case.look(), case.planned()
    assert case.plan is not None
    found = scraped(facts, carried_out(facts, plan))

    assert {target: by for target, by in found.items() if len(by) > 1} == {}
    assert {target: by[0] for target, by in found.items()} == (case.plan["scraped"] or {})


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_nobody_else_is_scraped(case: Case) -> None:
    """No monitor of ours finds a pod that is none of the servers: a router, a picker, a benchmark, a proxy."""
    facts, plan = case.look(), case.planned()
    ours = [monitor_of(each, each["kind"], ours=True) for each in plan.objects if each["kind"] in MONITORS]
    others = replace(facts, vllm_pods=(), dcgm_pods=facts.bystanders)

    assert {each.name: targets(each, others) for each in ours if targets(each, others)} == {}


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_every_server_is_accounted_for(case: Case) -> None:
    """A server without a monitor has a note that names it."""
    facts, plan = case.look(), case.planned()
    found = scraped(facts, carried_out(facts, plan))
    said = " ".join(note.text for note in plan.notes)
    missing = [
        pod
        for pod in (*facts.vllm_pods, *facts.dcgm_pods)
        if f"{pod.namespace}/{pod.name}:{pod.metrics_port}" not in found
    ]

    assert [pod.name for pod in missing if f"{pod.namespace}/{pod.owner}" not in said] == []
