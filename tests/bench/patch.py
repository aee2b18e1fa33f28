"""How fast the patch is: `python -m tests.bench.patch` prints a Markdown table.

Each row is one document: the time to patch it, as a ratio to what any tool pays that reads and writes it
(json.loads and json.dumps of the same bytes), and against a walk of jsonpath-ng over `$..datasource`, which only
finds references and decides nothing. Times are the best of several runs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jsonpath_ng import parse

from kvobs.dashboard.patch import Datasource, patch_dashboard

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "dashboards"
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
JSONPATH_LIMIT = 20_000_000
"""Bytes of the largest document that jsonpath-ng is measured on; beyond, it takes minutes."""

GIVEN = {"prometheus": Datasource("prometheus", "Prometheus"), "loki": Datasource("loki", "Loki")}


def seconds(action: Callable[[], object], *, budget_s: float = 2.0) -> float:
    """Return the best time of an action, run as often as the budget allows, once at least."""
    best, started = float("inf"), time.perf_counter()
    while best == float("inf") or time.perf_counter() - started < budget_s:
        before = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - before)
    return best


def grown(size: int) -> bytes:
    """Return a dashboard of about so many bytes, laid out as Grafana exports it, from the panels that kvobs ships."""
    boards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]
    panels = [panel for board in boards for panel in board["panels"]]
    text = json.dumps(panels, indent=2, ensure_ascii=False)
    copies = max(1, round(size / len(text.encode())))
    board = {**boards[0], "panels": []}
    frame = json.dumps(board, indent=2, ensure_ascii=False).replace('"panels": []', '"panels": [%s]')
    return (frame % ",".join([text[1:-1]] * copies)).encode()


def documents() -> Iterator[tuple[str, bytes]]:
    """Yield what is measured: grown dashboards, and real ones where they are at hand."""
    for size in SIZES:
        yield "grown", grown(size)
    for name in ("rfmoz__grafana-dashboards__node-exporter-full-1860.json", "rfmoz__grafana-dashboards__haproxy.json"):
        if (CORPUS / name).exists():
            yield name.split("__")[-1].removesuffix(".json"), (CORPUS / name).read_bytes()


def row(name: str, raw: bytes) -> str:
    """Measure one document and return its row."""
    document: Any = json.loads(raw)
    patching = seconds(lambda: patch_dashboard(document, datasources=GIVEN, known=[], remap_foreign=True))
    references = len(patch_dashboard(document, datasources=GIVEN).references)
    through_json = seconds(lambda: json.dumps(json.loads(raw)))
    walk = "-"
    if len(raw) <= JSONPATH_LIMIT:
        path = parse("$..datasource")
        walk = f"{seconds(lambda: path.find(document)) / patching:.0f} times faster"
    cells = (
        name,
        f"{len(raw) / 1000:,.0f} kB",
        f"{references:,}",
        f"{patching * 1000:,.2f} ms",
        f"{patching / (len(raw) / 1000) * 1e6:,.1f} µs/kB".replace(",", " "),
        f"{patching / through_json:.2f}",
        walk,
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    print("| dashboard | size | references | patch | per size | against loads + dumps | against jsonpath-ng |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, raw in documents():
        print(row(name, raw), flush=True)


if __name__ == "__main__":
    main()
