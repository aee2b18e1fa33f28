"""The steps of a scrape config that decide what becomes of a metric, and where they are written. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..stack.facts import Monitor
from ..stack.relabel import action_of, regex_of
from ..stack.targets import ENDPOINTS
from .evidence import ClusterEvidence
from .pools import Origin, origin_of
from .texts import short

_MOST = 80
"""Characters of an expression that a sentence shows."""
_NAME_FILTERS = {"drop": "narrow its regex", "keep": "widen its regex"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A step that decides what becomes of a metric, as Prometheus has loaded it."""

    pool: str
    """Name of its scrape config."""
    number: int
    """Which of its `metric_relabel_configs` it is."""
    step: Mapping[str, Any]
    """The step, as a monitor writes it."""
    stored: str | None
    """What the metric is stored as; None: it is dropped."""

    @property
    def action(self) -> str:
        """What it does, in Prometheus' word."""
        return action_of(self.step)

    @property
    def in_words(self) -> str:
        """The step by what it says."""
        return f"action {self.action}, regex {short(regex_of(self.step), _MOST)}"

    @property
    def advice(self) -> str:
        """What to do with it."""
        return _NAME_FILTERS.get(self.action, "leave the name as it is")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule is written."""

    where: str
    fix: str
    """A step as in `Finding.fix`: the command that opens it and what to look for there, or a sentence."""


def place_of(rule: Rule, cluster: ClusterEvidence | None) -> Place:
    """Return where a rule is written: in the monitor of its scrape config, where that has it."""
    loaded, origin = f"metric_relabel_configs[{rule.number}]", origin_of(rule.pool)
    if origin is None:
        return Place(f"{loaded} of job {rule.pool}", f"In scrape_configs, job {rule.pool}: {rule.advice} ({loaded})")
    monitor = _monitor_of(origin, cluster)
    if monitor is None or origin.endpoint is None:
        remark = f"metricRelabelings, {rule.in_words}: {rule.advice}"
        return Place(f"{loaded} that {origin} brings", f"{origin.edit}   # {remark}")
    steps = monitor.endpoints[origin.endpoint].get("metricRelabelings") or ()
    own = next((number for number, each in enumerate(steps) if _same(each, rule.step)), None)
    if own is not None:
        field = f"spec.{ENDPOINTS[origin.kind]}[{origin.endpoint}].metricRelabelings[{own}]"
        return Place(f"{field} of {origin}", f"{origin.edit}   # {field}: {rule.advice}{_in_values(monitor)}")
    return _of_a_class(rule, origin, cluster)


def _of_a_class(rule: Rule, origin: Origin, cluster: ClusterEvidence | None) -> Place:
    """A step that the monitor does not have: the operator puts those of a scrape class of the Prometheus before its
    own. Or the monitor had it, and Prometheus has not loaded it anew."""
    prometheus = cluster.prometheus if cluster is not None else None
    where = f"metric_relabel_configs[{rule.number}] of {rule.pool} (no step of {origin} itself)"
    advice = f"{rule.advice}; if the monitor had it until now, wait until Prometheus has loaded the change"
    if prometheus is None:
        return Place(where, "Look into spec.scrapeClasses of the Prometheus object: " + advice)
    edit = f"kubectl -n {prometheus.namespace} edit prometheus {prometheus.name}"
    return Place(where, f"{edit}   # spec.scrapeClasses, metricRelabelings, {rule.in_words}: {advice}")


def _in_values(monitor: Monitor) -> str:
    return f"; and in the values of Helm release {'/'.join(monitor.release)}" if monitor.release else ""


def _monitor_of(origin: Origin, cluster: ClusterEvidence | None) -> Monitor | None:
    """The monitor that a scrape config was written from; None where it, or its endpoint, is not known."""
    wanted = (origin.kind, origin.namespace, origin.name)
    monitors = cluster.facts.monitors if cluster is not None else ()
    monitor = next((each for each in monitors if (each.kind, each.namespace, each.name) == wanted), None)
    if monitor is None or origin.endpoint is None or origin.endpoint >= len(monitor.endpoints):
        return None
    return monitor


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _meaning(one) == _meaning(other)


def _meaning(step: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a step says, with what Prometheus takes where it says nothing."""
    return (
        action_of(step),
        tuple(step.get("sourceLabels") or ()),
        step.get("targetLabel") or "",
        regex_of(step),
        str(step.get("replacement", "$1")),
    )
