"""Label matchers evaluated here, and which labels stand for one another. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..dashboard.re2 import pattern
from .promql import Matcher

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


def twins(label: str) -> frozenset[str]:
    """Return the labels that may stand in *label*'s place."""
    return frozenset(each for group, _ in _TWINS if label in group for each in group) - {label}


def fits(matcher: Matcher, value: str) -> bool:
    """Whether a label's value fits; an absent label is "". A pattern that is not read fits."""
    if matcher.op in ("=", "!="):
        return (matcher.value == value) is (matcher.op == "=")
    wanted = pattern(matcher.value)
    return wanted is None or (wanted.fullmatch(value) is not None) is (matcher.op == "=~")


def is_read(matcher: Matcher) -> bool:
    """Whether it can be told here what a matcher fits; else only Prometheus knows."""
    return matcher.op in ("=", "!=") or pattern(matcher.value) is not None


def any_fits(matchers: Sequence[Matcher], label_sets: Iterable[Mapping[str, str]]) -> bool:
    """Whether all matchers fit one of the label sets."""
    return any(all(fits(each, labels.get(each.label, "")) for each in matchers) for labels in label_sets)


def why_instead(label: str, other: str) -> str:
    """Say why *other* is there in *label*'s place; "" where there is nothing to say."""
    return next((why for group, why in _TWINS if why and {label, other} <= group), "")


def rank(label: str, other: str) -> int:
    """How early the two stand together in the table."""
    return next((rank for rank, (group, _) in enumerate(_TWINS) if {label, other} <= group), len(_TWINS))


def holds(matcher: Matcher, label: str, label_sets: Iterable[Mapping[str, str]]) -> bool:
    """Whether what a matcher asks for stands in *label*."""
    return any(fits(matcher, labels[label]) for labels in label_sets if labels.get(label))


def renamed(matcher: Matcher, label: str) -> Matcher:
    """Return the same matcher for another label."""
    return Matcher(label, matcher.op, matcher.value)
