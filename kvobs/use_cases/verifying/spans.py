"""The stretch of time in which a selector of a query looks for samples, and how it is asked about at once."""

from __future__ import annotations

from dataclasses import dataclass

from ...dashboard.board import Query
from ...health.promql import Selector

_ROUND_S = 15.0
"""Stretches are widened to multiples of this, so that panels with steps of their own ask the same."""
_LOOKBACK_S = 300.0
"""How old a sample may be that stands for now; Prometheus' default."""

_MOST_STEPS = 100
"""Moments at which a stretch is looked at, where looking at all of it is too expensive."""


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
    def looks_at(self) -> tuple[float, float]:
        """From when to when it looks, by the clock."""
        return self.start_s - self.offset_s, self.end_s - self.offset_s

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

    def in_steps(self, expr: str) -> Query:
        """Return the query of an expression at some moments in it: no more samples are read than stand there."""
        step_s = max(_LOOKBACK_S, self.length_s / _MOST_STEPS)
        start_s, end_s = self.start_s, self.end_s
        return Query(expr=expr, instant=False, start_s=start_s, end_s=end_s, step_s=step_s, source=self.source)


def span_of(selector: Selector, query: Query) -> Span:
    """Return where a selector of a query finds its samples."""
    back_s = (selector.window_s or _LOOKBACK_S) + selector.reach_s
    start_s, end_s = _moments(selector, query)
    if start_s == end_s:
        at_once = selector.window_s is None and not selector.reach_s
        return Span(
            start_s=end_s - back_s, end_s=end_s, source=query.source, at_once=at_once, offset_s=selector.offset_s
        )
    return Span(
        start_s=(start_s - back_s) // _ROUND_S * _ROUND_S,
        end_s=-(-end_s // _ROUND_S) * _ROUND_S,
        source=query.source,
        offset_s=selector.offset_s,
    )


def _moments(selector: Selector, query: Query) -> tuple[float, float]:
    """Between which moments it is evaluated; equal ones where it is at one only."""
    if selector.at is None:
        return (query.end_s, query.end_s) if query.instant else (query.start_s, query.end_s)
    ends = {"start": query.end_s if query.instant else query.start_s, "end": query.end_s}
    moment = ends[selector.at] if isinstance(selector.at, str) else selector.at
    return moment, moment
