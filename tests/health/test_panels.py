"""From the verdicts of its queries to a panel's."""

from __future__ import annotations

import pytest

from kvobs.dashboard.board import Panel, SourceRef, Target, Unasked
from kvobs.health.answers import Answer, NoAnswer, Result, Series
from kvobs.health.causes import found
from kvobs.health.panels import GONE, panel_verdict, target_verdict, unasked_verdict
from kvobs.health.verdict import State, TargetVerdict

TARGET = Target(ref_id="A", source=SourceRef("prometheus"), expr="up")
PANEL = Panel(id=1, title="p", type="timeseries", targets=(TARGET,))


def series(numbers: int, nonzero: int) -> Result:
    """An answer with one series of four samples."""
    return Result(type="matrix", series=(Series(labels={}, samples=4, numbers=numbers, nonzero=nonzero, last=0.0),))


def verdict(state: State) -> TargetVerdict:
    """A query's verdict with a cause of that severity."""
    causes = {"broken": "KVO-510", "unknown": "KVO-901", "dark": "KVO-702", "expected": "KVO-703"}
    cause = causes.get(state)
    why = "hidden" if state == "not checked" else ""
    return TargetVerdict(
        ref_id="A", state=state, finding=found(cause, subject="x", said="y") if cause else None, why=why
    )


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["lit"], "lit"),
        (["broken", "lit"], "lit"),
        (["dark", "expected"], "dark"),
        (["expected", "unknown", "dark"], "unknown"),
        (["unknown", "broken"], "broken"),
        (["not checked", "dark"], "dark"),
        (["not checked"], "not checked"),
        ([], "not checked"),
    ],
)
def test_state(states: list[State], expected: State) -> None:
    """Lit where any query is, else as bad as the worst; what was not asked does not count."""
    panel = panel_verdict(PANEL, "p", [verdict(each) for each in states])

    assert panel.state == expected
    assert (panel.finding is None) == (expected in ("lit", "not checked"))
    assert bool(panel.why) == (expected == "not checked")


@pytest.mark.parametrize(
    ("answers", "state", "zero"),
    [
        ([series(4, 4)], "lit", False),
        ([series(4, 0)], "lit", True),
        ([series(1, 0)], "lit", True),
        ([series(0, 0)], "dark", False),
        ([Result(type="vector"), series(4, 1)], "lit", False),
        ([NoAnswer(said="away")], "dark", False),
    ],
)
def test_a_query(answers: list[Answer], state: State, zero: bool) -> None:
    """One number lights it, a zero too; NaN is none."""
    found_ = target_verdict(TARGET, "up", answers, found("KVO-702", subject="x", said="y"))

    assert (found_.state, found_.zero) == (state, zero)


def test_a_query_that_is_not_asked() -> None:
    """A data source at fault is a cause; any other reason is not checked."""
    assert unasked_verdict(TARGET, Unasked("hidden")).state == "not checked"
    at_fault = unasked_verdict(TARGET, Unasked("no such uid", "KVO-202"))
    assert (at_fault.state, at_fault.finding and at_fault.finding.cause) == ("broken", "KVO-202")


@pytest.mark.parametrize("kind", sorted(GONE))
def test_a_type_that_is_gone(kind: str) -> None:
    """A panel that Grafana cannot draw is broken, though its query has data."""
    panel = panel_verdict(Panel(id=1, title="p", type=kind), "p", [verdict("lit")])

    assert (panel.state, panel.finding and panel.finding.cause) == ("broken", "KVO-106")


def test_a_library_panel() -> None:
    """A stub asks nothing, and is broken; one that was read through is as any other."""
    stub = panel_verdict(Panel(id=1, title="p", type="timeseries", library="Tokens"), "p", [])
    read = panel_verdict(Panel(id=1, title="p", type="timeseries", library="Tokens", targets=(TARGET,)), "p", [])

    assert (stub.state, stub.finding and stub.finding.cause) == ("broken", "KVO-107")
    assert read.state == "not checked"
