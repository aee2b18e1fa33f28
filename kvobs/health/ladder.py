"""From the evidence of a dark query to its one cause: rungs in order, the first that explains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from .answers import NoAnswer, Refused, Result
from .causes import found
from .down import down_finding, nothing_up
from .evidence import DarkQuery, SelectorEvidence, VariableEvidence
from .labels import label_finding
from .losses import LOOK, loss_finding, no_traffic
from .metric_names import metric_finding
from .scrape import scrape_finding
from .scrape_kinds import family_of
from .texts import duration
from .verdict import Finding

Rung = Callable[[DarkQuery], Finding | None]

_JUST_BEGUN_S = 60.0


def judge(dark: DarkQuery) -> Finding:
    """Return the one cause of a dark query.

    A query that has several ways to have data (`a or b`) is dark because all of them are; the cause is the one of the
    way that came furthest, since mending that one is enough.
    """
    ways = dark.parsed.ways if dark.parsed is not None else ()
    return max((_climb(_narrowed(dark, way)) for way in ways or (None,)), key=lambda found: found[0])[1]


def _climb(dark: DarkQuery) -> tuple[int, Finding]:
    for number, rung in enumerate(RUNGS):
        if (finding := rung(dark)) is not None:
            return number, finding
    return len(RUNGS), _unexplained(dark)


def _narrowed(dark: DarkQuery, way: frozenset[int] | None) -> DarkQuery:
    """Leave what belongs to one way of having data; the selectors keep their numbers."""
    if way is None or not dark.selectors:
        return dark
    selectors = tuple(
        each if number in way else SelectorEvidence(selector=each.selector)
        for number, each in enumerate(dark.selectors)
    )
    return replace(
        dark,
        selectors=selectors,
        lost=tuple(each for each in dark.lost if not each.part.selectors or each.part.selectors & way),
    )


# --- the rungs ---


def _not_asked(dark: DarkQuery) -> Finding | None:
    if not isinstance(dark.answer, NoAnswer):
        return None
    return found("KVO-901", subject="Prometheus", said=dark.answer.said, fix=dark.answer.hint)


def _refused(dark: DarkQuery) -> Finding | None:
    if not isinstance(dark.answer, Refused):
        return None
    if (empty := _variable_empty(dark)) is not None:
        return empty
    cause = "KVO-802" if dark.answer.kind == "too expensive" else "KVO-801"
    return found(cause, subject=dark.query.expr, said=f"Prometheus: {dark.answer.said}", evidence=(dark.query.expr,))


def _before_all_samples(dark: DarkQuery) -> Finding | None:
    oldest_s = dark.server.server.oldest_s
    if oldest_s is None or dark.query.end_s >= oldest_s:
        return None
    finding = found(
        "KVO-705",
        subject="time range",
        said=f"the range ends {_ago(oldest_s - dark.query.end_s)} before the oldest sample that Prometheus has",
        fix=f"Choose a range after {_moment(oldest_s)}, or keep more: prometheus.prometheusSpec.retention",
        evidence=(f"oldest sample: {_moment(oldest_s)}; the range ends: {_moment(dark.query.end_s)}",),
    )
    # A graph ends at its last whole step: a server that has just begun has nothing before the next one.
    return replace(finding, passing=oldest_s - dark.query.end_s <= max(dark.query.step_s, _JUST_BEGUN_S))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _metric_absent(dark: DarkQuery) -> Finding | None:
    return next((finding for each in dark.selectors if (finding := metric_finding(dark, each)) is not None), None)


def _stopped(dark: DarkQuery) -> Finding | None:
    """What was scraped until shortly before the range, and why it is no more."""
    for each in dark.selectors:
        family = family_of(each.selector.name or "") if each.stopped else None
        if family is not None and not dark.server.past:
            scrape = scrape_finding(family, dark.cluster, dark.server)
            if scrape is not None:
                return scrape
    return None


def _variable_empty(dark: DarkQuery) -> Finding | None:
    evidence = next(iter(dark.variables.values()), None)
    return None if evidence is None else _empty(dark, evidence)


def _empty(dark: DarkQuery, evidence: VariableEvidence) -> Finding:
    name, asks = evidence.variable.name, evidence.variable.query or evidence.variable.type
    if isinstance(evidence.answer, NoAnswer):
        return found(
            "KVO-901",
            subject=f"variable {name}",
            said=f"what the variable `{name}` asks was not answered: {evidence.answer.said}",
            fix=evidence.answer.hint,
        )
    if isinstance(evidence.answer, Refused):
        said = f"the variable `{name}` is empty: Prometheus refuses {asks}: {evidence.answer.said}"
        return found("KVO-301", subject=f"variable {name}", said=said, fix=f"Mend the variable's query: {asks}")
    if evidence.dropped:
        regex = evidence.variable.regex
        said = f"the variable `{name}` is empty: its regex {regex} keeps none of {evidence.dropped} values"
        return found("KVO-301", subject=f"variable {name}", said=said, fix="Mend the variable's regex, or leave it out")
    root = _root_of(dark, evidence)
    finding = found(
        "KVO-301",
        subject=f"variable {name}",
        said=f"the variable `{name}` is empty: {asks} finds nothing" + (f", since {root.said}" if root else ""),
        fix=root.fix if root else f"Choose a value, or mend what the variable asks: {asks}",
        evidence=root.evidence if root else (),
    )
    return replace(finding, severity=root.severity, passing=root.passing) if root else finding


def _root_of(dark: DarkQuery, evidence: VariableEvidence) -> Finding | None:
    """Return why the variable's own question has no answer."""
    for each in evidence.selectors:
        if (finding := metric_finding(dark, each) or label_finding(each)) is not None:
            return finding
    return None


def _labels_differ(dark: DarkQuery) -> Finding | None:
    for each in dark.selectors:
        finding = label_finding(each)
        if finding is not None:
            if (down := down_finding(dark, each)) is not None:
                return down
            return _no_such_target(each, finding) if each.selector.name == "up" else finding
    return None


def _no_such_target(evidence: SelectorEvidence, finding: Finding) -> Finding:
    """`up` is there for every target, so that a filter that fits none of it names a target that is not there."""
    if finding.cause != "KVO-602":
        return finding
    named = ", ".join(str(each) for each in evidence.selector.filters)
    return found(
        "KVO-405",
        subject=named,
        said=f"Prometheus has no target with {named}",
        fix=finding.fix,
        evidence=finding.evidence,
    )


def _part_lost(dark: DarkQuery) -> Finding | None:
    return next((finding for each in dark.lost if (finding := loss_finding(dark, each)) is not None), None)


def _all_nan(dark: DarkQuery) -> Finding | None:
    answer = dark.answer
    if not isinstance(answer, Result) or not answer.samples or answer.numbers:
        return None
    idle = [each for each in dark.selectors if each.zeroes]
    if idle:
        return no_traffic(idle)
    return found(
        "KVO-704", subject=dark.query.expr, said=f"the query has {len(answer.series)} series, and all values are NaN"
    )


def _between_steps(dark: DarkQuery) -> Finding | None:
    """Samples that are older than the look-back at each step of the graph."""
    parsed, query = dark.parsed, dark.query
    if parsed is None or parsed.parts or query.instant or query.step_s <= dark.server.server.lookback_s:
        return None
    metric = next((each.selector.metric for each in dark.selectors if each.matched), None)
    if metric is None:
        return None
    return found(
        "KVO-705",
        subject=metric,
        said=f"{metric} has samples in this range, and none near any step of the graph, which are"
        f" {duration(query.step_s)} apart",
        fix="Choose a shorter range, around the time in which it ran",
    )


def _combination(dark: DarkQuery) -> Finding | None:
    # Of a query that was not read only names are known, and not what it filters by.
    if dark.parsed is None or not all(each.matched for each in dark.selectors if each.present is not None):
        return None
    if not any(each.matched for each in dark.selectors):
        return None
    names = list(dict.fromkeys(each.selector.metric for each in dark.selectors))
    return found(
        "KVO-803",
        subject=dark.query.expr,
        said=f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} series, and the query has none",
        fix=None if dark.parsed.joins else LOOK,
    )


RUNGS: tuple[Rung, ...] = (
    _not_asked,
    _refused,
    _before_all_samples,
    _metric_absent,
    _variable_empty,
    _labels_differ,
    _stopped,
    nothing_up,
    _part_lost,
    _all_nan,
    _between_steps,
    _combination,
)
"""In order; the first that has a finding names the cause."""


def _unexplained(dark: DarkQuery) -> Finding:
    why = "the query was not read" if dark.parsed is None else "its selectors could not be asked one by one"
    return found(
        "KVO-901",
        subject=dark.query.expr,
        said=f"Prometheus answers the query with nothing, and why could not be found out: {why}",
        fix=LOOK,
        evidence=(dark.query.expr,),
    )
