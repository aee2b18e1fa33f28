"""A query as a tree, by `promql-parser`; pure, and safe with queries that were made to do harm."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Literal

Moment = float | Literal["start", "end"]
"""What `@` sets: seconds since 1970, or an end of the range."""

DEEPEST = 300
"""A deeper query is not read: the parser goes down step by step, and with some thousands of steps it takes the whole
process with it. The deepest of the known dashboards have a tenth of that."""

_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`|#[^\n]*', re.DOTALL)
_BRACES = re.compile(r"\{[^{}]*\}")
_STEPS = re.compile(r"(?P<opens>[(\[])|(?P<closes>[)\]])|[-+*/%^]|[=!<>]=?|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)


def tree_of(expr: str) -> Any | None:
    """Return a query's tree; None where the parser does not read it, which Prometheus may.

    >>> type(tree_of("up + 1")).__name__, tree_of("up +"), tree_of("-" * 100_000 + "up")
    ('BinaryExpr', None, None)
    """
    if _depth(expr) > DEEPEST:
        return None
    # Loaded here: whoever reads no query need not have it in memory.
    import promql_parser

    try:
        return promql_parser.parse(expr)
    except ValueError:
        return None


def _depth(expr: str) -> int:
    """How deep its tree can be at most: as many levels as operators, and brackets within brackets.

    >>> _depth("sum by (a) (rate(x{b=~'((('}[5m])) / on (c) -(sum(y))")
    5
    """
    operators = opened = deepest = 0
    for step in _STEPS.finditer(_BRACES.sub("", _TEXTS.sub('""', expr))):
        if step["opens"]:
            opened += 1
            deepest = max(deepest, opened)
        elif step["closes"]:
            opened -= 1
        else:
            operators += 1
    return operators + deepest


def offset_of(node: Any) -> float:
    """How many seconds a selector or a subquery looks further back."""
    return float((node.offset or timedelta()).total_seconds())


def moment_of(node: Any) -> Moment | None:
    """Return the moment that `@` sets for a selector or a subquery.

    >>> [moment_of(tree_of(expr)) for expr in ("up", "up @ 12.5", "up @ end()")]
    [None, 12.5, 'end']
    """
    if node.at is None:
        return None
    if node.at.at is not None:
        return float(node.at.at.timestamp())
    return "start" if str(node.at.type).endswith("Start") else "end"


def is_vector(node: Any) -> bool:
    """Whether an expression is a vector, and not a number or a text."""
    match type(node).__name__:
        case "NumberLiteral" | "StringLiteral":
            return False
        case "ParenExpr" | "UnaryExpr":
            return is_vector(node.expr)
        case "BinaryExpr":
            return is_vector(node.lhs) or is_vector(node.rhs)
        case "Call":
            return str(node.func.return_type).rpartition(".")[2] == "Vector"
    return True
