"""Variables settled as Grafana would on loading: what is asked, what is chosen, and what is told of the empty ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.dashboard.board import Board, Query, Resolved, Scope, SourceRef, Value, Variable, Window
from kvobs.dashboard.boards import board_of
from kvobs.dashboard.document import Shape
from kvobs.dashboard.interpolation import names_in
from kvobs.health.answers import Exposed, Names, NoAnswer, Refused, Relabelings, Result, ScrapeTarget, Series, Server
from kvobs.stack.facts import DatasourceFact
from kvobs.use_cases.verifying.variables import Settled, adhoc_filter, settle

from ..prometheus_server import BINARIES, PrometheusServer

WINDOW = Window(start_s=1000.0, end_s=4600.0)
SOURCE = SourceRef("prom", "prometheus")


def fact(name: str, uid: str | None, plugin: str = "prometheus", *, is_default: bool = False) -> DatasourceFact:
    """Return a data source of a Grafana."""
    return DatasourceFact(uid=uid, name=name, type=plugin, url="", is_default=is_default, where="a test")


FACTS = (fact("Alpha", "u-alpha"), fact("Main", "u-main", is_default=True), fact("Logs", "u-logs", "loki"))


def offered(plugin: str, regex: str) -> list[DatasourceFact]:
    """Return the data sources of a type, whatever the regex."""
    return [each for each in FACTS if each.type == plugin]


def resolve(reference: SourceRef, scope: Scope) -> Resolved:
    """Lead every reference to a Prometheus, but those that name another language."""
    if reference.plugin == "loki":
        return Resolved(why="it asks loki, no Prometheus")
    return Resolved(uid="prom")


@dataclass
class Answering:
    """A Prometheus that knows some answers, and notes what it was asked."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def _told(self, question: str, nothing: Any) -> Any:
        self.asked.append(question)
        return self.answers.get(question, nothing)

    def query(self, query: Query) -> Any:
        """Answer an instant query at the end of the range."""
        assert query.instant
        assert (query.start_s, query.end_s, query.source) == (WINDOW.start_s, WINDOW.end_s, "prom")
        return self._told(query.expr, Result(type="vector"))

    def metric_names(self, start_s: float | None, end_s: float | None) -> Any:
        """Answer with the names in the range."""
        assert (start_s, end_s) == (WINDOW.start_s, WINDOW.end_s)
        return self._told("names", Names(values=frozenset()))

    def label_names(self, matches: Sequence[str], start_s: float | None, end_s: float | None) -> Any:
        """Answer with label names."""
        return self._told(f"labels of {','.join(matches)}", Names(values=frozenset()))

    def label_values(self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None) -> Any:
        """Answer with a label's values in the range."""
        assert (start_s, end_s) == (WINDOW.start_s, WINDOW.end_s)
        return self._told(f"{label} of {','.join(matches)}", Names(values=frozenset()))

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]]:
        """Is never asked."""
        raise AssertionError

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """Is never asked."""
        raise AssertionError

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """Is never asked."""
        raise AssertionError

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """Is never asked."""
        raise AssertionError

    def server(self) -> Server:
        """Is never asked."""
        raise AssertionError


def query(name: str, text: str, **rest: Any) -> Variable:
    """Return a query variable."""
    return Variable(name=name, type="query", query=text, source=rest.pop("source", SOURCE), **rest)


def settled(variables: Sequence[Variable], answers: dict[str, Any] | None = None, **rest: Any) -> Settled:
    """Settle the variables of a dashboard."""
    board = Board(uid=None, title="", shape=Shape.CLASSIC, panels=(), variables=tuple(variables))
    asked = Answering(answers or {})
    return settle(board, WINDOW, resolve=resolve, asked=lambda uid: asked, offered=offered, **rest)


def names(*values: str) -> Names:
    """Return a list of texts as an answer."""
    return Names(values=frozenset(values))


def vector(*series: tuple[dict[str, str], float]) -> Result:
    """Return an instant vector."""
    return Result(
        type="vector",
        series=tuple(
            Series(labels=labels, samples=1, numbers=1, nonzero=1, last=value, last_s=4600.0)
            for labels, value in series
        ),
    )


def test_variables_are_asked_in_a_chain_each_with_what_those_before_it_stand_for() -> None:
    """A query names what was chosen, escaped as Grafana's data source does, and in Grafana's order of options."""
    chain = [
        query("pod", 'label_values(up{job=~"$job"}, pod)', include_all=True, multi=True, current=("$__all",)),
        query("job", "label_values(up, job)", multi=True, current=("b.1", "gone")),
    ]

    found = settled(chain, {"job of up": names("c", "b.1", "a"), r'pod of up{job=~"b\\.1"}': names("p2", "p1")})

    assert found.scope["job"].values == ("b.1",)
    assert (found.scope["pod"].values, found.scope["pod"].all) == (("p1", "p2"), True)
    assert found.questions["pod"].expr == r'up{job=~"b\\.1"}'
    assert found.empty == {}


ASKED = [
    ("label names", "label_names()", {"labels of ": names("job", "instance")}, ("instance",)),
    ("metrics", "metrics(^vllm)", {"names": names("vllm:b", "vllm:a", "up")}, ("vllm:a",)),
    (
        "query result",
        "query_result(up)",
        {"up": vector(({"__name__": "up", "job": "a", "B": "c"}, 1.0))},
        ('up{B="c",job="a"} 1 4600000',),
    ),
    (
        "a scalar",
        "query_result(1+1)",
        {"1+1": Result(type="scalar", series=vector(({}, 2.0)).series)},
        ("2",),
    ),
    (
        "series",
        'up{job="a"}',
        {'last_over_time(up{job="a"}[3600000ms])': vector(({"__name__": "up", "job": "a"}, 1.0))},
        ('up{job="a"}',),
    ),
    (
        "built-in names",
        "query_result(x[$__range] + $__range_s + $__interval)",
        {"x[3600s] + 3600 + 15s": vector(({}, 5.0))},
        ("{} 5 4600000",),
    ),
    ("no query", "", {}, ()),
]


@pytest.mark.parametrize(("kind", "text", "answers", "wanted"), ASKED, ids=[row[0] for row in ASKED])
def test_each_kind_of_question_is_asked_and_read_as_grafana_does(kind, text, answers, wanted) -> None:
    """What is asked is what Grafana asks, and the first option is the one that it would show."""
    assert settled([query("x", text)], answers).scope["x"].values == wanted


def test_a_regex_is_read_with_the_variables_in_it() -> None:
    """The regex of a variable may name others, escaped for a regular expression."""
    pods = vector(({"pod_name": "k.fka-2"}, 1.0), ({"pod_name": "kxfka-7"}, 1.0))
    found = settled(
        [
            Variable(name="cluster", type="constant", query="k.fka"),
            query("broker", "query_result(a)", regex='/.*pod_name="$cluster-([^"]*).*/'),
        ],
        {"a": pods},
    )

    assert found.scope["broker"].values == ("2",)


def test_an_empty_variable_is_evidence_and_those_after_it_tell_of_it() -> None:
    """The first empty variable of a chain is the one to mend; one whose regex drops all says how much."""
    found = settled(
        [
            query("job", "label_values(gone, job)"),
            query("pod", "label_values(up{job='$job'}, pod)"),
            query("gpu", "label_values(up, gpu)", regex="/no/"),
        ],
        {"gpu of up": names("0", "1")},
    )

    assert {name: each.variable.name for name, each in found.empty.items()} == {
        "job": "job",
        "pod": "job",
        "gpu": "gpu",
    }
    assert found.empty["job"].answer == Result(type="vector")
    assert (found.empty["job"].dropped, found.empty["gpu"].dropped) == (0, 2)
    assert found.scope["job"] == Value(values=(), listed=False)


def test_all_by_a_text_of_its_own_is_not_empty() -> None:
    """`.*` finds what there is, also where the variable has no option."""
    found = settled([query("x", "label_values(gone, x)", include_all=True, all_value=".*", current=("$__all",))])

    assert found.empty == {}
    assert found.scope["x"].all_value == ".*"


@pytest.mark.parametrize(
    "answer", [Refused(kind="bad query", said="parse error"), NoAnswer(said="away", lasting=True)], ids=["no", "away"]
)
def test_a_question_without_an_answer_is_evidence_and_leaves_what_was_saved(answer) -> None:
    """A refusal or a silence raises nothing; what was saved stands, and why is told."""
    found = settled([query("x", "label_values(up, x)", current=("saved",))], {"x of up": answer})

    assert found.scope["x"].values == ("saved",)
    assert found.empty["x"].answer == answer


def test_what_cannot_be_asked_is_told_with_the_reason() -> None:
    """Another language, a source that nobody answers for, a pattern or a regex that is none."""
    board = Board(uid=None, title="", shape=Shape.CLASSIC, panels=(), variables=(query("x", "label_values(x)"),))
    nobody = settle(board, WINDOW, resolve=resolve, asked=lambda uid: NoAnswer(said="nobody"), offered=offered)
    found = settled(
        [
            query("logs", "label_values(app)", source=SourceRef("l", "loki"), current=("web",)),
            query("metric", "metrics(()"),
            query("bad", "label_values(up, x)", regex="/(/"),
        ],
        {"x of up": names("a")},
    )

    assert nobody.empty["x"].answer == NoAnswer(said="nobody")
    assert found.scope["logs"].values == ("web",)
    assert found.empty["logs"].answer == NoAnswer(said="it asks loki, no Prometheus")
    assert {name: type(each.answer) for name, each in found.empty.items()} == {
        "logs": NoAnswer,
        "metric": Refused,
        "bad": Refused,
    }


SOURCES = [
    ("nothing saved: the first by name", {}, ("u-alpha",)),
    ("saved by UID", {"current": ("u-main",), "current_text": ("Main",)}, ("u-main",)),
    ("saved by name", {"current": ("Main",), "current_text": ("Main",)}, ("u-main",)),
    ("saved as the default one", {"current": ("default",), "current_text": ("default",)}, ("default",)),
    ("saved elsewhere", {"current": ("P1809F7CD0C75ACF3",), "current_text": ("Theirs",)}, ("u-alpha",)),
    ("an input of the import form", {"current": ("${DS_PROM}",), "current_text": ("x",)}, ("u-alpha",)),
    ("several", {"multi": True, "current": ("u-main", "u-alpha")}, ("u-main", "u-alpha")),
    ("all of them", {"include_all": True, "current": ("$__all",)}, ("u-alpha", "u-main")),
]


@pytest.mark.parametrize(("why", "saved", "wanted"), SOURCES, ids=[row[0] for row in SOURCES])
def test_a_data_source_variable_is_a_source_that_is_there(why, saved, wanted) -> None:
    """What is saved stands if this Grafana has it, by UID or by name; else the first of its type."""
    found = settled([Variable(name="ds", type="datasource", query="prometheus", **saved)])

    assert found.scope["ds"].values == wanted
    assert found.empty == {}


def test_a_data_source_variable_without_a_source_is_empty() -> None:
    """A type that this Grafana has no source of leaves nothing to choose."""
    found = settled([Variable(name="ds", type="datasource", query="tempo", current=("t",), current_text=("t",))])

    assert found.scope["ds"].values == ()
    assert found.empty["ds"].answer is None


def test_what_the_user_gives_stands_for_variables_of_every_type() -> None:
    """A given value is neither looked up nor corrected, and later variables are asked with it."""
    asked = Answering({"pod of up{job='j'}": names("p")})
    board = Board(
        uid=None,
        title="",
        shape=Shape.CLASSIC,
        panels=(),
        variables=(
            query("job", "label_values(up, job)", current=("other",)),
            query("pod", "label_values(up{job='$job'}, pod)"),
            Variable(name="text", type="textbox", query="default"),
            Variable(name="ds", type="datasource", query="prometheus"),
        ),
    )
    given = {"job": "j", "text": "typed", "ds": "Main"}

    found = settle(board, WINDOW, resolve=resolve, asked=lambda uid: asked, offered=offered, given=given)

    assert {name: value.values for name, value in found.scope.items()} == {
        "job": ("j",),
        "pod": ("p",),
        "text": ("typed",),
        "ds": ("u-main",),
    }


def test_ad_hoc_filters_go_to_the_queries_of_their_own_source() -> None:
    """A query to another data source stays as it is."""
    adhoc = Variable(name="f", type="adhoc", source=SOURCE, filters=(("job", "=", "a"), ("pod", "!=", "b")))
    board = Board(uid=None, title="", shape=Shape.CLASSIC, panels=(), variables=(adhoc,))

    filtered = adhoc_filter(board, {}, resolve)

    assert filtered("rate(x[5m])", "prom") == 'rate(x{job="a",pod!="b"}[5m])'
    assert filtered("rate(x[5m])", "other") == "rate(x[5m])"


class Everything(Answering):
    """A Prometheus that has two values for whatever it is asked."""

    def _told(self, question: str, nothing: Any) -> Any:
        self.asked.append(question)
        return names("a.b", "c|d") if isinstance(nothing, Names) else vector(({"__name__": "m", "topic": "t"}, 1.0))


CORPUS = Path(__file__).parents[3] / "shared" / "dashboards"
READABLE = [path for path in sorted(CORPUS.glob("*.json")) if "malformed" not in path.name]


@pytest.mark.skipif(not READABLE, reason="the corpus ../shared/dashboards is not beside this checkout")
def test_every_dashboard_of_the_corpus_is_settled() -> None:
    """Whatever stands in a real dashboard, each variable gets a value, with answers and without."""
    questions = 0
    for path in READABLE:
        board = board_of(json.loads(path.read_text(encoding="utf-8-sig")))
        asked = Everything()

        full = settle(board, WINDOW, resolve=resolve, asked=lambda uid, asked=asked: asked, offered=offered)
        none = settle(board, WINDOW, resolve=resolve, asked=lambda uid: NoAnswer(said="away"), offered=offered)

        assert full.scope.keys() == none.scope.keys() == {each.name for each in board.variables}, path.name
        assert full.questions.keys() == none.questions.keys()
        assert none.empty.keys() >= none.questions.keys()
        assert [text for text in asked.asked if full.scope.keys() & set(names_in(text))] == [], path.name
        questions += len(asked.asked)
    assert questions > 100


SERIES = "\n".join(
    f"{series} {value} {time}"
    for series, value, end in (
        ('up{job="a",pod="a-0"}', 1, 4601),
        ('up{job="a",pod="a-1"}', 0, 4601),
        ('up{job="b",pod="b-0"}', 1, 4601),
        ('gone{job="c",pod="c"}', 1, 1500),
    )
    for time in range(1000, end, 60)
)
"""Until the end of the range, but for one that ended long before."""


@pytest.mark.parametrize("binary", BINARIES)
def test_a_real_prometheus_gives_the_options(binary) -> None:
    """Every kind of question is one that Prometheus takes, the old one too, and reads as Grafana would."""
    variables = [
        query("job", "label_values(up, job)", current=("b",)),
        query("pod", 'label_values(up{job="$job"}, pod)'),
        query("label", "label_names(up)", multi=True, include_all=True, current=("$__all",)),
        query("metric", "metrics(u)"),
        query("down", "query_result(up == 0)", regex='/pod="(?<text>[^"]+)|job="(?<value>[^"]+)/g'),
        query("ended", 'gone{job="c"}', regex='/pod="([^"]+)/'),
        query("count", "query_result(scalar(count(up)))"),
        query("refused", "query_result(up{)"),
    ]
    board = Board(uid=None, title="", shape=Shape.CLASSIC, panels=(), variables=tuple(variables))
    with PrometheusServer(binary=binary, om_text=SERIES) as server:
        prometheus = Prometheus.at(Address(url=server.url))
        try:
            found = settle(board, WINDOW, resolve=resolve, asked=lambda uid: prometheus, offered=offered)
        finally:
            prometheus.close()

    assert {name: value.values for name, value in found.scope.items()} == {
        "job": ("b",),
        "pod": ("b-0",),
        "label": ("__name__", "job", "pod"),
        "metric": ("up",),
        "down": ("a",),
        "ended": ("c",),
        "count": ("3",),
        "refused": (),
    }
    assert found.scope["down"].texts == ("a-1",)
    assert list(found.empty) == ["refused"]
    assert isinstance(found.empty["refused"].answer, Refused)
