"""A Prometheus that answers queries and has no page about itself, as a gateway in front of one."""

from __future__ import annotations

from kvobs.health.answers import Exposed, Names, NoAnswer, Refused, Relabelings, ScrapeTarget, Server

NO_PAGE = Refused(kind="unsupported", said="no such page")


class WithoutPages:
    """The part of an `Asked` that is about the server and its scrapes; a fake adds what is asked of the data."""

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]] | Refused | NoAnswer:
        """No page of targets."""
        return NO_PAGE

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """Nor of scrape pools."""
        return NO_PAGE

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """Nor of its configuration."""
        return NO_PAGE

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """Nor of metadata."""
        return NO_PAGE

    def server(self) -> Server | NoAnswer:
        """Nor a word of itself."""
        return NoAnswer(said="no such page")
