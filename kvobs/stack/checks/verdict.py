"""What a check answers, and what a check is: data and a small function of the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .evidence import Evidence

Severity = Literal["fatal", "warning"]
"""fatal: install cannot do its work, and stops before its first change; warning: it can, and says so."""

Outcome = Literal["passed", "warning", "failed", "not asked"]


@dataclass(frozen=True, slots=True)
class Fine:
    """It holds; *said* is what was seen."""

    said: str = ""


@dataclass(frozen=True, slots=True)
class Bad:
    """It does not hold; *said* names the object and the reason, *hint* the command that mends it."""

    said: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class NotAsked:
    """Nobody knows: the question could not be asked, which is neither a pass nor a failure."""

    said: str
    hint: str = ""


Verdict = Fine | Bad | NotAsked | None
"""None: the question does not arise on this cluster, or its evidence was not gathered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One question."""

    id: str
    """Stable: a script, or `--ignore-check`, may name it."""
    title: str
    """What holds when all is well, as a sentence."""
    severity: Severity
    verdict: Callable[[Evidence], Verdict]
    noted: bool = False
    """Whether the plan has a note of its own about it, so that an install does not say it twice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """Checks that belong together, in their order."""

    title: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """One check with its answer."""

    id: str
    category: str
    title: str
    severity: Severity
    outcome: Outcome
    said: str
    hint: str | None
