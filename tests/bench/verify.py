"""How fast verify asks: `python -m tests.bench.verify` prints a Markdown table.

Panels ask a local, real Prometheus; each row is the same panels asked one by one, with prometheus-api-client as it
comes, and by verify: equal ones once, several at a time. Verify's times are the best of several runs, memory is the
peak of what Python holds on top while it asks.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.dashboard.board import Query
from kvobs.use_cases.verifying.asking import Answers
from tests.prometheus_server import PrometheusServer

PANELS = 1000
START = 1_700_000_000
HOURS = 6
RUNS = 3
METRICS = 50
SERIES = 8


def series() -> str:
    """Return six hours of samples, every 30 s, of counters and gauges as a vLLM with eight replicas has."""
    lines: list[str] = []
    for metric in range(METRICS):
        lines.append(f"# TYPE m{metric} gauge")
        for one in range(SERIES):
            lines += [
                f'm{metric}{{pod="vllm-{one}",model="a"}} {at * (one + 1)} {START + 30 * at}'
                for at in range(HOURS * 120)
            ]
    return "\n".join(lines)


def panels(distinct: int) -> list[Query]:
    """Return the queries of so many panels, of which so many differ: six hours in steps of a minute."""
    end = START + HOURS * 3600
    made = [
        Query(
            expr=f'sum by (pod) (rate(m{number % METRICS}{{model="a"}}[{5 + number // METRICS}m]))',
            instant=False,
            start_s=START,
            end_s=end,
            step_s=60,
            source="prometheus",
        )
        for number in range(distinct)
    ]
    several = [made[number % distinct] for number in range(PANELS)]
    random.Random(7).shuffle(several)
    return several


def one_by_one(url: str, queries: Sequence[Query]) -> int:
    """Ask as a script would; the number of requests."""
    from prometheus_api_client import PrometheusConnect

    with PrometheusConnect(url=url) as api:
        for each in queries:
            start, end = (datetime.fromtimestamp(at, UTC) for at in (each.start_s, each.end_s))
            assert api.custom_query_range(each.expr, start, end, str(each.step_s))
    return len(queries)


def by_verify(url: str, queries: Sequence[Query]) -> int:
    """Ask as verify does; the number of requests."""
    prometheus = Prometheus.at(Address(url=url))
    answers = Answers(prometheus)
    found = answers.queries(queries)
    prometheus.close()
    assert all(getattr(each, "numbers", 0) for each in found.values())
    return answers.sent


def best_s(ask: Callable[[], int], runs: int) -> tuple[float, int]:
    """Return (best time in seconds, requests)."""
    best, requests = float("inf"), 0
    for _ in range(runs):
        before = time.perf_counter()
        requests = ask()
        best = min(best, time.perf_counter() - before)
    return best, requests


def peak_mib(ask: Callable[[], int]) -> float:
    """Return the most that Python held on top, in MiB."""
    tracemalloc.start()
    ask()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def row(url: str, distinct: int) -> str:
    """Measure so many distinct queries and return their row."""
    queries = panels(distinct)
    slow_s, sent = best_s(lambda: one_by_one(url, queries), 1)
    fast_s, fewer = best_s(lambda: by_verify(url, queries), RUNS)
    peak = peak_mib(lambda: by_verify(url, queries))
    return (
        f"| {distinct:,} | {slow_s:.2f} s | {fast_s:.2f} s | {slow_s / fast_s:.1f} × | {sent:,} | {fewer:,}"
        f" | {peak:.1f} MiB |"
    )


def main() -> None:
    """Print the table."""
    print(f"\n### Asking for {PANELS:,} panels, 6 h in steps of 1 min, {SERIES} series each\n")
    print("| distinct queries | one by one | verify | faster | requests one by one | requests verify | peak memory |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    with PrometheusServer(binary="3", om_text=series()) as server:
        for distinct in (50, 200, PANELS):
            print(row(server.url, distinct), flush=True)


if __name__ == "__main__":
    main()
