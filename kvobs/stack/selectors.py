"""Label selectors as Kubernetes reads them: match, satisfy, parse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from .facts import Selector

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that the API server puts on every namespace: its own name."""


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether *selector* selects an object with *labels*.

    None selects nothing, an empty selector everything. An operator that Kubernetes does not know selects
    nothing.

    >>> matches({"matchLabels": {"release": "kps"}}, {"release": "kps", "app": "x"})
    True
    >>> matches({}, {}), matches(None, {})
    (True, False)
    """
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or ()
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return False


def labels_wanted(selector: Selector, labels: Mapping[str, str] | None = None) -> dict[str, str] | None:
    """Return the labels to put on an object, beside the *labels* it has, so that *selector* selects it.

    None where adding (or overwriting) labels cannot do it. Of several values that would do, the one it has,
    else the first.

    >>> labels_wanted({"matchLabels": {"release": "kps"}})
    {'release': 'kps'}
    >>> either = {"key": "team", "operator": "In", "values": ["a", "b"]}
    >>> labels_wanted({"matchExpressions": [either]}), labels_wanted({"matchExpressions": [either]}, {"team": "b"})
    ({'team': 'a'}, {'team': 'b'})
    >>> labels_wanted({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, {"team": "b"})
    """
    if selector is None:
        return None
    has = dict(labels or {})
    wanted: dict[str, str] = dict(selector.get("matchLabels") or {})
    expressions = selector.get("matchExpressions") or ()
    for key in dict.fromkeys(each["key"] for each in expressions):
        if key in wanted:
            continue
        here = [each for each in expressions if each["key"] == key]
        lists = [list(each.get("values") or ()) for each in here if each["operator"] == "In"]
        if lists:
            refused = {value for each in here if each["operator"] == "NotIn" for value in each.get("values") or ()}
            possible = [v for v in lists[0] if v not in refused and all(v in other for other in lists)]
            if not possible:
                return None
            wanted[key] = has[key] if has.get(key) in possible else possible[0]
        elif any(each["operator"] == "Exists" for each in here):
            wanted[key] = has.get(key, "")
    return wanted if matches(selector, {**has, **wanted}) else None


def selects_namespace(selector: Selector, *, own: str, namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether a namespace selector of an object in namespace *own* selects *namespace*, which has *labels*.

    As the Prometheus Operator reads it: no selector means the own namespace only, an empty one all of them.
    """
    if selector is None:
        return namespace == own
    return matches(selector, {NAME_LABEL: namespace, **labels})


_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|"
_EQUALITY = re.compile(rf"({_KEY})\s*(==|!=|=)\s*({_VALUE})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")


def parse_selector(text: str) -> dict[str, Any]:
    """Read a label selector as kubectl's `-l` takes it. Raises `UsageError`.

    >>> parse_selector("app=vllm,tier in (a, b),!canary")["matchLabels"]
    {'app': 'vllm'}
    """
    labels: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for part in (each.strip() for each in re.split(r",(?![^()]*\))", text)):
        if found := _EQUALITY.fullmatch(part):
            key, operator, value = found.groups()
            if operator == "!=":
                expressions.append({"key": key, "operator": "NotIn", "values": [value]})
            elif labels.setdefault(key, value) != value:
                expressions.append({"key": key, "operator": "In", "values": [value]})
        elif found := _SET.fullmatch(part):
            key, operator, inside = found.groups()
            values = [each.strip() for each in inside.split(",")]
            if not all(re.fullmatch(_VALUE, each) for each in values):
                raise _unreadable(text, part)
            expressions.append({"key": key, "operator": "In" if operator == "in" else "NotIn", "values": values})
        elif found := _EXISTS.fullmatch(part):
            negated, key = found.groups()
            expressions.append({"key": key, "operator": "DoesNotExist" if negated else "Exists"})
        else:
            raise _unreadable(text, part)
    selector: dict[str, Any] = {}
    if labels:
        selector["matchLabels"] = labels
    if expressions:
        selector["matchExpressions"] = expressions
    return selector


def _unreadable(text: str, part: str) -> UsageError:
    return UsageError(
        f"label selector {text!r}: cannot read {part!r}" if part else f"label selector {text!r} has an empty part",
        hint="as kubectl takes it: app=vllm,tier!=test,env in (a,b),!canary",
    )
