"""What is read of a query: selectors, windows, the parts in which data may get lost, the ways to have any."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kvobs.health.glimpse import glimpse
from kvobs.health.promql import Matcher, Selector, parse


@pytest.mark.parametrize(
    ("expr", "selectors"),
    [
        ("up", [("up", None, None)]),
        ('sum by (le) (rate(vllm:x_bucket{a=~"b|c"}[5m] offset 1m))', [('vllm:x_bucket{a=~"b|c"}', 300, "rate")]),
        ('{__name__=~"vllm:.*",a!="b"}', [('{__name__=~"vllm:.*",a!="b"}', None, None)]),
        ('{"foo.bar",a="x"}', [('{"foo.bar",a="x"}', None, None)]),
        ('{__name__="up"}', [("up", None, None)]),
        ("max_over_time(rate(x[1m])[5m:30s])", [("x", 60, "rate")]),
        ('a{b="\\"[5m]\\""}', [('a{b="\\"[5m]\\""}', None, None)]),
        ("-x + on (i) group_left () y", [("x", None, None), ("y", None, None)]),
        ("time() - 3", []),
    ],
)
def test_selectors(expr: str, selectors: list[tuple[str, float | None, str | None]]) -> None:
    """Each selector is known with its matchers, its window and the function that reads it."""
    parsed = parse(expr)

    assert parsed is not None
    assert [(each.text, each.window_s, each.function) for each in parsed.selectors] == selectors


@pytest.mark.parametrize(
    ("expr", "ways"),
    [
        ("a + b", [{0, 1}]),
        ("a or b", [{0}, {1}]),
        ("(a or b) / c", [{0, 2}, {1, 2}]),
        ("a or vector(0)", [{0}, set()]),
        ("a unless b", [{0}]),
        ("a and b", [{0, 1}]),
        ("scalar(a) * b", [{0, 1}]),
        ("vector(1)", [set()]),
    ],
)
def test_ways_to_have_data(expr: str, ways: list[set[int]]) -> None:
    """A query has data where all selectors of one of its ways have."""
    parsed = parse(expr)

    assert parsed is not None
    assert [set(each) for each in parsed.ways] == ways


@pytest.mark.parametrize(
    ("expr", "offset_s", "at", "reach_s"),
    [
        ("up offset 1h", 3600, None, 0),
        ("up offset -1h", -3600, None, 0),
        ("up @ 12", 0, 12, 0),
        ("rate(up[5m] @ end() offset 1m)", 60, "end", 0),
        ("max_over_time(up[30m:] offset 1d)", 86400, None, 1800),
        ("max_over_time((up offset 1h)[30m:] offset 1d)", 90000, None, 1800),
        ("max_over_time(up[30m:] @ start() offset 1h)", 3600, "start", 1800),
        ("max_over_time((up @ 12)[30m:] offset 1d)", 0, 12, 0),
    ],
)
def test_where_a_selector_looks(expr: str, offset_s: float, at: float | str | None, reach_s: float) -> None:
    """Offsets add up through subqueries; a moment of its own makes what stands around it unimportant."""
    parsed = parse(expr)

    assert parsed is not None
    (selector,) = parsed.selectors
    assert (selector.offset_s, selector.at, selector.reach_s) == (offset_s, at, reach_s)


@pytest.mark.parametrize(
    ("expr", "compared"),
    [("a / b", None), ("a / on (x) b", {"x"}), ("a > on () b", set()), ("a / ignoring (y) b", {"x"})],
)
def test_what_sides_are_compared_by(expr: str, compared: set[str] | None) -> None:
    """`on` and `ignoring` say which labels have to be equal."""
    parsed = parse(expr)

    assert parsed is not None
    matching = parsed.parts[0].matching
    assert (None if matching is None else {each for each in ("x", "y") if matching.counts(each)}) == compared


@pytest.mark.parametrize(
    ("expr", "parts"),
    [
        ("up", []),
        ("sum(up)", []),
        ("rate(x[5m])", [("window", "rate(x[5m])")]),
        ("x > 0", [("comparison", "x > 0")]),
        ("x > bool 0", []),
        ("a * b", [("join", "a * b")]),
        ("a or b", []),
        ("absent(x)", [("function", "absent(x)")]),
        (
            "histogram_quantile(0.9, sum by (le) (rate(x[5m]))) > 1",
            [
                ("window", "rate(x[5m])"),
                ("function", "histogram_quantile(0.9, sum by (le) (rate(x[5m])))"),
                ("comparison", "histogram_quantile(0.9, sum by (le) (rate(x[5m]))) > 1"),
            ],
        ),
    ],
)
def test_parts(expr: str, parts: list[tuple[str, str]]) -> None:
    """What a part is made of stands before it."""
    parsed = parse(expr)

    assert parsed is not None
    assert [(each.kind, each.expr) for each in parsed.parts] == parts


@pytest.mark.parametrize(
    ("expr", "guards"),
    [("x > 0", [False]), ("a / (b > 0)", [True, False]), ("sum(b > 0)", [False]), ("a and (b > 0)", [False, False])],
)
def test_guards(expr: str, guards: list[bool]) -> None:
    """A comparison inside of arithmetic is a guard, and no filter of what is shown."""
    parsed = parse(expr)

    assert parsed is not None
    assert [each.guard for each in parsed.parts] == guards


@pytest.mark.parametrize(
    ("expr", "wider"),
    [
        ("rate(x[5m])", "rate(x[{WINDOW}])"),
        ('rate(x{a="[5m]"}[90s] offset 1m)', 'rate(x{a="[5m]"}[{WINDOW}] offset 1m)'),
        ("quantile_over_time(0.5, x[5m])", "quantile_over_time(0.5, x[{WINDOW}])"),
    ],
)
def test_windows_can_be_widened(expr: str, wider: str) -> None:
    """The window of a part is known by its place, whatever else looks like one."""
    parsed = parse(expr)

    assert parsed is not None
    assert [each.wider for each in parsed.parts] == [wider]


def test_what_the_parser_does_not_read() -> None:
    """A query that only Prometheus reads is None, and what looks like metrics in it is still found."""
    expr = 'sum by (x) (rate(vllm:foo{a="b{c"}[5m + 1m])) / on (i) bar offset 5m + inf # baz'

    assert parse(expr) is None
    assert glimpse(expr) == (Selector(name="vllm:foo"), Selector(name="bar"))


@pytest.mark.parametrize(
    "expr", ["-" * 100_000 + "up", "(" * 20_000 + "up" + ")" * 20_000, "up" + " + up" * 20_000, "up" + "^up" * 20_000]
)
def test_a_query_that_was_made_to_do_harm(expr: str) -> None:
    """A query so deep that the parser would take the process with it is one that is not read."""
    assert parse(expr) is None


def test_a_large_query() -> None:
    """A query of many parts is read, whatever stands in its texts."""
    expr = " or ".join(f'sum by (a) (rate(m{n}{{a!="((((----"}}[5m]))' for n in range(70))

    parsed = parse(expr)

    assert parsed is not None
    assert len(parsed.selectors) == 70


def test_a_matcher_is_written_as_promql() -> None:
    """Quotes, backslashes and line ends are escaped."""
    assert str(Matcher("a", "=~", 'x\\d"\n')) == r'a=~"x\\d\"\n"'


def test_the_parser_is_loaded_when_a_query_is_read() -> None:
    """Importing the module costs no parser."""
    code = "import sys, kvobs.health.ladder; sys.exit('promql_parser' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
