"""Regular expressions as Grafana has them, which is as JavaScript has them, for Python's engine."""

from __future__ import annotations

import re
from typing import NamedTuple

_SLASHED = re.compile(r"/(?P<inner>.*?)/(?P<flags>g?i?m?y?s?)", re.DOTALL)
_TOKEN = re.compile(
    r"\\k<(?P<backward>\w+)>|(?P<escaped>\\.)|\(\?<(?P<named>\w+)>|(?P<class>\[\^?(?:\\.|[^\]\\])*\])|(?P<end>\$)",
    re.ASCII | re.DOTALL,
)

_PIECE = re.compile(
    r"\\.|\[\^?(?:\\.|[^\]\\])*\]|(?P<opens>\()|(?P<closes>\))|(?P<chooses>\|)|(?P<repeats>[*+]|\{\d*,\d*\})|.",
    re.DOTALL,
)


class JsRegex(NamedTuple):
    """One regular expression, and whether it asks for every match of a text (`/…/g`)."""

    pattern: re.Pattern[str]
    every: bool

    def matches(self, text: str) -> list[re.Match[str]]:
        """Return what it finds in a text: every match, or the first; none after one that is empty."""
        found: list[re.Match[str]] = []
        for match in self.pattern.finditer(text):
            found.append(match)
            if not self.every or not match[0]:
                break
        return found


def js_regex(text: str) -> JsRegex | None:
    """Read what Grafana takes for a regular expression; None where it is none.

    Between slashes it may fit anywhere in a text; without them, Grafana puts `^` before it and `$` after it.
    None, too, where it may take for ever on some text: a dashboard may come from anybody.

    >>> js_regex('/pod="(?<text>[^"]+)/g').matches('a{pod="x"}')[0]["text"]
    'x'
    >>> bool(js_regex("prom.*").matches("my-prom")), js_regex("/(/"), js_regex("/open")
    (False, None, None)
    >>> js_regex("/^(a+)+$/"), js_regex("/^(a|a)*$/")
    (None, None)
    """
    match = _SLASHED.fullmatch(text) if text.startswith("/") else None
    if text.startswith("/") and match is None:
        return None
    inner, letters = (match["inner"], match["flags"]) if match else (f"^{text}$", "")
    flags = re.ASCII
    for letter, flag in (("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL)):
        flags |= flag if letter in letters else 0
    if "i" in letters:
        # Python folds the case of ASCII alone under re.ASCII, JavaScript that of every letter.
        flags &= ~re.ASCII
    if may_take_for_ever(inner):
        return None
    try:
        return JsRegex(re.compile(_in_python(inner, multiline="m" in letters), flags), "g" in letters)
    except (re.error, OverflowError, RecursionError):
        return None


def may_take_for_ever(inner: str) -> bool:
    """Whether a group that repeats holds a repetition, or a choice: then there may be a number of ways to fit a text
    that doubles with each of its letters."""
    holds = [False]
    closed = False
    for piece in _PIECE.finditer(inner):
        if piece["opens"]:
            holds.append(False)
        elif piece["repeats"] and closed:
            return True
        elif piece["repeats"] or piece["chooses"]:
            holds[-1] = True
        closed = bool(piece["closes"]) and len(holds) > 1 and holds.pop()
        holds[-1] = holds[-1] or closed
    return False


def _in_python(inner: str, *, multiline: bool) -> str:
    def spelled(token: re.Match[str]) -> str:
        if token["backward"]:
            return f"(?P={token['backward']})"
        if token["named"]:
            return f"(?P<{token['named']}>"
        if token["class"]:
            return _class(token["class"])
        if token["end"]:
            # Python's `$` fits before a last line break too.
            return "$" if multiline else r"\Z"
        return _escaped(token["escaped"])

    return _TOKEN.sub(spelled, inner)


def _class(text: str) -> str:
    """Respell a class of characters: Python reads, or will read, more into it."""
    if text in ("[]", "[^]"):
        return r"[\s\S]" if text == "[^]" else r"[^\s\S]"
    start = 2 if text.startswith("[^") else 1
    inner = re.sub(r"\\.|[\[&~|]|-(?=-)", lambda sign: _escaped(sign[0]) if sign[0][0] == "\\" else f"\\{sign[0]}",
                   text[start:-1], flags=re.DOTALL)  # fmt: skip
    return f"{text[:start]}{inner}]"


def _escaped(text: str) -> str:
    """Respell an escaped character: JavaScript takes a letter that means nothing for itself, Python refuses it."""
    letter = text[1:]
    if letter.isascii() and letter.isalpha() and letter not in "bBdDsSwWnrtfvxu":
        return letter
    return text
