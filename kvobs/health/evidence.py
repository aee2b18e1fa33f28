"""What is known about a dark query before a cause is named; gathered by a use case, judged by the ladder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..dashboard.board import Panel, Query, Target, Variable
from ..stack.facts import Facts, Object, Prometheus
from .answers import Answer, Exposed, Relabelings, Result, ScrapeTarget, Server
from .promql import Matcher, Parsed, Part, Selector


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectorEvidence:
    """What the server holds for one selector of a query, in the query's time range."""

    selector: Selector
    present: bool | None = None
    """Whether the metric has any series in the range; None: not asked."""
    matched: bool | None = None
    """Whether any series fits name and matchers in the range; None: not asked."""
    label_names: frozenset[str] | None = None
    """Labels that the metric has, with any value; None: not asked, empty: the metric is not there."""
    label_sets: tuple[Mapping[str, str], ...] = ()
    """The values of the labels that matchers name, and of those that may stand in their place, in every series of
    the metric, matchers left out."""
    instead: str | None = None
    """Where nothing fits the matchers: a metric that has this one's place in other servers, and that they do fit."""
    zeroes: bool | None = None
    """Whether all that it matches is 0 over the range, or did not grow where it is a counter."""
    interval_s: float | None = None
    """Seconds between two samples of the metric, as seen in the data or in its target's configuration."""
    young: bool = False
    """Whether the metric's series have fewer than two samples yet."""
    stopped: bool = False
    """Whether what it matches ended before the range: samples that Prometheus would still look back to, and does not
    since it saw the series end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A part of a query that leaves nothing, though everything in it has numbers."""

    part: Part
    answer: Answer
    """Without series, or with NaN only."""
    sides: tuple[Answer, ...] = ()
    """The answers of the part's sides."""
    widened: Answer | None = None
    """Of a window: the answer with a window that holds several samples for sure; None: not asked."""

    @property
    def nan(self) -> bool:
        """Whether it has samples, and none of them is a number."""
        return isinstance(self.answer, Result) and self.answer.samples > 0 and self.answer.numbers == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerEvidence:
    """What is the same for all queries to one server."""

    server: Server = field(default_factory=Server)
    names: frozenset[str] | None = None
    """Names of the metrics that have samples in the time range; None: could not be asked."""
    names_ever: frozenset[str] | None = None
    """Names of the metrics that the server holds at all, whenever; None: not asked."""
    dcgm_labels: frozenset[str] | None = None
    """Labels that any series of the DCGM exporter has; None: not asked."""
    gpu_models: frozenset[str] | None = None
    """Models of the GPUs by the DCGM exporter; None: not asked."""
    targets: tuple[ScrapeTarget, ...] | None = None
    dropped: tuple[ScrapeTarget, ...] | None = None
    pools: frozenset[str] | None = None
    """Names of the scrape configs that it reads; None: not asked, or it does not say."""
    relabelings: Relabelings | None = None
    """What its scrape configs do to the metrics; None: not asked, or it does not say."""
    exposed: Mapping[str, tuple[Exposed, ...]] = field(default_factory=dict)
    """Name of a metric without series that these relabelings would drop or rename -> the targets that expose it."""
    past: bool = False
    """Whether the range ended a while ago: targets, which are those of now, say little of what was scraped then."""
    datasource_interval_s: float | None = None
    """`timeInterval` of the Grafana data source; None: not set, or not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterEvidence:
    """What the cluster says about the scrape; absent where verify was given an address only."""

    facts: Facts
    prometheus: Prometheus | None
    events: tuple[Object, ...] = ()
    """Warning events about monitors and the Prometheus object."""
    vllm_version: str | None = None
    """Version by the vLLM pods' image tags, where they all say the same one."""
    dcgm_version: str | None = None
    asleep: frozenset[str] = frozenset()
    """`namespace/name` of the servers among the facts that have no pod now: scaled to zero, or not started yet."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kind that could not be read beside those of the facts' `unasked` -> why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VariableEvidence:
    """A variable that is empty, or whose options could not be asked."""

    variable: Variable
    answer: Answer | None
    """What its own question was answered; None: it asks none."""
    dropped: int = 0
    """How many texts of the answer its regex left nothing of, where no option is left."""
    selectors: tuple[SelectorEvidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DarkQuery:
    """One query without a number in its answer, and what is known around it."""

    panel: Panel
    target: Target
    query: Query
    answer: Answer
    parsed: Parsed | None
    """None: the parser does not read it (Prometheus may)."""
    selectors: tuple[SelectorEvidence, ...] = ()
    lost: tuple[Lost, ...] = ()
    """Where its data gets lost, as far as that was asked: where all of its selectors have series."""
    server: ServerEvidence = field(default_factory=ServerEvidence)
    cluster: ClusterEvidence | None = None
    variables: Mapping[str, VariableEvidence] = field(default_factory=dict)
    """The empty variables among those that it uses."""


__all__ = [
    "ClusterEvidence",
    "DarkQuery",
    "Lost",
    "Matcher",
    "Parsed",
    "Part",
    "Selector",
    "SelectorEvidence",
    "ServerEvidence",
    "VariableEvidence",
]
