"""Label matchers evaluated here, on the label values that a metric has, to say which of them fits nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .causes import found
from .evidence import SelectorEvidence
from .promql import Matcher, quoted
from .verdict import Finding

_MANY = 5
"""How many values a sentence lists."""

_TWINS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"Hostname", "hostname"}),
        "the DCGM exporter writes `Hostname` up to 4.5.3-4.8.2, and `hostname` from 4.6.0-4.8.3 on (GPU Operator"
        " v26.7.0)",
    ),
    *(
        (
            frozenset({name, f"exported_{name}", f"{name}_name"}),
            f"where the target has a label `{name}` of its own, Prometheus stores the metric's as `exported_{name}`,"
            " unless the monitor says honorLabels: true",
        )
        for name in ("pod", "namespace", "container", "job", "instance", "service", "node")
    ),
    (frozenset({"model_name", "model", "served_model_name", "modelName", "model_id"}), ""),
    (frozenset({"instance", "node", "hostname", "Hostname", "kubernetes_node", "nodename", "host"}), ""),
    (frozenset({"UUID", "uuid", "gpu_uuid", "device"}), ""),
    (frozenset({"gpu", "gpu_id", "minor_number", "device"}), ""),
    (frozenset({"engine", "engine_index", "engine_id"}), "vLLM's V1 engine writes `engine` since 0.8.3"),
    (frozenset({"namespace", "kubernetes_namespace", "exported_namespace"}), ""),
    (frozenset({"cluster", "cluster_name", "k8s_cluster"}), ""),
    (frozenset({"deployment", "app", "service", "job", "service_name"}), ""),
)
"""Labels that stand for one another, and why one is there in the other's place."""

_WORKLOAD = frozenset(f"{prefix}{each}" for prefix in ("", "exported_") for each in ("pod", "namespace", "container"))
"""Labels by which a GPU's metric says who uses it."""

_NAMES_A_SERVER = frozenset({"job", "service", "container", "app", "pod", "instance"})
"""Labels by which a query means one server among others, which may not be scraped."""

_OUTCOMES = frozenset(
    {
        *("code", "status", "status_code", "http_code", "http_status", "grpc_code", "grpc_status", "response_code"),
        *("finished_reason", "reason", "result", "outcome", "error", "error_type", "level", "severity", "phase"),
        *("condition", "state"),
    }
)
"""Labels that say how something ended: a value may be absent because it never happened."""
_BAD = re.compile(
    r"[45]\.\.|[45]\[0-9\]|[45]\\d|[45]xx|\b[45]\d\d\b|err|fail|abort|timeout|reject|denied|crit|fatal", re.I
)
_GOOD = re.compile(r"\b2(?:\.\.|xx|\d\d)|\bok\b|success|\bstop\b|\.\*|\.\+", re.I)


def twins(label: str) -> frozenset[str]:
    """Return the labels that may stand in *label*'s place."""
    return frozenset(each for group, _ in _TWINS if label in group for each in group) - {label}


def fits(matcher: Matcher, value: str) -> bool:
    """Whether a label's value fits; an absent label is "". What cannot be read as a pattern fits."""
    if matcher.op in ("=", "!="):
        return (matcher.value == value) is (matcher.op == "=")
    pattern = _pattern(matcher.value)
    return pattern is None or (pattern.fullmatch(value) is not None) is (matcher.op == "=~")


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text, re.DOTALL)
    except (re.error, RecursionError, OverflowError):
        return None


def any_fits(matchers: Sequence[Matcher], label_sets: Iterable[Mapping[str, str]]) -> bool:
    """Whether all matchers fit one of the label sets."""
    return any(all(fits(each, labels.get(each.label, "")) for each in matchers) for labels in label_sets)


def label_finding(evidence: SelectorEvidence) -> Finding | None:
    """Return why a metric that is there has no series for the selector's matchers; None where they fit, or it is
    not known what labels there are."""
    selector, sets = evidence.selector, evidence.label_sets
    if evidence.matched is not False or not sets or any_fits(selector.filters, sets):
        return None
    alone = [each for each in selector.filters if not any_fits((each,), sets)]
    if not alone:
        return _together(evidence)
    by_pod = next((each for each in alone if each.label in _WORKLOAD and _of_exporter(evidence)), None)
    if by_pod is not None:
        return _gpu_of_a_pod(by_pod, evidence)
    absent = [each for each in alone if not any(labels.get(each.label) for labels in sets)]
    if absent:
        return _label_absent(absent[0], evidence)
    return _value_absent(alone[0], evidence)


def _label_absent(matcher: Matcher, evidence: SelectorEvidence) -> Finding:
    label, metric = matcher.label, evidence.selector.metric
    others = _instead(matcher, evidence)
    said = f"{metric} has no label `{label}`" + (f"; it has `{others[0]}`" if others else "")
    why = next((why for group, why in _TWINS if why and {label, *others[:1]} <= group and others), "")
    names = sorted(evidence.label_names or ())
    if others:
        fix = f"In the query: {_renamed(matcher, others[0])} instead of {matcher}"
    elif label.startswith("exported_"):
        fix = f"In the query: leave {matcher} out; a GPU that no pod uses has no `{label}`"
    else:
        fix = f"In the query: leave {matcher} out, or filter by a label that is there"
    return found(
        "KVO-601",
        subject=f"label {label}",
        said=said + (f": {why}" if why else ""),
        fix=fix,
        evidence=(f"labels of {metric}: {', '.join(names)}",) if names else (),
    )


def _of_exporter(evidence: SelectorEvidence) -> bool:
    """Whether it is a GPU's metric whose `pod` is the exporter's, and which names no pod that uses the GPU."""
    pods = {labels.get("pod", "") for labels in evidence.label_sets}
    used = any(labels.get(f"exported_{each}") for labels in evidence.label_sets for each in ("pod", "container"))
    return evidence.selector.metric.startswith("DCGM_") and not used and all("dcgm" in each for each in pods)


def _gpu_of_a_pod(matcher: Matcher, evidence: SelectorEvidence) -> Finding:
    metric, own = evidence.selector.metric, matcher.label.removeprefix("exported_")
    why = f"`{own}` is the exporter's own, and the label exported_{own} is there only while a pod uses the GPU"
    if own != matcher.label:
        said = f"no pod uses a GPU now: {metric} has no `{matcher.label}` ({why})"
        return found("KVO-702", subject="GPUs in use", said=said, fix="Run a pod that asks for nvidia.com/gpu")
    return found(
        "KVO-601",
        subject=f"label {own}",
        said=f"no series of {metric} has {matcher}: {why}",
        fix=f"In the query: {_renamed(matcher, f'exported_{own}')} instead of {matcher}",
    )


def _instead(matcher: Matcher, evidence: SelectorEvidence) -> list[str]:
    """Labels of the metric that may be meant, likeliest first: those whose values fit, then other spellings."""
    there = {name for labels in evidence.label_sets for name, value in labels.items() if value}
    there |= evidence.label_names or frozenset()
    label = matcher.label
    alike = [each for each in there if each.lower().replace("_", "") == label.lower().replace("_", "")]
    known = [each for each in twins(label) if each in there]
    candidates = sorted({*alike, *known} - {label})
    return sorted(
        candidates, key=lambda each: (not _holds(matcher, each, evidence), each not in alike, _rank(label, each))
    )


def _rank(label: str, other: str) -> int:
    """How early the two stand together in the table."""
    return next((rank for rank, (group, _) in enumerate(_TWINS) if {label, other} <= group), len(_TWINS))


def _holds(matcher: Matcher, label: str, evidence: SelectorEvidence) -> bool:
    values = {labels[label] for labels in evidence.label_sets if labels.get(label)}
    return any(fits(matcher, value) for value in values)


def _renamed(matcher: Matcher, label: str) -> Matcher:
    return Matcher(label, matcher.op, matcher.value)


def _value_absent(matcher: Matcher, evidence: SelectorEvidence) -> Finding:
    metric, label = evidence.selector.metric, matcher.label
    values = sorted({labels[label] for labels in evidence.label_sets if labels.get(label)})
    if _never_happened(matcher):
        return found(
            "KVO-703",
            subject=f"{metric} {matcher}",
            said=f"no series of {metric} has {matcher}: nothing of that kind has happened",
            evidence=(f"values of {label}: {_listed(values)}",),
        )
    for other in sorted(twins(label), key=lambda each: _rank(label, each)):
        if matcher.op in ("=", "=~") and _holds(matcher, other, evidence):
            why = next((why for group, why in _TWINS if why and {label, other} <= group), "")
            return found(
                "KVO-601",
                subject=f"label {label}",
                said=f"what {matcher} asks of {metric} stands in its label `{other}`" + (f": {why}" if why else ""),
                fix=f"In the query: {_renamed(matcher, other)} instead of {matcher}",
                evidence=(f"values of {label}: {_listed(values)}",),
            )
    if matcher.op in ("!=", "!~"):
        said, fix = f"every series of {metric} is left out by {matcher}", f"In the query: leave {matcher} out"
    else:
        said = f"no series of {metric} has {matcher}; its `{label}` is {_listed(values)}"
        fix = f"In the query, or by the variable that stands there, a value that is there: {label}={quoted(values[0])}"
        fix += f" (or {_listed(values[1:])})" if len(values) > 1 else ""
        if label in _NAMES_A_SERVER:
            fix = f"Scrape what has {matcher}, where that runs; else: {fix[:1].lower()}{fix[1:]}"
    return found(
        "KVO-602", subject=str(matcher), said=said, fix=fix, evidence=(f"values of {label}: {_listed(values)}",)
    )


def _never_happened(matcher: Matcher) -> bool:
    """Whether a matcher asks for a bad outcome, whose series come into being with the first one."""
    if matcher.label not in _OUTCOMES:
        return False
    if matcher.op in ("=", "=~"):
        return _BAD.search(matcher.value) is not None and _GOOD.search(matcher.value) is None
    return _GOOD.search(matcher.value) is not None


def _together(evidence: SelectorEvidence) -> Finding:
    metric, filters = evidence.selector.metric, evidence.selector.filters
    fitting = [each for each in filters if not all(fits(each, one.get(each.label, "")) for one in evidence.label_sets)]
    named = " and ".join(str(each) for each in fitting)
    bad = next((each for each in fitting if _never_happened(each)), None)
    if bad is not None:
        return found(
            "KVO-703",
            subject=f"{metric} {bad}",
            said=f"no series of {metric} with the other filters has {bad}: nothing of that kind has happened there",
        )
    sets = sorted(",".join(f"{k}={quoted(v)}" for k, v in sorted(one.items()) if v) for one in evidence.label_sets)
    return found(
        "KVO-602",
        subject=", ".join(str(each) for each in fitting),
        said=f"each of {named} fits some series of {metric}, and no series fits them all",
        fix=f"In the query: choose values that are there together, as in {metric}{{{sets[0]}}}",
        evidence=tuple(f"{metric}{{{each}}}" for each in sets[:_MANY]),
    )


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(quoted(each) for each in values[:_MANY])
    return shown + (f" and {len(values) - _MANY} more" if len(values) > _MANY else "")
