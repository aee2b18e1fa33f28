"""The rungs in their order: evidence in, one cause out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvobs.dashboard.board import Panel, Query, SourceRef, Target, Variable
from kvobs.health.answers import Answer, NoAnswer, Refused, Result, ScrapeTarget, Series, Server
from kvobs.health.evidence import DarkQuery, Lost, SelectorEvidence, ServerEvidence, VariableEvidence
from kvobs.health.ladder import judge
from kvobs.health.promql import parse

NONE = Result(type="matrix")
SOME = Result(type="matrix", series=(Series(labels={"a": "1"}, samples=3, numbers=3, nonzero=3, last=1.0),))
NAN = Result(type="matrix", series=(Series(labels={}, samples=3, numbers=0, nonzero=0, last=float("nan")),))


def dark(
    expr: str, *seen: dict[str, Any], answer: Answer = NONE, lost: tuple[Lost, ...] = (), **more: Any
) -> DarkQuery:
    """A dark query of which *seen* is known, selector by selector."""
    parsed = parse(expr)
    selectors = parsed.selectors if parsed else ()
    return DarkQuery(
        panel=Panel(id=1, title="p", type="timeseries"),
        target=Target(ref_id="A", source=SourceRef(None), expr=expr),
        query=Query(expr=expr, instant=False, start_s=0, end_s=3600, step_s=15, source="p"),
        answer=answer,
        parsed=parsed,
        selectors=tuple(SelectorEvidence(selector=one, **how) for one, how in zip(selectors, seen, strict=False)),
        lost=lost,
        **more,
    )


def lost_in(expr: str, number: int, answer: Answer, *sides: Answer, widened: Answer | None = None) -> tuple[Lost, ...]:
    """The loss in one part of a query."""
    parsed = parse(expr)
    assert parsed is not None
    return (Lost(part=parsed.parts[number], answer=answer, sides=sides, widened=widened),)


HERE: dict[str, Any] = {"present": True, "matched": True, "label_sets": ({},)}
GONE: dict[str, Any] = {"present": False, "matched": False}
EMPTY = {"x": VariableEvidence(variable=Variable(name="x", type="query", query="label_values(m, a)"), answer=NONE)}
QUANTILE = "histogram_quantile(0.9, sum by (le) (rate(m_bucket[5m])))"
OTHERS = ServerEvidence(names=frozenset({"m", "other"}))


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        (dark("m", answer=NoAnswer(said="away"), variables=EMPTY), "KVO-901"),
        (dark("m", answer=Refused(kind="bad query", said="parse error"), variables=EMPTY), "KVO-301"),
        (dark("m", answer=Refused(kind="bad query", said="parse error")), "KVO-801"),
        (dark("m", answer=Refused(kind="too expensive", said="too many samples")), "KVO-802"),
        (dark("m", GONE, server=ServerEvidence(server=Server(oldest_s=9e9))), "KVO-705"),
        (dark("n", GONE, server=OTHERS, variables=EMPTY), "KVO-510"),
        (dark("n", GONE, server=ServerEvidence(names=frozenset({"m"}), names_ever=frozenset({"n"}))), "KVO-705"),
        (dark("m", HERE, variables=EMPTY), "KVO-301"),
        (
            dark('m{a="2"}', {"present": True, "matched": False, "label_sets": ({"a": "1"},)}, variables=EMPTY),
            "KVO-301",
        ),
        (dark('m{a="2"}', {"present": True, "matched": False, "label_sets": ({"a": "1"},)}), "KVO-602"),
        (dark('m{a="2"}', {"present": True, "matched": False, "label_sets": ({"b": "1"},)}), "KVO-601"),
        (dark("m > 0", HERE, lost=lost_in("m > 0", 0, NONE, SOME)), "KVO-703"),
        (
            dark("a / (b_total > 0)", HERE, {**HERE, "zeroes": True}, lost=lost_in("a / (b_total > 0)", 0, NONE, SOME)),
            "KVO-702",
        ),
        (dark(QUANTILE, {**HERE, "zeroes": True}, answer=NAN, lost=lost_in(QUANTILE, 1, NAN, SOME)), "KVO-702"),
        (dark(QUANTILE, {**HERE, "zeroes": False}, answer=NAN, lost=lost_in(QUANTILE, 1, NAN, SOME)), "KVO-704"),
        (dark(QUANTILE, {**HERE, "zeroes": False}, lost=lost_in(QUANTILE, 1, NONE, SOME)), "KVO-803"),
        (dark("m", HERE, answer=NAN), "KVO-704"),
        (
            dark(
                "rate(m[30s])",
                {**HERE, "interval_s": 30.0},
                lost=lost_in("rate(m[30s])", 0, NONE, widened=SOME),
            ),
            "KVO-701",
        ),
        (dark("rate(m[5m])", {**HERE, "young": True}, lost=lost_in("rate(m[5m])", 0, NONE, widened=NONE)), "KVO-702"),
        (
            dark("rate(m[5m])", {**HERE, "interval_s": 15.0}, lost=lost_in("rate(m[5m])", 0, NONE, widened=NONE)),
            "KVO-705",
        ),
        (dark("a * b", HERE, HERE, lost=lost_in("a * b", 0, NONE, SOME, SOME)), "KVO-803"),
        (dark("a * b", HERE, HERE), "KVO-803"),
        (dark("rate(m[1m + 1m])"), "KVO-901"),
        (dark("m", {}), "KVO-901"),
    ],
)
def test_cause(query: DarkQuery, cause: str) -> None:
    """The first rung that explains it names the cause."""
    assert judge(query).cause == cause


@pytest.mark.parametrize(
    ("begun_s", "step_s", "passing"),
    [(3606, 15, True), (3659, 15, True), (3700, 15, False), (3700, 120, True), (9e9, 15, False)],
)
def test_a_server_that_has_just_begun(begun_s: float, step_s: float, passing: bool) -> None:
    """A graph ends at a whole step, before the first sample of a new server: the next steps will have it."""
    query = dark("m", GONE, server=ServerEvidence(server=Server(oldest_s=begun_s)))
    finding = judge(replace(query, query=replace(query.query, step_s=step_s)))
    assert (finding.cause, finding.passing) == ("KVO-705", passing)


@pytest.mark.parametrize(
    ("first", "second", "cause"),
    [
        (GONE, {"present": True, "matched": False, "label_sets": ({"b": "1"},)}, "KVO-601"),
        (GONE, GONE, "KVO-510"),
    ],
)
def test_the_way_that_came_furthest(first: dict[str, Any], second: dict[str, Any], cause: str) -> None:
    """Of `a or b` the one that is nearest to having data names the cause."""
    assert judge(dark('n or m{a="2"}', first, second, server=OTHERS)).cause == cause


def test_up_that_is_not_one() -> None:
    """`up == 1` that leaves nothing is a target that is down, in the scrape's own words."""
    expr = 'up{job="v"} == 1'
    target = ScrapeTarget(pool="v", labels={"job": "v"}, url="http://v", health="down", error="connection refused")
    query = dark(expr, HERE, lost=lost_in(expr, 0, NONE, SOME), server=ServerEvidence(targets=(target,)))

    finding = judge(query)

    assert finding.cause == "KVO-406"
    assert "connection refused" in finding.said


@pytest.mark.parametrize(
    ("interval", "written", "phrase"),
    [
        (None, "rate(m[$__interval])", "$__rate_interval"),
        (60.0, "rate(m[30s])", "In the query"),
        (None, "rate(m[$__rate_interval])", "timeInterval"),
        (None, "rate(m[$__rate_interval])", "and that is 15s while it is unset"),
        (1.0, "rate(m[$__rate_interval])", "(jsonData.timeInterval) to 1m, or `interval: 1s` in the monitor"),
        (60.0, "rate(m[$__rate_interval])", "(jsonData.timeInterval) to 1m: "),
    ],
)
def test_what_lengthens_a_window(interval: float | None, written: str, phrase: str) -> None:
    """A literal window wants Grafana's; where that is asked for already, data source and monitor have to agree."""
    query = dark(
        "rate(m[30s])",
        {**HERE, "interval_s": 60.0},
        lost=lost_in("rate(m[30s])", 0, NONE, widened=SOME),
        server=ServerEvidence(datasource_interval_s=interval),
    )
    target = Target(ref_id="A", source=SourceRef(None), expr=written)

    finding = judge(DarkQuery(**{name: getattr(query, name) for name in query.__slots__} | {"target": target}))

    assert finding.cause == "KVO-701"
    assert phrase in finding.fix
