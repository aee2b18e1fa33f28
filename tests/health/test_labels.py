"""Matchers evaluated here, and which label is to blame."""

from __future__ import annotations

import pytest

from kvobs.health.evidence import SelectorEvidence
from kvobs.health.label_matchers import any_fits, fits, twins
from kvobs.health.labels import label_finding
from kvobs.health.promql import Matcher, Selector


@pytest.mark.parametrize(
    ("matcher", "value", "fitting"),
    [
        (Matcher("a", "=", "x"), "x", True),
        (Matcher("a", "=", ""), "", True),
        (Matcher("a", "!=", "x"), "", True),
        (Matcher("a", "!=", "x"), "x", False),
        (Matcher("a", "=~", "x.*|y"), "xyz", True),
        (Matcher("a", "=~", "x"), "xy", False),
        (Matcher("a", "=~", ".+"), "", False),
        (Matcher("a", "=~", ".*"), "", True),
        (Matcher("a", "=~", "a.b"), "a\nb", True),
        (Matcher("a", "!~", "5.."), "500", False),
        (Matcher("a", "!~", "5.."), "", True),
        (Matcher("a", "=~", "(?P<x"), "anything", True),
    ],
)
def test_fits(matcher: Matcher, value: str, fitting: bool) -> None:
    """A pattern fits the whole value; an absent label is empty; a pattern that cannot be read blames nothing."""
    assert fits(matcher, value) is fitting


def test_all_matchers_on_one_series() -> None:
    """Matchers that fit different series only do not fit."""
    sets = [{"a": "1", "b": "1"}, {"a": "2", "b": "2"}]

    assert any_fits([Matcher("a", "=", "1"), Matcher("b", "=", "1")], sets)
    assert not any_fits([Matcher("a", "=", "1"), Matcher("b", "=", "2")], sets)


def _blamed(*matchers: Matcher, sets: list[dict[str, str]], names: str = "", metric: str = "m") -> str | None:
    evidence = SelectorEvidence(
        selector=Selector(name=metric, matchers=matchers),
        present=True,
        matched=False,
        label_sets=tuple(sets),
        label_names=frozenset(names.split()),
    )
    finding = label_finding(evidence)
    return None if finding is None else f"{finding.cause} {finding.said} {finding.fix}"


@pytest.mark.parametrize(
    ("matchers", "sets", "names", "phrases"),
    [
        ([Matcher("Hostname", "=~", ".+")], [{}], "hostname gpu", ["KVO-601", "`hostname`", 'hostname=~".+"']),
        ([Matcher("pod", "=", "v")], [{"pod": "e", "exported_pod": "v"}], "", ["KVO-601", "`exported_pod`"]),
        ([Matcher("node", "=", "v")], [{"instance": "a:1"}], "", ["KVO-601", "filter by `instance`", '"a:1"']),
        ([Matcher("le", "=", "1")], [{"le": "+Inf"}, {"le": "1.0"}], "", ["KVO-602", 'there: le="1.0" (or "+Inf")']),
        ([Matcher("a", "=~", "b")], [{"a": "abc"}], "", ["KVO-602", "whole value", 'a=~".*b.*"']),
        ([Matcher("a", "=~", "x|b")], [{"a": "abc"}], "", ['a=~".*(x|b).*"']),
        ([Matcher("a", "=~", r"\pN")], [{"a": "abc"}], "", ["KVO-602", '"abc"']),
        ([Matcher("a", "=~", "$v")], [{"a": "abc"}], "", ["KVO-301", "no variable `v`"]),
        (
            [Matcher("a", "=", "1"), Matcher("b", "=", "2")],
            [{"a": "1"}, {"a": "2", "b": "2"}],
            "",
            ["KVO-601", 'with a="1" have no label `b`'],
        ),
        ([Matcher("modelName", "=", "v")], [{}], "model_name", ["KVO-601", "`model_name`"]),
        ([Matcher("zone", "=", "v")], [{}], "pod", ["KVO-601", "no label `zone`", "leave"]),
        (
            [Matcher("job", "=", "a")],
            [{"job": "b"}, {"job": "c"}],
            "",
            ["KVO-602", '"b", "c"', 'Scrape what has job="a"'],
        ),
        ([Matcher("model", "=~", "x.*")], [{"model": "y"}], "", ["KVO-602", '"y"']),
        ([Matcher("a", "!=", "x")], [{"a": "x"}], "", ["KVO-602", "left out"]),
        ([Matcher("status", "=~", "5..")], [{"status": "200"}], "", ["KVO-703", "nothing of that kind"]),
        ([Matcher("finished_reason", "=", "error")], [{"finished_reason": "stop"}], "", ["KVO-703"]),
        ([Matcher("status", "=~", "2..")], [{"status": "500"}], "", ["KVO-602"]),
        ([Matcher("status", "!~", "2..")], [{"status": "200"}], "", ["KVO-703"]),
        (
            [Matcher("a", "=", "1"), Matcher("b", "=", "2")],
            [{"a": "1", "b": "1"}, {"a": "2", "b": "2"}],
            "",
            ["KVO-602", "no series fits them all"],
        ),
    ],
)
def test_blame(matchers: list[Matcher], sets: list[dict[str, str]], names: str, phrases: list[str]) -> None:
    """An absent label comes before an absent value; a bad outcome that never happened is no fault."""
    said = _blamed(*matchers, sets=sets, names=names)

    assert said is not None
    assert [each for each in phrases if each not in said] == []


def test_nothing_to_blame() -> None:
    """Where a series fits, or nothing is known, no label is blamed."""
    assert _blamed(Matcher("a", "=", "1"), sets=[{"a": "1"}]) is None
    assert _blamed(Matcher("a", "=", "1"), sets=[]) is None


def test_a_gpus_workload() -> None:
    """Series of an exporter without any workload: its pod is not the one asked for, and an idle GPU has none."""
    own = [{"pod": "nvidia-dcgm-exporter-x"}]

    asked = _blamed(Matcher("pod", "=", "v"), sets=own, metric="DCGM_FI_DEV_GPU_UTIL")
    idle = _blamed(Matcher("exported_pod", "!=", ""), sets=own, metric="DCGM_FI_DEV_GPU_UTIL")

    assert asked is not None
    assert asked.startswith("KVO-601")
    assert idle is not None
    assert idle.startswith("KVO-702")


def test_twins_are_mutual() -> None:
    """What may stand for a label may be stood for by it."""
    for label in ("Hostname", "pod", "exported_pod", "model_name", "instance"):
        assert twins(label)
        assert all(label in twins(each) for each in twins(label))
