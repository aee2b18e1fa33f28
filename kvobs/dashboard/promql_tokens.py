"""The words of a PromQL expression with their places, Grafana's variables among them as they are written. Pure.

A parser reads no expression that still holds variables, and does not say where a name stands. This reads as little
as it takes to tell the name of a metric from a label's, a function's, a keyword, and from any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["space", "text", "variable", "word", "number", "sign"]


@dataclass(frozen=True, slots=True)
class Token:
    """One token; together they are the expression."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the next one starts."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class MetricName:
    """The name of a metric where it is chosen by."""

    name: str
    """With variables as they are written, where it holds any."""
    start: int
    """Where it starts, quotes left out."""
    how: Literal["exact", "regex", "partial"] = "exact"
    """regex: one of the names in a pattern that is a plain list of names; partial: a variable, or a pattern, is a part
    of it, so that which metric it is stays open."""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.name)


_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<text>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`[^`]*`?)
  | (?P<variable>\$\{[^{}]*\}|\[\[\w+(?::\w+)?\]\]|\$\w+)
  | (?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
  | (?P<number>[0-9][0-9A-Za-z_.]*|\.[0-9][0-9A-Za-z_]*)
  | (?P<sign>=~|!~|!=|==|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)

_LABEL_LISTS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_KEYWORDS = _LABEL_LISTS | {"and", "or", "unless", "atan2", "offset", "bool", "inf", "nan", "anchored", "smoothed"}
_PLAIN_LIST = re.compile(r"\(?(?P<names>[A-Za-z0-9_:]+(?:\|[A-Za-z0-9_:]+)*)\)?")
_LABEL_LAST = "label_values"
"""The function of variable queries whose last argument is the name of a label."""
_NO_METRIC = frozenset({"metrics", "label_names"})
"""Functions of variable queries whose argument is a pattern, no selector."""


def tokens(expr: str) -> Iterator[Token]:
    """Yield the tokens of an expression; whatever it is, nothing is left out."""
    for match in _TOKEN.finditer(expr):
        kind = match.lastgroup
        assert kind in ("space", "text", "variable", "word", "number", "sign")
        yield Token(kind, match[0], match.start())  # type: ignore[arg-type]


def metric_names(expr: str) -> tuple[MetricName, ...]:
    """Return the names of metrics in an expression or in the query of a variable, in order.

    >>> [(each.name, each.how) for each in metric_names('sum by (le) (rate(a_total{x="b"}[$w])) / ${p}_count')]
    [('a_total', 'exact'), ('${p}_count', 'partial')]
    """
    found = tuple(tokens(expr))
    return tuple(sorted(_names(found), key=lambda each: each.start))


@dataclass(slots=True)
class _Open:
    """A bracket that is open: which one, and what it is of."""

    sign: str
    of: str = ""
    """The word before it."""
    last: MetricName | None = None
    """Of a call of `label_values`: the name in its last argument so far."""
    bare: bool = True
    """Whether that argument is nothing else."""


def _names(found: tuple[Token, ...]) -> Iterator[MetricName]:
    words = [each for each in found if each.kind != "space"]
    opened: list[_Open] = []
    place = 0
    while place < len(words):
        token = words[place]
        inside = opened[-1] if opened else None
        if token.kind == "sign" and token.text in "([{":
            before = words[place - 1] if place else None
            opened.append(_Open(token.text, before.text if before is not None and before.kind == "word" else ""))
        elif token.kind == "sign" and token.text in ")]}":
            if opened:
                closed = opened.pop()
                if closed.last is not None and not (closed.of == _LABEL_LAST and closed.bare):
                    yield closed.last
        elif inside is not None and inside.sign == "{":
            yield from _in_braces(words, place)
        elif inside is not None and (
            inside.sign == "[" or (inside.sign == "(" and inside.of in _LABEL_LISTS | _NO_METRIC)
        ):
            pass
        elif token.kind in ("word", "variable"):
            name, place = _glued(words, place)
            after = words[place].text if place < len(words) else ""
            if inside is not None and inside.of == _LABEL_LAST and after != "(":
                # Whether it is the label is known at the next comma or bracket only.
                inside.last, inside.bare = name, after in (")", "")
                continue
            if name is not None and not _no_metric(name, after):
                yield name
            continue
        elif inside is not None and inside.of == _LABEL_LAST and token.text == ",":
            if inside.last is not None:
                yield inside.last
            inside.last, inside.bare = None, True
        place += 1
    for each in opened:
        if each.last is not None:
            yield each.last


def _glued(words: list[Token], place: int) -> tuple[MetricName | None, int]:
    """Join the words and variables that touch; return the name that they make, if any, and where it goes on."""
    start = place
    while place + 1 < len(words) and _touch(words[place], words[place + 1]):
        place += 1
    parts = words[start : place + 1]
    text = "".join(each.text for each in parts)
    if len(parts) == 1:
        alone = MetricName(text, parts[0].start) if parts[0].kind == "word" else None
        return alone, place + 1
    return MetricName(text, parts[0].start, "partial"), place + 1


def _touch(left: Token, right: Token) -> bool:
    kinds = {left.kind, right.kind}
    return left.end == right.start and "variable" in kinds and kinds <= {"variable", "word", "number"}


def _no_metric(name: MetricName, after: str) -> bool:
    return name.how == "exact" and (after in ("(", "by", "without") or name.name.lower() in _KEYWORDS)


def _in_braces(words: list[Token], place: int) -> Iterator[MetricName]:
    """Yield the names that a text in braces gives: as it stands, or as what `__name__` is to be."""
    token = words[place]
    if token.kind != "text" or len(token.text) < 2 or token.text[-1] != token.text[0]:
        return
    before, after = words[place - 1].text, words[place + 1].text if place + 1 < len(words) else ""
    inner, start = token.text[1:-1], token.start + 1
    if before in ("{", ",") and after in (",", "}"):
        yield _quoted(inner, start)
    elif place > 1 and words[place - 2].text in ("__name__", '"__name__"') and before in ("=", "=~"):
        plain = _PLAIN_LIST.fullmatch(inner) if before == "=~" else None
        if before == "=":
            yield _quoted(inner, start)
        elif plain is None:
            yield MetricName(inner, start, "partial")
        else:
            offset = start + plain.start("names")
            for name in plain["names"].split("|"):
                yield MetricName(name, offset, "regex")
                offset += len(name) + 1


def _quoted(inner: str, start: int) -> MetricName:
    partial = "\\" in inner or "$" in inner or "[[" in inner
    return MetricName(inner, start, "partial" if partial else "exact")
