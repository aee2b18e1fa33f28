"""Grafana's times: `now-6h/d`, `now/w`, ISO 8601, seconds or milliseconds since 1970; `now` is given."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, tzinfo

from ..errors import UsageError
from .board import Board, Panel, Scope, Window
from .boards import DEFAULT_FROM, DEFAULT_TO
from .interpolation import interpolate

_STEP = re.compile(r"(?P<sign>[+-])(?P<number>\d{0,9})(?P<unit>[smhdwMQy])|/1?(?P<fiscal>f?)(?P<round>[smhdwMQy])")
_SPAN = re.compile(r"[+-]?\d+(?:f[Qy]|[yMwdhmsQ])|/f?[dwMQy]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DATE_DIGITS = 8
_FIRST_MS = 10**11
"""A number from here on is milliseconds: as seconds it would lie beyond the year 5000."""

_ABSOLUTE_STEPS = {"s": 1, "m": 60, "h": 3600}
_DAYS = {"d": 1, "w": 7}
_MONTHS = {"M": 1, "Q": 3, "y": 12}
_FIRST_WEEKDAYS = {"monday": 0, "saturday": 5, "sunday": 6}

_HINT = "a time is now, now-6h, now-1d/d, 2026-03-01T02:00:00Z or a number of seconds since 1970"


def time_of(text: str, *, now_s: float, round_up: bool = False, zone: tzinfo = UTC, week_start: str = "") -> float:
    """Return the seconds since 1970 that a time means.

    `/d` goes to the start of a day, with *round_up* to its last millisecond, as Grafana does for the end of a range.
    *zone* is where days start, and what a date without a zone is in. Weeks start on Sunday, unless *week_start*
    says `monday` or `saturday`; fiscal years in January. Raise UsageError for a text that is no time.

    >>> time_of("now-1h", now_s=1_700_000_000), time_of("2023-11-14T22:13:20Z", now_s=0)
    (1699996400.0, 1700000000.0)
    >>> time_of("now/d", now_s=1_700_000_000), time_of("now/d", now_s=1_700_000_000, round_up=True)
    (1699920000.0, 1700006399.999)
    """
    compact = text.strip()
    try:
        if compact.startswith("now"):
            start, steps = datetime.fromtimestamp(now_s, zone), compact[3:]
        else:
            written, _, steps = compact.partition("||")
            start = _absolute(written, zone)
        return _stepped(start, re.sub(r"\s", "", steps), round_up, week_start).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is no time", hint=_HINT) from error


def window_of(
    time_from: str,
    time_to: str,
    *,
    now_s: float,
    zone: tzinfo = UTC,
    week_start: str = "",
    relative: bool | None = None,
) -> Window:
    """Return the time range between two times; raise UsageError where one is none, or they are the wrong way round.

    A panel's own range stands in for a relative one only: for one of whose times any says `now`, or as *relative* says.
    """
    start_s = time_of(time_from, now_s=now_s, zone=zone, week_start=week_start)
    end_s = time_of(time_to, now_s=now_s, round_up=True, zone=zone, week_start=week_start)
    if end_s <= start_s:
        raise UsageError(
            f"the time range from {time_from!r} to {time_to!r} is empty: it ends before it starts",
            hint="for example --from now-6h --to now",
        )
    if relative is None:
        relative = "now" in time_from or "now" in time_to
    return Window(start_s=start_s, end_s=end_s, now_s=now_s if relative else None)


def window_of_board(board: Board, *, now_s: float, zone: tzinfo = UTC) -> Window:
    """Return the range that a dashboard opens with; where what it says is none, Grafana's, the last six hours."""
    try:
        return window_of(board.time_from, board.time_to, now_s=now_s, zone=zone, week_start=board.week_start)
    except UsageError:
        return window_of(DEFAULT_FROM, DEFAULT_TO, now_s=now_s, zone=zone)


def window_of_panel(panel: Panel, window: Window, scope: Scope, *, zone: tzinfo = UTC) -> Window:
    """Return the range that a panel is drawn for: its own relative one, shifted as it asks.

    As in Grafana, its own range counts only within a relative one, and a setting that cannot be read counts for
    nothing, nor do those after it.
    """
    if panel.time_from:
        own = interpolate(panel.time_from, scope, format=None).strip().removeprefix("now")
        if _SPAN.match(own) is None:
            return window
        if window.now_s is not None:
            shifted = _own_range(own, window.now_s, zone)
            if shifted is None:
                return window
            window = shifted
    if panel.time_shift:
        shift = interpolate(panel.time_shift, scope, format=None).strip().removeprefix("-")
        return _shifted(window, shift, zone) or window
    return window


def _own_range(own: str, now_s: float, zone: tzinfo) -> Window | None:
    """Return `now-…` to now; for `+…` now to `now+…`; for `/d` the start of the day to now."""
    try:
        if own.startswith("+"):
            return window_of("now", f"now{own}", now_s=now_s, zone=zone)
        return window_of(f"now{own}" if own[0] in "-/" else f"now-{own}", "now", now_s=now_s, zone=zone)
    except UsageError:
        return None


def _shifted(window: Window, shift: str, zone: tzinfo) -> Window | None:
    try:
        start = _stepped(datetime.fromtimestamp(window.start_s, zone), f"-{shift}", False, "").timestamp()
        end = _stepped(datetime.fromtimestamp(window.end_s, zone), f"-{shift}", True, "").timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return Window(start_s=start, end_s=end) if end > start else None


def _absolute(text: str, zone: tzinfo) -> datetime:
    if _NUMBER.fullmatch(text) and len(text) != _DATE_DIGITS:
        number = float(text)
        return datetime.fromtimestamp(number / 1000 if number >= _FIRST_MS else number, zone)
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _stepped(moment: datetime, steps: str, round_up: bool, week_start: str) -> datetime:
    """Return a moment after steps such as `-1d/d`; raise ValueError for what are none."""
    end = 0
    for match in _STEP.finditer(steps):
        if match.start() != end:
            break
        end = match.end()
        if unit := match["round"]:
            if match["fiscal"] and unit not in "Qy":
                raise ValueError(f"{steps!r}: only quarters and years are fiscal")
            moment = _start_of(moment, unit, week_start)
            if round_up:
                moment = _moved(moment, unit, 1) - timedelta(milliseconds=1)
        else:
            moment = _moved(moment, match["unit"], int(match["sign"] + (match["number"] or "1")))
    if end != len(steps):
        raise ValueError(f"{steps!r} cannot be read from character {end + 1} on")
    return moment


def _moved(moment: datetime, unit: str, number: int) -> datetime:
    """Return a moment some units on: hours as time passes, days as a calendar counts them."""
    if unit in _ABSOLUTE_STEPS:
        return (moment.astimezone(UTC) + timedelta(seconds=number * _ABSOLUTE_STEPS[unit])).astimezone(moment.tzinfo)
    if unit in _DAYS:
        return moment + timedelta(days=number * _DAYS[unit])
    months = moment.year * 12 + moment.month - 1 + number * _MONTHS[unit]
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError(f"the year {year}")
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def _start_of(moment: datetime, unit: str, week_start: str) -> datetime:
    if unit == "s":
        return moment.replace(microsecond=0)
    if unit == "m":
        return moment.replace(second=0, microsecond=0)
    if unit == "h":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "w":
        first = _FIRST_WEEKDAYS.get(week_start, _FIRST_WEEKDAYS["sunday"])
        return day - timedelta(days=(day.weekday() - first) % 7)
    if unit == "M":
        return day.replace(day=1)
    if unit == "Q":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1) if unit == "y" else day
