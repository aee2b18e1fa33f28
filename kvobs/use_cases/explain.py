"""explain: what a cause means; asks nobody."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ..errors import UsageError
from ..health.causes import CAUSES, Cause

PREFIX = "KVO-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """One cause, whole."""

    cause: Cause

    @property
    def exit_code(self) -> int:
        """0: there is nothing that could be bad."""
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CauseList:
    """Every cause."""

    causes: tuple[Cause, ...]

    @property
    def exit_code(self) -> int:
        """0: there is nothing that could be bad."""
        return 0


def explain(cause: str | None = None) -> Explanation | CauseList:
    """Return one cause by its id, in any spelling (`KVO-405`, `kvo-405`, `405`), or all of them.

    Raise UsageError for an id that no cause has.
    """
    if cause is None:
        return CauseList(causes=tuple(CAUSES.values()))
    return Explanation(cause=CAUSES[known_cause(cause)])


def known_cause(text: str) -> str:
    """Return the id that a text stands for; raise UsageError, with those that are near, where it is none."""
    wanted = text.strip().upper()
    wanted = wanted if wanted.startswith(PREFIX) else PREFIX + wanted.removeprefix("KVO").lstrip("-_ ")
    if wanted in CAUSES:
        return wanted
    akin = [each for each in CAUSES if each.startswith(wanted[: len(PREFIX) + 1])]
    near = difflib.get_close_matches(wanted, akin or CAUSES, n=3, cutoff=0.7)
    hint = f"near it: {', '.join(f'{each} ({CAUSES[each].title})' for each in near)}; " if near else ""
    raise UsageError(f"{text!r} is no cause that kvobs knows", hint=f"{hint}kvobs explain lists them all")
