"""An exposition, as if a Prometheus had scraped it for a while: OpenMetrics text to back-fill a server with.

Counters grow from half of what they are to what they are, so that a rate of them is what a busy server's would be;
gauges stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:.]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+\d+)?")
_LABEL = re.compile(r'([a-zA-Z_][\w.]*)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, kw_only=True)
class Scrape:
    """One target's exposition, and how it was scraped."""

    text: str
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the target; a label of the metric of the same name becomes `exported_…`, as without honorLabels."""
    honor_labels: bool = False
    every_s: float = 15.0
    over_s: float = 3600.0
    ended_s: float = 0.0
    """How long before now the last scrape was."""
    idle: bool = False
    """Whether its counters stand still."""
    without: str = ""
    """Expression for the whole names of the samples that its relabelling drops."""
    prefix: str = ""
    """What its relabelling puts in front of each name."""
    up: bool = True
    """Whether the last minutes' scrapes failed: `up` is 0, and no other series is there."""


def replayed(scrape: Scrape, now_s: float) -> str:
    """Return the samples of a target as OpenMetrics text, without its last line."""
    last_s = now_s - scrape.ended_s
    count = max(1, int(scrape.over_s // scrape.every_s))
    times = [last_s - scrape.every_s * back for back in range(count - 1, -1, -1)]
    lines: list[str] = []
    for name, labels, value, grows in _samples(scrape):
        series = f"{name}{{{labels}}}"
        for number, time_s in enumerate(times):
            part = 0.5 + 0.5 * (number + 1) / count if grows else 1.0
            lines.append(f"{series} {_number(value * part)} {time_s:.3f}")
    if scrape.labels:
        up = _written(scrape.labels)
        lines += [f"up{{{up}}} {int(scrape.up)} {time_s:.3f}" for time_s in times]
    return "\n".join(lines) + "\n"


def _samples(scrape: Scrape) -> Iterator[tuple[str, str, float, bool]]:
    """Yield name, labels, value and whether it grows."""
    kinds = declared(scrape.text)
    for line in scrape.text.splitlines():
        found = _SAMPLE.fullmatch(line.strip())
        if line.startswith("#") or found is None or not scrape.up or re.fullmatch(scrape.without, found["name"]):
            continue
        own = dict(_LABEL.findall(found["labels"] or ""))
        if not scrape.honor_labels:
            own = {f"exported_{key}" if key in scrape.labels else key: each for key, each in own.items()}
        labels = _written({**scrape.labels, **own})
        yield (
            scrape.prefix + found["name"],
            labels,
            float(found["value"]),
            _counts(found["name"], kinds) and not scrape.idle,
        )


def declared(text: str) -> dict[str, str]:
    """Return the metrics that an exposition declares, and the type of each."""
    lines = (line.split() for line in text.splitlines() if line.startswith("# TYPE "))
    return {name: kind for _, _, name, kind in lines}


def _counts(name: str, kinds: Mapping[str, str]) -> bool:
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    plain = name.removesuffix("_total")
    return "counter" in (kinds.get(name), kinds.get(plain)) or kinds.get(base) in ("histogram", "summary")


def _written(labels: Mapping[str, str]) -> str:
    return ",".join(f'{key}="{value}"' for key, value in labels.items())


def _number(value: float) -> str:
    return repr(value) if value == value else "NaN"
