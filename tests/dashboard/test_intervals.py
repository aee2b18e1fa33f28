"""Intervals and steps, by tables worked out by hand from Grafana's rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.dashboard.intervals import SAFE_POINTS, aligned_s, duration_s, intervals, rate_interval_text

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("15s", 15),
        ("500ms", 0.5),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("2d12h", 216_000),
        ("1w", 604_800),
        ("1M", 2_629_800),
        ("1y", 31_557_600),
        ("60", 60),
        ("<10s", 10),
        (" >1m ", 60),
        ("0", None),
        ("0s", None),
        ("-5m", None),
        ("5m!", None),
        ("m5", None),
        ("5 parsecs", None),
        ("9" * 400, None),
        ("٣s", None),
    ],
)
def test_duration(text, want):
    """A duration is read as Grafana reads it; nothing, zero and nonsense count as not set."""
    assert duration_s(text) == want


@pytest.mark.parametrize(
    ("range_s", "points", "given_settings", "step", "rate"),
    [
        # Fifteen seconds are the least where nothing else is set.
        (HOUR, 1000, {}, 15, 60),
        (6 * HOUR, 1000, {}, 20, 60),
        (12 * HOUR, 1000, {}, 30, 60),
        (DAY, 1000, {}, 60, 75),
        (7 * DAY, 1000, {}, 600, 615),
        (30 * DAY, 1000, {}, 1800, 1815),
        # On a bound the dashboard takes the larger interval.
        (25_000, 1000, {}, 30, 60),
        (90_000, 1000, {}, 120, 135),
        # The source's interval is the least, and the scrape interval.
        (HOUR, 1000, {"source_interval": "30s"}, 30, 120),
        (HOUR, 1000, {"source_interval": "5s"}, 5, 20),
        (HOUR, 1000, {"source_interval": "nonsense"}, 15, 60),
        # The panel's Min interval takes the source's place as the least, and is no scrape interval.
        (HOUR, 1000, {"min_interval": "1m"}, 60, 75),
        (HOUR, 1000, {"min_interval": "5s"}, 5, 60),
        (HOUR, 1000, {"min_interval": "$nowhere"}, 15, 60),
        (HOUR, 1000, {"min_interval": "2m", "source_interval": "1m"}, 120, 240),
        # The target's Min step is the least of the source, and the scrape interval.
        (HOUR, 1000, {"min_step": "1m"}, 60, 240),
        (HOUR, 1000, {"min_step": "5s"}, 5, 20),
        (HOUR, 1000, {"min_step": "1s"}, 5, 16),
        (DAY, 1000, {"min_step": "30s"}, 60, 120),
        (HOUR, 1000, {"min_step": "1m", "min_interval": "5m"}, 60, 360),
        # A Min step that is a variable of the range.
        (HOUR, 1000, {"min_step": "$__interval"}, 15, 60),
        (DAY, 1000, {"min_step": "${__interval}"}, 60, 240),
        (HOUR, 1000, {"min_step": "$__rate_interval"}, 60, 60),
        (DAY, 1000, {"min_step": "${__rate_interval}", "source_interval": "30s"}, 120, 120),
        # Resolution multiplies the step, and not what the rate is taken over.
        (HOUR, 1000, {"factor": 2}, 30, 60),
        (DAY, 1000, {"factor": 10}, 600, 75),
        # More points than Prometheus gives.
        (DAY, 100_000, {"min_step": "1s"}, 10, 16),
        # One point, as a stat may ask.
        (HOUR, 1, {}, 3600, 3615),
        # A panel of many years.
        (40 * 365 * DAY, 100, {}, 365 * DAY, 365 * DAY + 15),
        (1, 1000, {"min_interval": "1ms", "min_step": "1ms"}, 0.001, 0.004),
    ],
)
def test_intervals(range_s, points, given_settings, step, rate):
    """Step and rate interval are what Grafana sends for a range, a number of points and the settings."""
    found = intervals(range_s, points, **given_settings)

    assert (found.step_s, found.rate_interval_s) == (step, pytest.approx(rate))


@given(
    st.integers(60, 40 * DAY),
    st.integers(1, 5000),
    st.sampled_from(["", "1s", "15s", "5m"]),
    st.sampled_from(["", "1s", "30s", "1h", "$__interval", "$__rate_interval"]),
    st.sampled_from([None, "10s", "1m"]),
)
def test_intervals_hold_together(range_s, points, min_interval, min_step, source_interval):
    """A step keeps to the target's Min step and gives no more points than Prometheus does; a rate has four scrapes."""
    found = intervals(range_s, points, min_interval=min_interval, min_step=min_step, source_interval=source_interval)

    assert found.step_s >= (duration_s(min_step) or 0)
    assert range_s / found.step_s <= SAFE_POINTS
    scrape_s = found.step_s if min_step == "$__interval" else duration_s(min_step) or duration_s(source_interval or "")
    assert found.rate_interval_s >= 4 * (scrape_s or 15)


@given(st.floats(0, 4e9), st.sampled_from([0.001, 0.5, 1, 15, 60, 3600, 604_800]))
def test_aligned(moment_s, step_s):
    """An aligned time is a multiple of the step, at most one step before."""
    found = aligned_s(moment_s, step_s)

    assert moment_s - step_s - 0.001 <= found <= moment_s + 0.0005
    assert aligned_s(found + step_s / 1e6, step_s) == pytest.approx(found, abs=0.001)


def test_texts_of_rate_intervals():
    """An interval below a second and one with a fraction are written as Grafana's server writes them."""
    assert [rate_interval_text(seconds) for seconds in (0.004, 2.5, 3615)] == ["4ms", "2.5s", "1h0m15s"]
