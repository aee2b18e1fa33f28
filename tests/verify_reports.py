"""Reports of verify for tests of what is made of them."""

from __future__ import annotations

from typing import Any

from kvobs.dashboard.board import Grid
from kvobs.health.causes import found
from kvobs.health.verdict import BoardVerdict, Finding, PanelVerdict, State, TargetVerdict
from kvobs.stack.notes import Note
from kvobs.use_cases.expectations import Expectation, accepted
from kvobs.use_cases.static import Rewritten, StaticReport
from kvobs.use_cases.verify_report import VerifyReport

NO_TARGET = found(
    "KVO-405",
    "vLLM",
    "Prometheus has no target among the 2 vLLM pods of namespace llm",
    fix="kubectl -n llm get endpointslices -l kubernetes.io/service-name=vllm\nkvobs verify --wait 2m",
    evidence=("2 pods run vLLM: llm/a, llm/b", "0 of 31 active targets belong to them"),
)
RENAMED = found(
    "KVO-502",
    "vllm:gpu_cache_usage_perc",
    "vllm:gpu_cache_usage_perc is called vllm:kv_cache_usage_perc since 0.10",
    fix="ask vllm:kv_cache_usage_perc",
)
FEATURE_OFF = found("KVO-506", "speculative decoding", "speculative decoding is off", fix="--speculative-config")
NO_TRAFFIC = found("KVO-702", "vllm:e2e", "no request has come in this time", fix="")
UNASKED = found("KVO-901", "prometheus", "Prometheus does not answer", fix="curl http://p:9090/-/ready")
UNSEEN = found(
    "KVO-104",
    "monitoring/extra",
    "the sidecar reads label grafana_dashboard=1, and ConfigMap monitoring/extra has none",
    fix="kubectl -n monitoring label configmap extra grafana_dashboard=1   # for the sidecar",
)


def target(finding: Finding | None = None, ref_id: str = "A", **other: Any) -> TargetVerdict:
    """Give the verdict of a query."""
    state: State = "lit" if finding is None else finding.severity
    given: dict[str, Any] = {"state": state, "expr": "sum(rate(vllm:request_success_total[5m]))", "finding": finding}
    given |= {"series": 0 if finding else 3}
    return TargetVerdict(ref_id=ref_id, **(given | other))


def panel(title: str, finding: Finding | None = None, **other: Any) -> PanelVerdict:
    """Give the verdict of a panel, lit or dark by *finding*."""
    given: dict[str, Any] = {
        "id": 1,
        "type": "timeseries",
        "row": None,
        "grid": Grid(0, 0, 12, 8),
        "state": "lit" if finding is None else finding.severity,
        "finding": finding,
        "targets": (target(finding),),
    }
    return PanelVerdict(title=title, **(given | other))


def unchecked(title: str, **other: Any) -> PanelVerdict:
    """Give a panel that asks no Prometheus."""
    return panel(title, state="not checked", targets=(), **({"why": "it asks nothing", "type": "text"} | other))


SERVING = BoardVerdict(
    uid="kvobs-vllm",
    title="vLLM serving",
    source="monitoring/kvobs-dashboard-vllm[vllm.json]",
    panels=(
        unchecked("About", id=1, grid=Grid(0, 0, 24, 3)),
        panel("Requests running", NO_TARGET, id=2, grid=Grid(0, 3, 6, 4), type="stat"),
        panel("Requests waiting", NO_TARGET, id=3, grid=Grid(6, 3, 6, 4), type="stat"),
        panel("KV cache", RENAMED, id=4, grid=Grid(12, 3, 12, 8)),
        panel("Preemptions", id=5, grid=Grid(0, 7, 12, 4), targets=(target(series=2, zero=True),)),
        panel("Latency of llama", NO_TRAFFIC, id=6, grid=Grid(0, 12, 8, 8), row="Latency"),
        panel("Latency of qwen", id=6, grid=Grid(0, 12, 8, 8), row="Latency"),
        panel(
            "Drafts",
            id=7,
            grid=Grid(8, 12, 16, 8),
            row="Latency",
            targets=(target(), target(FEATURE_OFF, "B", expr="vllm:spec_decode_num_drafts_total")),
        ),
    ),
)
GPUS = BoardVerdict(
    uid="gpus",
    title="GPUs",
    source="monitoring/gpus[gpus.json]",
    panels=(
        panel("Acceptance", FEATURE_OFF, id=1, grid=Grid(0, 0, 24, 8)),
        panel("Utilisation", UNASKED, id=2, grid=None),
        panel("Power", id=3, grid=None),
    ),
)
EXTRA = BoardVerdict(uid=None, title="", source="monitoring/extra[extra.json]", findings=(UNSEEN,))
EXPECTED = (
    Expectation(dashboard="GPUs", panel="Acceptance", reason="we draft nothing here", where="expect.yaml, entry 1"),
    Expectation(dashboard="GPUs", panel="Power", reason="no meter", where="expect.yaml, entry 2"),
)


def everything(**other: Any) -> VerifyReport:
    """Give a report in which every state is met."""
    boards, unmet = accepted((SERVING, GPUS, EXTRA), EXPECTED)
    given: dict[str, Any] = {
        "prometheus": "monitoring/k8s",
        "server": "Prometheus 3.5.0",
        "start_s": 1_760_000_000.0,
        "end_s": 1_760_021_600.0,
        "boards": boards,
        "queries": 14,
        "requests": 9,
        "notes": (Note("a-note", "One of two Prometheus objects was asked."),),
        "unmet": unmet,
    }
    return VerifyReport(**(given | other))


def lit() -> VerifyReport:
    """Give a report in which everything is lit."""
    board = BoardVerdict(uid="a", title="A", source="a.json", panels=(panel("One"), unchecked("Two", id=2)))
    return VerifyReport(prometheus="http://p:9090", boards=(board,), queries=1, requests=1)


def static_report() -> StaticReport:
    """Give a report of the drift guard."""
    from kvobs.dashboard.rename import Renaming

    board = BoardVerdict(uid="a", title="A", source="a.json", panels=(panel("One", RENAMED),))
    renamed = Renaming(keys=("panels", 0), was="vllm:old", now="vllm:new", why="renamed in 0.10")
    left = Renaming(keys=("panels", 1), was="vllm:gone", now=None, why="nothing means the same")
    return StaticReport(
        vllm_version="0.32",
        verdicts=VerifyReport(prometheus="nothing: told from the history of vLLM 0.32", boards=(board,)),
        rewritten=(Rewritten(source="a.json", written="out/a.json", renamed=(renamed, renamed), left=(left,)),),
    )


HOSTILE = (
    "<script>document.title = 'owned'</script>",
    '"><img src=http://198.51.100.7/x onerror="document.title=1">',
    "'; alert(1) //",
    "&lt;b&gt; &amp; <!-- --> ]]> </style></script>",
    "שלום \u202egnp.exe עולם",
    "\x00\x1b[2J\x07 control \ud800",
    "long " + "x" * 4000,
    "a {{template}} ${variable} $& \\1 %s",
)


def hostile() -> VerifyReport:
    """Give a report in which every text of somebody else's is hostile."""
    boards = []
    for number, text in enumerate(HOSTILE):
        finding = Finding(
            cause="KVO-405", severity="broken", subject=text, said=text, fix=f"kubectl {text}", evidence=(text,)
        )
        panels = (
            panel(
                text, finding, id=1, type=text, row=text, grid=Grid(0, 0, 3, 4), targets=(target(finding, expr=text),)
            ),
            panel(text, id=2, row=text, grid=Grid(3, 0, 3, 4), accepted=text, why=text),
            panel(text, id=3, row=text, grid=Grid(-5, -9, 99, 10**9)),
            panel(text, id=4, row=text, grid=Grid(23, 40, 0, 0), state="not checked", why=text),
        )
        boards.append(BoardVerdict(uid=text, title=text, source=f"{number} {text}", panels=panels, findings=(finding,)))
    return VerifyReport(
        prometheus=HOSTILE[0],
        server=HOSTILE[1],
        boards=tuple(boards),
        queries=1,
        requests=1,
        notes=tuple(Note("n", text) for text in HOSTILE),
        unmet=HOSTILE,
    )
