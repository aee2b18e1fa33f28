"""What verify needs of a Prometheus; the adapter has it, and a fake may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...dashboard.board import Query
from ...health.answers import Answer, Exposed, Names, NoAnswer, Refused, Relabelings, ScrapeTarget, Server


class Asked(Protocol):
    """One Prometheus, or what speaks its API. It answers with values and raises nothing; it may be asked by several
    threads at once."""

    def query(self, query: Query) -> Answer:
        """Answer an instant or a range query."""

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """Names of the metrics with samples in a time range; of all it holds without one."""

    def label_names(
        self, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """Names of the labels of the series that any selector of *matches* fits; of all without one."""

    def label_values(
        self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """Values of a label in the series that any selector of *matches* fits; in all without one."""

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]] | Refused | NoAnswer:
        """(active, dropped) targets."""

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """Names of the scrape configs that it reads, as `ScrapeTarget.pool`; those without a target may be left out."""

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """What each scrape config that it has loaded does to the metrics that it scraped; those that do nothing may be
        left out."""

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """Which targets expose a metric, be it stored or not, by its name as `# TYPE` has it."""

    def server(self) -> Server | NoAnswer:
        """What it says of itself: version, retention, oldest sample, as far as it does."""
