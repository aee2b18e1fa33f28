"""A query that nobody but Prometheus reads: what look like its metrics. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .promql import Selector

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`|#[^\n]*')
_GLIMPSED = re.compile(
    r"(?<![\w:.$])([a-zA-Z_][\w:]*)(?=\s*(?:[{\[)+\-*/%^=!<>,]|$|\s(?:offset|by|or|and|unless|on|@)))"
)
_LONGEST_GLIMPSE = 10_000
"""Characters of a query that are looked at; the time for it grows faster than they do."""
_WORDS = frozenset(
    {"by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "and", "or", "unless"}
)


def glimpse(expr: str) -> tuple[Selector, ...]:
    """Return what look like selectors in a query that the parser does not read: their names only."""
    return tuple(dict.fromkeys(Selector(name=name) for name in _names(expr[:_LONGEST_GLIMPSE])))


def _names(expr: str) -> Iterator[str]:
    plain = _QUOTED.sub('""', expr)
    plain = re.sub(r"\{[^}]*\}", "{}", plain)
    plain = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", plain)
    plain = re.sub(r"\[[^\]]*\]", "[]", plain)
    for found in _GLIMPSED.finditer(plain):
        if found.group(1) not in _WORDS and found.group(1).lower() not in {"inf", "nan"}:
            yield found.group(1)
