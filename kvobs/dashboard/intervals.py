"""How finely a panel asks: `$__interval`, `$__rate_interval` and the step, as Grafana works them out.

Two parties count. The dashboard divides the range by the points that a panel may have, rounds, and raises the result to
the panel's Min interval, else to the source's interval. The data source does the same once more, with the target's Min
step as the limit where there is one; its result is `$__interval` and the step.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache

from .board import Grid

DEFAULT_SCRAPE_S = 15.0
"""What Grafana takes for the scrape interval of a source that has no `timeInterval`."""

DASHBOARD_WIDTH_PX = 1888
"""Width of the panels together: a browser window of 1920 px, without its borders and with the menu closed."""

GAP_PX = 8
COLUMNS = 24
WIDTH_WITHOUT_PLACE = 12
"""Columns of a panel that says no place: half of the dashboard."""

SAFE_POINTS = 11_000
"""Points that Prometheus gives for a series at most."""

_UNITS_S = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
    "w": 604_800.0,
    "M": 365.25 / 12 * 86_400,
    "y": 365.25 * 86_400,
}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|[smhdwMy])", re.ASCII)

_RATE_INTERVAL = frozenset({"$__rate_interval", "${__rate_interval}"})
_INTERVAL = frozenset({"$__interval", "${__interval}"})

_ROUNDED_MS = (
    *(1, 10, 20, 50, 100, 200, 500),
    *(seconds * 1000 for seconds in (1, 2, 5, 10, 15, 20, 30)),
    *(minutes * 60_000 for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * 3_600_000 for hours in (1, 2, 3, 6, 12)),
    *(days * 86_400_000 for days in (1, 7, 30, 365)),
)
_BOUNDS_MS = (
    *(10, 15, 35, 75, 150, 350, 750),
    *(1500, 3500, 7500, 12_500, 17_500, 25_000, 45_000),
    *(90_000, 210_000, 450_000, 750_000, 1_050_000, 1_500_000, 2_700_000),
    *(5_400_000, 9_000_000, 16_200_000, 32_400_000, 86_400_000),
    *(604_800_000, 1_814_400_000, 3_628_800_000),
)
"""From the first bound on, an interval is rounded to the second value of `_ROUNDED_MS`, and so on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Intervals:
    """How finely one target is asked, in seconds."""

    step_s: float
    """The step of a range query, and `$__interval`."""
    rate_interval_s: float


@lru_cache(maxsize=256)
def duration_s(text: str) -> float | None:
    """Return a duration as Grafana's settings write one, in seconds; a bare number is seconds. None for what is none.

    >>> duration_s("1m"), duration_s("1h30m"), duration_s(".5m"), duration_s("30"), duration_s(">10s"), duration_s("1d")
    (60.0, 5400.0, 30.0, 30.0, 10.0, 86400.0)
    >>> duration_s("auto"), duration_s(""), duration_s("$interval")
    (None, None, None)
    """
    compact = re.sub(r"[<>\s]", "", text)
    if compact.isascii() and compact.isdigit():
        return _finite(float(compact))
    parts = list(_PART.finditer(compact))
    if not parts or "".join(part[0] for part in parts) != compact:
        return None
    return _finite(sum(float(part[1]) * _UNITS_S[part[2]] for part in parts))


def points_of(max_data_points: int | None, grid: Grid | None) -> int:
    """Return how many points a panel asks for: what it says, else one for each pixel of its width.

    >>> points_of(100, None), points_of(None, Grid(0, 0, 24, 8)), points_of(None, None)
    (100, 1888, 940)
    """
    if max_data_points:
        return max_data_points
    columns = grid.w if grid else WIDTH_WITHOUT_PLACE
    return max(round((DASHBOARD_WIDTH_PX + GAP_PX) * columns / COLUMNS) - GAP_PX, 1)


def intervals(
    range_s: float,
    points: int,
    *,
    min_interval: str = "",
    min_step: str = "",
    source_interval: str | None = None,
    factor: int = 1,
) -> Intervals:
    """Return how finely a target is asked, over a range and with as many points as its panel has.

    *min_interval* is the panel's, *min_step* the target's, both with their variables' values; what is no duration is
    as if it were not set. *min_step* may be `$__interval` or `$__rate_interval`. *source_interval* is the data
    source's `timeInterval`.

    >>> intervals(3600, 940)
    Intervals(step_s=15.0, rate_interval_s=60.0)
    >>> intervals(86400, 940, min_step="30s")
    Intervals(step_s=120.0, rate_interval_s=150.0)
    """
    source_s = duration_s(source_interval or "") or DEFAULT_SCRAPE_S
    asked_s = max(_rounded_by_dashboard(range_s / points), duration_s(min_interval) or source_s)
    least_s = duration_s(min_step) or asked_s
    step_s = range_s / points
    step_s = least_s if step_s < least_s else _rounded_by_source(step_s)
    step_s = max(step_s, _rounded_by_source(range_s / SAFE_POINTS))
    if min_step in _RATE_INTERVAL:
        rate_s = _rate_interval(step_s, source_s)
        return Intervals(step_s=rate_s, rate_interval_s=rate_s)
    step_s *= factor
    scrape_s = step_s if min_step in _INTERVAL else duration_s(min_step) or source_s
    return Intervals(step_s=step_s, rate_interval_s=_rate_interval(asked_s, scrape_s))


def auto_interval_s(range_s: float, steps: int, least_s: float) -> float:
    """Return what `auto` of an interval variable stands for: a range in so many steps, rounded, and no less than that.

    >>> auto_interval_s(21600, 30, 10), auto_interval_s(60, 30, 10)
    (600.0, 10)
    """
    return max(_rounded_by_dashboard(range_s / steps), least_s)


def aligned_s(moment_s: float, step_s: float) -> float:
    """Return the last multiple of a step that is not after a moment: Grafana starts and ends its ranges there.

    >>> aligned_s(1_700_000_000.5, 15), aligned_s(1.75, 0.5)
    (1699999995.0, 1.5)
    """
    step_ms = max(round(step_s * 1000), 1)
    return math.floor(moment_s * 1000) // step_ms * step_ms / 1000


def interval_text(seconds: float) -> str:
    """Return an interval as Grafana writes `$__interval`: in its largest whole unit, the rest dropped.

    >>> [interval_text(seconds) for seconds in (0.2, 15, 90, 3600, 86400, 0.0001)]
    ['200ms', '15s', '1m', '1h', '1d', '1ms']
    """
    ms = round(seconds * 1000)
    for unit_ms, unit in ((31_536_000_000, "y"), (86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")):
        if ms >= unit_ms:
            return f"{ms // unit_ms}{unit}"
    return f"{max(ms, 1)}ms"


def rate_interval_text(seconds: float) -> str:
    """Return an interval as Grafana writes `$__rate_interval`: hours, minutes and seconds, down to zero.

    >>> [rate_interval_text(seconds) for seconds in (60, 7200, 45, 75, 0.5)]
    ['1m0s', '2h0m0s', '45s', '1m15s', '500ms']
    """
    ms = round(seconds * 1000)
    if ms < 1000:
        return f"{ms}ms"
    minutes, rest_ms = divmod(ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    start = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{start}{rest_ms / 1000:g}s"


def _rate_interval(interval_s: float, scrape_s: float) -> float:
    return max(interval_s + scrape_s, 4 * scrape_s)


def _rounded_by_dashboard(seconds: float) -> float:
    return _ROUNDED_MS[bisect_right(_BOUNDS_MS, seconds * 1000)] / 1000


def _rounded_by_source(seconds: float) -> float:
    """Round as the data source does: it counts a bound itself to the smaller value, the dashboard to the larger."""
    return _ROUNDED_MS[bisect_left(_BOUNDS_MS, seconds * 1000)] / 1000


def _finite(seconds: float) -> float | None:
    return seconds if 0 < seconds < math.inf else None
