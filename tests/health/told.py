"""A real Prometheus that scrapes nothing, with the targets and the configuration that a folder says it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from kvobs.adapters.prometheus import Prometheus
from kvobs.adapters.prometheus_about import relabelings_of
from kvobs.health.answers import Exposed, Names, NoAnswer, Refused, Relabelings, ScrapeTarget, Server

from .replay import declared


class Told:
    """An `Asked`: what it holds is the server's, what it scrapes the folder's (`targets.yaml`, `config.yaml`)."""

    def __init__(self, prometheus: Prometheus, folder: Path, exposition: Callable[[str], str]) -> None:
        """*exposition* gives the text of an exposition by its name."""
        self._prometheus = prometheus
        self._told: list[dict[str, Any]] | None = _read(folder / "targets.yaml")
        self._config = folder / "config.yaml"
        self._exposition = exposition
        self.query = prometheus.query
        self.metric_names = prometheus.metric_names
        self.label_names = prometheus.label_names
        self.label_values = prometheus.label_values

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]] | Refused | NoAnswer:
        """The active and the dropped targets."""
        if self._told is None:
            return self._prometheus.targets()
        keys = ({key: each[key] for key in each if key != "exposes"} for each in self._told)
        return tuple(ScrapeTarget(**each) for each in keys), ()

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """The scrape configs that the targets are of."""
        if self._told is None:
            return self._prometheus.scrape_pools()
        return Names(values=frozenset(each["pool"] for each in self._told))

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """What the scrape configs drop and rename."""
        return relabelings_of({"yaml": self._config.read_text()}) if self._config.exists() else {}

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """The targets whose exposition declares a metric, be it stored or not."""
        having = [each for each in self._told or () if "exposes" in each]
        declares = [(each["labels"], declared(self._exposition(each["exposes"]))) for each in having]
        return tuple(Exposed(labels=labels, type=kinds[metric]) for labels, kinds in declares if metric in kinds)

    def server(self) -> Server | NoAnswer:
        """What the server says of itself."""
        return self._prometheus.server()


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text()) if path.exists() else None
