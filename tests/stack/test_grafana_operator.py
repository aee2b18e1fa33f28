"""Grafana as the Grafana Operator has it; the usual kinds are cases of `tests/data/clusters`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kvobs.errors import DocumentError
from kvobs.stack.applyset import applyset_id
from kvobs.stack.grafana_operator import grafana_dashboard, instances_for, operated_dashboards, operated_grafanas
from kvobs.stack.objects import PART_OF_LABEL

from .clusters import grafana, source

BY_LABEL = {"matchLabels": {"dashboards": "g"}}
INSTANCE = {"metadata": {"name": "g", "namespace": "obs", "labels": {"dashboards": "g"}}}


def loaded(spec: dict[str, Any], **labels: str) -> Any:
    """Return how a GrafanaDashboard counts."""
    each = {"metadata": {"name": "d", "namespace": "obs", "labels": labels}, "spec": spec}
    return list(operated_dashboards([each], own_sets={applyset_id("kvobs", "obs")}))


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"json": json.dumps({"uid": "u", "title": "T"})}, [("u", "T")]),
        ({"json": json.dumps({"uid": "u", "title": "T"}), "uid": "other"}, [("other", "T")]),
        ({"json": json.dumps({"title": 1})}, [(None, None)]),
        ({"json": "{"}, []),
        ({"json": "[]"}, []),
        ({"json": "[" * 100_000}, []),
        ({"url": "https://example.com/board.json"}, []),
        ({}, []),
    ],
)
def test_dashboards_that_are_there(spec: dict[str, Any], found: list[tuple[str | None, str | None]]) -> None:
    """What stands in an object is known by uid and title; what its operator fetches is not read."""
    assert [(each.uid, each.title) for each in loaded(spec)] == found


def test_dashboards_of_ours() -> None:
    """A member of our ApplySet is ours, so that it does not clash with itself."""
    document = {"json": json.dumps({"uid": "u", "title": "T"})}

    assert [each.ours for each in loaded(document, **{PART_OF_LABEL: applyset_id("kvobs", "obs")})] == [True]
    assert [each.ours for each in loaded(document)] == [False]


@pytest.mark.parametrize(
    ("document", "says"),
    [({"uid": "u"}, "no title"), ({"title": "T", "x": "y" * 1_100_000}, "1,048,576 at most")],
    ids=["no title", "too large"],
)
def test_dashboard_that_no_object_can_hold(document: dict[str, Any], says: str) -> None:
    """It is refused with the reason, as for a ConfigMap."""
    with pytest.raises(DocumentError, match=says):
        grafana_dashboard(document, name="d", namespace="obs", instances={}, folder="kvobs")


def test_dashboard_as_an_object() -> None:
    """The JSON goes in as it is, with the folder and the Grafanas that it is for."""
    made = grafana_dashboard(
        {"uid": "u", "title": "${x}"}, name="d", namespace="obs", instances={"matchLabels": {"a": "b"}}, folder="kvobs"
    )

    assert json.loads(made["spec"]["json"]) == {"uid": "u", "title": "${x}"}
    assert made["spec"]["folder"] == "kvobs"
    assert made["spec"]["instanceSelector"] == {"matchLabels": {"a": "b"}}


def test_workload_of_another_owner() -> None:
    """A Grafana that the operator does not run keeps its name, also where an instance of that name is elsewhere."""
    mine = grafana("g", "mon")
    owner = [{"kind": "Grafana", "apiVersion": "example.com/v1", "name": "g"}]
    workload = {"metadata": {"name": "g", "namespace": "mon", "ownerReferences": owner}}
    found = operated_grafanas([mine], raw_workloads=[workload], instances=[INSTANCE], datasources=[])

    assert [(each.namespace, each.name, each.operated) for each in found] == [
        ("mon", "g", None),
        ("obs", "g", {"dashboards": "g"}),
    ]


@pytest.mark.parametrize(
    ("spec", "sources"),
    [
        ({"instanceSelector": BY_LABEL, "datasource": {"name": "P", "url": "u"}}, [("uid", "u")]),
        ({"instanceSelector": {}, "datasource": {"name": "P", "uid": "old"}}, [("old", "")]),
        ({"instanceSelector": {}, "uid": "new", "datasource": {"name": "P", "uid": "old"}}, [("new", "")]),
        (
            {
                "instanceSelector": {},
                "datasource": {"name": "P", "url": "http://${host}"},
                "valuesFrom": [{"targetPath": "url", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            },
            [("uid", "")],
        ),
        ({"instanceSelector": {"matchLabels": {"dashboards": "h"}}, "datasource": {"name": "P"}}, []),
        ({"datasource": {"name": "P"}}, []),
        ({"instanceSelector": {}, "datasource": {}}, []),
    ],
    ids=["by label", "older UID", "UID", "URL from a Secret", "for another", "for none", "no name"],
)  # fmt: skip
def test_datasources(spec: dict[str, Any], sources: list[tuple[str, str]]) -> None:
    """A datasource counts for the instances that it selects; its UID is its own, else that of its object."""
    each = {"metadata": {"name": "d", "namespace": "obs", "uid": "uid"}, "spec": spec}
    (found,) = operated_grafanas([], raw_workloads=[], instances=[INSTANCE], datasources=[each])

    assert [(one.uid, one.url) for one in found.datasources] == sources


def test_how_dashboards_name_a_grafana() -> None:
    """As its datasource does; without one by the labels that last."""
    selector = {"matchLabels": {"dashboards": "g"}}
    labels = {"team": "a", "helm.sh/chart": "x-1", "app.kubernetes.io/managed-by": "Helm"}
    one = grafana(operated=labels, datasources=(source("u", instances=selector),))

    assert instances_for(one, "u") == selector
    assert instances_for(one, "other") == {"matchLabels": {"team": "a"}}
