"""How fast verify is: `python -m tests.bench.verify` prints Markdown tables.

The shipped dashboards, as many copies as make a thousand panels, on a real Prometheus with an hour of vLLM servers
and GPU nodes: all of verify, the reading of the files, the variables and the causes included, beside a script that
does no more than ask the panels' queries one by one with prometheus-api-client. Where the public dashboards of vLLM
and DCGM are at hand, they are a row too: many of their panels are dark, and each cause takes questions of its own.
Both run in turns, each in a process of its own whose start is not counted; times are the best of several runs, memory
is the peak of the process as the kernel counts it.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.dashboard.board import Query
from kvobs.dashboard.boards import board_of
from kvobs.dashboard.queries import panel_queries
from kvobs.dashboard.time_range import window_of_board
from kvobs.health.sources import Sources
from kvobs.settings import Reach, Settings, Verification
from kvobs.use_cases.verify import verify
from kvobs.use_cases.verifying.asking import Answers
from kvobs.use_cases.verifying.variables import settle
from tests.bench.processes import ran, table
from tests.cluster.commands import ROOT
from tests.health.replay import Scrape, replayed
from tests.prometheus_server import PrometheusServer

PANELS = 1000
NOW_S = 1_700_000_000
RUNS = 3
NAMESPACES = ("chat", "code", "search", "batch")
REPLICAS = 6
NODES = 8
SCRAPE_S = 30
"""As the chart scrapes unless it is told otherwise."""
SHIPPED = ("vllm", "dcgm", "two-lenses")
CORPUS = ROOT.parent / "shared" / "dashboards"
METRICS = ROOT / "tests" / "data" / "metrics"

Document = dict[str, Any]


@dataclass(frozen=True)
class Load:
    """Dashboards that are verified."""

    what: str
    documents: Sequence[Document]


def scrapes() -> Iterator[Scrape]:
    """Yield what was scraped: vLLM with another model in each namespace, and nodes with GPUs."""
    vllm = (METRICS / "vllm-0.32.txt").read_text()
    for namespace in NAMESPACES:
        text = vllm.replace('model_name="', f'model_name="{namespace}-')
        for one in range(REPLICAS):
            pod = f"{namespace}-{one}"
            labels = {"job": "vllm", "instance": f"{pod}:8000", "namespace": namespace, "pod": pod}
            yield Scrape(text=text, labels=labels, every_s=SCRAPE_S)
    gpus = (METRICS / "dcgm-4.6-hostname-new-case.txt").read_text()
    for node in range(NODES):
        labels = {"job": "dcgm", "instance": f"node-{node}:9400", "namespace": "gpu-operator"}
        yield Scrape(text=gpus, labels=labels, every_s=SCRAPE_S)


def shipped() -> list[Document]:
    """Return the dashboards that kvobs ships."""
    return [json.loads((ROOT / "dashboards" / f"{name}.json").read_text(encoding="utf-8")) for name in SHIPPED]


def copies(*, alike: bool) -> list[Document]:
    """Return so many copies of the shipped dashboards that they have a thousand panels.

    Each is of a team, with its namespace chosen, so that those of the GPUs ask the same in all; or, where they are not
    *alike*, each is over a time range of its own besides, so that no two ask the same.
    """
    boards = shipped()
    times = math.ceil(PANELS / sum(len(board_of(each).panels) for each in boards))
    return [_copy(each, number, alike=alike) for number in range(times) for each in boards]


def _copy(board: Document, number: int, *, alike: bool) -> Document:
    namespace = NAMESPACES[number % len(NAMESPACES)]
    chosen = {"current": {"text": [namespace], "value": [namespace]}}
    variables = [{**each, **(chosen if each["name"] == "namespace" else {})} for each in board["templating"]["list"]]
    named = {"uid": f"{board['uid']}-{number}", "title": f"{board['title']}, team {number}"}
    time = {} if alike else {"time": {"from": f"now-{60 - number}m", "to": "now"}}
    return {**board, **named, **time, "templating": {"list": variables}}


def public() -> list[Document]:
    """Return the public dashboards of vLLM and DCGM, as they are; none where they are not at hand."""
    texts = [each.read_text(encoding="utf-8") for each in sorted(CORPUS.glob("*.json"))]
    return [json.loads(each) for each in texts if ("vllm:" in each or "DCGM_" in each) and "malformed" not in each]


def loads() -> Iterator[Load]:
    """Yield what is measured."""
    yield Load("sixteen teams' copies", copies(alike=True))
    yield Load("no two alike", copies(alike=False))
    if documents := public():
        yield Load("public dashboards", documents)


def queries_of(documents: Sequence[Document], url: str) -> list[Query]:
    """Return every query of every panel, equal ones again and again, as the panels would ask them."""
    asked: list[Query] = []
    with closing(Prometheus.at(Address(url=url))) as prometheus:
        answers, sources = Answers(prometheus), Sources(known=None)
        for document in documents:
            board = board_of(document)
            window = window_of_board(board, now_s=NOW_S)
            settled = settle(
                board, window, resolve=sources.resolve, asked=lambda _: answers, offered=sources.for_variable
            )
            for panel in panel_queries(board, settled.scope, window, resolve=sources.resolve):
                asked += (each for _, those in panel.asked if isinstance(those, tuple) for each in those)
    return asked


def one_by_one(url: str, file: str) -> dict[str, Any]:
    """Ask as a script would."""
    from prometheus_api_client import PrometheusApiClientException, PrometheusConnect

    queries: list[Query] = pickle.loads(Path(file).read_bytes())
    started = time.perf_counter()
    with PrometheusConnect(url=url) as api:
        for each in queries:
            start, end = (datetime.fromtimestamp(at, UTC) for at in (each.start_s, each.end_s))
            try:
                if each.instant:
                    api.custom_query(each.expr, params={"time": str(each.end_s)})
                else:
                    api.custom_query_range(each.expr, start, end, str(each.step_s))
            except PrometheusApiClientException:  # refused: an answer too
                continue
    return {"seconds": time.perf_counter() - started, "queries": len(queries)}


def by_verify(url: str, folder: str) -> dict[str, Any]:
    """Verify the dashboards of a folder."""
    verification = Verification(sources=(folder,), reach=Reach(url=url), at=str(NOW_S))
    started = time.perf_counter()
    report = verify(Settings(offline=True), verification)
    seconds = time.perf_counter() - started
    panels = sum(report.counts.values())
    return {"seconds": seconds, "requests": report.requests, "panels": panels, "lit": report.counts["lit"]}


WAYS = {"one-by-one": one_by_one, "verify": by_verify}


@dataclass(frozen=True)
class Way:
    """How one way went."""

    seconds: float
    peak_mib: float
    told: dict[str, Any]


def went(way: str, url: str, given: Path, told: Path) -> Way:
    """Go one way, in a process of its own."""
    argv = [sys.executable, "-m", "tests.bench.verify", way, url, str(given), str(told)]
    process = ran(argv, {**os.environ, "NO_PROXY": "127.0.0.1"})
    read = json.loads(told.read_text())
    return Way(read["seconds"], process.peak_mib, read)


def row(load: Load, url: str) -> list[str]:
    """Measure one load and return its row."""
    with tempfile.TemporaryDirectory(prefix="kvobs-bench-") as name:
        folder, queries, told = (Path(name, each) for each in ("dashboards", "queries", "told"))
        folder.mkdir()
        for number, each in enumerate(load.documents):
            (folder / f"{number:03}.json").write_text(json.dumps(each), encoding="utf-8")
        queries.write_bytes(pickle.dumps(queries_of(load.documents, url)))
        rounds = [(went("one-by-one", url, queries, told), went("verify", url, folder, told)) for _ in range(RUNS)]
    theirs, ours = (min(ways, key=lambda one: one.seconds) for ways in zip(*rounds, strict=True))
    return [
        load.what,
        f"{ours.told['panels']:,}",
        f"{ours.told['lit']:,}",
        f"{theirs.told['queries']:,}",
        f"{ours.told['requests']:,}",
        f"{theirs.seconds:.2f} s",
        f"{ours.seconds:.2f} s",
        f"{theirs.seconds / ours.seconds:.1f} ×",
        f"{ours.peak_mib:.0f} MiB ({theirs.peak_mib:.0f})",
    ]


HEAD = (
    *("dashboards", "panels", "lit", "their queries", "requests of verify"),
    *("one by one", "verify", "faster", "memory (one by one)"),
)


def main() -> None:
    """Print the table."""
    servers, gpus = len(NAMESPACES) * REPLICAS, NODES
    print(f"\n### verify, {PANELS:,} panels over an hour of {servers} vLLM servers and {gpus} GPU nodes\n")
    with tempfile.TemporaryDirectory(prefix="kvobs-bench-") as folder:
        series = Path(folder, "series.om")
        with series.open("w", encoding="utf-8") as file:
            file.writelines(replayed(each, NOW_S) for each in scrapes())
            file.write("# EOF\n")
        with PrometheusServer(binary="3", om_text=series) as server:
            print("\n".join(table(HEAD, [row(each, server.url) for each in loads()])), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[4]).write_text(json.dumps(WAYS[sys.argv[1]](sys.argv[2], sys.argv[3])))
    else:
        main()
