"""Verify as a whole, on a Prometheus that is a fake: how long it asks, what it asks, what it makes of no answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kvobs.dashboard.board import Query
from kvobs.errors import ClusterUnreachable, Unanswered, UsageError
from kvobs.health.answers import (
    Answer,
    Names,
    NoAnswer,
    Refused,
    Result,
    Series,
    Server,
)
from kvobs.health.causes import found
from kvobs.health.evidence import ClusterEvidence
from kvobs.health.loading import LoadedBoard
from kvobs.health.sources import Sources
from kvobs.health.verdict import Finding
from kvobs.report import to_document, to_json
from kvobs.settings import Verification
from kvobs.stack.facts import DatasourceFact
from kvobs.use_cases.verify import AGAIN_S, OUTSIDE_S, verify
from kvobs.use_cases.verify_report import VerifyReport
from kvobs.use_cases.verifying.scene import Scene
from tests.stack.clusters import cluster

from .without_pages import WithoutPages

NOW_S = 1_800_000_000.0
NOTHING = Result(type="matrix")
AWAY = NoAnswer(said="p:9090 refuses connections", hint="is it running? curl http://p:9090/-/ready", lasting=True)
NAMES = Names(values=frozenset({"up", "vllm:there"}))
DENIED = NoAnswer(said="eve may not get services/proxy", lasting=True, denied=True)


def numbers(count: int = 4, **labels: str) -> Result:
    """An answer of one series of four samples, so many of them numbers."""
    return Result(
        type="matrix",
        series=(Series(labels=labels, samples=4, numbers=count, nonzero=count, last=1.0, last_s=NOW_S),),
    )


@dataclass
class Prometheus(WithoutPages):
    """An `Asked` that answers by the query, and remembers what it was asked."""

    answer: Callable[[Query], Answer] = lambda query: numbers()
    names: Names | NoAnswer = NAMES
    asked: list[Query] = field(default_factory=list)

    def query(self, query: Query) -> Answer:
        """Answer a query."""
        self.asked.append(query)
        return self.answer(query)

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """Names of metrics."""
        return self.names

    def label_names(
        self, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """Names of labels."""
        return self.names if isinstance(self.names, NoAnswer) else Names(values=frozenset({"__name__", "pod"}))

    def label_values(
        self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """Values of a label."""
        return self.names if isinstance(self.names, NoAnswer) else Names(values=frozenset({"a", "b"}))

    def server(self) -> Server | NoAnswer:
        """Its version."""
        return Server(version="3.5.0", kind="prometheus")

    @property
    def spans(self) -> set[tuple[float, float]]:
        """The time ranges that were asked for, back from NOW_S."""
        return {(each.start_s - NOW_S, each.end_s - NOW_S) for each in self.asked if not each.instant}


def panel(expr: str = "vllm:there", uid: str = "main", title: str = "One", **more: Any) -> dict[str, Any]:
    """Give a panel of one query."""
    return {
        "id": 1,
        "type": "timeseries",
        "title": title,
        "datasource": {"type": "prometheus", "uid": uid},
        "targets": [{"refId": "A", "expr": expr}],
        **more,
    }


def board(*panels: Mapping[str, Any], findings: tuple[Finding, ...] = (), **more: Any) -> LoadedBoard:
    """Give a dashboard as it was loaded."""
    document = {"uid": "u", "title": "Serving", "time": {"from": "now-1h", "to": "now"}, "panels": list(panels), **more}
    return LoadedBoard(source="ns/serving[serving.json]", document=document, findings=findings)


SOURCES = Sources(
    known=tuple(
        DatasourceFact(
            name=uid.title(), uid=uid, type="prometheus", url=f"http://{uid}:9090", where="x", is_default=uid == "main"
        )
        for uid in ("main", "other")
    ),
    complete=True,
)


@dataclass
class Run:
    """One run of verify over dashboards, in a time that passes only where it sleeps."""

    prometheus: Prometheus
    boards: tuple[LoadedBoard, ...]
    now_s: float = NOW_S
    slept: list[float] = field(default_factory=list)
    rounds: list[VerifyReport] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now_s += seconds

    def __call__(self, *, scene: Mapping[str, Any] | None = None, **told: Any) -> VerifyReport:
        """Verify; *scene* is what is known beside the dashboards."""
        given: dict[str, Any] = {"sources": SOURCES, **(scene or {})}

        def find(*_: object, **__: object) -> Scene:
            return Scene(asked=self.prometheus, prometheus="http://p:9090", boards=self.boards, **given)

        return verify(
            verification=Verification(**told),
            on_round=self.rounds.append,
            find=find,
            clock=lambda: self.now_s,
            sleep=self.sleep,
        )


def run(*boards: LoadedBoard, answer: Callable[[Query], Answer] | None = None, **more: Any) -> Run:
    """Give a run over dashboards, of one panel where none is told."""
    more |= {"answer": answer} if answer is not None else {}
    return Run(Prometheus(**more), boards or (board(panel()),))


def arriving(after_s: float) -> Callable[[Query], Answer]:
    """Give a Prometheus that has data from a time on."""
    return lambda query: numbers() if query.end_s >= NOW_S + after_s else NOTHING


def states(report: VerifyReport) -> list[str]:
    """Return state and cause of every panel."""
    return [f"{each.state} {each.finding.cause}" if each.finding else each.state for _, each in report.panels]


ABSENT = board(panel("vllm:absent"))
"""A panel of a metric that is not there, as long as its query has no answer with series."""


# --- how long ---


def test_lit_at_once() -> None:
    """Where every panel is lit, one round is enough, however long it may wait."""
    once = run()
    report = once(wait_s=60.0)
    assert (states(report), report.exit_code, once.slept) == (["lit"], 0, [])
    assert once.rounds == [report]


def test_without_a_wait_it_looks_once() -> None:
    """A broken panel is the answer, not a reason to ask again."""
    once = run(ABSENT, answer=arriving(3600))
    report = once()
    assert (report.exit_code, once.slept, len(once.rounds)) == (1, [], 1)


def test_it_asks_again_until_data_arrives() -> None:
    """Each round asks about its own moment; the report is the last one's."""
    patient = run(ABSENT, answer=arriving(12))
    report = patient(wait_s=60.0)
    assert (states(report), report.exit_code) == (["lit"], 0)
    assert patient.slept == [AGAIN_S, AGAIN_S, AGAIN_S]
    assert [each.exit_code for each in patient.rounds] == [1, 1, 1, 0]


def test_the_wait_ends() -> None:
    """At the deadline it has looked once more, and says what is broken."""
    patient = run(ABSENT, answer=arriving(3600))
    report = patient(wait_s=12.0)
    assert patient.slept == [AGAIN_S, AGAIN_S, 2.0]
    assert (report.exit_code, len(patient.rounds)) == (1, 4)


class JustBegun(Prometheus):
    """Holds the metric, and nothing of it in any range that is asked for."""

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """Names of metrics."""
        return Names(values=frozenset({"up", "vllm:there"} if start_s is None else {"up"}))


@pytest.mark.parametrize(("after_s", "waited_s"), [(40.0, 45.0), (1e9, OUTSIDE_S)], ids=["it comes", "it does not"])
def test_data_after_the_last_step(after_s: float, waited_s: float) -> None:
    """A sample behind a graph's last step is waited for until the next one; what really lies outside, no longer."""
    verified = run(board(panel()), answer=arriving(after_s))
    verified.prometheus = JustBegun(verified.prometheus.answer)
    report = verified(wait_s=600)

    assert states(verified.rounds[0]) == ["dark KVO-705"]
    assert states(report) == (["lit"] if after_s < OUTSIDE_S else ["dark KVO-705"])
    assert sum(verified.slept) == waited_s


def not_a_number(query: Query) -> Answer:
    """Answer with series that have no number."""
    return numbers(0)


@pytest.mark.parametrize(("until_lit", "rounds"), [(False, 1), (True, 4)])
def test_what_is_dark_without_fault_is_waited_for_on_request(until_lit: bool, rounds: int) -> None:
    """A panel without traffic ends a wait, and does not end a watch."""
    patient = run(answer=not_a_number)
    report = patient(wait_s=12.0, until_lit=until_lit)
    assert {state.partition(" ")[0] for state in states(report)} == {"dark"}
    assert (len(patient.rounds), report.exit_code) == (rounds, 0)


def test_the_document_is_json_as_every_program_reads_it() -> None:
    """No NaN and no Infinity is in it, whatever Prometheus answered; counts, causes and panels are."""
    report = run(answer=not_a_number)()
    document = json.loads(to_json(to_document(report)), parse_constant=pytest.fail)
    assert (document["kind"], document["version"], document["exit_code"]) == ("VerifyReport", 1, 0)
    assert document["counts"]["dark"] == 1
    assert document["causes"][0]["panels"] == [
        {"dashboard": "Serving", "panel": "One", "id": 1, "source": "ns/serving[serving.json]"}
    ]
    assert document["boards"][0]["panels"][0]["finding"]["commands"] == []


def test_what_is_accepted_is_not_waited_for(tmp_path: Path) -> None:
    """A panel that `--expect` names keeps nobody waiting, and fails nothing."""
    expect = tmp_path / "expect.yaml"
    expect.write_text("[{dashboard: Serving, panel: One, reason: not here}, {dashboard: X, panel: Y, reason: Z}]")
    patient = run(ABSENT, answer=arriving(3600))
    report = patient(wait_s=60.0, until_lit=True, expect=str(expect))
    assert (report.exit_code, patient.slept, report.causes) == (0, [], ())
    assert len(report.unmet) == 1


def test_a_missing_right_is_not_waited_for() -> None:
    """No wait brings a right."""
    refused = run(answer=lambda query: DENIED, names=DENIED)
    assert (refused(wait_s=60.0).exit_code, refused.slept) == (4, [])


@pytest.mark.parametrize(("away", "arrives"), [(1, True), (99, False)])
def test_an_api_server_that_is_away_for_a_moment(away: int, arrives: bool) -> None:
    """On a cluster each round looks anew; one look that fails ends no wait, one that fails to the end is the error."""
    patient = run(board(panel("orders_total")), answer=arriving(12))
    looks: list[ExitStack] = []

    def find(*_: object, opened: ExitStack, **__: object) -> Scene:
        looks.append(opened)
        if 1 < len(looks) <= 1 + away:
            raise ClusterUnreachable("the API server refuses connections")
        evidence = ClusterEvidence(facts=cluster(), prometheus=None)
        return Scene(
            asked=patient.prometheus,
            prometheus="p",
            boards=patient.boards,
            sources=SOURCES,
            cluster=evidence,
        )

    def verified() -> VerifyReport:
        return verify(
            verification=Verification(wait_s=30.0), find=find, clock=lambda: patient.now_s, sleep=patient.sleep
        )

    if arrives:
        assert (states(verified()), len(looks)) == (["lit"], 4)
        return
    with pytest.raises(ClusterUnreachable):
        verified()
    assert sum(patient.slept) == 30.0


def test_where_it_cannot_look() -> None:
    """What cannot be looked at in the first place is an error, not a report."""

    def find(*_: object, **__: object) -> Scene:
        raise Unanswered("no API server")

    with pytest.raises(Unanswered):
        verify(find=find)


# --- when ---


@pytest.mark.parametrize(
    ("told", "span_s"),
    [
        ({}, (-3600, 0)),
        ({"at": "now-8h"}, (-9 * 3600, -8 * 3600)),
        ({"at": "1799996400"}, (-7200, -3600)),
        ({"start": "now-6h"}, (-6 * 3600, 0)),
        ({"start": "now-6h", "end": "now-5h"}, (-6 * 3600, -5 * 3600)),
        ({"at": "now-1h", "start": "now-6h", "end": "now-5h"}, (-7 * 3600, -6 * 3600)),
    ],
    ids=["its own", "at", "at seconds", "from", "from to", "all"],
)
def test_the_time_that_is_asked_for(told: dict[str, Any], span_s: tuple[float, float]) -> None:
    """The dashboard's own range ends at `--at`; `--from` and `--to` count from there; the report says which it was."""
    once = run()
    report = once(**told)
    ((start_s, end_s),) = once.prometheus.spans
    assert (start_s, end_s) == pytest.approx(span_s, abs=60)
    assert (report.start_s, report.end_s) == (NOW_S + span_s[0], NOW_S + span_s[1])


def test_a_time_range_of_their_own() -> None:
    """Where dashboards have different ranges, the report has none, and JSON says so by null."""
    report = run(board(panel()), board(panel(), time={"from": "now-6h", "to": "now"}))()
    assert (report.start_s, report.end_s) == (None, None)
    assert json.loads(to_json(to_document(report)))["start_s"] is None


@pytest.mark.parametrize("told", [{"at": "yesterday"}, {"start": "x"}, {"start": "now", "end": "now-1h"}])
def test_a_time_that_is_none(told: dict[str, Any]) -> None:
    """It is wrong usage, and says what a time is."""
    with pytest.raises(UsageError) as caught:
        run()(**told)
    assert caught.value.hint


# --- who answers ---


VARIABLE = {
    "type": "query",
    "name": "pod",
    "datasource": {"type": "prometheus", "uid": "main"},
    "query": "label_values(vllm:there, pod)",
}
CHOSEN = board(panel('vllm:there{pod="$pod"}'), templating={"list": [VARIABLE]})


@pytest.mark.parametrize("loaded", [board(panel(), panel(title="Two")), CHOSEN], ids=["plain", "with a variable"])
def test_a_server_that_is_away(loaded: LoadedBoard) -> None:
    """Nothing is known of any panel, nothing is called fine, and it is not asked once more for each."""
    away = run(loaded, answer=lambda query: AWAY, names=AWAY)
    report = away(in_flight=1)
    assert {*states(report)} == {"unknown KVO-901"}
    assert report.exit_code == to_document(report)["exit_code"] == 4
    assert len(away.prometheus.asked) <= 1
    (cause,) = report.causes
    assert cause.finding.said == AWAY.said
    assert cause.finding.commands == ("curl http://p:9090/-/ready",)


def test_a_data_source_that_nobody_reaches() -> None:
    """Its panels have that one cause, and are not asked; those of others are."""
    wrong = found("KVO-204", subject="other", said="http://other:9090 is nobody's", fix="set its url")
    once = run(board(panel(), panel("sum(vllm:there)", uid="other", title="Two")))
    report = once(scene={"unreachable": {"other": wrong}})
    assert (states(report), report.exit_code) == (["lit", "broken KVO-204"], 1)
    assert [each.expr for each in once.prometheus.asked] == ["vllm:there"]
    assert report.causes[0].finding is wrong


def test_a_data_source_of_another_prometheus() -> None:
    """Its panels are not checked, with the reason; none of its queries goes to the one that is asked."""
    once = run(board(panel(), panel("sum(vllm:there)", uid="other", title="Two")))
    report = once(scene={"elsewhere": {"other": "it leads to http://other:9090"}})
    assert (states(report), report.exit_code) == (["lit", "not checked"], 0)
    assert report.boards[0].panels[1].why == "it leads to http://other:9090, which is not asked"
    assert [each.expr for each in once.prometheus.asked] == ["vllm:there"]


def test_a_reference_that_leads_nowhere() -> None:
    """It is the panel's cause; nothing is asked."""
    once = run(board(panel(uid="${DS_P}")))
    report = once()
    assert states(report) == ["broken KVO-201"]
    assert once.prometheus.asked == []


# --- which panels ---


@pytest.mark.parametrize("cause", ["KVO-101", "KVO-102", "KVO-103", "KVO-104"])
def test_a_dashboard_that_is_not_loaded_has_no_panels(cause: str) -> None:
    """What Grafana does not have is one finding; nothing is asked for it."""
    once = run(board(panel(), findings=(found(cause, "x", "it is not loaded"),)))
    report = once()
    assert (states(report), report.exit_code) == ([], 1)
    assert [(each.finding.cause, each.dashboards) for each in report.causes] == [(cause, ("ns/serving[serving.json]",))]
    assert once.prometheus.asked == []


def test_a_clash_does_not_keep_its_panels_from_being_asked() -> None:
    """One of the two is there."""
    report = run(board(panel(), findings=(found("KVO-105", "uid u", "two have it"),)))()
    assert (states(report), report.exit_code) == (["lit"], 1)


def test_no_dashboard_at_all() -> None:
    """Nothing looked at is not all fine."""
    empty = Run(Prometheus(), ())
    report = empty(wait_s=60.0)
    assert (report.exit_code, empty.slept) == (4, [])


def test_equal_panels_are_asked_once_and_judged_each() -> None:
    """In one dashboard or in two: one question, a verdict for each, and one cause for all."""
    twice = board(panel("vllm:gone"), panel("vllm:gone"))
    once = run(twice, twice, answer=lambda query: NOTHING)
    report = once()
    assert len(report.causes) == 1
    assert len(report.causes[0].panels) == len(states(report)) == 4
    assert [each.expr for each in once.prometheus.asked].count("vllm:gone") == 1
    assert report.queries == 4


# --- variables that are given ---


def test_values_that_are_given() -> None:
    """They count in place of what is offered; one name may have several."""
    once = run(CHOSEN)
    once(variables=("pod=x",))
    assert [each.expr for each in once.prometheus.asked] == ['vllm:there{pod="x"}']
    several = board(panel('vllm:there{pod=~"$pod"}'), templating={"list": [{**VARIABLE, "multi": True}]})
    once = run(several)
    report = once(variables=("pod=x", "pod=y=z"))
    assert [each.expr for each in once.prometheus.asked] == ['vllm:there{pod=~"(x|y=z)"}']
    assert report.notes == ()


def test_a_value_of_no_variable() -> None:
    """A name that no dashboard has is said, with those that are there."""
    (note,) = run(CHOSEN)(variables=("pods=x",)).notes
    assert note.text == "--var pods: no dashboard here has a variable of that name; there are pod"
    (note,) = run()(variables=("pod=x",)).notes
    assert note.text.endswith("there is none")
