"""PromQL as far as a diagnosis goes: selectors, their matchers, their windows, and where data may get lost.

A query is read with `promql-parser`, loaded when the first one is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Literal

_MOST_WAYS = 16
"""A query with more ways to have data is judged by its first ones."""
_COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "^", "atan2"})
_ABSENT = frozenset({"absent", "absent_over_time"})


@dataclass(frozen=True, slots=True)
class Matcher:
    """One label matcher."""

    label: str
    op: str
    """`=`, `!=`, `=~` or `!~`."""
    value: str

    def __str__(self) -> str:
        return f"{self.label}{self.op}{quoted(self.value)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Selector:
    """One selector of a query."""

    name: str | None
    """The metric; None where only matchers choose it."""
    matchers: tuple[Matcher, ...] = ()
    """Without the one on the name; where there is no name, those on `__name__` are among them."""
    window_s: float | None = None
    """Its range (`[5m]`), where it has one."""
    offset_s: float = 0.0
    function: str | None = None
    """The function that reads the window: `rate`, `increase`, `avg_over_time`."""
    reach_s: float = 0.0
    """How much further back the subqueries around it look."""

    @property
    def metric(self) -> str:
        """The selector without its label matchers, as PromQL."""
        names = [each for each in self.matchers if each.label == "__name__"]
        if self.name is None:
            return "{" + ",".join(str(each) for each in names) + "}"
        return self.name if re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", self.name) else "{" + quoted(self.name) + "}"

    @property
    def filters(self) -> tuple[Matcher, ...]:
        """Its matchers on labels other than the name."""
        return tuple(each for each in self.matchers if each.label != "__name__")

    @property
    def text(self) -> str:
        """Metric and matchers, as PromQL."""
        inner = [str(each) for each in self.matchers]
        if self.name is None or self.metric.startswith("{"):
            return "{" + ",".join([*([quoted(self.name)] if self.name else []), *inner]) + "}"
        return self.name + ("{" + ",".join(inner) + "}" if inner else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of a query that may leave nothing of the data it is given."""

    kind: Literal["window", "comparison", "join", "function"]
    """window: a function over a range; comparison: without `bool`; join: two vectors that have to fit; function: one
    that may drop everything (`histogram_quantile`, `absent`)."""
    expr: str
    name: str
    """The operator or function."""
    selectors: frozenset[int]
    """Which selectors it reads."""
    sides: tuple[str, ...] = ()
    """Of an operator: both sides that are vectors; of a function: its vector argument."""
    guard: bool = False
    """Whether it stands inside of arithmetic, as `a / (b > 0)` does: then it is no filter of what is shown."""
    wider: str | None = None
    """Of a window: the same with `{WINDOW}` in its place."""
    bound: str = ""
    """Of a comparison: the other side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """One query that was read."""

    selectors: tuple[Selector, ...]
    compares: bool = False
    """Whether a comparison without `bool` may leave nothing of data that is there."""
    joins: bool = False
    """Whether two vectors meet in an operator, so that labels that do not fit may leave nothing."""
    parts: tuple[Part, ...] = ()
    """Where data may get lost; what a part is made of stands before it."""
    ways: tuple[frozenset[int], ...] = ()
    """Each a set of selectors that together would give the query data (`a or b` has two)."""


def quoted(text: str) -> str:
    """Return *text* as a PromQL string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@lru_cache(maxsize=4096)
def parse(expr: str) -> Parsed | None:
    """Read a query; None where the parser does not (Prometheus knows more than it)."""
    import promql_parser

    try:
        tree = promql_parser.parse(expr)
    except ValueError:
        return None
    walk = _Walk()
    ways = walk.visit(tree, guard=False)
    return Parsed(
        selectors=tuple(walk.selectors),
        compares=any(_filters(part) for part in walk.parts),
        joins=any(part.kind == "join" for part in walk.parts),
        parts=tuple(walk.parts),
        ways=tuple(dict.fromkeys(ways)),
    )


def _filters(part: Part) -> bool:
    return part.kind == "comparison" or part.name in _ABSENT or part.name == "unless"


class _Walk:
    """Collects selectors and parts; each visit answers in which ways its expression would have data."""

    def __init__(self) -> None:
        self.selectors: list[Selector] = []
        self.parts: list[Part] = []

    def visit(self, node: Any, *, guard: bool, function: str | None = None, reach: float = 0.0) -> list[frozenset[int]]:
        """Visit one expression."""
        match type(node).__name__:
            case "VectorSelector":
                return self._select(node, None, function, reach)
            case "MatrixSelector":
                return self._select(node.vector_selector, node.range, function, reach)
            case "SubqueryExpr":
                further = reach + node.range.total_seconds() + (node.offset or timedelta()).total_seconds()
                return self.visit(node.expr, guard=guard, reach=further)
            case "ParenExpr" | "UnaryExpr":
                return self.visit(node.expr, guard=guard, function=function, reach=reach)
            case "AggregateExpr":
                return self.visit(node.expr, guard=guard, reach=reach)
            case "Call":
                return self._call(node, guard, reach)
            case "BinaryExpr":
                return self._binary(node, guard, reach)
        return [frozenset()]

    def _select(self, node: Any, window: timedelta | None, function: str | None, reach: float) -> list[frozenset[int]]:
        matchers, name = [], node.name
        for each in node.matchers.matchers:
            op = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}[str(each.op).rpartition(".")[2]]
            if each.name == "__name__" and op == "=" and name is None:
                name = each.value
            else:
                matchers.append(Matcher(each.name, op, each.value))
        self.selectors.append(
            Selector(
                name=name,
                matchers=tuple(matchers),
                window_s=None if window is None else window.total_seconds(),
                offset_s=(node.offset or timedelta()).total_seconds(),
                function=function,
                reach_s=reach,
            )
        )
        return [frozenset({len(self.selectors) - 1})]

    def _call(self, node: Any, guard: bool, reach: float) -> list[frozenset[int]]:
        name, before = node.func.name, len(self.selectors)
        ways = [frozenset[int]()]
        for each in node.args:
            ways = _both(ways, self.visit(each, guard=guard, function=name, reach=reach))
        reads = frozenset(range(before, len(self.selectors)))
        if not reads:
            return [frozenset()]
        ranges = [each for each in node.args if type(each).__name__ == "MatrixSelector"]
        if ranges and name not in _ABSENT:
            self._part("window", node, name, reads, guard, wider=_widened(node, ranges[0]))
        else:
            sides = tuple(each.prettify() for each in node.args if _is_vector(each))
            self._part("function", node, name, reads, guard, sides=sides)
        return ways

    def _binary(self, node: Any, guard: bool, reach: float) -> list[frozenset[int]]:
        op, before = str(node.op), len(self.selectors)
        inner = guard or op in _ARITHMETIC
        left = self.visit(node.lhs, guard=inner, reach=reach)
        right = self.visit(node.rhs, guard=inner, reach=reach)
        if op == "or":
            return [*left, *right][:_MOST_WAYS]
        reads = frozenset(range(before, len(self.selectors)))
        vectors = [each for each in (node.lhs, node.rhs) if _is_vector(each)]
        sides = tuple(each.prettify() for each in vectors)
        bounds = [each.prettify() for each in (node.lhs, node.rhs) if not _is_vector(each)]
        compares = op in _COMPARISONS and not (node.modifier and node.modifier.return_bool)
        if compares:
            self._part("comparison", node, op, reads, guard, sides=sides, bound=" ".join(bounds))
        elif len(vectors) == 2:
            self._part("join", node, op, reads, guard, sides=sides)
        return left if op == "unless" else _both(left, right)

    def _part(self, kind: Any, node: Any, name: str, reads: frozenset[int], guard: bool, **more: Any) -> None:
        self.parts.append(Part(kind=kind, expr=node.prettify(), name=name, selectors=reads, guard=guard, **more))


def _both(one: list[frozenset[int]], other: list[frozenset[int]]) -> list[frozenset[int]]:
    return [a | b for a, b in itertools.product(one, other)][:_MOST_WAYS]


def _is_vector(node: Any) -> bool:
    match type(node).__name__:
        case "NumberLiteral" | "StringLiteral":
            return False
        case "ParenExpr" | "UnaryExpr":
            return _is_vector(node.expr)
        case "BinaryExpr":
            return _is_vector(node.lhs) or _is_vector(node.rhs)
        case "Call":
            return str(node.func.return_type).rpartition(".")[2] == "Vector"
    return True


def _widened(call: Any, matrix: Any) -> str | None:
    """Return the call with `{WINDOW}` for the range of its selector; None where that is not one place."""
    inner = matrix.prettify()
    whole = call.prettify()
    found = re.search(r"\[([0-9a-z]+)\](?=[^\[\]\"]*$)", inner)
    if found is None or whole.count(inner) != 1:
        return None
    return str(whole.replace(inner, inner[: found.start(1)] + "{WINDOW}" + inner[found.end(1) :]))


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`|#[^\n]*')
_GLIMPSED = re.compile(
    r"(?<![\w:.$])([a-zA-Z_][\w:]*)(?=\s*(?:[{\[)+\-*/%^=!<>,]|$|\s(?:offset|by|or|and|unless|on|@)))"
)
_WORDS = frozenset(
    {"by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "and", "or", "unless"}
)


def glimpse(expr: str) -> tuple[Selector, ...]:
    """Return what look like selectors in a query that the parser does not read: their names only."""
    return tuple(dict.fromkeys(Selector(name=name) for name in _names(expr)))


def _names(expr: str) -> Iterator[str]:
    plain = _QUOTED.sub('""', expr)
    plain = re.sub(r"\{[^}]*\}", "{}", plain)
    plain = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", plain)
    plain = re.sub(r"\[[^\]]*\]", "[]", plain)
    for found in _GLIMPSED.finditer(plain):
        if found.group(1) not in _WORDS and found.group(1).lower() not in {"inf", "nan"}:
            yield found.group(1)
