"""Patterns of label matchers, as Prometheus' RE2 reads them, where Python's engine reads the same. Pure."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

from ..dashboard.js_regex import may_take_for_ever

_SET = r"\[\^?(?:[^\[\]\\&~|]|\\[^A-Za-z0-9]|\\[dws])+\]"
_SAME = re.compile(
    rf"(?P<fold>\(\?i\))?(?:[^\\(\[{{]|\\[^A-Za-z0-9]|(?P<kind>\\[dws])|\((?!\?)|\(\?:|{_SET}|\{{\d+(?:,\d*)?\}})*",
    re.DOTALL,
)
"""What both engines read alike."""
_MOST_REPEATS = 3
"""RE2 takes as long as the text is; Python's engine may take a power of it, one more for each repetition."""


@lru_cache(maxsize=4096)
def pattern(text: str) -> re.Pattern[str] | None:
    r"""Return a pattern that has to fit a whole value; None where only Prometheus can tell what it fits.

    >>> [bool(pattern("vllm-[0-9]+|a.b").fullmatch(each)) for each in ("vllm-12", "a\nb", "xvllm-1")]
    [True, True, False]
    >>> pattern(r"\pL+"), pattern("[[:alpha:]]+"), pattern("(a+)+"), pattern("x.*(?i)y")
    (None, None, None, None)
    """
    same = _SAME.fullmatch(text)
    if same is None or "--" in text or (same["fold"] and same["kind"]):
        return None
    if len(re.findall(r"[*+]|,\}", text)) > _MOST_REPEATS or may_take_for_ever(text):
        return None
    try:
        # Python folds the case of ASCII alone under re.ASCII, RE2 that of every letter.
        return re.compile(text, re.DOTALL if same["fold"] else re.DOTALL | re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


_MOST_ALTERNATIVES = 64
_LITERAL = re.compile(r"[\w:-]", re.ASCII)


def alternatives(text: str) -> tuple[str, ...]:
    r"""Return the texts that a pattern lists; none where it is open, or lists too many.

    >>> alternatives("vllm:(a|b(_total)|)"), alternatives("^a$"), alternatives("vllm:.*"), alternatives(r"a\.b|(")
    (('vllm:a', 'vllm:b_total', 'vllm:'), ('a',), (), ())
    """
    try:
        found, rest = _choices(text.removeprefix("^").removesuffix("$"))
    except ValueError:
        return ()
    return tuple(dict.fromkeys(found)) if not rest else ()


def _choices(text: str) -> tuple[list[str], str]:
    """Return what the choices at a text's beginning list, and what is behind them."""
    found: list[str] = []
    made = [""]
    while text and text[0] != ")":
        if text[0] == "|":
            found, made, text = [*found, *made], [""], text[1:]
            continue
        if text[0] == "(":
            inner, rest = _choices(text[1:].removeprefix("?:"))
            if not rest.startswith(")"):
                raise ValueError(text)
            text = rest[1:]
        elif _LITERAL.match(text):
            inner, text = [text[0]], text[1:]
        else:
            raise ValueError(text)
        made = ["".join(each) for each in itertools.product(made, inner)]
        if len(made) > _MOST_ALTERNATIVES or text[:1] in ("*", "+", "?", "{"):
            raise ValueError(text)
    return [*found, *made], text
