"""PromQL as far as a diagnosis goes: selectors, their matchers, their windows, and where data may get lost.

A query is read with `promql-parser`, loaded when the first one is.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from .promql_trees import Moment, is_vector, moment_of, offset_of, tree_of

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
    """How far back it looks, by its own `offset` and those of the subqueries around it."""
    at: Moment | None = None
    """The moment that `@` sets, of it or of a subquery around it, in seconds since 1970."""
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
    def is_narrow(self) -> bool:
        """Whether its name, or a pattern of it, chooses some metrics among all."""
        return self.name is not None or any(
            each.label == "__name__" and each.op in ("=", "=~") and each.value not in (".*", "")
            for each in self.matchers
        )

    @property
    def filters(self) -> tuple[Matcher, ...]:
        """Its matchers on labels other than the name."""
        return tuple(each for each in self.matchers if each.label != "__name__")

    def named(self, name: str) -> Selector:
        """Return the same selector of another metric."""
        return replace(self, name=name)

    @property
    def text(self) -> str:
        """Metric and matchers, as PromQL."""
        inner = [str(each) for each in self.matchers]
        if self.name is None or self.metric.startswith("{"):
            return "{" + ",".join([*([quoted(self.name)] if self.name else []), *inner]) + "}"
        return self.name + ("{" + ",".join(inner) + "}" if inner else "")


class Matching(NamedTuple):
    """`on (labels)`, or `ignoring (labels)`."""

    how: Literal["on", "ignoring"]
    labels: frozenset[str]

    def counts(self, label: str) -> bool:
        """Whether a label is among those that are compared."""
        return (label in self.labels) is (self.how == "on")


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
    matching: Matching | None = None
    """Of an operator between two vectors: by which labels its sides are told to meet; None: by all that they have."""
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
    tree = tree_of(expr)
    if tree is None:
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


class _Around(NamedTuple):
    """What the subqueries around an expression do to the time at which it looks."""

    reach_s: float = 0.0
    offset_s: float = 0.0
    at: Moment | None = None

    def within(self, node: Any) -> _Around:
        """Return the same inside of a subquery, or of a selector, that has an offset and a moment of its own."""
        offset_s, at = offset_of(node), moment_of(node)
        # A moment of its own makes all that stands around it unimportant.
        return _Around(0.0, offset_s, at) if at is not None else self._replace(offset_s=self.offset_s + offset_s)


_NOTHING = _Around()


class _Walk:
    """Collects selectors and parts; each visit answers in which ways its expression would have data."""

    def __init__(self) -> None:
        self.selectors: list[Selector] = []
        self.parts: list[Part] = []

    def visit(
        self, node: Any, *, guard: bool, function: str | None = None, around: _Around = _NOTHING
    ) -> list[frozenset[int]]:
        """Visit one expression."""
        match type(node).__name__:
            case "VectorSelector":
                return self._select(node, None, function, around)
            case "MatrixSelector":
                return self._select(node.vector_selector, node.range, function, around)
            case "SubqueryExpr":
                inner = around.within(node)
                further = inner._replace(reach_s=inner.reach_s + node.range.total_seconds())
                return self.visit(node.expr, guard=guard, around=further)
            case "ParenExpr" | "UnaryExpr":
                return self.visit(node.expr, guard=guard, function=function, around=around)
            case "AggregateExpr":
                return self.visit(node.expr, guard=guard, around=around)
            case "Call":
                return self._call(node, guard, around)
            case "BinaryExpr":
                return self._binary(node, guard, around)
        return [frozenset()]

    def _select(
        self, node: Any, window: timedelta | None, function: str | None, around: _Around
    ) -> list[frozenset[int]]:
        matchers, name, place = [], node.name, around.within(node)
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
                offset_s=place.offset_s,
                at=place.at,
                function=function,
                reach_s=place.reach_s,
            )
        )
        return [frozenset({len(self.selectors) - 1})]

    def _call(self, node: Any, guard: bool, around: _Around) -> list[frozenset[int]]:
        name, before = node.func.name, len(self.selectors)
        ways = [frozenset[int]()]
        for each in node.args:
            ways = _both(ways, self.visit(each, guard=guard, function=name, around=around))
        reads = frozenset(range(before, len(self.selectors)))
        if not reads:
            return [frozenset()]
        ranges = [each for each in node.args if type(each).__name__ == "MatrixSelector"]
        if ranges and name not in _ABSENT:
            self._part("window", node, name, reads, guard, wider=_widened(node, ranges[0]))
        else:
            sides = tuple(each.prettify() for each in node.args if is_vector(each))
            self._part("function", node, name, reads, guard, sides=sides)
        return ways

    def _binary(self, node: Any, guard: bool, around: _Around) -> list[frozenset[int]]:
        op, before = str(node.op), len(self.selectors)
        inner = guard or op in _ARITHMETIC
        left = self.visit(node.lhs, guard=inner, around=around)
        right = self.visit(node.rhs, guard=inner, around=around)
        if op == "or":
            return [*left, *right][:_MOST_WAYS]
        reads = frozenset(range(before, len(self.selectors)))
        vectors = [each for each in (node.lhs, node.rhs) if is_vector(each)]
        bounds = [each.prettify() for each in (node.lhs, node.rhs) if not is_vector(each)]
        more: dict[str, Any] = {"sides": tuple(each.prettify() for each in vectors), "matching": _matching(node)}
        compares = op in _COMPARISONS and not (node.modifier and node.modifier.return_bool)
        if compares:
            self._part("comparison", node, op, reads, guard, bound=" ".join(bounds), **more)
        elif len(vectors) == 2:
            self._part("join", node, op, reads, guard, **more)
        return left if op == "unless" else _both(left, right)

    def _part(self, kind: Any, node: Any, name: str, reads: frozenset[int], guard: bool, **more: Any) -> None:
        self.parts.append(Part(kind=kind, expr=node.prettify(), name=name, selectors=reads, guard=guard, **more))


def _matching(node: Any) -> Matching | None:
    told = node.modifier.matching if node.modifier else None
    if told is None:
        return None
    return Matching("on" if str(told.type).endswith("Include") else "ignoring", frozenset(told.labels))


def _both(one: list[frozenset[int]], other: list[frozenset[int]]) -> list[frozenset[int]]:
    return [a | b for a, b in itertools.product(one, other)][:_MOST_WAYS]


def _widened(call: Any, matrix: Any) -> str | None:
    """Return the call with `{WINDOW}` for the range of its selector; None where that is not one place."""
    inner = matrix.prettify()
    whole = call.prettify()
    found = re.search(r"\[([0-9a-z]+)\](?=[^\[\]\"]*$)", inner)
    if found is None or whole.count(inner) != 1:
        return None
    return str(whole.replace(inner, inner[: found.start(1)] + "{WINDOW}" + inner[found.end(1) :]))
