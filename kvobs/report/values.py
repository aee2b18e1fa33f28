"""Field values in a line; a long text, a dashboard say, by what is different in it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from ..stack.drift import json_differences, path_text
from ..stack.record import ABSENT

LONGEST = 80
"""Characters of one value that stand in a line; with --verbose it stands there whole."""

NAMED = 5
"""Differences inside one text that are named; the others are counted."""


def change_lines(path: str, live: Any, wanted: Any, *, verbose: bool = False) -> Iterator[str]:
    """Yield `path: live -> wanted`, and below it what is different inside a long text."""
    if isinstance(live, str) and isinstance(wanted, str) and max(len(live), len(wanted)) > LONGEST:
        yield from _text_lines(path, live, wanted, verbose=verbose)
    else:
        yield f"{path}: {shown(live, verbose=verbose)} -> {shown(wanted, verbose=verbose)}"


def shown(value: Any, *, verbose: bool = False) -> str:
    """Return a value as JSON in one line, cut to `LONGEST` unless *verbose*; None is a field that is not there."""
    if value is None:
        return "(not set)"
    text = json.dumps(value, ensure_ascii=False)
    return text if verbose or len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _text_lines(path: str, live: str, wanted: str, *, verbose: bool) -> Iterator[str]:
    was, now = _document(live), _document(wanted)
    if was is None or now is None:
        told = [line for line in _unified(live, wanted) if line[:1] in "+-"]
        yield f"{path}: text, {counted(len(told), 'changed line')}"
    else:
        found = json_differences(was, now)
        told = [f"{path_text(each.path)}: {_side(each.live)} -> {_side(each.wanted)}" for each in found]
        yield f"{path}: JSON, {counted(len(found), 'changed value')}"
        live, wanted = (json.dumps(each, indent=2, ensure_ascii=False) for each in (was, now))
    if verbose:
        yield from (f"  {line}" for line in _unified(live, wanted))
        return
    yield from (f"  {line if len(line) <= 2 * LONGEST else line[: 2 * LONGEST] + '…'}" for line in told[:NAMED])
    if len(told) > NAMED:
        yield f"  and {len(told) - NAMED} more; -v shows all"


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "line"), counted(2, "line")
    ('1 line', '2 lines')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _document(text: str) -> Any:
    """Return the JSON object that a text is; None where it is none."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _side(value: Any) -> str:
    return shown(None if value is ABSENT else value)


def _unified(live: str, wanted: str) -> list[str]:
    return list(difflib.unified_diff(live.splitlines(), wanted.splitlines(), lineterm="", n=2))[2:]
