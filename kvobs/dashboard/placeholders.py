"""Grafana's template syntax: `$x`, `${x}`, `${x:format}`, `[[x]]`, `[[x:format]]`.

A placeholder is recognised by a name that somebody declared, never by what the name looks like; a declared
name may hold any character that an export can give it (`DS_GRAFANACLOUD-TEAM-PROM`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from urllib.parse import quote

_WHOLE = re.compile(r"\$\{([^{}:]+)(?::([^{}]*))?\}|\[\[([^\[\]:]+)(?::([^\[\]]*))?\]\]|\$(\w+)")
_ANY = re.compile(r"\$\{[^{}]*\}|\[\[[^\[\]]*\]\]|\$\w+")
_BARE_END = re.compile(r"\$(\w+)\Z")

_FORMATS: dict[str, Callable[[str], str]] = {
    "percentencode": lambda text: quote(text, safe=""),
    "regex": lambda text: re.sub(r"[\\^$*+?.()|{}\[\]/-]", r"\\\g<0>", text),
    "json": lambda text: json.dumps(text, ensure_ascii=False),
    "doublequote": lambda text: '"' + text.replace('"', '\\"') + '"',
    "singlequote": lambda text: "'" + text.replace("'", "\\'") + "'",
    "sqlstring": lambda text: "'" + text.replace("'", "''") + "'",
}


def may_hold_placeholder(text: str) -> bool:
    """Whether a text can hold a placeholder at all: the cheap question that spares most strings the regex."""
    return "$" in text or "[[" in text


def whole_name(text: str) -> str | None:
    """Return the name, where a text is one placeholder and nothing else.

    >>> whole_name("${DS_PROMETHEUS:raw}"), whole_name("[[datasource]]"), whole_name("prom-${cluster}")
    ('DS_PROMETHEUS', 'datasource', None)
    """
    match = _WHOLE.fullmatch(text)
    return None if match is None else match[1] or match[3] or match[5]


def holds_any(text: str) -> bool:
    """Whether a text holds any placeholder, declared or not."""
    return _ANY.search(text) is not None


def probe_of(names: Iterable[str]) -> str:
    """Return what every one of these names starts with: a text without it holds none of them.

    >>> probe_of(["DS_LOKI", "DS_PROMETHEUS"]), probe_of(["datasource"]), probe_of(["a", "b"])
    ('DS_', 'datasource', '')
    """
    ordered = sorted(names) or [""]
    first, last = ordered[0], ordered[-1]
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]


def pattern_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return the regex that finds these names in any form, and no longer name that starts with one of them.

    Exactly one of the groups `curly`, `square` and `bare` holds the name, `curly_format` or `square_format`
    the format. None where there are no names: nothing can match.
    """
    # The longest first: an alternation takes the first that fits, and `$` has no closing mark.
    ordered = tuple(sorted(names, key=len, reverse=True))
    return _pattern(ordered) if ordered else None


@lru_cache(maxsize=64)
def _pattern(ordered: tuple[str, ...]) -> re.Pattern[str]:
    """A dashboard's names are the same at each of its references, and escaping them takes longer than a search."""
    either = "|".join(map(re.escape, ordered))
    return re.compile(
        rf"\$(?:\{{(?P<curly>{either})(?::(?P<curly_format>[^{{}}]*))?\}}|(?P<bare>{either})(?!\w))"
        rf"|\[\[(?P<square>{either})(?::(?P<square_format>[^\[\]]*))?\]\]"
    )


def name_in(match: re.Match[str]) -> str:
    """Return the name that `pattern_of` found."""
    return match["curly"] or match["bare"] or match["square"]


def put_in(text: str, matches: Sequence[re.Match[str]], values: Iterable[str]) -> str:
    """Return a text with values in the place of what was found in it.

    A `$x` without braces ends where its word ends; right before a value it gets braces, so as not to grow.

    >>> text = "$job${suffix}"
    >>> put_in(text, list(pattern_of(["suffix"]).finditer(text)), ["_total"])
    '${job}_total'
    """
    parts: list[str] = []
    end = 0
    for match, value in zip(matches, values, strict=True):
        if match.start() > end:
            parts.append(text[end : match.start()])
        if value[:1].isalnum() or value[:1] == "_":
            bare = _BARE_END.search(parts[-1]) if parts else None
            if bare is not None:
                parts[-1] = f"{parts[-1][: bare.start()]}${{{bare[1]}}}"
        parts.append(value)
        end = match.end()
    return "".join((*parts, text[end:]))


def formatted(match: re.Match[str], value: str) -> str:
    """Return a value in the format that the placeholder asks for; most formats leave a single value as it is.

    >>> formatted(pattern_of(["x"]).search("${x:percentencode}"), "a b")
    'a%20b'
    """
    spell = _FORMATS.get(match["curly_format"] or match["square_format"] or "")
    return value if spell is None else spell(value)
