"""Ad hoc filters: conditions of a dashboard that go into every selector of every query to their data source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .promql_tokens import Token, metric_names, tokens

AdhocFilter = tuple[str, str, str]
"""(label, operator, value), as Grafana saves it."""

_OPERATORS = {"=|": "=~", "!=|": "!~"}
"""One of, none of: Grafana's own names for a regular expression of plain values."""
_LABEL = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_REGEX_SIGNS = re.compile(r"[*+?()|\\.\[\]{}^$]")


def matchers(filters: Sequence[AdhocFilter]) -> str:
    r"""Return filters as label matchers; one without a label or a value is not set yet, and left out.

    >>> matchers([("job", "=", 'a"b'), ("pod", "=~", "x.*"), ("zone", "=|", "a.b"), ("", "=", "x")])
    'job="a\\"b",pod=~"x.*",zone=~"a\\\\.b"'
    """
    return ",".join(_matcher(*each) for each in filters if each[0] and each[2])


def with_filters(expr: str, filters: Sequence[AdhocFilter]) -> str:
    """Return a query with the filters in every selector; its variables have their values already.

    >>> with_filters('sum by (pod) (rate(a_total[5m])) / on (pod) b{c="}"}', [("job", "=", "x")])
    'sum by (pod) (rate(a_total{job="x"}[5m])) / on (pod) b{c="}",job="x"}'
    >>> with_filters("up", [])
    'up'
    """
    added = matchers(filters)
    if not added:
        return expr
    parts: list[str] = []
    end = 0
    for place, text in _places(expr, added):
        parts += (expr[end:place], text)
        end = place
    return "".join((*parts, expr[end:]))


def _places(expr: str, added: str) -> Iterator[tuple[int, str]]:
    """Yield where what goes in, in order: before each closing brace, or after a metric that has no braces."""
    words = [token for token in tokens(expr) if token.kind != "space"]
    metrics = {name.start for name in metric_names(expr)}
    for number, token in enumerate(words):
        after = words[number + 1].text if number + 1 < len(words) else ""
        if token.text == "}" and token.kind == "sign":
            yield token.start, _continued(words[number - 1] if number else None, added)
        elif token.kind == "word" and token.start in metrics and after != "{":
            yield token.end, f"{{{added}}}"


def _continued(before: Token | None, added: str) -> str:
    return added if before is None or before.text in ("{", ",") else f",{added}"


def _matcher(label: str, operator: str, value: str) -> str:
    if operator in _OPERATORS:
        operator, value = _OPERATORS[operator], _REGEX_SIGNS.sub(r"\\\g<0>", value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    name = label if _LABEL.fullmatch(label) else f'"{label}"'
    return f'{name}{operator}"{escaped}"'
