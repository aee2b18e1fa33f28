"""The names of metrics in expressions that hold Grafana's variables."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.dashboard.boards import board_of
from kvobs.dashboard.promql_tokens import metric_names, tokens

from ..vllm_capture import SHARED, WHY_SKIPPED


@pytest.mark.parametrize(
    ("expr", "names"),
    [
        ("a", ["a"]),
        ("vllm:a_b", ["vllm:a_b"]),
        ('a{b="c", d=~"e|f"}', ["a"]),
        ("rate(a[5m])", ["a"]),
        ("rate(a[$__rate_interval])", ["a"]),
        ("rate(a[[[w]]])", ["a"]),
        ("rate(a[${w:raw}] offset $o)", ["a"]),
        ("max_over_time(rate(a[5m])[1h:$step])", ["a"]),
        ("sum by (b, c) (a) / on (d) group_left (e) f", ["a", "f"]),
        ("sum(a) by (b)", ["a"]),
        ("sum without(b) (a) unless ignoring(c) d", ["a", "d"]),
        ("a and b or c unless d atan2 e", ["a", "b", "c", "d", "e"]),
        ("a OR b", ["a", "b"]),
        ("a > bool 1 + Inf - nan", ["a"]),
        ("a offset 5m @ end()", ["a"]),
        ("histogram_quantile($q, sum by (le) (rate(a_bucket{x='y'}[5m])))", ["a_bucket"]),
        ("# b\na # c\n+ d", ["a", "d"]),
        ('label_replace(a, "b", "$1", "c", "(d.*)")', ["a"]),
        ('{__name__="a", b="c"}', ["a"]),
        ('{"a.b", c="d"}', ["a.b"]),
        ('{c="d", "a.b"}', ["a.b"]),
        ('{__name__=~"a|b:c"}', ["a", "b:c"]),
        ('{__name__=~"(a|b)"}', ["a", "b"]),
        ('{__name__!="a"}', []),
        ('{__name__!~"a|b"}', []),
        ('a{b="c{d}", e="f(g)"} + h', ["a", "h"]),
        ('a{b="\\"", c="d"}', ["a"]),
        ("a{$filters} + b", ["a", "b"]),
        ("$a", []),
        ("${a}", []),
        ("count({job='x'})", []),
        ("5e3 + 0x1F + 1h", []),
        ("label_values(a, b)", ["a"]),
        ('label_values(a{c="$d"}, b)', ["a"]),
        ("label_values(b)", []),
        ("label_values(rate(a[5m]) > 0, b)", ["a"]),
        ("label_names(a.*)", []),
        ("metrics(a.*)", []),
        ("query_result(topk(3, a))", ["a"]),
        ("", []),
        ("a{", ["a"]),
        ("rate(a[5m", ["a"]),
        ("label_values(a", ["a"]),
        (")]}", []),
        ('a{b="', ["a"]),
    ],
)
def test_names(expr: str, names: list[str]) -> None:
    """A metric's name is told from a label's, a function's, a keyword, and from text, in whatever is written."""
    found = metric_names(expr)
    assert [each.name for each in found if each.how != "partial"] == names
    assert all(expr[each.start : each.end] == each.name for each in found)


@pytest.mark.parametrize(
    ("expr", "parts"),
    [
        ("vllm:$x", ["vllm:$x"]),
        ("${p}_total", ["${p}_total"]),
        ("a_${p}_b{c='d'}", ["a_${p}_b"]),
        ("[[p]]_a", ["[[p]]_a"]),
        ('{__name__="a_$x"}', ["a_$x"]),
        ('{__name__=~"a_.*"}', ["a_.*"]),
    ],
)
def test_parts_of_names(expr: str, parts: list[str]) -> None:
    """A name that a variable or a pattern is a part of is told apart: which metric it is stays open."""
    assert [each.name for each in metric_names(expr) if each.how == "partial"] == parts


@given(st.text(alphabet="ab:_1 ,.$(){}[]\"'`\\#=~!|\n") | st.text())
def test_nothing_is_lost(expr: str) -> None:
    """The tokens of any text are that text, and each name stands where it is said to."""
    assert "".join(each.text for each in tokens(expr)) == expr
    assert all(expr[each.start : each.end] == each.name for each in metric_names(expr))


@pytest.mark.skipif(not SHARED.is_dir(), reason=WHY_SKIPPED)
def test_the_corpus_agrees_with_a_parser() -> None:
    """In every query of the corpus that a parser reads, the names are those that it finds."""
    import promql_parser

    compared = 0
    for path in sorted((SHARED / "dashboards").glob("*.json")):
        try:
            board = board_of(json.loads(path.read_text()))
        except ValueError:
            continue
        targets = [target for panel in board.panels for target in panel.targets]
        for expr in {each.expr for each in targets if each.expr and "$" not in each.expr}:
            selected: set[str] = set()

            def see(node: object, into: set[str] = selected) -> bool:
                if isinstance(node, promql_parser.VectorSelector) and node.name:
                    into.add(node.name)
                return True

            try:
                promql_parser.walk(promql_parser.parse(expr), see)
            except ValueError:
                continue
            assert {each.name for each in metric_names(expr) if each.how == "exact"} == selected, expr
            compared += 1
    assert compared > 250
