"""What Prometheus answers, as values: a result, a refusal, or no answer at all. No answer is an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One series of a result, without its samples: what they were like is enough to say whether a panel is lit."""

    labels: Mapping[str, str]
    samples: int
    numbers: int
    """Samples that are no NaN (histograms count as numbers)."""
    nonzero: int
    """Numbers other than 0."""
    last: float
    """The last sample's value; NaN for a native histogram."""
    first_s: float = 0.0
    last_s: float = 0.0
    """When its first and last sample stand, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """An answer with series; a scalar is one series without labels. None at all: the query matched nothing."""

    type: Literal["vector", "matrix", "scalar", "string"]
    series: tuple[Series, ...] = ()
    warnings: tuple[str, ...] = ()
    """Prometheus' own warnings, infos left out."""

    @property
    def samples(self) -> int:
        """Samples in all series."""
        return sum(each.samples for each in self.series)

    @property
    def numbers(self) -> int:
        """Numbers in all series."""
        return sum(each.numbers for each in self.series)

    @property
    def nonzero(self) -> int:
        """Numbers other than 0 in all series."""
        return sum(each.nonzero for each in self.series)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """Prometheus said no to this query, in its own words."""

    kind: Literal["bad query", "too expensive", "unsupported"]
    """bad query: 400 or 422 `bad_data`/`execution`; too expensive: a limit of samples, series or time, or an answer
    too big to take; unsupported: this server does not know the endpoint."""
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NoAnswer:
    """Not asked, or not answered: the server is away, a proxy's page, a login, a time-out, an expired token."""

    said: str
    hint: str | None = None
    lasting: bool = False
    """Whether it will be so for every further question too (away, not let in), so that none need be asked."""
    denied: bool = False
    """Whether a right is missing: then it will be so until somebody gives it."""


Answer = Result | Refused | NoAnswer
Relabelings = Mapping[str, tuple[Mapping[str, Any], ...]]
"""Name of a scrape config -> what it does to the metrics that it scraped, step by step, as a monitor writes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """An answer that is a list of texts: metric names, label names, values of a label."""

    values: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScrapeTarget:
    """One target that Prometheus scrapes or drops, from `/api/v1/targets`."""

    pool: str
    """Name of its scrape config: `serviceMonitor/NAMESPACE/NAME/INDEX` where the operator wrote it."""
    labels: Mapping[str, str]
    """As its series carry them; of a dropped one those before relabelling."""
    url: str
    health: Literal["up", "down", "unknown"]
    error: str = ""
    """The last scrape's error."""
    interval_s: float | None = None
    discovered: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exposed:
    """A metric that a target exposes, be it stored or not, from `/api/v1/targets/metadata`."""

    labels: Mapping[str, str]
    """The target's, as `ScrapeTarget.labels`."""
    type: str
    """As the target's `# TYPE` says: counter, gauge, histogram, summary, …"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """What a server says of itself; None: it was not asked or does not say."""

    version: str | None = None
    kind: Literal["prometheus", "thanos", "mimir", "victoriametrics", "unknown"] = "unknown"
    retention_s: float | None = None
    oldest_s: float | None = None
    """Time of the oldest sample of its head or blocks, in seconds since 1970, where it can be told."""
    lookback_s: float = 300.0
