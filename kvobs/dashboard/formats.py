"""The formats of `${x:format}`, each as Grafana spells one value or a list of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from .date_formats import date

Held = str | tuple[str, ...]
"""A value as Grafana holds it: one text, or a list of them."""

Format = Callable[[Held, Sequence[str], str], str]
"""(value, arguments after the format's name, name of the variable) -> text."""

_REGEX_SIGNS = re.compile(r"[\\^$*+?.()|\[\]{}/]")
_LUCENE_SIGNS = re.compile(r'[!*+\-=<>\s&|()\[\]{}^~?:\\/"]')
# What JavaScript's `+text` reads: nothing at all is 0.
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|Infinity)|0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|",
    re.ASCII,
)


def _joined(held: Held, by: str) -> str:
    return held if isinstance(held, str) else by.join(held)


def glob(held: Held, arguments: Sequence[str], name: str) -> str:
    """Spell a list as `{a,b}`: the format of whatever asks for none, or for one that is not known."""
    if isinstance(held, tuple) and len(held) > 1:
        return "{" + ",".join(held) + "}"
    return _joined(held, ",")


def _regex(held: Held, arguments: Sequence[str], name: str) -> str:
    if isinstance(held, str):
        return _REGEX_SIGNS.sub(r"\\\g<0>", held)
    escaped = [_REGEX_SIGNS.sub(r"\\\g<0>", text) for text in held]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def _lucene(held: Held, arguments: Sequence[str], name: str) -> str:
    if isinstance(held, str):
        return _lucene_escaped(held)
    return "(" + " OR ".join(f'"{_lucene_escaped(text)}"' for text in held) + ")" if held else "__empty__"


def _lucene_escaped(text: str) -> str:
    return text if _NUMBER.fullmatch(text.strip()) else _LUCENE_SIGNS.sub(r"\\\g<0>", text)


def _json(held: Held, arguments: Sequence[str], name: str) -> str:
    return held if isinstance(held, str) else json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def _html(held: Held, arguments: Sequence[str], name: str) -> str:
    text = _joined(held, ", ")
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#39;"), ('"', "&quot;")):
        text = text.replace(sign, entity)
    return text


def _distributed(held: Held, arguments: Sequence[str], name: str) -> str:
    return _joined(held, f",{name}=")


def _join(held: Held, arguments: Sequence[str], name: str) -> str:
    return _joined(held, arguments[0] if arguments else ",")


def _quoted(mark: str, *replaced: tuple[str, str]) -> Format:
    def spell(held: Held, arguments: Sequence[str], name: str) -> str:
        return ",".join(map(one, (held,) if isinstance(held, str) else held))

    def one(text: str) -> str:
        for old, new in replaced:
            text = text.replace(old, new)
        return f"{mark}{text}{mark}"

    return spell


def _joined_by(by: str) -> Format:
    return lambda held, arguments, name: _joined(held, by)


def _encoded(unchanged: str) -> Format:
    def spell(held: Held, arguments: Sequence[str], name: str) -> str:
        return _percent(held if isinstance(held, str) else "{" + ",".join(held) + "}", unchanged)

    return spell


def _percent(text: str, unchanged: str = "") -> str:
    return quote(text, safe=unchanged, errors="replace")


def _query_parameters(unchanged: str) -> Format:
    def spell(held: Held, arguments: Sequence[str], name: str) -> str:
        return "&".join(f"var-{name}={_percent(text, unchanged)}" for text in _each(held))

    return spell


def _url_state(held: Held, arguments: Sequence[str], name: str) -> str:
    """Spell a chosen value as in the dashboard's own address, where an empty list is one empty value."""
    return _query_parameters("@:$,;")(held or "", arguments, name)


def _custom_query_parameters(held: Held, arguments: Sequence[str], name: str) -> str:
    key = _percent(arguments[0] if arguments and arguments[0] else name)
    prefix = _percent(arguments[1]) if len(arguments) > 1 else ""
    return "&".join(f"{key}={prefix}{_percent(text)}" for text in _each(held))


def _each(held: Held) -> tuple[str, ...]:
    return (held,) if isinstance(held, str) else held


FORMATS: Mapping[str, Format] = {
    "csv": _joined_by(","),
    "customqueryparam": _custom_query_parameters,
    "date": lambda held, arguments, name: date(held, arguments) if isinstance(held, str) else "NaN",
    "distributed": _distributed,
    "doublequote": _quoted('"', ('"', '\\"')),
    "glob": glob,
    "html": _html,
    "join": _join,
    "json": _json,
    "lucene": _lucene,
    "percentencode": _encoded(""),
    "pipe": _joined_by("|"),
    "queryparam": _query_parameters(""),
    "raw": _joined_by(","),
    "regex": _regex,
    "singlequote": _quoted("'", ("'", "\\'")),
    "sqlstring": _quoted("'", ("'", "''"), ('"', '\\"')),
    "uriencode": _encoded(";,/?:@&=+$#"),
    "urlstate": _url_state,
}
"""Every format by its name. `text` is not here, since it needs more than the value; `urlstate` is no name of Grafana's
but its `queryparam` for a variable that the address holds."""
