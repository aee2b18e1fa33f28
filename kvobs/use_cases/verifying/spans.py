"""The stretch of time in which a selector of a query looks for samples, and how it is asked about at once."""

from __future__ import annotations

from dataclasses import dataclass

from ...dashboard.board import Query
from ...health.promql import Selector

_ROUND_S = 15.0
"""Stretches are widened to multiples of this, so that panels with steps of their own ask the same."""
_LOOKBACK_S = 300.0
"""How old a sample may be that stands for now; Prometheus' default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A stretch of time, before the offset."""

    start_s: float
    end_s: float
    source: str
    at_once: bool = False
    """Whether only what is there at the end counts, as in an instant query without a window."""
    offset_s: float = 0.0

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.end_s - self.start_s

    @property
    def offset(self) -> str:
        """The offset as PromQL, with a space before it."""
        return f" offset {round(self.offset_s)}s" if self.offset_s else ""

    def of(self, selector: str) -> str:
        """Return the expression of the selector's last samples in it."""
        if self.at_once:
            return f"{selector}{self.offset}"
        return f"last_over_time({selector}[{round(self.length_s)}s]{self.offset})"

    def ask(self, expr: str) -> Query:
        """Return the instant query of an expression at its end."""
        return Query(expr=expr, instant=True, start_s=self.start_s, end_s=self.end_s, step_s=0.0, source=self.source)


def span_of(selector: Selector, query: Query) -> Span:
    """Return where a selector of a query finds its samples."""
    back_s = (selector.window_s or _LOOKBACK_S) + selector.reach_s
    if query.instant:
        at_once = selector.window_s is None and not selector.reach_s
        return Span(
            start_s=query.end_s - back_s,
            end_s=query.end_s,
            source=query.source,
            at_once=at_once,
            offset_s=selector.offset_s,
        )
    return Span(
        start_s=(query.start_s - back_s) // _ROUND_S * _ROUND_S,
        end_s=-(-query.end_s // _ROUND_S) * _ROUND_S,
        source=query.source,
        offset_s=selector.offset_s,
    )
