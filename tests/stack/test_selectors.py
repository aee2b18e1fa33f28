"""Label selectors: what they select, what satisfies them, how they are written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.errors import UsageError
from kvobs.stack.selectors import labels_wanted, matches, parse_selector, selects_namespace


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        (None, {}, False),
        ({}, {}, True),
        ({"matchLabels": None, "matchExpressions": None}, {"a": "1"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "1", "b": "2"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "2"}, False),
        ({"matchLabels": {"a": ""}}, {}, False),
        ({"matchExpressions": [_expression("a", "In", "1", "2")]}, {"a": "2"}, True),
        ({"matchExpressions": [_expression("a", "In", "1", "2")]}, {}, False),
        ({"matchExpressions": [_expression("a", "NotIn", "1")]}, {}, True),
        ({"matchExpressions": [_expression("a", "NotIn", "1")]}, {"a": "1"}, False),
        ({"matchExpressions": [_expression("a", "Exists")]}, {"a": ""}, True),
        ({"matchExpressions": [_expression("a", "Exists")]}, {"b": "1"}, False),
        ({"matchExpressions": [_expression("a", "DoesNotExist")]}, {"b": "1"}, True),
        ({"matchExpressions": [_expression("a", "DoesNotExist")]}, {"a": "1"}, False),
        ({"matchExpressions": [_expression("a", "Gt", "1")]}, {"a": "2"}, False),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [_expression("b", "Exists")]}, {"a": "1"}, False),
    ],
)
def test_matches(selector: Any, labels: dict[str, str], selected: bool) -> None:
    """A selector selects as Kubernetes says."""
    assert matches(selector, labels) is selected


@pytest.mark.parametrize(
    ("selector", "has", "wanted"),
    [
        (None, {}, None),
        ({}, {}, {}),
        ({"matchLabels": {"release": "kps"}}, {"release": "other"}, {"release": "kps"}),
        ({"matchExpressions": [_expression("a", "In", "1", "2")]}, {}, {"a": "1"}),
        ({"matchExpressions": [_expression("a", "In", "1", "2")]}, {"a": "2"}, {"a": "2"}),
        ({"matchExpressions": [_expression("a", "In", "1", "2"), _expression("a", "NotIn", "1")]}, {}, {"a": "2"}),
        ({"matchExpressions": [_expression("a", "In", "1", "2"), _expression("a", "In", "2", "3")]}, {}, {"a": "2"}),
        ({"matchExpressions": [_expression("a", "In", "1"), _expression("a", "NotIn", "1")]}, {}, None),
        ({"matchExpressions": [_expression("a", "Exists")]}, {}, {"a": ""}),
        ({"matchExpressions": [_expression("a", "Exists")]}, {"a": "x"}, {"a": "x"}),
        ({"matchExpressions": [_expression("a", "NotIn", "1")]}, {"a": "1"}, None),
        ({"matchExpressions": [_expression("a", "DoesNotExist")]}, {"a": "1"}, None),
        ({"matchExpressions": [_expression("a", "DoesNotExist")]}, {}, {}),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [_expression("a", "NotIn", "1")]}, {}, None),
    ],
)
def test_labels_wanted(selector: Any, has: dict[str, str], wanted: dict[str, str] | None) -> None:
    """The labels to add are those that the selector asks for, or none can be."""
    assert labels_wanted(selector, has) == wanted


_KEYS = st.sampled_from(["a", "b"])
_VALUES = st.sampled_from(["1", "2", "3"])
_SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(_KEYS, _VALUES),
        "matchExpressions": st.lists(
            st.one_of(
                st.builds(_expression, _KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
                st.builds(_expression, _KEYS, st.sampled_from(["In", "NotIn"]), _VALUES, _VALUES),
            )
        ),
    },
)


@given(_SELECTORS, st.dictionaries(_KEYS, _VALUES))
def test_labels_wanted_are_selected(selector: dict[str, Any], has: dict[str, str]) -> None:
    """What `labels_wanted` asks for satisfies the selector; where it says none, no value of a label does."""
    wanted = labels_wanted(selector, has)

    if wanted is not None:
        assert matches(selector, {**has, **wanted})
    else:
        options = [{}, *({"a": v} for v in "0123"), *({"b": v} for v in "0123")]
        options += [{"a": v, "b": w} for v in "0123" for w in "0123"]
        satisfying = [each for each in options if matches(selector, {**has, **each})]
        # A label that NotIn refuses could be given any other value; it is somebody's, and stays.
        assert all(has.keys() & each.keys() for each in satisfying)


@pytest.mark.parametrize(
    ("selector", "namespace", "selected"),
    [
        (None, "mon", True),
        (None, "ml", False),
        ({}, "ml", True),
        ({"matchLabels": {"kubernetes.io/metadata.name": "ml"}}, "ml", True),
        ({"matchLabels": {"team": "a"}}, "ml", True),
        ({"matchLabels": {"team": "b"}}, "ml", False),
    ],
)
def test_selects_namespace(selector: Any, namespace: str, selected: bool) -> None:
    """None means the own namespace, an empty selector all; a namespace always has its name as a label."""
    assert selects_namespace(selector, own="mon", namespace=namespace, labels={"team": "a"}) is selected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app=vllm", {"matchLabels": {"app": "vllm"}}),
        (" app == vllm , tier=x", {"matchLabels": {"app": "vllm", "tier": "x"}}),
        ("app=", {"matchLabels": {"app": ""}}),
        ("app!=vllm", {"matchExpressions": [_expression("app", "NotIn", "vllm")]}),
        (
            "app in (a, b),!x",
            {"matchExpressions": [_expression("app", "In", "a", "b"), _expression("x", "DoesNotExist")]},
        ),
        ("app notin (a)", {"matchExpressions": [_expression("app", "NotIn", "a")]}),
        ("example.org/app", {"matchExpressions": [_expression("example.org/app", "Exists")]}),
        ("a=1,a=2", {"matchLabels": {"a": "1"}, "matchExpressions": [_expression("a", "In", "2")]}),
    ],
)
def test_parse_selector(text: str, expected: dict[str, Any]) -> None:
    """A selector is read as kubectl's -l reads it."""
    assert parse_selector(text) == expected


@pytest.mark.parametrize("text", ["", "a=1,", "a=b c", "a in b", "a in (b c)", "=1", "a>1", "a in (b", "-a=1"])
def test_parse_selector_refuses(text: str) -> None:
    """What kubectl would not read is refused, with an example."""
    with pytest.raises(UsageError, match="label selector") as caught:
        parse_selector(text)

    assert caught.value.hint
