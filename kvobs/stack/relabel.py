"""What a scrape's metricRelabelings make of a metric's name, as Prometheus applies them. Pure.

KServe's own monitor, for one, puts `kserve_` in front of every name: it scrapes a server, and no dashboard of vLLM's
lights up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..dashboard.re2 import pattern
from .facts import Object

_NAME = "__name__"
_GROUP = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})", re.ASCII)
_WRITES = frozenset({"replace", "lowercase", "uppercase", "hashmod"})
"""Actions that write their target label."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a metric's name."""

    stored: str | None
    """How it is stored; None: it is dropped."""
    step: int | None
    """The number of the step that dropped it, or that changed it last; None: it is stored as it is."""


def fate(name: str, steps: Sequence[Mapping[str, Any]]) -> Fate | None:
    """Return what *steps*, as a monitor writes them, make of a name; None where they make it of other labels.

    Only what is decided by the name alone is seen: a keep or drop that looks at another label, or whose expression
    cannot be read here, is taken to let it pass.

    >>> by_name = {"sourceLabels": ["__name__"], "action": "drop"}
    >>> fate("vllm:x", [by_name | {"regex": "go_.*"}, by_name | {"regex": "vllm:.*"}])
    Fate(stored=None, step=1)
    """
    now, last = name, None
    for number, step in enumerate(steps):
        if _writes_name(step) and not _is_told(step):
            return None
        after = _after(now, step)
        if after is None:
            return Fate(None, number)
        if after != now:
            now, last = after, number
    return Fate(now, last)


def stored_name(name: str, endpoint: Object) -> str | None:
    """Return how the metric *name* of a scrape through *endpoint* is stored, None where it is dropped.

    As `fate`, and a step that makes the name of other labels is taken to let it pass, too.

    >>> stored_name("vllm:x", {"metricRelabelings": [
    ...     {"sourceLabels": ["__name__"], "targetLabel": "__name__", "replacement": "kserve_$1"}]})
    'kserve_vllm:x'
    >>> keep = {"sourceLabels": ["__name__"], "action": "keep", "regex": "up|DCGM_FI_.*"}
    >>> stored_name("vllm:x", {"metricRelabelings": [keep]})
    """
    found = fate(name, [each for each in endpoint.get("metricRelabelings") or () if _is_told(each)])
    return found.stored if found is not None else name


def _writes_name(step: Mapping[str, Any]) -> bool:
    return action_of(step) in _WRITES and step.get("targetLabel") == _NAME


def _is_told(step: Mapping[str, Any]) -> bool:
    """Whether a name is all that it takes to tell here what a step does to it."""
    by_name = list(step.get("sourceLabels") or ()) in ([], [_NAME])
    return by_name and action_of(step) != "hashmod" and _expression(step) is not None


def _expression(step: Mapping[str, Any]) -> re.Pattern[str] | None:
    return pattern(regex_of(step))


def regex_of(step: Mapping[str, Any]) -> str:
    """Return the expression of a step, with Prometheus' own where the step names none."""
    return str(step.get("regex") or "(.*)")


def action_of(step: Mapping[str, Any]) -> str:
    """Return what a step does, in Prometheus' word."""
    return str(step.get("action") or "replace").lower()


def _after(name: str, step: Mapping[str, Any]) -> str | None:
    expression = _expression(step)
    if expression is None or not _is_told(step):
        return name
    action, value = action_of(step), name if step.get("sourceLabels") else ""
    found = expression.fullmatch(value)
    if action == "keep":
        return name if found else None
    if action == "drop":
        return None if found else name
    if not _writes_name(step):
        return name
    if action in ("lowercase", "uppercase"):
        return value.lower() if action == "lowercase" else value.upper()
    if found is None:
        return name
    template = str(step.get("replacement", "$1"))
    return _GROUP.sub(lambda m: "$" if m[0] == "$$" else _group(found, m[1] or m[2]), template) or None


def _group(found: re.Match[str], key: str) -> str:
    try:
        return found[int(key) if key.isdecimal() else key] or ""
    except IndexError:
        return ""


def keeps_any(names: Iterable[str], endpoint: Object) -> bool:
    """Whether any metric of *names* is stored under its own name."""
    return not endpoint.get("metricRelabelings") or any(stored_name(each, endpoint) == each for each in names)
