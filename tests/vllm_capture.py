"""The captures of a real vLLM 0.32 in `../shared/metrics`, as an hour of scrapes that promtool can back-fill."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SHARED = Path(__file__).parents[2] / "shared"
METRICS = SHARED / "metrics"
WHY_SKIPPED = "../shared with its captures and dashboards is not here"

END_S = 1_790_000_000
SPAN_S = 3600
SCRAPE_S = 15

TARGET = {
    "container": "vllm",
    "endpoint": "http",
    "instance": "10.0.0.5:8000",
    "job": "vllm",
    "namespace": "inference",
    "pod": "vllm-0",
    "service": "vllm",
}
"""What Prometheus adds to every series of a target that a ServiceMonitor found."""

_SAMPLE = re.compile(r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")


def under_load(*, scrape_s: int = SCRAPE_S, span_s: int = SPAN_S) -> str:
    """Return OpenMetrics text: counters climb from the idle capture to the one after the load, gauges stand as in the
    one under load. No TYPE is given, so that any name goes."""
    idle, mid, load = (_samples(f"vllm-metrics-0.32.0-pressure-{when}.txt") for when in ("idle", "mid", "load"))
    growing = _growing(METRICS / "vllm-metrics-0.32.0-pressure-mid.txt")
    steps = span_s // scrape_s
    lines = list(_series("up", "", [1.0] * (steps + 1), scrape_s, span_s))
    for (name, labels), value in mid.items():
        if name in growing:
            start, end = idle.get((name, labels), 0.0), load.get((name, labels), value)
            values = [start + (end - start) * step / steps for step in range(steps + 1)]
        else:
            values = [value] * (steps + 1)
        lines += _series(name, labels, values, scrape_s, span_s)
    return "\n".join([*lines, "# EOF", ""])


def _samples(file: str) -> dict[tuple[str, str], float]:
    found = {}
    for line in (METRICS / file).read_text().splitlines():
        if not line.startswith("#") and (match := _SAMPLE.fullmatch(line)) is not None:
            found[match["name"], match["labels"] or ""] = float(match["value"])
    return found


def _growing(path: Path) -> set[str]:
    """Return the names of the series of counters, histograms and summaries."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", path.read_text(), re.MULTILINE))
    growing: set[str] = set()
    for name, kind in types.items():
        if kind == "counter":
            growing.add(name)
        elif kind in ("histogram", "summary"):
            growing |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
    return growing


def _series(name: str, labels: str, values: list[float], scrape_s: int, span_s: int) -> Iterator[str]:
    own = [f'{key}="{value}"' for key, value in TARGET.items() if f'{key}="' not in labels]
    head = f"{name}{{{','.join([*own, *([labels] if labels else [])])}}}"
    for step, value in enumerate(values):
        yield f"{head} {value!r} {END_S - span_s + step * scrape_s}"
