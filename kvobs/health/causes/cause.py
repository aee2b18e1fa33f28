"""What a cause is."""

from __future__ import annotations

from dataclasses import dataclass

from ..verdict import Severity


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One reason why a panel is dark, as data."""

    id: str
    """Stable, `KVO-…`: scripts, expectations and reports name it."""
    title: str
    """A few words, for headings and tables."""
    severity: Severity
    sentence: str
    """What is the matter, in one sentence."""
    evidence: str
    """How it is recognised, in one sentence."""
    fix: str
    """What mends it, a step a line as in `Finding.fix`; words in capitals stand for the concrete names. "" where there
    is nothing to mend."""
    explanation: str
    """What `kvobs explain` says about it: several paragraphs, an empty line between them."""
