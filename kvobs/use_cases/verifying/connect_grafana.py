"""The Grafana that a run is told of by its address, with the token of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...adapters.grafana_api import GrafanaApi

TOKEN = "GRAFANA_TOKEN"
"""The environment variable that holds the token of a service account."""


def connect_grafana(
    url: str, environ: Mapping[str, str], *, ca_file: str | None = None, insecure: bool = False
) -> GrafanaApi:
    """Return the API of the Grafana at *url*; nothing is asked yet. Raises UsageError for what cannot be used."""
    # The HTTP library is loaded for those who name a Grafana, and for nobody else.
    from ...adapters.grafana_api import GrafanaApi

    return GrafanaApi(url, token=environ.get(TOKEN), ca_file=ca_file, insecure=insecure)
