"""Properties that hold for the monitors of any cluster: generated pods, Services and monitors."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kvobs.settings import Settings
from kvobs.stack.facts import Facts, MetricsPod, Monitor, Prometheus, Service, ServicePort
from kvobs.stack.monitors import generic_port, vllm_monitors
from kvobs.stack.serving_kinds import SCRAPE_LABEL
from kvobs.stack.targets import container_port, pods_behind, selected, target_of, targets

from .snapshots import TEMPLATES, applied

_GENERIC = {template["metadata"]["name"] for template in TEMPLATES.values()}
_NAMESPACES = st.sampled_from(["ml", "ml", "ml", "ml-a"])
_LABELS = st.dictionaries(
    st.sampled_from(["app", "role", "helm.sh/chart"]), st.sampled_from(["x", "x", "y"]), max_size=3
)
_PORT_NAMES = st.sampled_from(["http", "api", None])
_NUMBERS = st.sampled_from([8000, 8001])


@st.composite
def _pods(draw: st.DrawFn) -> tuple[MetricsPod, ...]:
    found = []
    for index in range(draw(st.integers(2, 4))):
        namespace = draw(_NAMESPACES)
        found.append(
            MetricsPod(
                namespace=namespace,
                name=f"pod-{index}",
                labels=draw(_LABELS),
                ports=draw(st.dictionaries(_NUMBERS, _PORT_NAMES, max_size=2)),
                metrics_port=draw(st.one_of(_NUMBERS, st.none())),
                owner=draw(st.sampled_from(["one", "a-two"])),
            )
        )
    return tuple(found)


@st.composite
def _bystanders(draw: st.DrawFn) -> tuple[MetricsPod, ...]:
    pods = draw(st.one_of(st.just(()), _pods()))
    return tuple(replace(each, name=f"other-{each.name}", metrics_port=None) for each in pods)


@st.composite
def _services(draw: st.DrawFn) -> tuple[Service, ...]:
    found = []
    for index in range(draw(st.integers(0, 3))):
        named = draw(st.lists(st.sampled_from(["http", "api"]), min_size=2, max_size=2, unique=True))
        names: list[str | None] = draw(st.sampled_from([[None], [named[0]], named]))
        labels = dict(draw(_LABELS))
        if draw(st.integers(0, 4)) == 0:
            labels[SCRAPE_LABEL] = "vllm"
        found.append(
            Service(
                namespace=draw(_NAMESPACES),
                name=f"service-{index}",
                labels=labels,
                selector=draw(_LABELS),
                ports=tuple(
                    ServicePort(name=name, port=80 + i, target=draw(st.one_of(_NUMBERS, st.just("http"))))
                    for i, name in enumerate(names)
                ),
            )
        )
    return tuple(found)


@st.composite
def _monitors(draw: st.DrawFn) -> tuple[Monitor, ...]:
    found = []
    for index in range(draw(st.integers(0, 2))):
        endpoint: dict[str, Any] = draw(
            st.sampled_from([{"port": "http"}, {"targetPort": 8000}, {}, {"port": "http", "path": "/health"}])
        )
        found.append(
            Monitor(
                kind=draw(st.sampled_from(["ServiceMonitor", "PodMonitor"])),
                namespace=draw(_NAMESPACES),
                name=f"theirs-{index}",
                labels=draw(st.sampled_from([{"release": "kps"}, {}])),
                selector={"matchLabels": draw(_LABELS)},
                namespace_selector=draw(st.sampled_from([{}, {"any": True}])),
                endpoints=(endpoint,),
                ours=False,
            )
        )
    return tuple(found)


_CLUSTERS = st.builds(
    Facts,
    server_version=st.just("v1"),
    kinds=st.just(frozenset()),
    namespaces=st.just({"ml": {"team": "a"}, "ml-a": {}}),
    services=_services(),
    monitors=_monitors(),
    vllm_pods=_pods(),
    bystanders=_bystanders(),
)
_KPS = {"matchLabels": {"release": "kps"}}
_PROMETHEUSES = st.builds(
    Prometheus,
    namespace=st.just("mon"),
    name=st.just("p"),
    service_monitor_selector=st.sampled_from([_KPS, {}, None]),
    service_monitor_namespace_selector=st.sampled_from([{}, None, {"matchLabels": {"team": "a"}}]),
    pod_monitor_selector=st.sampled_from([_KPS, None]),
    pod_monitor_namespace_selector=st.sampled_from([{}, None]),
    keeps_metrics=st.just(False),
    release=st.none(),
    tracked_by=st.none(),
)


@settings(max_examples=250, deadline=None)
@given(_CLUSTERS, _PROMETHEUSES)
def test_any_cluster(facts: Facts, prometheus: Prometheus) -> None:
    """Every server is scraped once, or a note says why not; and the plan is the same when it has been carried out."""
    plan = vllm_monitors(facts, prometheus, Settings(), namespace="monitoring", templates=TEMPLATES)
    after = applied(facts, plan.objects)
    theirs = [each for each in facts.monitors if selected(prometheus, each, facts.namespaces)]
    ours = [each for each in after.monitors if each.ours and each.name not in _GENERIC]
    named = [(each.kind, each.namespace, each.name) for each in ours]

    assert vllm_monitors(after, prometheus, Settings(), namespace="monitoring", templates=TEMPLATES) == plan
    assert len(named) == len(set(named))
    assert all(selected(prometheus, each, facts.namespaces) for each in after.monitors if each.ours)

    by_us = Counter(target for each in ours for target in targets(each, facts))
    by_them = {target for each in theirs for target in targets(each, facts)}
    labelled = [each for each in facts.services if each.labels.get(SCRAPE_LABEL) == "vllm"]
    by_label = {
        target_of(pod, number)
        for each in labelled
        for pod in pods_behind(each, facts.vllm_pods)
        if (port := generic_port(each)) and (number := container_port(port, pod)) is not None
    }
    others = replace(facts, vllm_pods=facts.bystanders)
    assert [each.name for each in ours if targets(each, others)] == []
    assert all(times == 1 for times in by_us.values())
    assert not by_us.keys() & (by_them | by_label)

    notes = " ".join(note.text for note in plan.notes)
    for pod in facts.vllm_pods:
        left_to_label = any(pods_behind(each, (pod,)) for each in labelled)
        if pod.metrics_port is not None and not left_to_label:
            target = target_of(pod, pod.metrics_port)
            assert target in by_us or f"{pod.namespace}/{pod.owner}" in notes
