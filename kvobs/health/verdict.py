"""What verify says about a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..dashboard.board import Grid
from .remedy import steps

Severity = Literal["broken", "dark", "expected", "unknown"]
"""broken: somebody has to mend something; dark: no data yet, nothing is wrong; expected: dark by what this cluster is
or how its servers are run; unknown: it could not be found out."""

State = Literal["lit", "broken", "dark", "expected", "unknown", "not checked"]
"""A panel's state: lit, the severity of its cause, or not checked (nothing of it goes to a Prometheus)."""

ORDER: tuple[Severity, ...] = ("broken", "unknown", "dark", "expected")
"""Worst first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One cause as it was met."""

    cause: str
    """Its stable id, `KVO-…`."""
    severity: Severity
    subject: str
    """What it is about, by which findings of one cause are told apart: a metric, an object, a label. Equal cause and
    subject: one fix lights all of their panels."""
    said: str
    """One sentence with the concrete names and values."""
    fix: str = ""
    """What mends it, one step a line: the exact command, or a sentence (`remedy.steps` tells them apart); "" where
    there is nothing to do."""
    evidence: tuple[str, ...] = ()
    """What it was told from, one fact a line."""
    passing: bool = False
    """Whether it passes by itself with the next scrapes."""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands of the fix, as a shell takes them."""
        return tuple(step.text for step in steps(self.fix) if step.command)


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetVerdict:
    """One query of a panel."""

    ref_id: str
    state: State
    expr: str = ""
    """As it was asked; where it was not asked, as it is written."""
    series: int = 0
    zero: bool = False
    """Whether every number of it is 0."""
    finding: Finding | None = None
    why: str = ""
    """Where it was not checked: why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelVerdict:
    """One panel, or one repeat of it."""

    id: int | None
    title: str
    type: str
    row: str | None
    grid: Grid | None
    state: State
    finding: Finding | None = None
    """The one cause; None where it is lit or was not checked."""
    targets: tuple[TargetVerdict, ...] = ()
    accepted: str | None = None
    """The reason by which an `--expect` file accepts that it is dark."""
    why: str = ""
    """Where it was not checked: why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardVerdict:
    """One dashboard."""

    uid: str | None
    title: str
    source: str
    """Where it was read from: a file, an address, `namespace/configmap[key]`."""
    panels: tuple[PanelVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What is wrong with the dashboard as a whole (not loaded, doubled, not read)."""
