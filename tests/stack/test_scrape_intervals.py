"""How often monitors of ours scrape: never less often than the Prometheus and Grafana's data source reckon with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvobs.dashboard.intervals import duration_s, intervals
from kvobs.settings import Dcgm, Settings
from kvobs.stack.choice import choose
from kvobs.stack.dcgm_policy import EXPORTER
from kvobs.stack.facts import ClusterPolicy, Facts, MetricsPod, Monitor, Service, ServicePort
from kvobs.stack.objects import OURS
from kvobs.stack.plan import Plan, make_plan
from kvobs.stack.record import Record, ReleaseRecord
from kvobs.stack.scrape_intervals import scrape_interval
from kvobs.stack.targets import ENDPOINTS
from kvobs.stack.values import read_values, user_values

from .clusters import after_helm, cluster, grafana, parent_in, prometheus, source, stack
from .snapshots import TEMPLATES

EMPTY = cluster(kinds=frozenset(), namespaces={"default": {}})
SCRAPED = "prometheus.prometheusSpec.scrapeInterval"
SOURCE = "grafana.sidecar.datasources"
DRAWN = f"{SOURCE}.defaultDatasourceScrapeInterval"
RELEASE = ReleaseRecord(namespace="monitoring", name="kube-prometheus-stack", chart="c", chart_version="88.5.3")


def plan_of(facts: Facts, settings: Settings | None = None) -> Plan:
    """Return the plan for a cluster, without dashboards."""
    settings = settings or Settings()
    return make_plan(facts, choose(facts, settings), settings, dashboards=(), monitors=TEMPLATES)


def intervals_of(plan: Plan) -> set[str]:
    """Return how often the monitors of a plan scrape."""
    return {
        endpoint["interval"]
        for each in plan.objects
        if each["kind"] in ENDPOINTS
        for endpoint in each["spec"][ENDPOINTS[each["kind"]]]
    }


def pod(namespace: str, name: str, port: int) -> MetricsPod:
    """Return a pod that serves metrics on a port which it does not declare."""
    return MetricsPod(namespace=namespace, name=name, labels={"app": name}, owner=name, ports={}, metrics_port=port)


def servers() -> dict[str, Any]:
    """Return a vLLM server behind a Service, one behind none, and a DCGM exporter: each needs another monitor."""
    behind, alone, exporter = pod("llm", "a", 8000), pod("llm", "b", 8001), pod("gpu", "c", 9400)
    ports = (ServicePort(name="http", port=80, target=8000),)
    service = Service(namespace="llm", name="a", labels={}, selector={"app": "a"}, ports=ports)
    return {"vllm_pods": (behind, alone), "dcgm_pods": (exporter,), "services": (service,)}


REUSED = [
    (None, None, "15s"),
    ("30s", "30s", "15s"),
    ("1m30s", "1m30s", "15s"),
    ("15s", "15s", "15s"),
    ("10s", "10s", "10s"),
    ("5s", "5s", "5s"),
    ("1s", "1s", "1s"),
    ("500ms", "500ms", "500ms"),
    ("1s500ms", None, "1500ms"),
    ("5s", None, "5s"),
    ("5s", "30s", "5s"),
    ("30s", "5s", "5s"),
    (None, "5", "5s"),
    ("5s", "1s", "1s"),
    ("30s", "$INTERVAL", "15s"),
]


@pytest.mark.parametrize(("scraped", "drawn", "ours"), REUSED)
def test_beside_a_stack_that_is_there(scraped: str | None, drawn: str | None, ours: str) -> None:
    """Every monitor of ours scrapes as often as it is shipped to, or as the Prometheus or the data source says."""
    facts = stack(
        prometheuses=(prometheus(scrape_interval=scraped),),
        grafanas=(grafana(datasources=(source(time_interval=drawn), source("other", "Other", time_interval="1ms"))),),
        **servers(),
    )
    plan = plan_of(facts, Settings(datasources=("prometheus=prom-uid",)))

    assert {each["metadata"]["name"] for each in plan.objects} >= {
        "kvobs-vllm", "kvobs-vllm-pods", "kvobs-vllm-llm-a", "kvobs-vllm-llm-b", "kvobs-dcgm-gpu-c",
    }  # fmt: skip
    assert intervals_of(plan) == {ours}


def released(set_values: tuple[str, ...]) -> Facts:
    """Return a cluster with our own release, made with these values, and what can be scraped."""
    facts, values = replace(EMPTY, **servers()), user_values((), set_values)
    record = Record(release=RELEASE)
    return after_helm(facts, name=RELEASE.name, namespace=RELEASE.namespace, values=values, record=record)


INSTALLED = [
    ((), "15s"),
    ((f"{SCRAPED}=1m30s",), "15s"),
    ((f"{SCRAPED}=1s",), "1s"),
    ((f"{SCRAPED}=500ms",), "500ms"),
    ((f"{DRAWN}=5s",), "5s"),
    ((f"{SCRAPED}=5s", f"{DRAWN}=30s"), "5s"),
    ((f"{SCRAPED}=5s", f"{DRAWN}=1s"), "1s"),
    ((f"{DRAWN}=5s", f"{SOURCE}.defaultDatasourceEnabled=false"), "15s"),
    ((f"{DRAWN}=5s", "grafana.enabled=false"), "15s"),
    ((f"{SCRAPED}=5s", "grafana.enabled=false"), "5s"),
]


@pytest.mark.parametrize(("set_values", "ours"), INSTALLED)
def test_with_a_stack_of_our_own(set_values: tuple[str, ...], ours: str) -> None:
    """What the values make of the stack is what a second run finds there: both plan the same."""
    told = Settings(set_values=set_values, datasources=("prometheus=prometheus",))

    assert intervals_of(plan_of(replace(EMPTY, **servers()), told)) == {ours}
    assert intervals_of(plan_of(released(set_values), told)) == {ours}


@pytest.mark.parametrize(("before", "after", "ours"), [("30s", "1s", "1s"), ("1s", "30s", "15s"), ("5s", "10s", "10s")])
def test_an_upgrade_is_reckoned_with(before: str, after: str, ours: str) -> None:
    """The run that has Helm change the interval applies monitors for the new one: the next run has nothing to do."""
    was, now = (f"{SCRAPED}={before}",), (f"{SCRAPED}={after}",)

    assert intervals_of(plan_of(released(was), Settings(set_values=now))) == {ours}
    assert intervals_of(plan_of(released(now), Settings(set_values=now))) == {ours}


def test_a_source_of_the_users_own_is_as_grafana_tells() -> None:
    """Of a data source that the release does not bring, only the Grafana that runs can say what it reckons with."""
    facts = released(())
    (there,) = facts.grafanas
    theirs = source("mine", "Mine", time_interval="5s")
    facts = replace(facts, grafanas=(replace(there, datasources=(*there.datasources, theirs)),))

    assert intervals_of(plan_of(facts)) == {"15s"}
    assert intervals_of(plan_of(facts, Settings(datasources=("prometheus=mine",)))) == {"5s"}


@pytest.mark.parametrize(("drawn", "ours"), [("5s", "5s"), ("30s", "15s"), ("{{ 5 }}s", "15s")])
def test_a_source_of_the_values(drawn: str, ours: str) -> None:
    """The first install knows a data source that its values bring; one that Helm has yet to render, it does not."""
    mine = f'{{"name": "Mine", "type": "prometheus", "uid": "mine", "jsonData": {{"timeInterval": "{drawn}"}}}}'
    told = Settings(
        values=(read_values(f"grafana: {{additionalDataSources: [{mine}]}}", where="v"),),
        datasources=("prometheus=mine",),
    )

    assert intervals_of(plan_of(replace(EMPTY, **servers()), told)) == {ours}


def test_beside_another_install() -> None:
    """A further install scrapes as often as the first one, whose Prometheus and data source it works for."""
    first = Record(settings={"prometheus": "mon/k8s", "grafana": "mon/grafana", "uids": {"prometheus": "prom-uid"}})
    facts = stack(
        grafanas=(grafana(datasources=(source(time_interval="5s"),)),),
        parents=(parent_in("mon", first),),
        namespaces={"mon": {}, "team-b": {}},
    )
    plan = plan_of(facts, Settings(namespace="team-b"))

    assert plan.target.beside == "mon"
    assert intervals_of(plan) == {"5s"}


def test_exporters_of_nodes() -> None:
    """The ScrapeConfig that is given for exporters of the nodes scrapes as often as the monitors do."""
    kinds = frozenset({"ScrapeConfig.monitoring.coreos.com"})
    facts = stack(kinds=kinds, exporting_nodes=1, prometheuses=(prometheus(scrape_interval="5s"),))
    facts = replace(facts, prometheuses=(replace(facts.prometheuses[0], scrape_config_selector={}),))
    (note,) = (each for each in plan_of(facts).notes if each.id == "dcgm-on-nodes")

    assert '"scrapeInterval": "5s"' in note.text


POLICY = ClusterPolicy(
    name="cluster-policy", api_version="nvidia.com/v1", exporter_enabled=True, monitor_enabled=True,
    additional_labels={}, managers={"enabled": ("helm",)}, release=("gpu-operator", "gpu-operator"),
)  # fmt: skip


def gpu_operator(scraped: str | None, policy: ClusterPolicy) -> Facts:
    """Return a stack that reads monitors by a label, beside the GPU Operator and its own monitor."""
    labels = {"app": EXPORTER}
    exporter = MetricsPod(
        namespace="gpu-operator", name="x", labels=labels, owner=EXPORTER, ports={9400: "metrics"}, metrics_port=9400
    )
    port = ServicePort(name="gpu-metrics", port=9400, target="metrics")
    monitor = Monitor(
        kind="ServiceMonitor", namespace="gpu-operator", name=EXPORTER, labels=labels | dict(policy.additional_labels),
        selector={"matchLabels": labels}, namespace_selector={"matchNames": ["gpu-operator"]},
        endpoints=({"port": "gpu-metrics", "interval": policy.interval or "15s"},), ours=False,
    )  # fmt: skip
    by_label = {"matchLabels": {"team": "a"}}
    return stack(
        prometheuses=(prometheus(scrape_interval=scraped, service_monitor_selector=by_label),),
        namespaces={"mon": {}, "gpu-operator": {}},
        services=(Service(namespace="gpu-operator", name=EXPORTER, labels=labels, selector=labels, ports=(port,)),),
        monitors=(monitor,) if policy.monitor_enabled else (),
        dcgm_pods=(exporter,),
        cluster_policies=(policy,),
    )


BY_US = {"additionalLabels.team": (OURS,)}
LABELLED = replace(POLICY, additional_labels={"team": "a"}, managers={"enabled": ("helm",), **BY_US})
SWITCHED_ON = replace(LABELLED, managers={"enabled": (OURS,), **BY_US})
"""As an earlier run left it."""


@pytest.mark.parametrize(
    ("scraped", "policy", "dcgm", "through"),
    [
        (None, POLICY, "auto", True),
        ("30s", POLICY, "auto", True),
        ("30s", replace(POLICY, interval="1m"), "auto", True),
        ("30s", replace(POLICY, interval="5m"), "auto", False),
        ("10s", POLICY, "auto", True),
        ("5s", POLICY, "auto", False),
        ("5s", POLICY, "operator", True),
        ("5s", replace(POLICY, interval="5s"), "auto", True),
        ("1s", replace(POLICY, interval="15s"), "auto", False),
        ("1s", replace(POLICY, monitor_enabled=None, managers={}), "auto", False),
        ("30s", LABELLED, "auto", True),
        ("5s", LABELLED, "auto", False),
        ("5s", SWITCHED_ON, "auto", False),
        ("30s", SWITCHED_ON, "exporter", False),
    ],
)
def test_the_gpu_operators_own_monitor(scraped: str | None, policy: ClusterPolicy, dcgm: Dcgm, through: bool) -> None:
    """It is made to serve where it scrapes often enough for Grafana's windows; where not, ours is there beside it."""
    facts = gpu_operator(scraped, policy)
    steps = [step for step in plan_of(facts, Settings(dcgm=dcgm)).steps if step.id == "dcgm"]

    assert [(bool(step.objects), bool(step.fields)) for step in steps] == [(not through, through)]


def test_how_the_gpu_operators_own_monitor_could_serve() -> None:
    """Where it is left for its interval, the value that would do is told."""
    (note,) = (each for each in plan_of(gpu_operator("5s", POLICY)).notes if each.id == "dcgm-policy-left")

    assert "scrapes each 15s" in note.text
    assert "--set dcgmExporter.serviceMonitor.interval=5s in the next upgrade" in note.text


@pytest.mark.parametrize("told_s", [0.5, 1, 2, 5, 10, 15, 20, 30, 60, 90])
@pytest.mark.parametrize("range_s", [5, 300, 3600, 86400])
def test_a_window_for_rates_holds_two_scrapes(told_s: float, range_s: float) -> None:
    """As often as Grafana is told, or each 15 seconds: in `$__rate_interval` there are two scrapes and one to spare."""
    ours_s = duration_s(scrape_interval("15s", [f"{told_s * 1000:g}ms"]))
    assert ours_s is not None
    window_s = intervals(range_s, 940, source_interval=f"{told_s * 1000:g}ms").rate_interval_s

    assert window_s >= 3 * ours_s
