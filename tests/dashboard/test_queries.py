"""What the panels of a dashboard ask, once their variables have values."""

from collections import Counter
from pathlib import Path

import pytest

from kvobs.dashboard.board import Query, Resolved, Unasked, Value, Window
from kvobs.dashboard.boards import board_of
from kvobs.dashboard.interpolation import names_in
from kvobs.dashboard.jsontext import read_json
from kvobs.dashboard.queries import MOST_DRAWINGS, panel_queries
from kvobs.errors import DocumentError

CORPUS = Path(__file__).parents[3] / "shared" / "dashboards"
BROKEN = "confluentinc__jmx-monitoring-stacks__jmx-malformed.json"
FILES = sorted(path.name for path in CORPUS.glob("*.json") if path.name != BROKEN)

NOW = 1_700_000_010.0
HOUR = Window(start_s=NOW - 3600, end_s=NOW, now_s=NOW)
P = {"type": "prometheus", "uid": "p"}
EXPRESSION = Unasked("an expression on the answers of other targets")
BUILTIN = {"__interval", "__interval_ms", "__rate_interval", "__range", "__range_s", "__range_ms", "__from", "__to"}


def resolve(reference, scope):
    """Find the source `p`; another type is none, another UID a fault."""
    if reference.plugin not in (None, "prometheus"):
        return Resolved(why=f"asks {reference.plugin}")
    value = scope.get((reference.written or "").strip("${}"))
    uid = value.values[0] if value else reference.written
    return Resolved(uid=uid) if uid in ("p", "q") else Resolved(why="leads nowhere", cause="KVO-202")


def drawn(*panels, scope=None, window=HOUR, **given):
    """Return what the panels of a dashboard ask."""
    return panel_queries(board_of({"panels": list(panels)}), scope or {}, window, resolve=resolve, **given)


def panel(*targets, **rest):
    """Return a panel on the source `p`, 1,000 points wide."""
    return {"type": "timeseries", "datasource": P, "maxDataPoints": 1000, "targets": list(targets), **rest}


def exprs(found):
    """Return the expressions that a drawing asks."""
    return [query.expr for _, queries in found.asked for query in queries]


def test_range_query():
    """A range query starts and ends on multiples of its step, and goes to the source's UID."""
    (found,) = drawn(panel({"expr": "up"}))

    ((_, queries),) = found.asked
    assert queries == (Query(expr="up", instant=False, start_s=NOW - 3600, end_s=NOW, step_s=15, source="p"),)


def test_range_query_is_aligned():
    """What does not fall on the step is rounded down at both ends."""
    (found,) = drawn(panel({"expr": "up", "interval": "1m"}))

    ((_, (query,)),) = found.asked
    assert (query.start_s, query.end_s, query.step_s) == (1_699_996_380, 1_699_999_980, 60)


def test_instant_query():
    """An instant query is asked at the very end of the range, and is equal whatever the panel's width."""
    first, second = drawn(
        panel({"expr": "up", "instant": True}), panel({"expr": "up", "instant": True}, maxDataPoints=9)
    )

    ((_, (query,)),) = first.asked
    assert (query.instant, query.end_s) == (True, NOW)
    assert second.asked[0][1] == (query,)


def test_both():
    """A target may ask for a range and for an instant."""
    (found,) = drawn(panel({"expr": "up", "instant": True, "range": True}))

    assert [query.instant for query in found.asked[0][1]] == [False, True]


@pytest.mark.parametrize(
    ("target", "rest", "want"),
    [
        ({"expr": "[$__interval] $__interval_ms"}, {}, "[15s] 15000"),
        ({"expr": "[$__rate_interval] ${__rate_interval_ms}"}, {}, "[1m0s] 60000"),
        ({"expr": "[${__range}] $__range_s $__range_ms"}, {}, "[3600s] 3600 3600000"),
        ({"expr": "$__from ${__to}"}, {}, "1699996410000 1700000010000"),
        ({"expr": "${__from:date:seconds}"}, {}, "1699996410"),
        ({"expr": "[$__interval] [$__rate_interval]"}, {"interval": "1m"}, "[1m] [1m15s]"),
        ({"expr": "[$__interval] [$__rate_interval]"}, {"interval": "$step"}, "[2m] [2m15s]"),
        ({"expr": "[$__interval] [$__rate_interval]", "interval": "$step"}, {}, "[2m] [8m0s]"),
        ({"expr": "[$__interval] [$__rate_interval]", "interval": "$__rate_interval"}, {}, "[1m] [1m0s]"),
        ({"expr": "[$__interval]", "intervalFactor": 4}, {}, "[1m]"),
        ({"expr": "[$__range] [$__interval]"}, {"timeFrom": "2d"}, "[172800s] [2m]"),
        ({"expr": "$__to"}, {"timeShift": "1h"}, "1699996410000"),
        ({"expr": "[$__rate_interval]"}, {"datasource": {"type": "prometheus", "uid": "q"}}, "[2m0s]"),
        ({"expr": "[$__interval]"}, {"maxDataPoints": None, "gridPos": {"x": 0, "y": 0, "w": 4, "h": 4}}, "[15s]"),
        ({"expr": "[$__interval]"}, {"maxDataPoints": 10}, "[5m]"),
        ({"expr": 'up{job=~"$job",x="$plain"} $other'}, {}, 'up{job=~"(a\\\\.b|c)",x="it"} $other'),
    ],
)
def test_variables(target, rest, want):
    """Time, interval and template variables are put in, with the settings that stand around the query."""
    scope = {
        "step": Value(values=("2m",)),
        "job": Value(values=("a.b", "c"), multi=True),
        "plain": Value(values=("it",)),
    }

    (found,) = drawn(panel(target, **rest), scope=scope, time_intervals={"q": "30s", "p": None})

    assert exprs(found) == [want]


@pytest.mark.parametrize(
    ("target", "rest", "want"),
    [
        ({"expr": "up", "hide": True}, {}, Unasked("hidden")),
        ({"datasource": {"type": "__expr__", "uid": "__expr__"}}, {}, EXPRESSION),
        ({"expression": "$A", "datasourceUid": "-100"}, {}, EXPRESSION),
        ({"panelId": 2}, {"datasource": "-- Dashboard --"}, Unasked("it shows the answer of another panel")),
        ({"expr": "{a=1}"}, {"datasource": {"type": "loki", "uid": "l"}}, Unasked("asks loki")),
        ({"expr": ""}, {}, Unasked("it has no PromQL query")),
        ({"expr": ""}, {"datasource": {"type": "prometheus", "uid": "foreign"}}, Unasked("it has no PromQL query")),
        ({"expr": "up"}, {"datasource": {"type": "prometheus", "uid": "foreign"}}, Unasked("leads nowhere", "KVO-202")),
        ({"expr": "up"}, {"type": "text"}, Unasked("a panel of type text asks nothing")),
    ],
)  # fmt: skip
def test_unasked(target, rest, want):
    """What is no question to a Prometheus is told with the reason; a source that leads nowhere with its cause."""
    (found,) = drawn(panel(target, **rest))

    assert [reason for _, reason in found.asked] == [want]


def test_mixed():
    """In a panel that mixes sources each target goes its own way, by way of a variable too."""
    (found,) = drawn(
        panel(
            {"expr": "a", "datasource": {"uid": "$ds"}},
            {"expr": "b", "datasource": P},
            {"query": "c", "datasource": {"type": "loki", "uid": "l"}},
            datasource="-- Mixed --",
        ),
        scope={"ds": Value(values=("q",))},
    )

    first, second, third = (queries for _, queries in found.asked)
    assert (first[0].source, second[0].source, third) == ("q", "p", Unasked("asks loki"))


def test_repeats():
    """A panel is drawn once for each value of its variable, and a row whole, for one value after the other."""
    scope = {
        "host": Value(values=("h1", "h2"), texts=("Host 1", "Host 2"), multi=True, all=True, all_value=".*"),
        "gpu": Value(values=("0", "1"), multi=True),
        "none": Value(values=(), multi=True),
    }
    row = {"type": "row", "title": "On $host", "repeat": "host"}
    query = {"expr": 'u{h=~"$host",g=~"$gpu"}'}

    found = drawn(
        row,
        panel(query, title="GPU $gpu of ${host}", repeat="gpu"),
        panel(query, title="All of ${host:text}", repeat="host"),
        {"type": "row", "title": "Rest"},
        panel(query, title="Nobody", repeat="none"),
        panel({"expr": "up"}, title="Unknown", repeat="unknown"),
        scope=scope,
    )

    assert [(each.title, each.panel.row) for each in found] == [
        ("GPU 0 of Host 1", "On Host 1"),
        ("GPU 1 of Host 1", "On Host 1"),
        ("All of Host 1", "On Host 1"),
        ("GPU 0 of Host 2", "On Host 2"),
        ("GPU 1 of Host 2", "On Host 2"),
        ("All of Host 2", "On Host 2"),
        ("Nobody", "Rest"),
        ("Unknown", "Rest"),
    ]
    assert exprs(found[1]) == ['u{h=~"h1",g=~"1"}']
    assert exprs(found[6]) == ['u{h=~".*",g=~"(0|1)"}']
    assert {name: value.values for name, value in found[4].scope.items()} == {"host": ("h2",), "gpu": ("1",)}
    assert found[7].scope == {}


def test_repeats_without_end():
    """Of a panel that is repeated a great many times the first repeats are asked, the rest is told, and others stay."""
    scope = {
        "pod": Value(values=tuple(map(str, range(3000))), multi=True),
        "host": Value(values=("a", "b"), multi=True),
    }
    row = {"type": "row", "title": "On $host", "repeat": "host"}

    found = drawn(
        row, panel({"expr": "u"}, title="Of $pod", repeat="pod"), panel({"expr": "v"}, title="V"), scope=scope
    )

    titles = Counter(each.title for each in found if not each.title.startswith("Of "))
    asked = [each for each in found if each.title.startswith("Of ")]
    assert len(asked) == MOST_DRAWINGS + 1
    assert asked[-1].title == "Of $pod"
    assert "1,000 repeats are asked" in asked[-1].asked[0][1].why
    assert titles == {"V": 2}


def test_filters():
    """What holds for all queries to a source is added to each of them, after its variables."""
    (found,) = drawn(panel({"expr": "up[$__interval]"}), filtered=lambda expr, source: f"{expr} filtered for {source}")

    assert exprs(found) == ["up[15s] filtered for p"]


def test_a_panel_without_targets():
    """A panel that has no target is there, and asks nothing."""
    (found,) = drawn({"type": "text", "title": "Read me"})

    assert (found.title, found.asked) == ("Read me", ())


@pytest.mark.skipif(not FILES, reason="the corpus ../shared/dashboards is not beside this checkout")
@pytest.mark.parametrize("name", FILES)
def test_corpus(name):
    """Every visible query of a real dashboard becomes a question without a built-in or declared variable in it."""
    board = board_of(read_json((CORPUS / name).read_bytes()).document)
    scope = {
        variable.name: Value(values=("one", "two.x") if variable.multi else ("1m",), multi=variable.multi)
        for variable in board.variables
        if variable.type != "adhoc"
    }

    found = panel_queries(board, scope, HOUR, resolve=lambda reference, scope: Resolved(uid="p"))

    assert len(found) >= len(board.panels)
    for drawing in found:
        assert [target for target, _ in drawing.asked] == list(drawing.panel.targets)
        for target, queries in drawing.asked:
            if isinstance(queries, Unasked):
                assert target.hidden or target.expr is None or drawing.panel.type == "text" or target.source.plugin
                continue
            assert len(queries) == target.instant + target.range
            for query in queries:
                assert not {*scope, *BUILTIN} & set(names_in(query.expr)), query.expr
                assert query.start_s < query.end_s


def test_the_broken_file_is_no_board():
    """A document that is no dashboard has no queries: it is refused before."""
    with pytest.raises(DocumentError):
        board_of({"kind": "Deployment", "apiVersion": "apps/v1"})
