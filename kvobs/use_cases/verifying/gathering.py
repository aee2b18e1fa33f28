"""What is asked about a dark query before its cause is named: no more than the ladder needs, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...dashboard.board import Panel, Query, Target
from ...dashboard.interpolation import names_in
from ...dashboard.variable_queries import Question
from ...health.answers import Answer, Exposed, Names, Result, Server
from ...health.evidence import (
    ClusterEvidence,
    DarkQuery,
    Lost,
    SelectorEvidence,
    ServerEvidence,
    VariableEvidence,
)
from ...health.glimpse import glimpse
from ...health.gpu_fields import DCGM, MIG_DROPS, PROFILING
from ...health.losses import counts
from ...health.metric_names import names_listed
from ...health.promql import Matcher, Part, Selector, parse
from ...health.relabelled import families, is_of_now, is_touched
from ...health.scrape_kinds import family_of
from ...health.spellings import prefix_of
from .seam import Asked
from .selector_evidence import selector_evidence
from .spans import Span, span_of

_MOST_PARTS = 12
_SPACING_S = 3600.0
"""How far back samples are looked at, to tell how far apart they are."""
_FEW_SERIES = 300
_SPACING_OF_MANY_S = 600.0
_LONGER = 4
"""A window is lengthened by so much at least, to see whether it was too short."""
_DCGM = f'{{__name__=~"{DCGM}.+"}}'
_KNOWN_FAMILIES = '{__name__=~"(ray_)?vllm[:_].+|sglang[:_].+|llm_d_(router_)?epp_.+|DCGM_.+"}'


@dataclass(frozen=True, kw_only=True, slots=True)
class Unlit:
    """A query whose answer has no number."""

    panel: Panel
    target: Target
    query: Query
    answer: Answer


def server_evidence(
    asked: Asked, cluster: ClusterEvidence | None = None, *, datasource_interval_s: float | None = None
) -> ServerEvidence:
    """Ask what is the same for all queries to a server."""
    server, targets = asked.server(), asked.targets()
    active, dropped = targets if isinstance(targets, tuple) else (None, None)
    # Only what a warning says of a monitor has to be held against the scrape configs.
    pools = asked.scrape_pools() if cluster is not None and cluster.events else None
    return ServerEvidence(
        server=server if isinstance(server, Server) else Server(),
        targets=active,
        dropped=dropped,
        pools=pools.values if isinstance(pools, Names) else None,
        datasource_interval_s=datasource_interval_s,
    )


def gather(
    unlit: Unlit,
    asked: Asked,
    server: ServerEvidence,
    *,
    cluster: ClusterEvidence | None = None,
    empty: Mapping[str, VariableEvidence] | None = None,
    questions: Mapping[str, Question] | None = None,
) -> DarkQuery:
    """Ask what the ladder has to know about one query.

    *empty* are the variables of its dashboard without a value, *questions* what each variable asks.

    Questions are many times the same from one query to the next: *asked* should remember its answers.
    """
    dark = DarkQuery(
        panel=unlit.panel,
        target=unlit.target,
        query=unlit.query,
        answer=unlit.answer,
        parsed=parse(unlit.query.expr),
        server=server,
        cluster=cluster,
    )
    dark = replace(dark, variables=_variables(dark, empty or {}, questions or {}, asked))
    if isinstance(dark.answer, Result):
        dark = _looked_at(dark, asked)
    absent = [each.selector for each in _all_selectors(dark) if each.present is False]
    return _named(dark, absent, asked) if absent else dark


def _looked_at(dark: DarkQuery, asked: Asked) -> DarkQuery:
    selectors = dark.parsed.selectors if dark.parsed is not None else glimpse(dark.query.expr)
    seen = tuple(selector_evidence(each, dark.query, asked) for each in selectors)
    dark = replace(dark, selectors=seen)
    ways = dark.parsed.ways if dark.parsed is not None else ()
    if any(all(seen[each].matched for each in way) for way in ways):
        return _parts(dark, asked)
    return dark


def _all_selectors(dark: DarkQuery) -> list[SelectorEvidence]:
    return [*dark.selectors, *(each for evidence in dark.variables.values() for each in evidence.selectors)]


# --- names ---


def _named(dark: DarkQuery, absent: Sequence[Selector], asked: Asked) -> DarkQuery:
    """Ask for the names that are there instead of the *absent* ones."""
    span = span_of(absent[0], dark.query)
    found = asked.metric_names(*span.looks_at)
    ever = asked.metric_names(None, None)
    names = found.values if isinstance(found, Names) else None
    if any(each.name is None or prefix_of(each.name) or family_of(each.name) for each in absent):
        # The list of names looks into whole blocks of time: for the known families ask more exactly.
        exact = asked.query(span.ask(f"group by (__name__) ({span.of(_KNOWN_FAMILIES)})"))
        if isinstance(exact, Result):
            others = {each for each in names or () if not (prefix_of(each) or family_of(each))}
            names = frozenset(others | {each.labels.get("__name__", "") for each in exact.series})
    server = replace(dark.server, names=names, names_ever=ever.values if isinstance(ever, Names) else None)
    if any(each.name in MIG_DROPS for each in absent):
        labels = asked.label_names((_DCGM,), *span.looks_at)
        server = replace(server, dcgm_labels=labels.values if isinstance(labels, Names) else None)
    if any((each.name or "").startswith(PROFILING) for each in absent):
        models = asked.label_values("modelName", (_DCGM,), *span.looks_at)
        server = replace(server, gpu_models=models.values if isinstance(models, Names) else None)
    return _relabelled(replace(dark, server=server), absent, asked)


def _relabelled(dark: DarkQuery, absent: Sequence[Selector], asked: Asked) -> DarkQuery:
    """Ask for what the scrapes drop and rename, and whether anything exposes the *absent* metrics that they do."""
    if not any(each.health == "up" for each in dark.server.targets or ()):
        return dark
    now = [each for each in absent if is_of_now(dark, each)]
    relabelings = asked.relabelings() if now else None
    if not isinstance(relabelings, Mapping):
        return dark
    names = dict.fromkeys(name for each in now for name in ((each.name,) if each.name else names_listed(each)))
    exposed = {name: _exposed(name, asked) for name in names if is_touched(name, relabelings)}
    return replace(dark, server=replace(dark.server, relabelings=relabelings, exposed=exposed))


def _exposed(name: str, asked: Asked) -> tuple[Exposed, ...]:
    for family, types in families(name):
        answer = asked.exposed(family)
        if isinstance(answer, tuple) and (those := [each for each in answer if types is None or each.type in types]):
            return tuple(those)
    return ()


# --- where data gets lost ---


def _parts(dark: DarkQuery, asked: Asked) -> DarkQuery:
    parsed = dark.parsed
    assert parsed is not None
    matched = {number for number, each in enumerate(dark.selectors) if each.matched}
    dark = replace(
        dark,
        selectors=tuple(
            replace(each, stopped=_stopped(each, dark.query, dark.server.server, asked)) for each in dark.selectors
        ),
    )
    lost: list[Lost] = []
    for part in parsed.parts[:_MOST_PARTS]:
        if (part.selectors and not part.selectors & matched) or any(_is_within(each.part, part) for each in lost):
            continue
        answer = asked.query(replace(dark.query, expr=part.expr))
        if not isinstance(answer, Result):
            break
        if not answer.numbers:
            sides = tuple(asked.query(replace(dark.query, expr=each)) for each in _vectors(part))
            lost.append(Lost(part=part, answer=answer, sides=sides))
    reads = frozenset(number for each in lost for number in each.part.selectors)
    nan = isinstance(dark.answer, Result) and dark.answer.samples > 0
    windows = frozenset(number for each in lost if each.part.kind == "window" for number in each.part.selectors)
    selectors = tuple(
        _measured(each, dark.query, asked, spacing=number in windows, change=nan or number in reads)
        if number in matched
        else each
        for number, each in enumerate(dark.selectors)
    )
    dark = replace(dark, selectors=selectors)
    return replace(dark, lost=tuple(_widened(dark, each, asked) for each in lost))


def _is_within(part: Part, other: Part) -> bool:
    """Whether a part is one of those that another is made of, by what they read."""
    return part.selectors <= other.selectors and bool(part.selectors) is bool(other.selectors)


def _stopped(evidence: SelectorEvidence, query: Query, server: Server, asked: Asked) -> bool:
    """Whether a selector without a window, which has samples until shortly before the range, has none in it."""
    selector = evidence.selector
    at_one_moment = query.instant or selector.at is not None
    between_steps = query.step_s > server.lookback_s
    if not evidence.matched or at_one_moment or between_steps or selector.window_s is not None or selector.reach_s:
        return False
    answer = asked.query(replace(query, expr=f"count({selector.text}{span_of(selector, query).offset})"))
    return isinstance(answer, Result) and not answer.numbers


def _vectors(part: Part) -> tuple[str, ...]:
    """The sides that are vectors, which a subquery is not."""
    return () if part.kind == "function" and part.name.endswith("_over_time") else part.sides


def _widened(dark: DarkQuery, lost: Lost, asked: Asked) -> Lost:
    if lost.part.wider is None or len(lost.part.selectors) != 1:
        return lost
    (number,) = lost.part.selectors
    evidence = dark.selectors[number]
    window_s = max(_LONGER * (evidence.selector.window_s or 0.0), 2.5 * (evidence.interval_s or 0.0))
    expr = lost.part.wider.replace("{WINDOW}", f"{round(window_s * 1000)}ms")
    return replace(lost, widened=asked.query(replace(dark.query, expr=expr)))


def _measured(
    evidence: SelectorEvidence, query: Query, asked: Asked, *, spacing: bool, change: bool
) -> SelectorEvidence:
    span = span_of(evidence.selector, query)
    if spacing:
        evidence = _spaced(evidence, span, asked)
    return replace(evidence, zeroes=_zeroes(evidence, span, asked)) if change else evidence


def _spaced(evidence: SelectorEvidence, span: Span, asked: Asked) -> SelectorEvidence:
    """Tell how far apart the samples are, by the samples themselves."""
    few = len(evidence.label_sets) <= _FEW_SERIES
    back_s = max(_SPACING_S if few else _SPACING_OF_MANY_S, 4 * (evidence.selector.window_s or 0.0))
    answer = asked.query(span.ask(f"{evidence.selector.text}[{round(back_s)}s]{span.offset}"))
    if not isinstance(answer, Result) or not answer.series:
        return evidence
    apart = [(each.last_s - each.first_s) / (each.samples - 1) for each in answer.series if each.samples > 1]
    return replace(evidence, interval_s=min(apart, default=None), young=not apart)


def _zeroes(evidence: SelectorEvidence, span: Span, asked: Asked) -> bool | None:
    """Whether what the selector reads was 0 all the time, or did not grow where it is a counter."""
    window = f"{evidence.selector.text}[{round(span.length_s)}s]{span.offset}"
    if counts(evidence):
        expr = f"max(max_over_time({window}) - min_over_time({window}))"
    else:
        expr = f"max(abs(max_over_time({window}))) + max(abs(min_over_time({window})))"
    answer = asked.query(span.ask(expr))
    if isinstance(answer, Result) and not answer.series and counts(evidence):
        answer = asked.query(span.ask(f"max(histogram_count(increase({window})))"))
    if not isinstance(answer, Result) or not answer.numbers:
        return None
    return not answer.nonzero


# --- variables ---


def _variables(
    dark: DarkQuery, empty: Mapping[str, VariableEvidence], questions: Mapping[str, Question], asked: Asked
) -> dict[str, VariableEvidence]:
    """The empty variables that a query uses, with what their own questions select."""
    used = [empty[name] for name in names_in(dark.target.expr or "") if name in empty]
    return {each.variable.name: _explained(each, questions.get(each.variable.name), dark.query, asked) for each in used}


def _explained(evidence: VariableEvidence, question: Question | None, query: Query, asked: Asked) -> VariableEvidence:
    if question is None or not isinstance(evidence.answer, Result):
        return evidence
    parsed = parse(question.expr) if question.expr else None
    selectors = parsed.selectors if parsed is not None else ()
    if question.label:
        has_it = Matcher(question.label, "!=", "")
        selectors = tuple(replace(each, matchers=(*each.matchers, has_it)) for each in selectors)
    in_range = replace(query, instant=False)
    return replace(evidence, selectors=tuple(selector_evidence(each, in_range, asked) for each in selectors))
