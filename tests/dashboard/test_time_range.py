"""Times and time ranges as Grafana reads them."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from kvobs.dashboard.board import Board, Panel, Value, Window
from kvobs.dashboard.document import Shape
from kvobs.dashboard.time_range import time_of, window_of, window_of_board, window_of_panel
from kvobs.errors import UsageError

NOW = datetime(2026, 3, 29, 14, 45, 30, 250_000, tzinfo=UTC)
"""A Sunday; in Berlin the clock went forward that night."""


def seconds(*date, zone=UTC):
    """Return a date as seconds since 1970."""
    return datetime(*date, tzinfo=zone).timestamp()


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("now", NOW.timestamp(), NOW.timestamp()),
        (" now - 90s ", NOW.timestamp() - 90, NOW.timestamp() - 90),
        ("now-6h/d", seconds(2026, 3, 29), seconds(2026, 3, 30) - 0.001),
        ("now-1d/d", seconds(2026, 3, 28), seconds(2026, 3, 29) - 0.001),
        ("now/h", seconds(2026, 3, 29, 14), seconds(2026, 3, 29, 15) - 0.001),
        ("now/m+5m", seconds(2026, 3, 29, 14, 50), seconds(2026, 3, 29, 14, 51) - 0.001),
        ("now/1s", seconds(2026, 3, 29, 14, 45, 30), seconds(2026, 3, 29, 14, 45, 31) - 0.001),
        ("now/w", seconds(2026, 3, 29), seconds(2026, 4, 5) - 0.001),
        ("now-1M/M", seconds(2026, 2, 1), seconds(2026, 3, 1) - 0.001),
        ("now-1M", seconds(2026, 2, 28, 14, 45, 30, 250_000), seconds(2026, 2, 28, 14, 45, 30, 250_000)),
        ("now/Q", seconds(2026, 1, 1), seconds(2026, 4, 1) - 0.001),
        ("now-1Q/fQ", seconds(2025, 10, 1), seconds(2026, 1, 1) - 0.001),
        ("now/y", seconds(2026, 1, 1), seconds(2027, 1, 1) - 0.001),
        ("now-h", NOW.timestamp() - 3600, NOW.timestamp() - 3600),
        ("1700000000", 1_700_000_000, 1_700_000_000),
        ("1700000000.5", 1_700_000_000.5, 1_700_000_000.5),
        ("1700000000500", 1_700_000_000.5, 1_700_000_000.5),
        ("20260301", seconds(2026, 3, 1), seconds(2026, 3, 1)),
        ("2026-03-01", seconds(2026, 3, 1), seconds(2026, 3, 1)),
        (
            "2025-05-04T16:16:14.919Z",
            seconds(2025, 5, 4, 16, 16, 14, 919_000),
            seconds(2025, 5, 4, 16, 16, 14, 919_000),
        ),
        ("2026-03-01 02:00:00+02:00", seconds(2026, 3, 1), seconds(2026, 3, 1)),
        ("2026-03-01||+1d/d", seconds(2026, 3, 2), seconds(2026, 3, 3) - 0.001),
    ],
)
def test_time(text, start, end):
    """A time means this as the start of a range, and that as its end."""
    assert time_of(text, now_s=NOW.timestamp()) == pytest.approx(start, abs=1e-6)
    assert time_of(text, now_s=NOW.timestamp(), round_up=True) == pytest.approx(end, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "zone", "week_start", "want"),
    [
        ("now/d", ZoneInfo("Europe/Berlin"), "", datetime(2026, 3, 28, 23, tzinfo=UTC)),
        ("now-1d", ZoneInfo("Europe/Berlin"), "", NOW - timedelta(hours=23)),
        ("now-24h", ZoneInfo("Europe/Berlin"), "", NOW - timedelta(hours=24)),
        ("now/w", UTC, "monday", datetime(2026, 3, 23, tzinfo=UTC)),
        ("now/w", UTC, "saturday", datetime(2026, 3, 28, tzinfo=UTC)),
        ("2026-03-01 02:00", timezone(timedelta(hours=2)), "", datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_zone_and_week(text, zone, week_start, want):
    """Days start in the given zone, weeks on the given day; a date without a zone is in the given one."""
    got = time_of(text, now_s=NOW.timestamp(), zone=zone, week_start=week_start)

    assert datetime.fromtimestamp(got, UTC) == want


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "now-",
        "now-6",
        "now-6x",
        "now/2d",
        "now6h",
        "now/fd",
        "now-999999999y",
        "2026-13-01",
        "||",
        "9" * 40,
    ],
)
def test_no_time(text):
    """What is no time is refused with what would be one."""
    with pytest.raises(UsageError, match="is no time") as raised:
        time_of(text, now_s=NOW.timestamp())

    assert "now-6h" in raised.value.hint


def test_window():
    """A range keeps what now means where it is relative, and must not end before it starts."""
    now_s = NOW.timestamp()

    assert window_of("now-1h", "now", now_s=now_s) == Window(start_s=now_s - 3600, end_s=now_s, now_s=now_s)
    assert window_of("1700000000", "1700000060", now_s=now_s).now_s is None
    assert window_of("1700000000", "1700000060", now_s=now_s, relative=True).now_s == now_s
    with pytest.raises(UsageError, match="ends before it starts"):
        window_of("now", "now-1h", now_s=now_s)


@pytest.mark.parametrize(
    ("time_from", "time_to", "hours"),
    [("now-30m", "now", 0.5), ("now/d", "now/d", 24), ("soon", "now", 6), ("now", "now-1h", 6)],
)
def test_window_of_board(time_from, time_to, hours):
    """A dashboard's own range counts, and Grafana's default one where that cannot be read."""
    board = Board(uid=None, title="", shape=Shape.CLASSIC, panels=(), time_from=time_from, time_to=time_to)

    window = window_of_board(board, now_s=NOW.timestamp())

    assert window.end_s - window.start_s == pytest.approx(hours * 3600, abs=0.01)


H = 3600.0


@pytest.mark.parametrize(
    ("own", "shift", "relative", "want"),
    [
        (None, None, True, (-6 * H, 0)),
        ("1h", None, True, (-H, 0)),
        ("now-1h", None, True, (-H, 0)),
        ("$span", None, True, (-2 * H, 0)),
        ("+1h", None, True, (0, H)),
        ("1h", None, False, (-6 * H, 0)),
        (None, "1d", True, (-30 * H, -24 * H)),
        (None, "1d", False, (-30 * H, -24 * H)),
        ("1h", "$span", True, (-3 * H, -2 * H)),
        ("soon", "1d", True, (-6 * H, 0)),
        (None, "soon", True, (-6 * H, 0)),
    ],
)
def test_window_of_panel(own, shift, relative, want):
    """A panel's own range stands in for a relative one, shifted; what cannot be read counts for nothing."""
    now_s = NOW.timestamp()
    window = Window(start_s=now_s - 6 * H, end_s=now_s, now_s=now_s if relative else None)
    panel = Panel(id=1, title="", type="stat", time_from=own, time_shift=shift)

    found = window_of_panel(panel, window, {"span": Value(values=("2h",))})

    assert (found.start_s - now_s, found.end_s - now_s) == pytest.approx(want, abs=1e-3)


def test_window_of_panel_today():
    """A panel's own range may be today so far."""
    now_s = NOW.timestamp()
    panel = Panel(id=1, title="", type="stat", time_from="now/d")

    found = window_of_panel(panel, Window(start_s=now_s - 60, end_s=now_s, now_s=now_s), {})

    assert (found.start_s, found.end_s) == (seconds(2026, 3, 29), now_s)
