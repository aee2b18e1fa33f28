"""What an expression gives when some of its metrics are not there. Pure.

Grafana's variables may stand in the expression as they are written: they are put aside by what their place allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from ..dashboard.promql_tokens import Token, metric_names, tokens
from .promql_trees import tree_of

if TYPE_CHECKING:
    from .verdict import Finding

Judge = Callable[[str], "Finding | None"]
"""Name of a metric -> why it is not there; None: it is there."""

_Constant = Literal["constant"]
_CONSTANT: _Constant = "constant"

_ALWAYS_FULL = frozenset({"absent", "absent_over_time"})
"""Functions that give something just where there is nothing."""


def emptied(expr: str, missing: Judge) -> Finding | None:
    """Return why an expression gives nothing, or nothing but a fixed number in its stead; None: it gives something.

    One that cannot be read gives nothing where any of its metrics is missing, or all of them where it has an `or`.
    """
    tree = _read(expr)
    whole = [each.name for each in metric_names(expr) if each.how != "partial"]
    if tree is None:
        found = [missing(each) for each in whole]
        either = any(each.kind == "word" and each.text.lower() == "or" for each in tokens(expr))
        missed = [each for each in found if each is not None]
        return missed[0] if missed and (not either or len(missed) == len(found)) else None
    # A name that a variable is a part of is another one in the tree, and not to be judged.
    outcome = _outcome(tree, lambda name: missing(name) if name in whole else None)
    return None if outcome == _CONSTANT else outcome


def _read(expr: str) -> Any:
    found = list(tokens(expr))
    trees = (tree_of("".join(_without_variables(found, number))) for number in ("1", "x"))
    return next((tree for tree in trees if tree is not None), None)


def _without_variables(found: list[Token], number: str) -> list[str]:
    """Return the tokens with something in place of each variable that its place allows."""
    parts: list[str] = []
    opened: list[str] = []
    before = ""
    for place, each in enumerate(found):
        text = each.text
        if each.kind == "variable":
            glued = [found[at].kind for at in (place - 1, place + 1) if 0 <= at < len(found)]
            if (opened and opened[-1] == "[") or before == "offset":
                text = "5m"
            elif opened and opened[-1] == "{":
                text = 'x="x"' if before in ("{", ",") else '"x"' if before in ("=", "=~", "!=", "!~") else "x"
            elif "word" in glued or "variable" in glued or (opened and opened[-1] in ("by", "without")):
                text = "x"
            else:
                text = number
        elif each.kind == "sign" and text in "([{":
            opened.append(before if text == "(" and before in ("by", "without") else text)
        elif each.kind == "sign" and text in ")]}" and opened:
            opened.pop()
        parts.append(text)
        before = before if each.kind == "space" else each.text
    return parts


def _outcome(node: Any, missing: Judge) -> Finding | _Constant | None:
    """Return why a part gives nothing, "constant" where it asks for nothing, None where it gives something."""
    import promql_parser as promql

    if isinstance(node, promql.NumberLiteral | promql.StringLiteral):
        return _CONSTANT
    if isinstance(node, promql.VectorSelector):
        return _any(_names(node), missing)
    if isinstance(node, promql.MatrixSelector):
        return _any(_names(node.vector_selector), missing)
    if isinstance(node, promql.ParenExpr | promql.UnaryExpr | promql.SubqueryExpr | promql.AggregateExpr):
        return _outcome(node.expr, missing)
    if isinstance(node, promql.Call):
        if node.func.name in _ALWAYS_FULL:
            return None
        return _all_needed([_outcome(each, missing) for each in node.args])
    assert isinstance(node, promql.BinaryExpr)
    left, right = _outcome(node.lhs, missing), _outcome(node.rhs, missing)
    operator = str(node.op)
    if operator == "unless":
        return left
    if operator == "or":
        # A number that stands in for what is missing is no data: the panel would show it for ever.
        return left if right is not None else None
    return _all_needed([left, right])


def _all_needed(parts: list[Finding | _Constant | None]) -> Finding | _Constant | None:
    asking = [each for each in parts if each != _CONSTANT]
    if not asking:
        return _CONSTANT
    return next((each for each in asking if each is not None), None)


def _names(selector: Any) -> list[str]:
    """Return the names that a selector may choose; none where a pattern leaves it open."""
    if selector.name:
        return [selector.name]
    return [each.name for each in metric_names(str(selector)) if each.how != "partial"]


def _any(names: list[str], missing: Judge) -> Finding | None:
    """Return why none of several names is there; None where one is, or none is known."""
    found = [missing(each) for each in names]
    return found[0] if found and all(each is not None for each in found) else None
