"""Variables in PromQL without a format of their own, argued by hand: what the Prometheus data source makes of them.

All that `@grafana/scenes` decides is compared with it in tests/oracle.
"""

from __future__ import annotations

import json
import re

import pytest

from kvobs.dashboard.board import Value
from kvobs.dashboard.interpolation import interpolate, names_in

# (what holds, value, what stands in the query)
DEFAULTS = [
    ("a plain text stands as it is", Value(values=("node-1:9100",)), "node-1:9100"),
    ("a plain text keeps the signs of regular expressions", Value(values=("a.b|c",)), "a.b|c"),
    ("a backslash is written twice, since PromQL reads it once", Value(values=("a\\b",)), r"a\\b"),
    ("a single quote gets two backslashes, as Grafana has it", Value(values=("it's",)), r"it\\'s"),
    ("a double quote is left alone, so that the query breaks as in Grafana", Value(values=('a"b',)), 'a"b'),
    ("one of a multi is a regular expression, escaped twice", Value(values=("a.b",), multi=True), r"a\\.b"),
    ("so it is from a list of one", Value(values=("a.b",), multi=True, listed=True), r"a\\.b"),
    ("a colon and a slash are no signs there", Value(values=("a:1/b-c",), multi=True), "a:1/b-c"),
    ("a backslash in it becomes four", Value(values=("a\\b",), multi=True), r"a\\\\b"),
    ("a single quote in it stays", Value(values=("it's",), multi=True), "it's"),
    ("several are alternatives", Value(values=("a.b", "c|d"), multi=True), r"(a\\.b|c\\|d)"),
    ("All is all of them", Value(values=("a", "b"), multi=True, all=True), "(a|b)"),
    ("All of one has no brackets", Value(values=("a.b",), multi=True, all=True), r"a\\.b"),
    ("All of none fits the empty text alone", Value(values=(), multi=True, all=True), "()"),
    ("All with a text of its own is that text", Value(values=("a",), multi=True, all=True, all_value=".*"), ".*"),
    ("an empty text of its own is none", Value(values=("a",), multi=True, all=True, all_value=""), "a"),
    ("none of a multi fits the empty text alone", Value(values=(), multi=True), "()"),
    ("none of any other is nothing", Value(values=()), ""),
]


@pytest.mark.parametrize(("why", "value", "wanted"), DEFAULTS, ids=[row[0] for row in DEFAULTS])
def test_a_variable_without_a_format_stands_in_promql_as_the_data_source_writes_it(why, value, wanted):
    """In any syntax, what stands between the quotes is what Grafana's Prometheus data source puts there."""
    for syntax in ("$x", "${x}", "[[x]]"):
        assert interpolate(f'up{{job=~"{syntax}"}}', {"x": value}) == f'up{{job=~"{wanted}"}}'


HOSTILE = ["a.b", "c:\\d\\", "(x|y)*", "[z]{2}^$", "a+b?", "it's", "späte ☃", "a/b-c", "$y", "two\nlines"]


def unquoted(text: str) -> str:
    """Return what PromQL reads between double quotes."""
    return json.loads('"' + text.replace("\n", "\\n") + '"')


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_of_a_multi_matches_itself_and_nothing_else(value):
    """Read by PromQL and then as a regular expression, an escaped value fits the value that it was made of."""
    scope = {"x": Value(values=(value, "other"), multi=True), "y": Value(values=("no",))}

    written = interpolate("$x", scope)

    pattern = re.compile(unquoted(written))
    assert [text for text in [*HOSTILE, "axb", "other"] if pattern.fullmatch(text)] == [value, "other"]


def test_what_all_stands_for_may_name_other_variables():
    """Variables in All's own text get their values, in the format of a title, and only so deep."""
    scope = {
        "pod": Value(values=("a",), multi=True, all=True, all_value="$cluster-([1-9]*)"),
        "cluster": Value(values=("c.1",), multi=True),
        "self": Value(values=(), multi=True, all=True, all_value="$self"),
    }

    assert interpolate('{pod=~"$pod"}', scope) == '{pod=~"c.1-([1-9]*)"}'
    assert interpolate("$self", scope) == "$self"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$nobody ${nobody:csv} [[nobody]]", "$nobody ${nobody:csv} [[nobody]]"),
        ("${DS_TEAM-PROM} ${} $ [[]] ${x", "${DS_TEAM-PROM} ${} $ [[]] ${x"),
        ("$x_total $xy", "$x_total $xy"),
        ("${x}_total $x.a $x$x", "v_total v.a vv"),
        ("{{x}} {{ $x }}", "{{x}} {{ v }}"),
        ("no variable", "no variable"),
    ],
)
def test_what_is_no_variable_stays(text, wanted):
    """A name that nobody declares, or that goes on, is left as it stands."""
    assert interpolate(text, {"x": Value(values=("v",))}) == wanted


def test_the_names_in_a_text_are_told_once_each():
    """Every syntax counts, a name inside a longer one does not."""
    assert names_in("$a ${b:csv} [[c:pipe]] $a ${d.text} $ab ${__from:date:YYYY} $") == (
        *("a", "b", "c", "d"),
        *("ab", "__from"),
    )
