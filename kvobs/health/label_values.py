"""Why no series has the value that a query filters by: it is another one, or what it names never happened. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from .causes import found
from .evidence import SelectorEvidence
from .label_matchers import fits, holds, is_read, rank, renamed, twins, why_instead
from .promql import Matcher, quoted
from .verdict import Finding

_ALIKE = 0.6
"""How alike two values have to be, for one to be taken for the other."""
_COMPARED = 1000
"""How many values are compared with one that is not there."""
_MANY = 5
"""How many values a sentence lists."""

ALERTS = frozenset({"ALERTS", "ALERTS_FOR_STATE"})
"""Metrics that Prometheus writes while an alert is pending or fires."""
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


def values_of(label: str, evidence: SelectorEvidence) -> str:
    """Return the values of a label as a sentence lists them; "" where they are not known."""
    return _listed(sorted({labels[label] for labels in evidence.label_sets if labels.get(label)}))


def value_absent(matcher: Matcher, evidence: SelectorEvidence) -> Finding:
    """Return that no series of a metric has the value of a label that a matcher asks for."""
    metric, label = _title(evidence), matcher.label
    values = sorted({labels[label] for labels in evidence.label_sets if labels.get(label)})
    if _never_happened(matcher) or evidence.selector.name in ALERTS:
        return found(
            "KVO-703",
            subject=f"{metric} {matcher}",
            said=f"no series of {metric} has {matcher}: nothing of that kind has happened",
            evidence=(f"values of {label}: {_listed(values)}",),
        )
    for other in sorted(twins(label), key=lambda each: rank(label, each)):
        if matcher.op in ("=", "=~") and holds(matcher, other, evidence.label_sets):
            why = why_instead(label, other)
            return found(
                "KVO-601",
                subject=f"label {label}",
                said=f"what {matcher} asks of {metric} stands in its label `{other}`" + (f": {why}" if why else ""),
                fix=f"In the query: {renamed(matcher, other)} instead of {matcher}",
                evidence=(f"values of {label}: {_listed(values)}",),
            )
    if matcher.op in ("!=", "!~"):
        said, fix = f"every series of {metric} is left out by {matcher}", f"In the query: leave {matcher} out"
    elif (wider := _anchored(matcher, values)) is not None:
        said = f"no series of {metric} has {matcher}, since a pattern has to fit the whole value; its `{label}` is"
        said += f" {_listed(values)}"
        fix = f"In the query: {wider} instead of {matcher}"
    else:
        near = likeliest(matcher.value, values)
        said = f"no series of {metric} has {matcher}; its `{label}` is {_listed(values)}"
        fix = f"In the query, or by the variable that stands there, a value that is there: {label}={quoted(near[0])}"
        fix += f" (or {_listed(near[1:])})" if len(near) > 1 else ""
        if label in _NAMES_A_SERVER:
            fix = f"Scrape what has {matcher}, where that runs; else: {fix[:1].lower()}{fix[1:]}"
    return found(
        "KVO-602", subject=str(matcher), said=said, fix=fix, evidence=(f"values of {label}: {_listed(values)}",)
    )


def _title(evidence: SelectorEvidence) -> str:
    return "any metric" if evidence.selector.metric == "{}" else evidence.selector.metric


def _anchored(matcher: Matcher, values: Sequence[str]) -> Matcher | None:
    """The same matcher for a part of the value, where that is what fits."""
    inner = matcher.value.removeprefix(".*").removesuffix(".*")
    if "|" in inner and not inner.startswith("("):
        inner = f"({inner})"
    wider = Matcher(matcher.label, matcher.op, f".*{inner}.*")
    fitting = matcher.op == "=~" and matcher.value and is_read(wider) and any(fits(wider, each) for each in values)
    return wider if fitting else None


def likeliest(asked: str, values: Sequence[str]) -> list[str]:
    """Return values in the order in which they may be meant: the same number, the same letters, what looks alike.

    >>> likeliest("1", ["+Inf", "0.5", "1.0"]), likeliest("GPU-A", ["cpu-a", "gpu-a"])
    (['1.0', '+Inf', '0.5'], ['gpu-a', 'cpu-a'])
    """

    def unlike(value: str) -> tuple[bool, bool, float]:
        alike = difflib.SequenceMatcher(None, asked.lower(), value.lower()).ratio()
        return not _same_number(asked, value), asked.lower() != value.lower(), -alike if alike > _ALIKE else 0.0

    return sorted(sorted(values)[:_COMPARED], key=unlike)


def _same_number(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _never_happened(matcher: Matcher) -> bool:
    """Whether a matcher asks for a bad outcome, whose series come into being with the first one."""
    if matcher.label not in _OUTCOMES:
        return False
    if matcher.op in ("=", "=~"):
        return _BAD.search(matcher.value) is not None and _GOOD.search(matcher.value) is None
    return _GOOD.search(matcher.value) is not None


def never_together(evidence: SelectorEvidence) -> Finding:
    """Return that each matcher fits some series, and no series fits them all."""
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
