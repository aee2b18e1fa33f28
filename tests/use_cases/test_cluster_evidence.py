"""What verify reads of a cluster beside the facts, and what it says where it may not."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.settings import Settings
from kvobs.stack.objects import kind_of
from kvobs.use_cases.look import look
from kvobs.use_cases.one_look import OneLook
from kvobs.use_cases.verifying.cluster_evidence import EVENTS, cluster_evidence
from tests.stack.cases import ROOT, load
from tests.stack.listed import BUILT_IN, Listed

NEW, OLD = EVENTS
STACK = load(ROOT / "kube-prometheus-stack")
MONITOR = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "ServiceMonitor",
    "metadata": {"name": "llm", "namespace": "mon"},
    "spec": {"selector": {}, "endpoints": [{"port": "http"}]},
}


def event(version: str, subject: str) -> dict[str, Any]:
    """Return a warning about the monitor."""
    about = {"kind": "ServiceMonitor", "namespace": "mon", "name": "llm"}
    return {
        "apiVersion": version,
        "kind": "Event",
        "metadata": {"name": "llm.1", "namespace": "mon"},
        "type": "Warning",
        subject: about,
    }


WARNINGS = {NEW: event("events.k8s.io/v1", "regarding"), OLD: event("v1", "involvedObject")}


@pytest.mark.parametrize(
    ("denied", "told", "unread"),
    [
        ((), True, set()),
        ((NEW,), True, set()),
        ((OLD,), True, set()),
        ((NEW, OLD), False, {NEW, OLD}),
    ],
    ids=["all", "by the old name", "by the new name", "none"],
)
def test_events(denied: tuple[str, ...], told: bool, unread: set[str]) -> None:
    """Warnings are read by the name that a role allows; where it allows neither, that is not passed over."""
    objects = [*STACK.objects, MONITOR, *WARNINGS.values()]
    served = frozenset({*BUILT_IN, *STACK.served, *map(kind_of, objects)})
    cluster = OneLook(Listed(objects, served, frozenset(denied)))
    facts = look(cluster, Settings())

    evidence = cluster_evidence(cluster, facts, facts.prometheuses[0])

    assert bool(evidence.events) is told
    assert evidence.unread.keys() == unread
