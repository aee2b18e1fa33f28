"""What a query variable asks. The options that come of an answer are compared with Grafana's in tests/oracle."""

from __future__ import annotations

import pytest

from kvobs.dashboard.board import Value, Variable
from kvobs.dashboard.js_regex import js_regex
from kvobs.dashboard.variable_queries import Question, metrics_that_fit, number_text, question_of

SCOPE = {
    "job": Value(values=("a.b", "c"), multi=True),
    "one": Value(values=("x",)),
    "label": Value(values=("pod",)),
}

QUESTIONS = [
    ("", None),
    ("label_names()", Question(kind="label names")),
    ("label_names(up)", Question(kind="label names", expr="up")),
    ("label_values(job)", Question(kind="label values", label="job")),
    ("label_values(up, job)", Question(kind="label values", expr="up", label="job")),
    ("label_values(up{},job) ", Question(kind="label values", expr="up{}", label="job")),
    ('label_values({job=~"a,b", x="y"}, pod)', Question(kind="label values", expr='{job=~"a,b", x="y"}', label="pod")),
    ('label_values(up{job=~"$job"}, pod)', Question(kind="label values", expr=r'up{job=~"(a\\.b|c)"}', label="pod")),
    ("label_values(up, $label)", Question(kind="label values", expr="up", label="pod")),
    ("label_values(rate(a[1m]) + f(b), x)", Question(kind="label values", expr="rate(a[1m]) + f(b)", label="x")),
    ("metrics(vllm:.*)", Question(kind="metrics", expr="vllm:.*")),
    ("query_result(topk(3, up{x='$one'}))", Question(kind="query", expr="topk(3, up{x='x'})")),
    ("up{job='$one'}", Question(kind="series", expr="up{job='x'}")),
    ("label_values(up,", Question(kind="series", expr="label_values(up,")),
    ("Label_Values(up, job)", Question(kind="series", expr="Label_Values(up, job)")),
]


@pytest.mark.parametrize(("query", "wanted"), QUESTIONS, ids=[row[0] or "nothing" for row in QUESTIONS])
def test_a_query_is_read_as_the_data_source_reads_it(query, wanted):
    """Each function of variable queries, with variables in it, is the question that Grafana makes of it."""
    assert question_of(Variable(name="v", type="query", query=query), SCOPE) == wanted


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [("vllm", ["b_vllm", "vllm:a"]), ("^vllm:", ["vllm:a"]), (".*", ["b_vllm", "up", "vllm:a"]), ("(", None)],
)
def test_metrics_fit_anywhere(pattern, wanted):
    """The pattern of `metrics(…)` need not fit a whole name; what is no pattern fits nothing."""
    assert metrics_that_fit(Question(kind="metrics", expr=pattern), {"up", "vllm:a", "b_vllm"}) == wanted


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "-0"), (1.5, "1.5"), (1e300, "1" + "0" * 300), (5e-324, "0." + "0" * 323 + "5")],
)
def test_numbers_have_no_exponent(value, text):
    """A sample's value is written as Prometheus writes it, which a variable's regex reads."""
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("text", "harmful"),
    [
        ("/^(([a-z:_])+)+$$/", True),
        ("/((a+)b)*/", True),
        ("/(a{2,})+/", True),
        ("/^(x|xx)*$/", True),
        ("/(a+)?b/", False),
        ("/([a-z]+)-(b+)/", False),
        ("/(ab)+/", False),
        ("/[(+*]+\\)+/", False),
        ("/(?<text>x+)(?:y|z)/", False),
    ],
)
def test_a_regex_that_may_take_for_ever(text, harmful):
    """A regex whose repetitions stand in one another is not tried, and one that only looks so is."""
    assert (js_regex(text) is None) == harmful


@pytest.mark.parametrize("text", ["/(a|[/", "/a", "*", "/(?<x>a)(?<x>b)/", "/a{99999999999999999999}/", "/a/x"])
def test_what_is_no_regular_expression_is_told(text):
    """A regex that cannot be read is no exception."""
    assert js_regex(text) is None
