"""The texts that a pattern lists, where it lists them. Pure."""

from __future__ import annotations

import itertools
import re

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
