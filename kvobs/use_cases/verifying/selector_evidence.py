"""Whether what a selector asks for is there, and whether its labels fit; asked in one question, mostly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dashboard.board import Query
from ...health.answers import Answer, Names, Refused, Result
from ...health.evidence import SelectorEvidence
from ...health.gpu_fields import DCGM, MIG_INSTEAD
from ...health.label_matchers import any_fits, fits, is_read, twins
from ...health.promql import Selector
from ...health.renames import known
from .seam import Asked
from .spans import Span, span_of


def selector_evidence(selector: Selector, query: Query, asked: Asked) -> SelectorEvidence:
    """Ask what the server holds for a selector of a query, in the query's time range."""
    span = span_of(selector, query)
    if not selector.is_narrow:
        return _of_any_metric(selector, span, asked)
    answer = _label_sets(selector, span, asked)
    if not isinstance(answer, Result):
        return SelectorEvidence(selector=selector)
    sets = tuple(each.labels for each in answer.series)
    if not sets:
        return SelectorEvidence(selector=selector, present=False, matched=False, label_names=frozenset())
    matched = any_fits(selector.filters, sets)
    if matched and not all(is_read(each) for each in selector.filters):
        matched = _has_series(selector, span, asked)
    return SelectorEvidence(
        selector=selector,
        present=True,
        matched=matched,
        label_names=None if matched else _label_names(selector, span, sets, asked),
        label_sets=sets,
        instead=None if matched else _instead(selector, span, asked),
    )


def _of_any_metric(selector: Selector, span: Span, asked: Asked) -> SelectorEvidence:
    """Look at one label after the other: all series of a server are too many to look at."""
    if _has_series(selector, span, asked):
        return SelectorEvidence(selector=selector, present=True, matched=True)
    sets: list[Mapping[str, str]] = []
    for label in sorted({each.label for each in selector.filters}):
        values = asked.label_values(label, (), *span.looks_at)
        if not isinstance(values, Names):
            return SelectorEvidence(selector=selector)
        sets += [{label: value} for value in sorted(values.values)]
    return SelectorEvidence(selector=selector, present=True, matched=False, label_sets=tuple(sets) or ({},))


def _label_sets(selector: Selector, span: Span, asked: Asked) -> Answer:
    """Ask for the labels that matchers name, and those that may stand in their place, of all series of a metric."""
    wanted = {each.label for each in selector.filters}
    by = ", ".join(sorted({*wanted, *(twin for label in wanted for twin in twins(label)), *_always(selector)}))
    answer = asked.query(span.ask(f"group by ({by}) ({span.of(selector.metric)})"))
    if isinstance(answer, Refused) and not span.at_once:
        return asked.query(span.in_steps(f"group by ({by}) ({selector.metric}{span.offset})"))
    return answer


def _has_series(selector: Selector, span: Span, asked: Asked) -> bool:
    """Ask Prometheus itself, as for a pattern that only it can read; where it does not say, there are some."""
    answer = asked.query(span.ask(f"group({span.of(selector.text)})"))
    return not isinstance(answer, Result) or answer.numbers > 0


def _instead(selector: Selector, span: Span, asked: Asked) -> str | None:
    """A metric that other servers have in this one's place, where that has what the matchers ask for."""
    name = selector.name or ""
    history = known(name)
    names: tuple[str, ...] = (MIG_INSTEAD[name],) if name in MIG_INSTEAD else ()
    if history is not None and history.metric.exact:
        names = history.replacements()
    return next((each for each in names if _has_series(selector.named(each), span, asked)), None)


def _always(selector: Selector) -> tuple[str, ...]:
    """Labels of a GPU's metric that tell whose `pod` it is."""
    return ("pod", "exported_pod", "exported_container") if (selector.name or "").startswith(DCGM) else ()


def _label_names(
    selector: Selector, span: Span, sets: Sequence[Mapping[str, str]], asked: Asked
) -> frozenset[str] | None:
    """The metric's labels, where a label that the selector names is not among them."""
    absent = [
        each for each in selector.filters if not fits(each, "") and not any(labels.get(each.label) for labels in sets)
    ]
    if not absent:
        return None
    names = asked.label_names((selector.metric,), *span.looks_at)
    return names.values - {"__name__"} if isinstance(names, Names) else None
