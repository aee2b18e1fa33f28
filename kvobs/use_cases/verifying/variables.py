"""Gives the variables of a dashboard the values that Grafana would choose now, asking what it would ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...dashboard.adhoc import with_filters
from ...dashboard.board import Board, Query, Scope, Value, Variable, Window
from ...dashboard.interpolation import interpolate
from ...dashboard.queries import Filter, Resolve, time_values
from ...dashboard.settling import (
    OFFERING,
    Given,
    chosen,
    custom_options,
    depends_on,
    in_order,
    names_of_empty,
    saved,
    with_default,
    without_options,
)
from ...dashboard.variable_queries import (
    Option,
    Question,
    metrics_that_fit,
    number_text,
    options_of,
    question_of,
    sample_text,
    series_text,
)
from ...health.answers import Answer, Names, NoAnswer, Refused, Result, Series
from ...health.evidence import VariableEvidence
from ...stack.facts import DatasourceFact
from .seam import Asked

AskedAt = Callable[[str], Asked | NoAnswer]
"""UID of a data source -> who answers for it, or why nobody does."""
Offered = Callable[[str, str], Sequence[DatasourceFact]]
"""(plugin, regex) -> the data sources that a data source variable offers, in Grafana's order."""

_INTERVAL = "15s"
"""`$__interval` in a variable's query where the data source has no `timeInterval`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The variables of one dashboard, settled."""

    scope: Scope
    empty: Mapping[str, VariableEvidence] = field(default_factory=dict)
    """Every variable that is empty, or whose options could not be asked. One that is empty since another is has the
    other's evidence: that is where to mend it."""
    questions: Mapping[str, Question] = field(default_factory=dict)
    """What each query variable asked, with the values that it was asked with."""


@dataclass(frozen=True, slots=True)
class _Options:
    """What a variable offers; None where it could not be found out."""

    options: list[Option] | None
    answer: Answer | None = None
    dropped: int = 0


def settle(
    board: Board,
    window: Window,
    *,
    resolve: Resolve,
    asked: AskedAt,
    offered: Offered,
    given: Mapping[str, Given] | None = None,
    time_intervals: Mapping[str, str] | None = None,
) -> Settled:
    """Return what each variable of *board* stands for in a time range, and the evidence about those that are empty.

    *given* is what the user chose, by name of the variable; it is taken as it is, offered or not. A question that is
    refused or not answered is evidence; the variable then keeps what was saved with the dashboard, as in Grafana.
    """
    settling = _Settling(window, resolve, asked, offered, given or {}, time_intervals or {})
    for variable in in_order(board.variables):
        settling.settle(variable)
    return Settled(scope=settling.scope, empty=settling.empty, questions=settling.questions)


def adhoc_filter(board: Board, scope: Scope, resolve: Resolve) -> Filter:
    """Return what adds the dashboard's ad hoc filters to a query, by the UID of the data source that it goes to."""
    by_source: dict[str, list[tuple[str, str, str]]] = {}
    for variable in board.variables:
        uid = resolve(variable.source, scope).uid if variable.type == "adhoc" else None
        if uid is not None:
            by_source.setdefault(uid, []).extend(variable.filters)

    return lambda expr, source: with_filters(expr, by_source.get(source, ()))


class _Settling:
    """Settles one variable after another, each with what those before it stand for."""

    def __init__(
        self,
        window: Window,
        resolve: Resolve,
        asked: AskedAt,
        offered: Offered,
        given: Mapping[str, Given],
        time_intervals: Mapping[str, str],
    ) -> None:
        self.scope: dict[str, Value] = {}
        self.empty: dict[str, VariableEvidence] = {}
        self.questions: dict[str, Question] = {}
        self._window = window
        self._resolve = resolve
        self._asked = asked
        self._offered = offered
        self._given = given
        self._time_intervals = time_intervals

    def settle(self, variable: Variable) -> None:
        """Settle one variable; those that it depends on are settled, but in a circle."""
        given = self._given.get(variable.name)
        if variable.type not in OFFERING:
            self.scope[variable.name] = (
                without_options(variable, self.scope, self._window) if given is None else chosen(variable, [], given)
            )
            return
        found = self._options(variable)
        if found.options is not None:
            value = chosen(variable, found.options, given)
        elif given is not None:
            value = chosen(variable, [Option(*each) for each in variable.options], given)
        else:
            value = saved(variable)
        self.scope[variable.name] = value
        if found.options is None or names_of_empty({variable.name: value}):
            self.empty[variable.name] = self._evidence(variable, found)

    def _evidence(self, variable: Variable, found: _Options) -> VariableEvidence:
        names = names_of_empty(self.scope) & depends_on(variable) - {variable.name}
        root = next((self.empty[name] for name in self.empty if name in names), None)
        return root or VariableEvidence(variable=variable, answer=found.answer, dropped=found.dropped)

    def _options(self, variable: Variable) -> _Options:
        if variable.type == "custom":
            return _Options(custom_options(variable, self.scope))
        regex = interpolate(variable.regex, self.scope, format="regex")
        if variable.type == "datasource":
            sources = [each for each in self._offered(variable.query, regex) if each.uid is not None]
            default = next((each.uid for each in sources if each.is_default), None)
            offered = [Option(each.name, each.uid) for each in sources if each.uid is not None]
            return _Options(with_default(offered, variable, default))
        return self._queried(variable, regex)

    def _queried(self, variable: Variable, regex: str) -> _Options:
        source = self._resolve(variable.source, self.scope)
        if source.uid is None:
            return _Options(None, NoAnswer(said=source.why))
        question = question_of(variable, {**self._built_in(source.uid), **self.scope})
        if question is None:
            return _Options([])
        self.questions[variable.name] = question
        asked = self._asked(source.uid)
        answer = asked if isinstance(asked, NoAnswer) else _ask(asked, question, self._window, source.uid)
        if isinstance(answer, Refused | NoAnswer):
            return _Options(None, answer)
        texts = _texts(question, answer)
        if texts is None:
            return _Options(None, Refused(kind="bad query", said=_untried(question.expr)))
        options = options_of(texts, regex=regex, sort=variable.sort)
        if options is None:
            return _Options(None, Refused(kind="bad query", said=f"its regex {_untried(regex)}"))
        result = answer if isinstance(answer, Result) else _as_result(answer)
        return _Options(options, result, dropped=0 if options else len(texts))

    def _built_in(self, uid: str) -> dict[str, Value]:
        interval = self._time_intervals.get(uid) or _INTERVAL
        return {
            **time_values(self._window),
            "__interval": Value(values=(interval,)),
            "__searchFilter": Value(values=(".*",)),
        }


def _ask(asked: Asked, question: Question, window: Window, uid: str) -> Answer | Names:
    matches = (question.expr,) if question.expr else ()
    match question.kind:
        case "label values":
            return asked.label_values(question.label, matches, window.start_s, window.end_s)
        case "label names":
            return asked.label_names(matches, window.start_s, window.end_s)
        case "metrics":
            return asked.metric_names(window.start_s, window.end_s)
        case "query":
            return asked.query(_instant(question.expr, window, uid))
        case "series":
            # Every series that the selector fits in the range, whether or not it is still there at the end.
            range_ms = max(round((window.end_s - window.start_s) * 1000), 1)
            return asked.query(_instant(f"last_over_time({question.expr}[{range_ms}ms])", window, uid))


def _instant(expr: str, window: Window, uid: str) -> Query:
    return Query(expr=expr, instant=True, start_s=window.start_s, end_s=window.end_s, step_s=0.0, source=uid)


def _texts(question: Question, answer: Result | Names) -> list[str] | None:
    if isinstance(answer, Names):
        return metrics_that_fit(question, answer.values) if question.kind == "metrics" else sorted(answer.values)
    if answer.type in ("scalar", "string"):
        return [number_text(each.last) for each in answer.series]
    if question.kind == "series":
        return [_series(each) for each in answer.series]
    return [sample_text(_series(each), each.last, each.last_s) for each in answer.series]


def _untried(regex: str) -> str:
    return f"{regex} is no regular expression, or one that may take for ever, and is not tried"


def _series(series: Series) -> str:
    labels = [(label, value) for label, value in series.labels.items() if label != "__name__"]
    return series_text(series.labels.get("__name__", ""), labels)


def _as_result(names: Names) -> Result:
    series = (Series(labels={}, samples=1, numbers=1, nonzero=1, last=1.0) for _ in names.values)
    return Result(type="vector", series=tuple(series))
