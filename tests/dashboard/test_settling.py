"""The order in which variables are settled, and what those stand for that offer no options.

Options and choices are compared with Grafana's own in tests/oracle.
"""

from __future__ import annotations

import pytest

from kvobs.dashboard.board import SourceRef, Value, Variable, Window
from kvobs.dashboard.settling import ALL, chosen, in_order, names_of_empty, saved, with_default, without_options
from kvobs.dashboard.variable_queries import Option

WINDOW = Window(start_s=0, end_s=21_600)


def variable(name: str, query: str = "", **rest) -> Variable:
    """Return a query variable."""
    return Variable(**{"name": name, "type": "query", "query": query, **rest})


ORDERS = [
    ("as listed where nothing depends on anything", [variable("a"), variable("b")], "ab"),
    ("by what the query names", [variable("a", "label_values(up{x='$b'}, y)"), variable("b")], "ba"),
    ("by what the regex names", [variable("a", regex="/${b:regex}-(.*)/"), variable("b")], "ba"),
    ("by the data source", [variable("a", source=SourceRef("$b")), Variable(name="b", type="datasource")], "ba"),
    ("through several steps", [variable("a", "[[b]]"), variable("b", "${c}"), variable("c")], "cba"),
    ("itself is no hindrance", [variable("a", "$a"), variable("b")], "ab"),
    ("what is not there is no hindrance", [variable("a", "$gone $__range"), variable("b")], "ab"),
    ("a circle from its first on", [variable("a", "$b"), variable("b", "$c"), variable("c", "$a")], "acb"),
    ("beside a circle", [variable("a", "$b"), variable("b", "$a"), variable("c")], "cab"),
]


@pytest.mark.parametrize(("why", "variables", "wanted"), ORDERS, ids=[row[0] for row in ORDERS])
def test_variables_come_after_those_that_they_name(why, variables, wanted):
    """Each is settled once, after what it depends on; a circle ends."""
    assert "".join(each.name for each in in_order(variables)) == wanted


PLAIN = [
    ("a constant is its query, with variables", variable("x", "a-$job", type="constant"), "a-j.1"),
    ("a text box is what was saved", variable("x", "default", type="textbox", current=("typed",)), "typed"),
    ("an empty text box is its default", variable("x", "default", type="textbox", current=("",)), "default"),
    ("a text box without any is empty", variable("x", type="textbox"), ""),
    ("an interval is what was saved", variable("x", "1m,5m", type="interval", current=("5m",)), "5m"),
    ("an interval that is not offered is the first", variable("x", "1m,5m", type="interval", current=("2m",)), "1m"),
    ("an interval may be quoted", variable("x", "'1m', \"5m\"", type="interval", current=("",)), "1m"),
    (
        "auto is the range by its steps",
        variable("x", "1m", type="interval", current=("$__auto_interval_x",), auto=True, auto_count=30),
        "10m",
    ),
    (
        "auto is at least so much",
        variable("x", "1m", type="interval", current=("$__auto",), auto=True, auto_min="1h"),
        "1h",
    ),
    ("a switch is what was saved", variable("x", type="switch", current=("on",)), "on"),
    ("a switch is off", variable("x", type="switch", options=(("on", "on"), ("off", "off"))), "off"),
    (
        "ad hoc filters are matchers",
        variable("x", type="adhoc", filters=(("job", "=", "a"), ("pod", "!=", "b"))),
        'job="a",pod!="b"',
    ),
    ("a snapshot is what was saved", variable("x", type="snapshot", current=("v",)), "v"),
]


@pytest.mark.parametrize(("why", "given", "wanted"), PLAIN, ids=[row[0] for row in PLAIN])
def test_what_offers_no_options_stands_for_itself(why, given, wanted):
    """Every type that asks nothing has the value that Grafana gives it."""
    assert without_options(given, {"job": Value(values=("j.1",))}, WINDOW).values == (wanted,)


A, B = Option("A", "a"), Option("B", "b")


def test_what_the_user_gives_counts_offered_or_not():
    """A given value is found by value or by text, All by either name, and is else taken as it is."""
    multi = variable("x", multi=True, include_all=True, current=("a",))

    assert chosen(multi, [A, B], "B").values == ("b",)
    assert chosen(multi, [A, B], ["b", "else"]).values == ("b", "else")
    assert chosen(multi, [A, B], "All").all
    assert chosen(multi, [A, B], ALL).values == ("a", "b")
    assert not chosen(variable("x"), [A, B], "All").all


def test_what_is_saved_stands_where_nothing_could_be_asked():
    """The saved value, or All of the saved options, stands for a variable whose question has no answer."""
    options = (("All", ALL), ("A", "a"), ("B", "b"))
    everything = variable("x", include_all=True, all_value=".*", current=(ALL,), options=options)

    assert saved(variable("x", current=("a",), current_text=("A",))).texts == ("A",)
    assert saved(everything) == Value(
        values=("a", "b"), texts=("A", "B"), multi=True, all=True, all_value=".*", listed=False
    )


def test_a_custom_variable_without_a_list_keeps_what_is_saved():
    """An empty list does not undo a saved value; the list of a query variable does."""
    assert chosen(variable("x", type="custom", current=("5m",)), []).values == ("5m",)
    assert chosen(variable("x", current=("5m",)), []).values == ()


def test_default_is_offered_where_it_was_saved():
    """A data source variable saved as `default` stays so as long as the default data source is of its type."""
    sources = [Option("A", "u1"), Option("B", "u2")]
    follows = variable("ds", type="datasource", current=("default",), current_text=("default",))

    assert chosen(follows, with_default(sources, follows, "u2")).values == ("default",)
    assert chosen(follows, with_default(sources, follows, None)).values == ("u1",)
    assert with_default(sources, variable("ds", type="datasource", current=("u1",)), "u2") == sources


def test_empty_is_what_finds_nothing():
    """A variable without values is empty, but not one whose All has a text of its own, nor an empty text."""
    scope = {
        "none": Value(values=()),
        "all of none": Value(values=(), multi=True, all=True),
        "all by text": Value(values=(), multi=True, all=True, all_value=".*"),
        "text": Value(values=("",)),
    }

    assert names_of_empty(scope) == {"none", "all of none"}


def test_a_long_chain():
    """A chain of a great many variables is put in order, the last that the dashboard lists first."""
    variables = [Variable(name=f"v{n}", type="custom", query=f"x$v{n + 1}") for n in range(3000)]

    assert [each.name for each in in_order(variables)] == [f"v{n}" for n in reversed(range(3000))]
