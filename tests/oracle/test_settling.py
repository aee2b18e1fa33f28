"""Options, choices and intervals of variables, through Grafana's own code and through kvobs'."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kvobs.dashboard.board import Value, Variable
from kvobs.dashboard.intervals import auto_interval_s, duration_s, interval_text
from kvobs.dashboard.settling import chosen, custom_options
from kvobs.dashboard.variable_queries import Option, options_of

from . import scenes

pytestmark = pytest.mark.skipif(scenes.missing() is not None, reason=str(scenes.missing()))

TEXTS = (
    'kafka_log{namespace="prod",topic="orders",pod="kafka-10"} 3 1700000000000',
    'kafka_log{namespace="prod",topic="Bills",pod="kafka-9"} 0.5 1700000000000',
    'kafka_log{namespace="dev",topic="orders",pod="Kafka-1"} NaN 1700000000000',
    "{} 5 1700000000000",
    "node1.example:9100",
    "node10.example:9100",
    "node2.example:9100",
    "Node3",
    "ärger",
    "_x",
    "a b",
    "",
    "v1.2.10",
    "v1.2.9",
    "vllm-llama-2@http",
)

REGEXES = (
    "",
    "/.+/",
    ".+",
    "node.*",
    "/node/",
    '/.*namespace="([^"]*).*/',
    '/.*pod="([^"]+)-(\\d+)".*/',
    '/namespace="(?<text>[^"]+)|pod="(?<value>[^"]+)/g',
    '/namespace="(?<text>[^"]+)/g',
    "/(?<value>kafka-\\d+)/i",
    "/{} (.*) .*/",
    "/([^:]+):.*/",
    "/[^:]+:(.*)/",
    "/([^@]+)@.*/",
    "/.*@.*/",
    "/[a-z]+(\\d+)/g",
    "/(\\d)/g",
    "/\\bpod\\b=(.)/",
    "/^(a|node)|(x)/",
    "/[[a&&b]x/",
    "/\\-\\_\\@/",
    "/[^]+/",
    "/o$/m",
    "/(unclosed/",
    "/no end",
    "/a/gg",
    "(",
    "/Ä/i",
    "/(?=node)(\\w+)(?<!x)/",
)

CUSTOM = (
    "",
    "a",
    "a,b , c",
    "avg : Average\n0.50 : P50\n0.90 : P90",
    "false : All hours, true : Rush hours",
    "^All__.*$ : All, ^Static__.*$ : Static",
    "1s, 15s,,30s",
    r"a\,b,c\\,d",
    "a : b : c",
    "a:b",
    " : x",
    "a : ",
    " lead, trail ",
)

OPTIONS: tuple[tuple[tuple[str, str], ...], ...] = (
    (),
    (("a", "a"), ("b", "b")),
    (("Prometheus", "uid-1"), ("Thanos", "uid-2"), ("Prometheus", "uid-3")),
)
CURRENTS: tuple[tuple[Any, Any], ...] = (
    ("", ""),
    ("a", "a"),
    ("gone", "gone"),
    ("Prometheus", "Prometheus"),
    ("uid-2", "Prometheus"),
    ("gone", "Thanos"),
    ("$__all", "All"),
    (["$__all"], ["All"]),
    (["b", "a"], ["b", "a"]),
    (["gone", "b"], ["gone", "b"]),
    (["gone"], ["gone"]),
    ([], []),
)
KINDS = [
    (multi, include_all, options, current)
    for multi, include_all, options, current in itertools.product((True, False), (True, False), OPTIONS, CURRENTS)
    if multi or not isinstance(current[0], list) or current[0] == ["$__all"]
]

RANGES_S = (1, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 400 * 86400)
STEPS = ((30, "10s"), (100, "1m"), (1, "1s"), (500, "500ms"), (7, "1h"))
START_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def answers() -> dict[tuple[Any, ...], Any]:
    """Everything asked, once, by what it is about."""
    asked: dict[tuple[Any, ...], dict[str, Any]] = {}
    for regex, sort in itertools.product(REGEXES, range(9)):
        asked["options", regex, sort] = {"regex": regex, "sort": sort, "texts": TEXTS}
    for query in CUSTOM:
        asked["custom", query] = {"query": query}
    for number, (multi, include_all, options, (value, text)) in enumerate(KINDS):
        state = {"isMulti": multi, "includeAll": include_all, "value": value, "text": text}
        asked["chosen", number] = {"state": state, "options": options}
    for range_s, (steps, least) in itertools.product(RANGES_S, STEPS):
        end_ms = START_MS + range_s * 1000
        asked["interval", range_s, steps, least] = {"from": START_MS, "to": end_ms, "steps": steps, "least": least}
    told = scenes.asked([{"ask": about[0], **question} for about, question in asked.items()])
    return dict(zip(asked, told, strict=True))


@pytest.mark.parametrize("sort", range(9))
@pytest.mark.parametrize("regex", REGEXES)
def test_options_are_those_that_grafana_makes_of_an_answer(answers, regex, sort):
    """A regex and an order leave the options, with the texts and values, that they leave in Grafana.

    A group that took no part in a match makes an option without text and value there, which nobody can mean: kvobs
    leaves it out.
    """
    theirs = answers["options", regex, sort]

    ours = options_of(TEXTS, regex=regex, sort=sort)

    if isinstance(theirs, str):
        assert (ours, theirs) in [(None, "threw Error"), (None, "threw SyntaxError")]
    else:
        assert ours is not None
        assert [list(option) for option in ours] == [option for option in theirs if option != [None, None]]


@pytest.mark.parametrize("query", CUSTOM)
def test_a_custom_list_is_read_as_grafana_does(answers, query):
    """Commas, escaped commas and `text : value` of a custom variable give the options that they give in Grafana."""
    ours = custom_options(Variable(name="v", type="custom", query=query), {})

    assert [list(option) for option in ours] == answers["custom", query]


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_the_choice_is_the_one_that_grafana_makes(answers, number):
    """What was saved, is still offered or not, with All or without, single or multi, leads to Grafana's choice."""
    multi, include_all, options, (value, text) = KINDS[number]
    variable = Variable(
        name="v",
        type="query",
        multi=multi,
        include_all=include_all,
        current=tuple(value) if isinstance(value, list) else (value,),
        current_text=tuple(text) if isinstance(text, list) else (text,),
    )

    ours = chosen(variable, [Option(*option) for option in options])

    theirs = answers["chosen", number]
    assert spelled(ours, multi) in (theirs, listed(theirs))


def spelled(value: Value, multi: bool) -> list[Any]:
    """Return a choice as Grafana's state has it."""
    if value.all:
        return ["$__all", "All"]
    if multi:
        return [list(value.values), list(value.texts)]
    return ["".join(value.values), "".join(value.texts)]


def listed(state: list[Any]) -> list[Any]:
    """Return a state whose All stands in a list, which is the same to Grafana, without that list."""
    return ["$__all" if state[0] == ["$__all"] else state[0], "All" if state[1] == ["All"] else state[1]]


@pytest.mark.parametrize(("steps", "least"), STEPS)
@pytest.mark.parametrize("range_s", RANGES_S)
def test_auto_of_an_interval_variable_is_grafanas(answers, range_s, steps, least):
    """`auto` is the range by the number of steps, rounded and written as Grafana does."""
    least_s = duration_s(least)
    assert least_s is not None

    assert interval_text(auto_interval_s(range_s, steps, least_s)) == answers["interval", range_s, steps, least]
