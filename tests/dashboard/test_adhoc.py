"""Ad hoc filters go into every selector of a query, and nowhere else."""

from __future__ import annotations

import pytest

from kvobs.dashboard.adhoc import matchers, with_filters

ADDED = [
    ("up", 'up{F="v"}'),
    ("up{}", 'up{F="v"}'),
    ("up{ }", 'up{ F="v"}'),
    ('up{a="b",}', 'up{a="b",F="v"}'),
    ('{__name__=~"a|b"}', '{__name__=~"a|b",F="v"}'),
    ("sum(rate(a[5m])) by (le)", 'sum(rate(a{F="v"}[5m])) by (le)'),
    ("sum without (x) (a offset 5m) > bool 1", 'sum without (x) (a{F="v"} offset 5m) > bool 1'),
    ("a / ignoring (x) group_left (y) b", 'a{F="v"} / ignoring (x) group_left (y) b{F="v"}'),
    ("histogram_quantile(0.9, a_bucket @ end())", 'histogram_quantile(0.9, a_bucket{F="v"} @ end())'),
    ('a{x="}{"} # up {\n+ b', 'a{x="}{",F="v"} # up {\n+ b{F="v"}'),
    ("vllm:num_requests_running", 'vllm:num_requests_running{F="v"}'),
    ('label_replace(a, "b", "$1", "c", "(.*)")', 'label_replace(a{F="v"}, "b", "$1", "c", "(.*)")'),
    ("max_over_time(a[5m:1m]) and on () vector(1)", 'max_over_time(a{F="v"}[5m:1m]) and on () vector(1)'),
    ("vector(1)", "vector(1)"),
    ("1 + 1", "1 + 1"),
    ("", ""),
]


@pytest.mark.parametrize(("expr", "wanted"), ADDED, ids=[row[0] or "nothing" for row in ADDED])
def test_filters_stand_in_every_selector(expr, wanted):
    """A selector with braces, with matchers, or without any gets the filter once."""
    assert with_filters(expr, [("F", "=", "v")]) == wanted


def test_a_filter_of_plain_values_is_escaped_for_its_operator():
    """Quotes and backslashes survive PromQL; `=|` takes its value for plain text; what is not set yet is left out."""
    assert matchers([("a", "=", 'q"\\'), ("b", "=|", "x.y"), ("c", "!=|", "z"), ("d", "=", ""), ("", "=", "e")]) == (
        r'a="q\"\\",b=~"x\\.y",c!~"z"'
    )
    assert matchers([("service.name", "=~", ".+")]) == '"service.name"=~".+"'
