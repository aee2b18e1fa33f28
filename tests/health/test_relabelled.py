"""Metrics that a scrape drops or renames: what it takes to say so, and where the step is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kvobs.dashboard.board import Panel, Query, SourceRef, Target
from kvobs.health.answers import Exposed, Relabelings, Result, ScrapeTarget
from kvobs.health.evidence import ClusterEvidence, DarkQuery, ServerEvidence
from kvobs.health.promql import parse
from kvobs.health.relabel_rules import Place, Rule, place_of
from kvobs.health.relabelled import dropped_finding, families, is_touched, renamed_finding
from kvobs.health.verdict import Finding
from kvobs.stack.facts import Facts, Monitor, Object, Prometheus

NAME = {"sourceLabels": ["__name__"]}
DROP = NAME | {"action": "drop", "regex": "vllm:.*", "separator": ";", "replacement": "$1"}
KEEP = NAME | {"action": "keep", "regex": "up|DCGM_.*"}
RENAME = NAME | {"targetLabel": "__name__", "replacement": "kserve_$1", "separator": ";"}
BY_LE = {"sourceLabels": ["__name__", "le"], "action": "drop", "regex": ".*;.*"}
OF_JOB = {"sourceLabels": ["job"], "targetLabel": "__name__"}

FIRST, SECOND = "serviceMonitor/ml/chat/0", "serviceMonitor/ml/chat/1"
UP = ScrapeTarget(pool=FIRST, labels={"instance": "a"}, url="http://me:pw@10.0.0.7:8000/metrics", health="up")
OTHER = replace(UP, pool=SECOND, labels={"instance": "b"}, url="http://10.0.0.8:8000/metrics")
DOWN = replace(OTHER, health="down")


def exposed(*targets: ScrapeTarget) -> dict[str, tuple[Exposed, ...]]:
    """What it takes for these targets to have the metric."""
    return {"vllm:x": tuple(Exposed(labels=each.labels, type="gauge") for each in targets)}


def dark(expr: str, server: Mapping[str, Any], cluster: ClusterEvidence | None = None) -> DarkQuery:
    """A query without an answer, to a server of one target that exposes the metric."""
    query = Query(expr=expr, instant=True, start_s=0.0, end_s=60.0, step_s=0.0, source="p")
    told = {"targets": (UP,), "exposed": exposed(UP), "relabelings": {FIRST: (DROP,)}, "names": frozenset(), **server}
    return DarkQuery(
        panel=Panel(id=1, title="p", type="stat"),
        target=Target(ref_id="A", source=SourceRef(None), expr=expr),
        query=query,
        answer=Result(type="vector"),
        parsed=parse(expr),
        server=ServerEvidence(**told),
        cluster=cluster,
    )


def found(given: DarkQuery) -> tuple[Finding | None, Finding | None]:
    """(renamed, dropped) finding of the query's metric."""
    assert given.parsed is not None
    selector = given.parsed.selectors[0]
    return renamed_finding(given, selector), dropped_finding(given, selector)


BOTH = {"targets": (UP, OTHER), "exposed": exposed(UP, OTHER)}
HAS_RENAMED = {"names": frozenset({"kserve_vllm:x"})}


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({}, "10.0.0.7:8000/metrics exposes vllm:x, and metric_relabel_configs[0] that ServiceMonitor ml/chat brings"
             " drops it (action drop, regex vllm:.*)"),
        ({"relabelings": {FIRST: (BY_LE, KEEP)}}, "metric_relabel_configs[1]"),
        ({"relabelings": {FIRST: (DROP,), SECOND: ()}, "targets": (UP, OTHER)}, "drops it"),
        ({**BOTH, "relabelings": {FIRST: (DROP,), SECOND: (KEEP,)}}, "so it is with 1 more scrape config"),
        ({"targets": (UP, DOWN), "exposed": exposed(UP, DOWN)}, "drops it"),
        ({"relabelings": {FIRST: (RENAME,)}}, "stores it as kserve_vllm:x"),
        ({**BOTH, "relabelings": {FIRST: (RENAME,), SECOND: (DROP,)}}, "stores it as kserve_vllm:x"),
    ],
    ids=["dropped", "not kept", "another target without it", "by both", "the other is down", "renamed, and not there",
         "renamed here, dropped there"],
)  # fmt: skip
def test_dropped(server: dict[str, Any], said: str) -> None:
    """Each scrape of what is up and exposes the metric drops it."""
    renamed, dropped = found(dark("vllm:x", server))
    assert renamed is None
    assert dropped is not None
    assert dropped.cause == "KVO-408"
    assert said in dropped.said
    assert "me:pw" not in str(dropped)


@pytest.mark.parametrize(
    ("expr", "server"),
    [
        ("vllm:x", {"relabelings": None}),
        ("vllm:x", {"relabelings": {}}),
        ("vllm:x", {"relabelings": {SECOND: (DROP,)}}),
        ("vllm:x", {"exposed": {}}),
        ("vllm:x", {"exposed": exposed()}),
        ("vllm:x", {"targets": None}),
        ("vllm:x", {"targets": (replace(UP, health="down"),)}),
        ("vllm:x", {"targets": (replace(UP, health="unknown"),)}),
        ("vllm:x", {"exposed": exposed(OTHER)}),
        ("vllm:x", BOTH),
        ("vllm:x", {**BOTH, "relabelings": {FIRST: (DROP,), SECOND: (DROP | {"regex": "vllm:y"},)}}),
        ("vllm:x", {**BOTH, "relabelings": {FIRST: (DROP,), SECOND: (OF_JOB,)}}),
        ("vllm:x", {"relabelings": {FIRST: (BY_LE,)}}),
        ("vllm:x", {"relabelings": {FIRST: (OF_JOB, DROP)}}),
        ("vllm:x", {"past": True}),
        ("vllm:x offset 1h", {}),
        ("vllm:x @ 10", {}),
        ("vllm:y", {}),
        ('{__name__=~"vllm:x|vllm:y"}', {}),
    ],
    ids=["not shown", "no steps", "of another scrape", "not asked who exposes it", "nobody exposes it",
         "targets unknown", "down", "not scraped yet", "of no target that is there", "another endpoint drops nothing",
         "another endpoint drops others", "another endpoint is not told", "by two labels", "name made of a label",
         "in the past", "an hour ago", "at a moment", "another metric", "a pattern"],
)  # fmt: skip
def test_not_said(expr: str, server: dict[str, Any]) -> None:
    """Nothing is said where any scrape may store it, nor of what nobody is known to expose, nor of another time."""
    assert found(dark(expr, server)) == (None, None)


def test_renamed() -> None:
    """What is there under another name is to be asked under it, or left as it is."""
    renamed, _ = found(dark("vllm:x", {**HAS_RENAMED, "relabelings": {FIRST: (RENAME,)}}))
    assert renamed is not None
    assert renamed.fix.splitlines() == [
        "In the query: kserve_vllm:x instead of vllm:x; or in the scrape:",
        "kubectl -n ml edit servicemonitor chat   # metricRelabelings, action replace, regex (.*): leave the name as it"
        " is",
    ]
    assert renamed.commands == ("kubectl -n ml edit servicemonitor chat",)


def test_each_scrape_config_has_its_fix() -> None:
    """Both endpoints have to be mended; the evidence says by what each of them was found out."""
    _, dropped = found(dark("vllm:x", {**BOTH, "relabelings": {FIRST: (DROP,), SECOND: (KEEP,)}}, CLUSTER))
    assert dropped is not None
    assert dropped.fix.splitlines() == [
        "kubectl -n ml edit servicemonitor chat   # spec.endpoints[0].metricRelabelings[0]: narrow its regex",
        "kubectl -n ml edit servicemonitor chat   # spec.endpoints[1].metricRelabelings[1]: widen its regex",
    ]
    assert [each.split(" has ")[0].split(": ")[0] for each in dropped.evidence] == [
        *["/api/v1/targets/metadata"] * 2,
        *["/api/v1/status/config"] * 2,
    ]


def monitor(kind: str, *endpoints: Object) -> Monitor:
    """A monitor ml/chat."""
    return Monitor(
        kind=kind, namespace="ml", name="chat", labels={}, selector={}, namespace_selector={},
        endpoints=endpoints, ours=False, release=("ml", "chat") if kind == "PodMonitor" else None,
    )  # fmt: skip


MONITORS = (
    monitor("ServiceMonitor", {"metricRelabelings": [{"action": "Drop", **NAME, "regex": "vllm:.*"}]},
            {"metricRelabelings": [{"action": "labeldrop", "regex": "engine"}, KEEP]}, {}),
    monitor("PodMonitor", {}, {"metricRelabelings": [NAME | {"targetLabel": "__name__", "replacement": "kserve_$1"}]}),
)  # fmt: skip
PROMETHEUS = Prometheus(
    namespace="mon", name="kps", service_monitor_selector={}, service_monitor_namespace_selector={},
    pod_monitor_selector={}, pod_monitor_namespace_selector={}, keeps_metrics=False, release=None, tracked_by=None,
)  # fmt: skip
CLUSTER = ClusterEvidence(
    facts=Facts(server_version="v1.36.3", kinds=frozenset(), monitors=MONITORS), prometheus=PROMETHEUS
)


@pytest.mark.parametrize(
    ("pool", "step", "cluster", "where", "fix"),
    [
        (FIRST, DROP, CLUSTER, "spec.endpoints[0].metricRelabelings[0] of ServiceMonitor ml/chat",
         "kubectl -n ml edit servicemonitor chat   # spec.endpoints[0].metricRelabelings[0]: narrow its regex"),
        ("podMonitor/ml/chat/1", RENAME | {"regex": "(.*)"}, CLUSTER,
         "spec.podMetricsEndpoints[1].metricRelabelings[0] of PodMonitor ml/chat",
         "kubectl -n ml edit podmonitor chat   # spec.podMetricsEndpoints[1].metricRelabelings[0]: leave the name as it"
         " is; and in the values of Helm release ml/chat"),
        ("serviceMonitor/ml/chat/2", KEEP, CLUSTER, "metric_relabel_configs[2] of serviceMonitor/ml/chat/2 (no step"
         " of ServiceMonitor ml/chat itself)", "kubectl -n mon edit prometheus kps   #"
         " spec.scrapeClasses, metricRelabelings, action keep, regex up|DCGM_.*: widen its regex"),
        ("serviceMonitor/ml/chat/2", KEEP, replace(CLUSTER, prometheus=None), "metric_relabel_configs[2] of",
         "Look into spec.scrapeClasses of the Prometheus object: widen its regex"),
        ("serviceMonitor/ml/chat/9", DROP, CLUSTER, "metric_relabel_configs[2] that ServiceMonitor ml/chat brings",
         "kubectl -n ml edit servicemonitor chat   # metricRelabelings, action drop, regex vllm:.*: narrow its regex"),
        ("scrapeConfig/ml/static", DROP, CLUSTER, "metric_relabel_configs[2] that ScrapeConfig ml/static brings",
         "kubectl -n ml edit scrapeconfig static   # metricRelabelings, action drop, regex vllm:.*: narrow its regex"),
        ("probe/ml/chat", DROP, None, "Probe ml/chat", "kubectl -n ml edit probe chat"),
        ("pods/ml/chat/0", DROP, CLUSTER, "metric_relabel_configs[2] of job pods/ml/chat/0",
         "In scrape_configs, job pods/ml/chat/0: narrow its regex (metric_relabel_configs[2])"),
    ],
    ids=["ServiceMonitor", "PodMonitor", "scrape class", "scrape class of nobody", "endpoint that is gone",
         "ScrapeConfig", "Probe", "by hand"],
)  # fmt: skip
def test_place(pool: str, step: dict[str, Any], cluster: ClusterEvidence | None, where: str, fix: str) -> None:
    """A step is found in the object that brought it, whatever else the operator put before it."""
    place = place_of(Rule(pool, 2, step, None), cluster)
    assert isinstance(place, Place)
    assert where in place.where
    assert fix in place.fix


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("vllm:x", ["vllm:x"]),
        ("vllm:t_bucket", ["vllm:t_bucket", "vllm:t"]),
        ("vllm:n_total", ["vllm:n_total", "vllm:n"]),
        ("target_info", ["target_info", "target"]),
    ],
)
def test_families(name: str, declared: list[str]) -> None:
    """A series is declared under its own name, or under that of its metric."""
    assert [each for each, _ in families(name)] == declared


@pytest.mark.parametrize(
    ("relabelings", "touched"),
    [({}, False), ({"a": (DROP,)}, True), ({"a": (BY_LE,), "b": (RENAME,)}, True), ({"a": (OF_JOB, DROP)}, False)],
    ids=["no steps", "dropped", "renamed by one", "not told"],
)
def test_is_touched(relabelings: Relabelings, touched: bool) -> None:
    """One scrape config that does not store it as it is suffices to look on."""
    assert is_touched("vllm:x", relabelings) is touched
