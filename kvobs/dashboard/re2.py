"""Regular expressions as Prometheus' RE2 reads them, where Python's engine reads the same. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from .js_regex import may_take_for_ever

_SET = r"\[\^?(?:[^\[\]\\&~|]|\\[^A-Za-z0-9]|\\[dws])+\]"
_SAME = re.compile(
    rf"(?P<fold>\(\?i\))?"
    rf"(?:[^\\(\[{{]|\\[^A-Za-z0-9]|(?P<kind>\\[dws])|\((?!\?)|\(\?:|\(\?P<[A-Za-z]\w*>|{_SET}|\{{\d+(?:,\d*)?\}})*",
    re.DOTALL,
)
"""What both engines read alike."""
_PIECE = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|(?P<sign>[(|)*+]|\{\d+,\})|.", re.DOTALL)
_MOST_REPEATS = 3
"""RE2 takes as long as the text is; Python's engine may take a power of it, one more for each repetition in a row."""


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
    if _repeats_in_a_row(text) > _MOST_REPEATS or may_take_for_ever(text):
        return None
    try:
        # Python folds the case of ASCII alone under re.ASCII, RE2 that of every letter.
        return re.compile(text, re.DOTALL if same["fold"] else re.DOTALL | re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


def _repeats_in_a_row(text: str) -> int:
    """Return how many open repetitions one way through a pattern has; those of other choices are not tried with them.

    >>> _repeats_in_a_row("a.*|b.*|c+(d*|e+f*)")
    3
    """
    groups = [[0, 0]]  # of each open group: the most of its choices so far, and what the present one has
    for piece in _PIECE.finditer(text):
        sign, inner = piece["sign"], groups[-1]
        if sign == "(":
            groups.append([0, 0])
        elif sign == "|":
            inner[:] = [max(inner), 0]
        elif sign == ")" and len(groups) > 1:
            groups.pop()
            groups[-1][1] += max(inner)
        elif sign and sign != ")":
            inner[1] += 1
    return max(groups[0])
