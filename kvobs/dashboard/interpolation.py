"""Grafana's template interpolation: what a text with variables in it says once they have values.

Measured against `@grafana/scenes` 9.2.2 (`tests/oracle/`), format by format. What the Prometheus data source does to a
variable without a format of its own is not in that package; it is stated at `_prometheus`, and tested by a table.
"""

from __future__ import annotations

import re

from .board import Scope, Value
from .formats import FORMATS, Held, glob

PROMETHEUS = "prometheus"
"""Name of the format that the Prometheus data source gives a variable that asks for none."""

ALL_TEXT = "All"

_SYNTAX = re.compile(
    r"\$(?P<bare>\w+)"
    r"|\[\[(?P<square>\w+?)(?::(?P<square_format>\w+))?\]\]"
    r"|\$\{(?P<curly>\w+)"
    r"(?P<path>(?:\.[^:^{}\[\]]+|\[\"[^\"]*\"\]|\['[^']*'\]|\[[^\]\"']*\])*)"
    r"(?::(?P<curly_format>[^}]+))?\}",
    re.ASCII,
)

_MAX_DEPTH = 8
"""How deep what All stands for may name variables in turn; Grafana itself never ends where one names itself."""

_PROMQL_REGEX_SIGNS = re.compile(r"[$^*{}\[\]+?.()|]")


def interpolate(text: str, scope: Scope, *, format: str | None = PROMETHEUS) -> str:
    r"""Return *text* with the variables of *scope* put in; a name that is not in it stays as it stands.

    *format* is what a variable without one of its own gets: `prometheus` as in a query, None as in a title (`{a,b}`),
    or any name that `${x:name}` may have.

    >>> scope = {"x": Value(values=("a.b", "c"), multi=True), "__interval": Value(values=("15s",))}
    >>> print(interpolate('rate(up{job=~"$x"}[$__interval]) + ${x:csv} + $y', scope))
    rate(up{job=~"(a\\.b|c)"}[15s]) + a.b,c + $y
    >>> interpolate("CPU of $x", scope, format=None)
    'CPU of {a.b,c}'
    """
    return _interpolated(text, scope, format, 0)


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of the variables that a text has, in their order, each once.

    >>> names_in("a{b=~'$x', c='[[y:csv]]'} + ${x.text:raw}")
    ('x', 'y')
    """
    return tuple(dict.fromkeys(_name(match) for match in _SYNTAX.finditer(text)))


def _name(match: re.Match[str]) -> str:
    return match["bare"] or match["square"] or match["curly"]


def _interpolated(text: str, scope: Scope, format: str | None, depth: int) -> str:
    if depth > _MAX_DEPTH or ("$" not in text and "[[" not in text):
        return text

    def put(match: re.Match[str]) -> str:
        name = _name(match)
        value = scope.get(name)
        if value is None:
            return match[0]
        asked = match["square_format"] or match["curly_format"] or format
        if value.all and value.all_value:
            return _interpolated(_custom_all(name, value.all_value, asked), scope, None, depth + 1)
        return _spelled(name, value, asked, match["path"] or "")

    return _SYNTAX.sub(put, text)


def _custom_all(name: str, all_value: str, format: str | None) -> str:
    """Return what All stands for: the author's own text, which no format but these changes."""
    if format == "text":
        return ALL_TEXT
    if format == "percentencode":
        return FORMATS["percentencode"](all_value, [], name)
    if format == "queryparam":
        return f"var-{name}=$__all"
    return all_value


def _spelled(name: str, value: Value, format: str | None, path: str) -> str:
    held = held_by(value)
    if path:
        if isinstance(held, tuple):
            held = _at(held, path)
        elif value.values:
            return ""  # What Prometheus answers has no further fields, and what is not there is empty in any format.
    if format == PROMETHEUS:
        return _prometheus(held, value.multi)
    kind, *arguments = (format or "glob").split(":")
    if kind == "text":
        return _text(value, held, path)
    if kind == "queryparam" and not path and not name.startswith("__"):
        # A variable of the dashboard stands in the address as it was chosen; a built-in one stands in none.
        return FORMATS["urlstate"]("$__all" if value.all else held, [], name)
    return FORMATS.get(kind, glob)(held, arguments, name)


def held_by(value: Value) -> Held:
    """Return a value as Grafana holds it: one text, or a list."""
    many = len(value.values) > 1 or (value.multi and not value.values)
    if value.all or value.listed or many:
        return value.values
    return value.values[0] if value.values else ""


def _at(held: tuple[str, ...], path: str) -> Held:
    """Return what a field path leads to in a list: one value by its number, else the field that each has not."""
    number = re.match(r"\s*\+?(\d+)", path.removeprefix("."), re.ASCII)
    if number is not None and int(number[1]) < len(held):
        return held[int(number[1])]
    return ("",) * len(held)


def _text(value: Value, held: Held, path: str) -> str:
    if value.all:
        return ALL_TEXT
    texts = value.texts if len(value.texts) == len(value.values) else value.values
    if not path:
        return " + ".join(texts)
    if isinstance(held, str):
        return dict(zip(value.values, texts, strict=True)).get(held, held)
    return " + ".join(held)


def _prometheus(held: Held, multi: bool) -> str:
    """Return a value as the Prometheus data source writes it into a query where no format is asked for.

    It stands between quotes in PromQL, where a backslash is read once more: a variable that can hold several values
    is taken for a regular expression and loses its signs, several become `(a|b)`; any other is taken for a text.
    Grafana escapes no double quote there (its feature toggle prometheusSpecialCharsInLabelValues is off as shipped).
    """
    if not multi:
        texts = (held,) if isinstance(held, str) else held
        return ",".join(text.replace("\\", "\\\\").replace("'", "\\\\'") for text in texts)
    if isinstance(held, str):
        return _without_signs(held)
    if len(held) == 1:
        return _without_signs(held[0])
    return f"({'|'.join(map(_without_signs, held))})"


def _without_signs(text: str) -> str:
    return _PROMQL_REGEX_SIGNS.sub(r"\\\\\g<0>", text.replace("\\", "\\\\\\\\"))
