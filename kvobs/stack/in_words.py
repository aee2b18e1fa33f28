"""What of a stack is there, in the words of an error. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .facts import Facts, Grafana, Prometheus, Workload
from .target import PROMETHEUS_KIND

SECOND_STACK = (
    "to bring a Prometheus and a Grafana for the operator that is there: --stack install"
    " --set prometheusOperator.enabled=false --set crds.enabled=false"
)


def found_here(facts: Facts) -> str:
    """Say in words what of a stack is there."""
    parts = [
        _counted(facts.operators, "Prometheus Operator"),
        _counted(facts.prometheuses, "Prometheus object"),
        _counted(tuple(g for g in facts.grafanas if g.sidecar), "Grafana with a dashboard sidecar"),
        _counted(tuple(g for g in facts.grafanas if not g.sidecar and g.operated is None), _WITHOUT),
        *(_counted(those, word) for those, word in _rarities(facts) if those),
    ]
    if PROMETHEUS_KIND not in facts.kinds:
        parts.append("no Prometheus Operator CRDs")
    return ", ".join(part for part in parts if part)


_WITHOUT = "Grafana without a dashboard sidecar"


def _rarities(facts: Facts) -> list[tuple[Sequence[Workload | Grafana], str]]:
    """What is named only where it is there."""
    return [
        (tuple(g for g in facts.grafanas if g.operated is not None), "Grafana of the Grafana Operator"),
        (facts.agents, "PrometheusAgent"),
        (facts.victoria_metrics, "VictoriaMetrics"),
    ]


def _counted(those: Sequence[Workload | Prometheus | Grafana], word: str) -> str:
    return f"{word} {named(those)}" if those else f"no {word}" if "without" not in word else ""


def named(those: Sequence[Workload | Prometheus | Grafana]) -> str:
    """Name each of *those*: `mon/a and mon/b`."""
    return " and ".join(f"{each.namespace}/{each.name}" for each in those)


def kinds_named(those: Sequence[Workload]) -> str:
    """Name each of *those* with its kind: `VMAgent vm/a and VMSingle vm/b`."""
    return " and ".join(f"{each.kind} {each.namespace}/{each.name}" for each in those)
