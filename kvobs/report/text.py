"""Reports as lines for a person; one module a report registers how it reads."""

from __future__ import annotations

from functools import singledispatch
from typing import Any


@singledispatch
def to_text(report: Any, *, verbose: bool = False) -> str:
    """Return *report* as lines for a person; *verbose* adds what stayed as it was."""
    raise TypeError(f"no text for {type(report).__name__}")
