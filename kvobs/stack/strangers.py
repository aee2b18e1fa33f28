"""Pods that a monitor must not find: a router in front of vLLM serves `vllm:…` metrics too, and a benchmark none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .facts import Facts, MetricsPod, Object
from .monitor_objects import is_stable
from .targets import aimed_at, monitor_of, reached, rewritten_port


def strangers(document: Object, facts: Facts) -> list[MetricsPod]:
    """The pods beside those of *facts* that the monitor *document* would make targets of."""
    monitor = monitor_of(document, document["kind"], ours=True)
    if any(rewritten_port(each) is not None for each in monitor.endpoints):
        return aimed_at(monitor, facts, facts.bystanders)
    found = {name for name, _ in reached(monitor, facts, facts.bystanders)}
    return [pod for pod in facts.bystanders if f"{pod.namespace}/{pod.name}" in found]


def apart_from(document: Mapping[str, Any], others: Sequence[MetricsPod], ours: Iterable[MetricsPod]) -> dict[str, Any]:
    """Return *document* such that it leaves *others*: by labels that they have, and none of *ours* has.

    What cannot be told apart stays. A label that lasts is preferred; that of a Job, say, does as well.
    """
    taken = {key for pod in ours for key in pod.labels}
    left, keys = list(others), []
    while left:
        candidates = [key for key in left[0].labels if key not in taken]
        if not candidates:
            left.pop(0)
            continue
        key = min(candidates, key=lambda each: (not is_stable(each), each))
        keys.append(key)
        left = [pod for pod in left if key not in pod.labels]
    if not keys:
        return dict(document)
    selector = document["spec"]["selector"]
    apart = [{"key": key, "operator": "DoesNotExist"} for key in sorted(keys)]
    expressions = [*(selector.get("matchExpressions") or ()), *apart]
    return {**document, "spec": {**document["spec"], "selector": {**selector, "matchExpressions": expressions}}}
