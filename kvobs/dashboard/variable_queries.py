"""The questions of query variables: what Grafana asks Prometheus for one, and which options it makes of the answer."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from .board import Scope, Variable
from .interpolation import interpolate
from .js_regex import JsRegex, js_regex

Kind = Literal["label names", "label values", "metrics", "query", "series"]

_LABEL_NAMES = re.compile(r"label_names\((?P<match>.+)?\)\s*")
_LABEL_VALUES = re.compile(r"label_values\((?:(?P<match>.+),\s*)?(?P<label>.+)\)\s*")
_METRICS = re.compile(r"metrics\((?P<filter>.+)\)\s*")
_QUERY_RESULT = re.compile(r"query_result\((?P<expr>.+)\)\s*")

_DIGITS = re.compile(r".*?(\d+)", re.ASCII)
_LONGEST_NUMBER = 400
_NATURAL_PARTS = re.compile(rf"\d{{1,{_LONGEST_NUMBER}}}|.", re.ASCII | re.DOTALL)
_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""In the order that Unicode's collation gives them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a query variable asks, with the values of the variables that it depends on."""

    kind: Kind
    expr: str = ""
    """A selector, of `query` any PromQL, of `metrics` a regular expression; "": everything."""
    label: str = ""
    """Of `label values`: which label."""


class Option(NamedTuple):
    """One value that a variable may take, and how it is shown."""

    text: str
    value: str


def question_of(variable: Variable, scope: Scope) -> Question | None:
    """Return what a query variable asks; None where its query is empty.

    Grafana knows its own functions (`label_values(metric, label)`, `query_result(…)`) by how the text looks, also
    where an object says the kind; any other text is a selector, whose series it lists.

    >>> question_of(Variable(name="x", type="query", query="label_values(up{job=~'a,b'}, instance) "), {})
    Question(kind='label values', expr="up{job=~'a,b'}", label='instance')
    """
    text = interpolate(variable.query, scope)
    if not text:
        return None
    if match := _LABEL_NAMES.fullmatch(text):
        return Question(kind="label names", expr=match["match"] or "")
    if match := _LABEL_VALUES.fullmatch(text):
        return Question(kind="label values", expr=(match["match"] or "").strip(), label=match["label"].strip())
    if match := _METRICS.fullmatch(text):
        return Question(kind="metrics", expr=match["filter"])
    if match := _QUERY_RESULT.fullmatch(text):
        return Question(kind="query", expr=match["expr"])
    return Question(kind="series", expr=text)


def metrics_that_fit(question: Question, names: Iterable[str]) -> list[str] | None:
    """Return the metric names that fit the pattern of `metrics(…)` anywhere; None where it cannot be tried."""
    pattern = js_regex(f"/{question.expr}/")
    return None if pattern is None else [name for name in sorted(names) if pattern.matches(name)]


def series_text(name: str, labels: Iterable[tuple[str, str]]) -> str:
    """Return a series as Grafana writes it for a variable's regex.

    >>> series_text("up", [("job", "a"), ("instance", "b:1")])
    'up{instance="b:1",job="a"}'
    """
    return name + "{" + ",".join(f'{label}="{value}"' for label, value in sorted(labels)) + "}"


def sample_text(series: str, value: float, moment_s: float) -> str:
    """Return one sample of `query_result` as Grafana writes it: series, value, milliseconds.

    >>> sample_text("{}", 3.0, 1700000000.0), sample_text("up{}", 1e-7, 1.5)
    ('{} 3 1700000000000', 'up{} 0.0000001 1500')
    """
    return f"{series} {number_text(value)} {number_text(moment_s * 1000)}"


def number_text(value: float) -> str:
    """Return a number as Prometheus writes a sample's value: never with an exponent.

    >>> number_text(1e21), number_text(0.25), number_text(float("-inf"))
    ('1000000000000000000000', '0.25', '-Inf')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = format(Decimal(repr(float(value))), "f")
    return text.removesuffix(".0")


def options_of(texts: Iterable[str], *, regex: str = "", sort: int = 0) -> list[Option] | None:
    """Return the options that Grafana makes of an answer; None where *regex* is none that can be tried.

    The regex drops what it does not fit; its groups named `value` and `text`, else its first group, say what is taken.

    >>> options_of(['a{pod="x-1"}', 'a{pod="x-0"}', 'a{pod="x-1"}'], regex='/pod="([^"]+)/', sort=1)
    [Option(text='x-0', value='x-0'), Option(text='x-1', value='x-1')]
    """
    pattern = js_regex(regex) if regex else None
    if regex and pattern is None:
        return None
    found: dict[str, Option] = {}
    for text in texts:
        for option in _options_in(text, pattern):
            found.setdefault(option.value, option)
    return _sorted(list(found.values()), sort)


def _options_in(text: str, pattern: JsRegex | None) -> Iterator[Option]:
    if pattern is None:
        yield Option(text, text)
        return
    matches = pattern.matches(text)
    if not matches:
        return
    value, shown = _named(matches, "value"), _named(matches, "text")
    if value or shown:
        yield Option(shown or value or "", value or shown or "")
    elif not pattern.pattern.groups:
        yield Option(text, text)
    elif len(matches) > 1:
        yield from (Option(match[1], match[1]) for match in matches if match[1] is not None)
    elif matches[0][1] is not None:
        yield Option(matches[0][1], matches[0][1])


def _named(matches: list[re.Match[str]], name: str) -> str | None:
    return next((group for match in matches if (group := match.groupdict().get(name))), None)


def _sorted(options: list[Option], sort: int) -> list[Option]:
    """Sort by Grafana's number for an order: 1 and 2 by letters, 3 and 4 by number, 5 and 6 whatever the case, 7 and 8
    naturally; the even ones downwards."""
    key = _KEYS.get((sort + 1) // 2)
    if key is None:
        return options
    ordered = sorted(options, key=key)
    return ordered if sort % 2 else ordered[::-1]


def _number_in(option: Option) -> int:
    match = _DIGITS.match(option.text)
    return int(match[1]) if match and len(match[1]) < _LONGEST_NUMBER else -1


def _naturally(option: Option) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """Order as a dictionary does: blanks and signs, then numbers by value, then letters; accents count last."""
    folded = unicodedata.normalize("NFD", option.text.casefold())
    parts = _NATURAL_PARTS.findall("".join(sign for sign in folded if not unicodedata.combining(sign)))
    return tuple(map(_rank, parts)), folded


def _rank(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        return (1, int(part), "")
    return (0, _SIGNS.index(part), "") if part in _SIGNS else (2, 0, part)


_KEYS: dict[int, Callable[[Option], Any]] = {
    1: lambda option: option.text,
    2: _number_in,
    3: lambda option: option.text.lower(),
    4: _naturally,
}
