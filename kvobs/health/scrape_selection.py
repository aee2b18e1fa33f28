"""Monitors that a Prometheus does not read, and monitors that reach no server: by which label or namespace. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ..stack.facts import Facts, MetricsPod, Monitor, Prometheus, Selector, Service
from ..stack.selectors import labels_wanted, matches, selects_namespace
from ..stack.targets import in_words, pods_behind, reaches, selected, selectors_of
from .causes import found
from .scrape_kinds import ServerKind
from .verdict import Finding

GPU_OPERATORS_MONITOR = "nvidia-dcgm-exporter"
"""Name of the ServiceMonitor that the GPU Operator makes, and sets back to what its ClusterPolicy says."""


def not_selected(kind: ServerKind, monitors: Sequence[Monitor], facts: Facts, prometheus: Prometheus) -> Finding:
    """The finding for *monitors* none of which *prometheus* reads; the first of them is told about."""
    monitor = monitors[0]
    name, where = _name(monitor), f"Prometheus {prometheus.namespace}/{prometheus.name}"
    why, fixes = _obstacle(monitor, facts, prometheus)
    others = [f"{each.namespace}/{each.name}" for each in facts.prometheuses if each != prometheus]
    readers = [
        f"{each.namespace}/{each.name}"
        for each in facts.prometheuses
        if each != prometheus and selected(each, monitor, facts.namespaces)
    ]
    said = f"{where} does not read {name}, which is for {kind.what}: {why}"
    if readers:
        said += f"; Prometheus {' and '.join(readers)} does"
    evidence = [
        f"labels of {name}: {_labels(monitor.labels)}",
        f"{_field(monitor.kind)} of {where}: {_shown(monitor.kind, prometheus)}",
    ]
    evidence += [f"other Prometheus objects here: {', '.join(others)}"] if others else []
    return found("KVO-401", subject=name, said=said, fix="\n".join(fixes), evidence=tuple(evidence))


def _obstacle(monitor: Monitor, facts: Facts, prometheus: Prometheus) -> tuple[str, list[str]]:
    """Why it is not read, and the commands that change it, the nearest first."""
    selector, namespace_selector = selectors_of(prometheus, monitor.kind)
    field = _field(monitor.kind)
    if selector is None:
        return f"its {field} is not set, and then selects nothing", [
            f"{_patch(prometheus)} '{json.dumps({'spec': {field: {}}})}'",
            *_nil_uses(prometheus, monitor.kind),
        ]
    if not matches(selector, monitor.labels):
        wanted = labels_wanted(selector, monitor.labels)
        if wanted is None:
            return f"no label could make its {field} ({json.dumps(selector)}) select it", [
                f"kubectl -n {prometheus.namespace} edit prometheus {prometheus.name}   # {field}"
            ]
        missing = {key: value for key, value in wanted.items() if monitor.labels.get(key) != value}
        gone = _forbidden(selector, monitor.labels) if not missing else ()
        lacks = (
            f"it lacks the label {' and '.join(f'{k}={v}' for k, v in missing.items())}"
            if missing
            else (f"its label {' and '.join(gone)} speaks against it")
        )
        return lacks, [*_label(monitor, missing, facts), *_nil_uses(prometheus, monitor.kind)]
    labels = facts.namespaces.get(monitor.namespace, {})
    why = f"it reads no {monitor.kind} from namespace {monitor.namespace}"
    if namespace_selector is None:
        allowed = json.dumps({"spec": {_field(monitor.kind, of_namespaces=True): {}}})
        return f"{why}, only from its own", [f"{_patch(prometheus)} '{allowed}'", "kvobs install"]
    wanted = labels_wanted(namespace_selector, labels)
    assert not selects_namespace(
        namespace_selector, own=prometheus.namespace, namespace=monitor.namespace, labels=labels
    )
    missing = {key: value for key, value in (wanted or {}).items() if labels.get(key) != value}
    if not missing or any(key == "kubernetes.io/metadata.name" for key in missing):
        return why, ["kvobs install   # puts its monitors where they are read"]
    pairs = " ".join(f"{key}={value}" for key, value in missing.items())
    return f"{why}, which lacks the label {pairs}", [
        f"kubectl label namespace {monitor.namespace} {pairs}{_overwrite(missing, labels)}"
    ]


def _label(monitor: Monitor, missing: Mapping[str, str], facts: Facts) -> Iterator[str]:
    if monitor.ours or not missing:
        yield "kvobs install"
        return
    if monitor.name == GPU_OPERATORS_MONITOR and facts.cluster_policies:
        patch = {"spec": {"dcgmExporter": {"serviceMonitor": {"additionalLabels": dict(missing)}}}}
        policy = facts.cluster_policies[0].name
        yield "kvobs install"
        yield f"kubectl patch clusterpolicy {policy} --type merge -p '{json.dumps(patch)}'   # does as well"
        return
    pairs = " ".join(f"{key}={value}" for key, value in missing.items())
    note = f"   # and in the values of Helm release {'/'.join(monitor.release)}" if monitor.release else ""
    over = _overwrite(missing, monitor.labels)
    yield f"kubectl -n {monitor.namespace} label {monitor.kind.lower()} {monitor.name} {pairs}{over}{note}"
    yield "kvobs install   # adds a monitor of its own beside it"


def _nil_uses(prometheus: Prometheus, kind: str) -> Iterator[str]:
    """The chart's switch: it puts its release into an empty selector unless it is told not to."""
    if prometheus.release is None:
        return
    selector, _ = selectors_of(prometheus, kind)
    if selector is None or (selector.get("matchLabels") or {}).get("release") == prometheus.release[1]:
        value = f"prometheus.prometheusSpec.{_field(kind)}NilUsesHelmValues=false"
        yield f"# or, to read every {kind}: --set {value} in the values of release {'/'.join(prometheus.release)}"


def _forbidden(selector: Selector, labels: Mapping[str, str]) -> list[str]:
    chosen = (selector or {}).get("matchExpressions") or ()
    return [each["key"] for each in chosen if each["operator"] in ("NotIn", "DoesNotExist") and each["key"] in labels]


# --- read, and nothing behind it ---


def reaches_no_server(
    kind: ServerKind, monitor: Monitor, facts: Facts, prometheus: Prometheus, pods: Sequence[MetricsPod]
) -> Finding:
    """The finding for a monitor that is read, and selects no Service (or pod) of *pods*."""
    why, fix = (_no_pod if monitor.kind == "PodMonitor" else _no_service)(kind, monitor, facts, prometheus, pods)
    name = _name(monitor)
    return found(
        "KVO-403",
        subject=name,
        said=f"{name} finds no {kind.what}: {why}",
        fix=fix,
        evidence=(
            f"its selector: {json.dumps(monitor.selector)}; its namespaces: {_namespaces(monitor)}",
            f"{kind.what} here: {in_words(pods)}",
        ),
    )


def _no_service(
    kind: ServerKind, monitor: Monitor, facts: Facts, prometheus: Prometheus, pods: Sequence[MetricsPod]
) -> tuple[str, str]:
    behind = [each for each in facts.services if pods_behind(each, pods)]
    fitting = [each for each in behind if matches(monitor.selector, each.labels)]
    if fitting and prometheus.ignores_namespace_selectors:
        return (
            f"Prometheus {prometheus.namespace}/{prometheus.name} ignores namespace selectors, and the Service is in"
            f" {fitting[0].namespace}",
            "kvobs install   # puts a monitor into that namespace",
        )
    if fitting:
        patch = {"spec": {"namespaceSelector": {"matchNames": sorted({each.namespace for each in fitting})}}}
        return (
            f"it looks in {_namespaces(monitor)} only, and Service {_where(fitting[0])} is elsewhere",
            f"kubectl -n {monitor.namespace} patch servicemonitor {monitor.name} --type merge -p '{json.dumps(patch)}'",
        )
    chosen = [
        each for each in facts.services if reaches(monitor, each.namespace) and matches(monitor.selector, each.labels)
    ]
    if chosen:
        return (
            f"it selects Service {_where(chosen[0])}, and none of the pods stands behind that",
            "kvobs install   # finds its pods through another Service, or by themselves",
        )
    if not behind:
        return "no Service stands in front of it", "kvobs install   # makes a PodMonitor"
    return _by_label("Service", behind, monitor, [(each, "service", each.name) for each in behind])


def _no_pod(
    kind: ServerKind, monitor: Monitor, facts: Facts, prometheus: Prometheus, pods: Sequence[MetricsPod]
) -> tuple[str, str]:
    fitting = [each for each in pods if matches(monitor.selector, each.labels)]
    if fitting and not prometheus.ignores_namespace_selectors:
        patch = {"spec": {"namespaceSelector": {"matchNames": sorted({each.namespace for each in fitting})}}}
        return (
            f"it looks in {_namespaces(monitor)} only, and pod {_where(fitting[0])} is elsewhere",
            f"kubectl -n {monitor.namespace} patch podmonitor {monitor.name} --type merge -p '{json.dumps(patch)}'",
        )
    if fitting:
        return (
            f"Prometheus {prometheus.namespace}/{prometheus.name} ignores namespace selectors, and the pod is in"
            f" {fitting[0].namespace}",
            "kvobs install   # puts a monitor into that namespace",
        )
    return _lacking("pod", pods[0], monitor)[
        0
    ], "kvobs install   # or set the label in the pod template of its workload"


def _by_label(
    what: str, those: Sequence[Service], monitor: Monitor, named: Sequence[tuple[Service, str, str]]
) -> tuple[str, str]:
    why, missing = _lacking(what, those[0], monitor)
    if not missing:
        return why, "kvobs install"
    service, kind, name = named[0]
    pairs = " ".join(f"{key}={value}" for key, value in missing.items())
    over = _overwrite(missing, service.labels)
    return why, f"kubectl -n {service.namespace} label {kind} {name} {pairs}{over}\nkvobs install   # does as well"


def _lacking(what: str, one: Service | MetricsPod, monitor: Monitor) -> tuple[str, dict[str, str]]:
    wanted = labels_wanted(monitor.selector, one.labels) or {}
    missing = {key: value for key, value in wanted.items() if one.labels.get(key) != value}
    if not missing:
        return f"{what} {_where(one)} is not what it selects", {}
    pairs = " and ".join(f"{key}={value}" for key, value in missing.items())
    return f"it selects {what}s with {pairs}, and {what} {_where(one)} has no such label", missing


# --- words ---


def _name(monitor: Monitor) -> str:
    return f"{monitor.kind} {monitor.namespace}/{monitor.name}"


def _where(one: Service | MetricsPod) -> str:
    return f"{one.namespace}/{one.name}"


def _labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "none"


def _field(kind: str, *, of_namespaces: bool = False) -> str:
    return f"{kind[0].lower()}{kind[1:]}{'Namespace' if of_namespaces else ''}Selector"


def _shown(kind: str, prometheus: Prometheus) -> str:
    selector, namespaces = selectors_of(prometheus, kind)
    return f"{json.dumps(selector)}; of namespaces: {json.dumps(namespaces)}"


def _namespaces(monitor: Monitor) -> str:
    if monitor.namespace_selector.get("any"):
        return "all namespaces"
    names = monitor.namespace_selector.get("matchNames") or (monitor.namespace,)
    return f"namespace {' and '.join(names)}"


def _patch(prometheus: Prometheus) -> str:
    return f"kubectl -n {prometheus.namespace} patch prometheus {prometheus.name} --type merge -p"


def _overwrite(missing: Mapping[str, str], labels: Mapping[str, str]) -> str:
    return " --overwrite" if any(key in labels for key in missing) else ""
