"""How often monitors of ours scrape: as they are shipped, unless the stack reckons with more often. Pure.

`$__rate_interval` is four times what Grafana's data source is told of the scrapes (`timeInterval`), and
kube-prometheus-stack tells it the interval of its Prometheus. A monitor that is much slower than that leaves fewer than
two scrapes in such a window, and every rate dark. So ours are never slower than either of the two.

None of ours sets a timeout: Prometheus shortens its own to the interval of a target, and the Prometheus Operator
rejects a monitor only for a timeout that the monitor itself has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..dashboard.intervals import duration_s
from .facts import Object
from .target import Target
from .targets import ENDPOINTS


def told_intervals(target: Target) -> tuple[str | None, ...]:
    """Return the intervals that the Prometheus of *target* and its data source in Grafana reckon with, as written."""
    uid = target.datasources.get("prometheus", (None,))[0]
    sources = target.grafana.datasources if target.grafana is not None else ()
    drawn = (each.time_interval for each in sources if uid is not None and each.uid == uid)
    return (target.prometheus.scrape_interval, *drawn)


def scrape_interval(own: str, told: Iterable[str | None]) -> str:
    """Return the shortest of our *own* interval and those that are *told*; None, and what is no duration, is none.

    >>> [scrape_interval("15s", [told]) for told in (None, "", "30s", "1m30s", "5s", "500ms", "1s500ms", "$INTERVAL")]
    ['15s', '15s', '15s', '15s', '5s', '500ms', '1500ms', '15s']
    """
    own_s, shortest_s = duration_s(own), _shortest_s(told)
    return own if shortest_s is None or (own_s is not None and own_s <= shortest_s) else _written(shortest_s)


def with_intervals(monitors: Mapping[str, Object], told: Iterable[str | None]) -> dict[str, Object]:
    """Return *monitors*, by name, with the interval that each is shipped with, or the one *told* that is shorter."""
    told = tuple(told)
    return {name: _scraping(each, told) for name, each in monitors.items()}


def too_slow(interval: str, told: Iterable[str | None]) -> bool:
    """Whether a scrape each *interval* leaves fewer than two, at times, in four of the shortest interval *told*.

    >>> [too_slow("15s", [told]) for told in ("5s", "10s", "30s", None)], too_slow("5m", ["30s"])
    ([True, False, False, False], True)
    """
    shortest_s = _shortest_s(told)
    return shortest_s is not None and 2 * (duration_s(interval) or 0.0) > 4 * shortest_s


def _scraping(monitor: Object, told: tuple[str | None, ...]) -> dict[str, Any]:
    key = ENDPOINTS[monitor["kind"]]
    endpoints = [{**each, "interval": scrape_interval(each["interval"], told)} for each in monitor["spec"][key]]
    return {**monitor, "spec": {**monitor["spec"], key: endpoints}}


def _shortest_s(told: Iterable[str | None]) -> float | None:
    return min((found for each in told if (found := duration_s(each or "")) is not None), default=None)


def _written(seconds: float) -> str:
    """A duration as Prometheus reads one, which has no fractions and nothing below a millisecond."""
    ms = max(round(seconds * 1000), 1)
    return f"{ms}ms" if ms % 1000 else f"{ms // 1000}s"
