"""verify on recordings of a real vLLM server, back-filled into a current Prometheus and into Debian's old one.

What each recording is, its label says: how the load was set up, checked against the raw scrapes.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import pytest

from kvobs.health.verdict import BoardVerdict
from kvobs.settings import Reach, Settings, Verification
from kvobs.use_cases.verify import verify

from ..prometheus_server import BINARIES, Binary, PrometheusServer
from ..vllm_capture import SHARED

RECORDINGS = SHARED / "recordings"
DASHBOARDS = SHARED / "dashboards"
UPSTREAM = "vllm-project__vllm__"

pytestmark = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="../shared with its recordings is not here")

QUOTIENTS = {
    "vllm": (
        "Failed or aborted", "Time to first token, p95", "Time to first token", "Inter-token latency",
        "End-to-end latency", "Queue time", "Prefill time", "Decode time", "Time per output token, per request",
        "Prefix-cache hit rate", "Tokens per step", "Length of prompts and answers", "Asked for and generated",
    ),
    "performance_statistics": (
        "E2E Latency over Time", "E2E Latency (Avg)", "E2E Latency (P50)", "E2E Latency (P90)", "E2E Latency (P99)",
        "TTFT Over Time", "TTFT (Avg)", "TTFT (P50)", "TTFT (P90)", "TTFT (P99)",
        "ITL (Time Per Output Token) Over Time", "ITL (Avg)", "ITL (P50)", "ITL (P90)", "ITL (P99)",
    ),
    "query_statistics": (
        "p50 Latency", "p90 Latency", "p99 Latency",
        "Input Token Size Avg", "Input Token Size p50", "Input Token Size p90", "Input Token Size p99",
    ),
    "grafana-2025-02": ("E2E Request Latency", "Time To First Token Latency"),
}  # fmt: skip
"""Dashboard -> its panels with quantiles and averages only, which need a request in the range."""

GONE = {"grafana-2025-02": {"Cache Utilization": "KVO-502", "Time Per Output Token Latency": "KVO-502"}}
"""Dashboard -> its panels on metrics that vLLM 0.32 has under other names, whatever the load."""

TIMES: dict[str, dict[str, tuple[dict[str, str], str | None]]] = {
    "a-idle": {
        "the hour until its end": ({"at": "record_end"}, "KVO-702"),
        "itself": ({"start": "record_start", "end": "record_end"}, "KVO-702"),
    },
    "c-kv-thrash": {
        "the hour until its end": ({"at": "record_end"}, None),
        "the load": ({"start": "steady_start", "end": "steady_end"}, None),
    },
    "h-dp2-imbalanced": {"the load": ({"start": "steady_start", "end": "steady_end"}, None)},
    "j-admission": {"the hour until its end": ({"at": "record_end"}, None)},
    "k-burst-500": {
        "before the burst": ({"start": "1700000000", "end": "1700000019"}, "KVO-702"),
        "the burst": ({"start": "steady_start", "end": "steady_end"}, None),
        "the night before": ({"at": "1699960000"}, "KVO-705"),
    },
}
"""Recording -> time range -> (how it is told, the cause of what is dark then: none where requests are answered)."""

ASKED = [(recording, when) for recording, times in TIMES.items() for when in times]


@cache
def verdicts(recording: str, binary: Binary) -> dict[str, tuple[BoardVerdict, ...]]:
    """Return time range -> the verdicts on the dashboards of vLLM."""
    folder = RECORDINGS / recording
    phases: dict[str, Any] = json.loads((folder / "scenario.json").read_text())["time"]["phases"]
    series = gzip.decompress((folder / "series.om.gz").read_bytes())
    sources = ("vllm", *(str(DASHBOARDS / f"{UPSTREAM}{name}.json") for name in QUOTIENTS if name != "vllm"))
    found = {}
    with PrometheusServer(binary=binary, om_text=series) as server:
        for when, (told, _) in TIMES[recording].items():
            times = {key: str(phases.get(value, value)) for key, value in told.items()}
            at, start, end = (times.get(key) for key in ("at", "start", "end"))
            verification = Verification(sources=sources, reach=Reach(url=server.url), at=at, start=start, end=end)
            found[when] = verify(Settings(offline=True), verification).boards
    return found


def states(boards: tuple[BoardVerdict, ...]) -> dict[str, dict[str, str]]:
    """Return dashboard -> panel -> its cause, or its state where it has none."""
    return {
        name: {panel.title: panel.finding.cause if panel.finding else panel.state for panel in board.panels}
        for name, board in zip(QUOTIENTS, boards, strict=True)
    }


def expected(panels: dict[str, dict[str, str]], cause: str | None) -> dict[str, dict[str, str]]:
    """Return what the verdicts on *panels* must be."""
    must: dict[str, dict[str, str]] = {}
    for name, titles in panels.items():
        dark = titles if cause == "KVO-705" else QUOTIENTS[name]
        must[name] = dict.fromkeys(titles, "lit")
        must[name] |= GONE.get(name, {})
        must[name] |= dict.fromkeys(dark, cause or "lit")
    return must


@pytest.mark.parametrize("binary", BINARIES)
@pytest.mark.parametrize(("recording", "when"), ASKED)
def test_the_verdicts_are_right(recording: str, when: str, binary: Binary) -> None:
    """An idle server's quantiles are dark for want of requests, a busy one's lit; what is renamed is always said."""
    boards = verdicts(recording, binary)[when]
    cause = TIMES[recording][when][1]

    found = states(boards)
    assert found == expected(found, cause)
    broken = {
        panel.finding.cause for each in boards for panel in each.panels if panel.finding and panel.state != "dark"
    }
    assert broken == ({"KVO-502"} if cause != "KVO-705" else set())


@pytest.mark.parametrize(("recording", "when"), ASKED)
def test_the_old_server_is_judged_as_the_new_one(recording: str, when: str) -> None:
    """Both servers lead to equal verdicts, to the word."""
    new, old = (verdicts(recording, binary)[when] for binary in BINARIES)

    assert new == old
