"""Which rights a run takes: all of them are known before it changes anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from kvobs.settings import Settings
from kvobs.stack.applyset import parent
from kvobs.stack.chart import names_of
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, Ref
from kvobs.stack.leftovers import names_left
from kvobs.stack.plan import Plan, make_plan
from kvobs.stack.record import ForeignField, Record, ReleaseRecord
from kvobs.stack.rights import Right, rights_needed, rights_to_uninstall

from .clusters import stack
from .snapshots import TEMPLATES

FIELD = ForeignField(
    ref=Ref("ClusterPolicy.nvidia.com", "", "cluster-policy"), path=("spec", "x"), before=1, after=2, owner=None
)
RELEASE = ReleaseRecord(namespace="monitoring", name="kps", chart="c", chart_version="1")
OWN = Record(
    release=RELEASE,
    foreign_fields=(FIELD,),
    settings={
        "namespace_created": True,
        **names_left(Record(), names_of("kps", "monitoring", {"grafana": {"namespaceOverride": "faces"}})),
    },
)
REUSED = Record(settings={"prometheus": "mon/k8s"})
MEMBERS = (Ref("ConfigMap", "monitoring", "a"), Ref("ServiceMonitor.monitoring.coreos.com", "llm", "b"))
SERVED = ("Prometheus.monitoring.coreos.com", "Service", "Probe.monitoring.coreos.com")
FLAGS = ("delete_crds", "delete_pvcs", "delete_namespace")

Asked = set[tuple[str, str, str]]


def lease(namespace: str) -> Asked:
    """Return what it takes to keep other runs out while one acts."""
    verbs = ("get", "create", "update", "delete")
    return {(verb, "Lease.coordination.k8s.io", namespace) for verb in verbs}


def asked(record: Record, *flags: str) -> Asked:
    """Return what an uninstall by this record asks for."""
    told = parent("kvobs", "monitoring", refs=MEMBERS, record=record)
    given = {flag: flag in flags for flag in FLAGS}
    return as_asked(rights_to_uninstall(told, record, served=SERVED, **given))


def as_asked(rights: Iterable[Right]) -> Asked:
    """Return the rights as (verb, kind, namespace)."""
    return {(each.verb, each.kind, each.namespace) for each in rights}


CRD = "CustomResourceDefinition.apiextensions.k8s.io"


@pytest.mark.parametrize(
    ("flag", "more"),
    [
        (
            "delete_crds",
            {
                ("delete", CRD, ""),
                ("list", "Prometheus.monitoring.coreos.com", ""),
                ("list", "Probe.monitoring.coreos.com", ""),
            },
        ),
        (
            "delete_pvcs",
            {("delete", "PersistentVolumeClaim", "monitoring"), ("delete", "PersistentVolumeClaim", "faces")},
        ),
        ("delete_namespace", {("delete", "Namespace", "")}),
    ],
)
def test_a_flag_asks_for_its_own(flag: str, more: Asked) -> None:
    """Each flag of an uninstall asks for what it takes, and for no more."""
    assert asked(OWN, flag) - asked(OWN) == more


def test_uninstall_of_a_release() -> None:
    """Members, foreign fields, Helm's storage, what the operator left, in every place; never a Secret of all places."""
    needed = asked(OWN)

    assert {
        ("list", "ServiceMonitor.monitoring.coreos.com", "llm"),
        ("delete", "ServiceMonitor.monitoring.coreos.com", "llm"),
        ("delete", "ConfigMap", "monitoring"),
        ("get", "ClusterPolicy.nvidia.com", ""),
        ("update", "ClusterPolicy.nvidia.com", ""),
        ("delete", "Secret", "monitoring"),
        ("delete", "Deployment.apps", "monitoring"),
        ("list", "Deployment.apps", ""),
        ("delete", "Service", "kube-system"),
        ("delete", "Endpoints", "kube-system"),
        ("list", "StatefulSet.apps", "monitoring"),
        ("list", "PersistentVolumeClaim", "faces"),
        ("list", CRD, ""),
    } <= needed
    assert not {each for each in needed if each[1] == "Secret" and each[2] != "monitoring" and each[2] != "llm"}


def test_uninstall_beside_a_stack_of_somebody_else() -> None:
    """Where the stack is reused, only our own objects are asked for; the CRDs too where they are to go."""
    kinds = ("ConfigMap", "ServiceMonitor.monitoring.coreos.com")
    own = {(verb, kind, place) for verb in ("list", "delete") for kind in kinds for place in ("monitoring", "llm")}
    own |= lease("monitoring")

    assert asked(REUSED) == own
    assert asked(REUSED, "delete_pvcs", "delete_namespace") == own
    assert {("list", CRD, ""), ("delete", CRD, "")} <= asked(REUSED, "delete_crds")


def plan(facts: Facts) -> Plan:
    """Return what an install does."""
    settings = Settings()
    return make_plan(facts, choose(facts, settings), settings, dashboards=(), monitors=TEMPLATES)


def test_install_after_an_earlier_one() -> None:
    """What an earlier run made, and this one no longer wants, has to be found and deleted, and a field given back."""
    earlier = parent("kvobs", "mon", refs=(Ref("Secret", "x", "s"),), record=replace(REUSED, foreign_fields=(FIELD,)))
    facts = stack(parents=(earlier,))
    first = as_asked(rights_needed(plan(stack()), release=False))
    second = as_asked(rights_needed(plan(facts), release=False, before=earlier))

    assert ("list", "ServiceMonitor.monitoring.coreos.com", "mon") in first
    assert lease("mon") <= first
    assert "delete" not in {verb for verb, _, _ in first - lease("mon")}
    assert {
        ("list", "Secret", "x"),
        ("delete", "Secret", "x"),
        ("list", "ServiceMonitor.monitoring.coreos.com", "x"),
        ("update", "ClusterPolicy.nvidia.com", ""),
    } <= second
    assert ("delete", "ServiceMonitor.monitoring.coreos.com", "mon") not in second
