"""Pods that a monitor must leave: told apart by their labels where that can be done."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.facts import MetricsPod
from kvobs.stack.strangers import apart_from

JOB = "batch.kubernetes.io/job-name"


def pod(**labels: str) -> MetricsPod:
    """Return a pod of namespace ml."""
    told = {key.replace("job", JOB): value for key, value in labels.items()}
    return MetricsPod(namespace="ml", name="-".join(told), labels=told, ports={}, metrics_port=8000)


@pytest.mark.parametrize(
    ("others", "keys"),
    [
        ([pod(app="chat", tier="router")], ["tier"]),
        ([pod(app="chat", job="b", tier="x")], ["tier"]),
        ([pod(app="chat", job="b")], [JOB]),
        ([pod(app="chat", a="1"), pod(app="chat", a="2", b="3")], ["a"]),
        ([pod(app="chat", b="1"), pod(app="chat", a="2")], ["a", "b"]),
        ([pod(app="chat", hash="ours")], []),
        ([pod(app="chat")], []),
    ],
    ids=["a label of theirs", "one that lasts first", "else any", "one for two", "one each", "a key of ours", "none"],
)
def test_apart_from(others: list[MetricsPod], keys: list[str]) -> None:
    """The fewest labels that the others have and ours have not, those that last first; what was asked stays."""
    opt_out = {"key": "k", "operator": "NotIn", "values": ["v"]}
    document: dict[str, Any] = {
        "spec": {"selector": {"matchLabels": {"app": "chat"}, "matchExpressions": [opt_out]}, "x": 1}
    }
    made = apart_from(document, others, [pod(app="chat", hash="1")])

    expressions = [opt_out, *({"key": key, "operator": "DoesNotExist"} for key in keys)]
    assert made["spec"] == {"selector": {"matchLabels": {"app": "chat"}, "matchExpressions": expressions}, "x": 1}
    assert document["spec"]["selector"]["matchExpressions"] == [opt_out]
