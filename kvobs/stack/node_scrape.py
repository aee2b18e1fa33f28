"""A ScrapeConfig for exporters that are a service of their node, and in no pod: for the reader to apply."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .facts import Object, Prometheus
from .scrape_intervals import scrape_interval
from .selectors import labels_wanted

KIND = "ScrapeConfig.monitoring.coreos.com"
_INTERVAL = "15s"


def node_scrape(
    prometheus: Prometheus, *, name: str, node_label: tuple[str, str], port: int, told: Iterable[str | None]
) -> Object | None:
    """Return the ScrapeConfig by which *prometheus* scrapes *port* of every node that has *node_label*.

    *told* are the intervals than which it is not to be slower. None where *prometheus* reads none, whatever their
    labels.
    """
    labels = labels_wanted(prometheus.scrape_config_selector)
    if labels is None:
        return None
    key, value = node_label
    meta = "__meta_kubernetes_node"
    discovered = f"{meta}_label_{re.sub(r'[^a-zA-Z0-9_]', '_', key)}"
    return {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": KIND.partition(".")[0],
        "metadata": {"name": name, "namespace": prometheus.namespace, "labels": labels},
        "spec": {
            "kubernetesSDConfigs": [{"role": "Node"}],
            "scrapeInterval": scrape_interval(_INTERVAL, told),
            "relabelings": [
                {"sourceLabels": [discovered], "regex": value, "action": "keep"},
                {
                    "sourceLabels": [f"{meta}_address_InternalIP"],
                    "targetLabel": "__address__",
                    "replacement": f"$1:{port}",
                },
                {"sourceLabels": [f"{meta}_name"], "targetLabel": "node"},
                {"targetLabel": "job", "replacement": name},
            ],
        },
    }
