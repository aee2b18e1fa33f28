"""The drift guard: which panels go dark on a version of vLLM, from its history alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kvobs.dashboard.boards import board_of
from kvobs.health.emptiness import emptied
from kvobs.health.remedy import steps
from kvobs.health.static import missing_in, static_verdict
from kvobs.health.verdict import Finding, PanelVerdict
from kvobs.health.versions import version

from ..vllm_capture import SHARED, WHY_SKIPPED


def gone(name: str) -> Finding | None:
    """Every metric that starts with gone is."""
    if not name.startswith("gone"):
        return None
    return Finding(cause="KVO-504", severity="broken", subject=name, said=f"{name} is gone")


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        ("a", None),
        ("gone", "gone"),
        ("rate(gone{x='$y'}[$__rate_interval])", "gone"),
        ("sum by ($by) (rate(gone[${w}] offset $o))", "gone"),
        ("max_over_time(rate(gone[5m])[$__range:1m])", "gone"),
        ("-(gone)", "gone"),
        ("a / gone", "gone"),
        ("gone1 / gone2", "gone1"),
        ("a + 1", None),
        ("gone > 0", "gone"),
        ("a and gone", "gone"),
        ("a unless gone", None),
        ("gone unless a", "gone"),
        ("a or gone", None),
        ("gone or a", None),
        ("gone1 or gone2", "gone1"),
        ("gone or vector(0)", "gone"),
        ("sum(gone) or on() vector(0)", "gone"),
        ("a or vector(0)", None),
        ("vector(1)", None),
        ("time()", None),
        ("absent(gone)", None),
        ("histogram_quantile($q, sum by (le) (rate(gone_bucket[1m])))", "gone_bucket"),
        ("topk($n, gone)", "gone"),
        ("label_replace(gone, 'a', '$1', 'b', '(.*)')", "gone"),
        ("{__name__='gone'}", "gone"),
        ("{__name__=~'gone|a'}", None),
        ("{__name__=~'gone1|gone2'}", "gone1"),
        ("{__name__=~'gone.*'}", None),
        ("gone_$x", None),
        ("$metric", None),
        ("gone{$filters}", "gone"),
        ("gone +", "gone"),
        ("a + gone +", "gone"),
        ("gone or a or", None),
        ("", None),
    ],
)
def test_what_an_expression_gives(expr: str, why: str | None) -> None:
    """An expression gives nothing where what it needs is missing; a number in its stead does not count."""
    found = emptied(expr, gone)
    assert (found and found.subject) == why


@pytest.mark.parametrize(
    ("name", "at", "cause", "severity"),
    [
        ("vllm:gpu_cache_usage_perc", "0.10.2", None, None),
        ("vllm:gpu_cache_usage_perc", "0.11.0", "KVO-503", "broken"),
        ("vllm:gpu_cache_usage_perc", "0.32.0", "KVO-502", "broken"),
        ("vllm:num_requests_swapped", "0.32.0", "KVO-504", "broken"),
        ("vllm:kv_cache_usage_perc", "0.8.5", "KVO-505", "broken"),
        ("vllm:kv_block_lifetime_seconds_bucket", "0.32.0", "KVO-506", "expected"),
        ("vllm:kv_block_lifetime_seconds_bucket", "0.10.2", "KVO-505", "broken"),
        ("vllm:estimated_flops_per_gpu_total", "0.32.0", None, None),
        ("vllm:external_prefix_cache_hits_total", "0.32.0", None, None),
        ("ray_vllm_num_requests_swapped", "0.32.0", "KVO-504", "broken"),
        ("ray_vllm_num_preemptions", "0.32.0", None, None),
        ("vllm:num_preemptions", "0.32.0", "KVO-510", "broken"),
        ("vllm:current_qps", "0.32.0", "KVO-506", "expected"),
        ("vllm:never_heard_of", "0.32.0", "KVO-510", "broken"),
        ("vllm_never_heard_of", "0.32.0", None, None),
        ("vllm:prompt_tokens_by_source_total", "0.13.0", "KVO-505", "unknown"),
        ("vllm:prompt_tokens_recomputed_total", "0.18.0", "KVO-504", "unknown"),
        ("DCGM_FI_DEV_GPU_UTIL", "0.32.0", None, None),
        ("up", "0.32.0", None, None),
    ],
)
def test_what_a_version_misses(name: str, at: str, cause: str | None, severity: str | None) -> None:
    """A name that a version lacks has its cause; what nobody looked at is unknown, what is not vLLM's no matter."""
    found = missing_in(name, version(at))
    assert (found and found.cause, found and found.severity) == (cause, severity)


def panels(*exprs: str | dict[str, Any], variables: tuple[dict[str, Any], ...] = ()) -> list[PanelVerdict]:
    """Return the verdicts on 0.32.0 of a dashboard with one panel a query."""
    targets = [each if isinstance(each, dict) else {"expr": each} for each in exprs]
    document = {
        "title": "t",
        "panels": [{"title": str(number), "targets": [each]} for number, each in enumerate(targets)],
        "templating": {"list": list(variables)},
    }
    return list(static_verdict(board_of(document), version("0.32.0"), source="a b.json").panels)


def test_states_of_panels() -> None:
    """A panel is lit, dark for its cause, or not checked where nothing of it is vLLM's or can be told."""
    verdicts = panels(
        "vllm:kv_cache_usage_perc",
        "vllm:gpu_cache_usage_perc",
        "vllm:kv_block_lifetime_seconds_sum",
        "vllm:prompt_tokens_by_source_total",
        "up",
        "vllm:$metric",
        {"expr": "vllm:gpu_cache_usage_perc", "hide": True},
        {"expr": "vllm:gpu_cache_usage_perc", "datasource": {"type": "loki", "uid": "l"}},
        {"rawSql": "select 1"},
    )
    states = [(each.state, each.finding and each.finding.cause) for each in verdicts]
    assert states == [
        ("lit", None),
        ("broken", "KVO-502"),
        ("expected", "KVO-506"),
        ("lit", None),
        *[("not checked", None)] * 5,
    ]
    assert all(each.why for each in verdicts if each.state == "not checked")


def test_one_live_query_lights_a_panel() -> None:
    """A panel with a lit query is lit, and its dark ones keep their causes."""
    document = {"panels": [{"targets": [{"expr": "vllm:num_requests_running"}, {"expr": "vllm:num_requests_swapped"}]}]}
    (panel,) = static_verdict(board_of(document), version("0.32.0")).panels
    assert (panel.state, panel.finding) == ("lit", None)
    assert [each.finding and each.finding.cause for each in panel.targets] == [None, "KVO-504"]


def test_the_worst_cause_of_a_dark_panel_counts() -> None:
    """Where nothing is lit, the panel is as bad as its worst query."""
    document = {"panels": [{"targets": [{"expr": "vllm:lora_requests_info"}, {"expr": "vllm:num_requests_swapped"}]}]}
    (panel,) = static_verdict(board_of(document), version("0.32.0")).panels
    assert panel.finding is not None
    assert panel.finding.cause == "KVO-504"


@pytest.mark.parametrize(
    ("name", "running", "cause", "command", "words"),
    [
        ("vllm:gpu_cache_usage_perc", "0.32.0", "KVO-502", True, "Ask vllm:kv_cache_usage_perc"),
        ("vllm:gpu_cache_usage_perc", "0.11.2", "KVO-503", True, "--show-hidden-metrics-for-version=0.10"),
        ("vllm:gpu_prefix_cache_hit_rate", "0.32.0", "KVO-504", False, "/ rate(vllm:prefix_cache_queries_total[5m])"),
        ("vllm:num_requests_swapped", "0.32.0", "KVO-504", False, "Take the query out of the panel, or accept"),
        (
            "vllm:kv_cache_usage_perc",
            "0.8.5",
            "KVO-505",
            False,
            "vLLM 0.9.2 or newer, or load the dashboard's revision",
        ),
    ],
)
def test_the_fix_is_a_command_where_there_is_one(
    name: str, running: str, cause: str, command: bool, words: str
) -> None:
    """An exact rename is mended by a command that names the file and the version; all else says what a person does."""
    finding = missing_in(name, version(running), source="'a b.json'")
    assert finding is not None
    assert finding.cause == cause
    assert words in finding.fix
    commands = [each.text for each in steps(finding.fix) if each.command]
    assert commands == ([f"kvobs verify --static 'a b.json' --vllm-version {running} --rewrite"] if command else [])


def test_one_cause_a_metric() -> None:
    """Panels that ask several series of one metric have one subject, so that they are one group."""
    verdicts = panels("vllm:time_per_output_token_seconds_sum", "rate(vllm:time_per_output_token_seconds_bucket[1m])")
    assert {each.finding and each.finding.subject for each in verdicts} == {"vllm:time_per_output_token_seconds"}


@pytest.mark.parametrize(
    ("variable", "state"),
    [
        ({"query": "label_values(vllm:gpu_cache_usage_perc, model_name)"}, "broken"),
        ({"query": {"query": "label_values(vllm:gpu_cache_usage_perc, model_name)"}}, "broken"),
        ({"query": "label_values(vllm:gpu_cache_usage_perc, model_name)", "allValue": ".*"}, "lit"),
        ({"query": "label_values(vllm:kv_cache_usage_perc, model_name)"}, "lit"),
        ({"query": "label_values(model_name)"}, "lit"),
    ],
)
def test_an_emptied_variable(variable: dict[str, Any], state: str) -> None:
    """A variable that asks for what is gone empties the panels that use it, unless its All stands for something."""
    (panel,) = panels(
        'vllm:kv_cache_usage_perc{model_name=~"$m"}', variables=({"name": "m", "type": "query", **variable},)
    )
    assert panel.state == state
    if panel.finding is not None:
        assert "variable m" in panel.finding.said


def test_variables_empty_each_other() -> None:
    """A variable that asks by an emptied one is empty too, whatever their order, and a circle ends."""
    (panel,) = panels(
        'vllm:kv_cache_usage_perc{model_name="$b"}',
        variables=(
            {"name": "b", "type": "query", "query": 'label_values(up{x="$a"}, y)'},
            {"name": "a", "type": "query", "query": 'label_values(vllm:num_requests_swapped{x="$b"}, x)'},
        ),
    )
    assert panel.state == "broken"


DEAD = {
    "vllm-project__production-stack__vllm-dashboard-2026-05": {
        "gpu_cache_usage_perc",
        "num_requests_swapped",
        "time_per_output_token_seconds",
        "gpu_prefix_cache_hits",
        "gpu_prefix_cache_queries",
    },
    "vllm-project__production-stack__vllm-dashboard": {"gpu_prefix_cache_hits", "gpu_prefix_cache_queries"},
    "vllm-project__production-stack__vllm-model-metrics-2026-05": {
        "cpu_cache_usage_perc",
        "gpu_cache_usage_perc",
        "num_requests_swapped",
        "time_per_output_token_seconds",
    },
    "vllm-project__vllm__grafana-v0-2024-01": {
        "cpu_cache_usage_perc",
        "gpu_cache_usage_perc",
        "num_requests_swapped",
        "time_per_output_token_seconds",
    },
    "vllm-project__vllm__grafana-2025-05": {"gpu_cache_usage_perc", "time_per_output_token_seconds"},
    "vllm-project__vllm__grafana-2025-09": {"gpu_cache_usage_perc"},
    "vllm-project__vllm__performance_statistics-2025-09": {"time_per_output_token_seconds"},
    "vllm-project__aibrix__AIBrix_vLLM_Engine_Dashboard": {
        "cpu_cache_usage_perc",
        "gpu_cache_usage_perc",
        "num_requests_swapped",
        "time_per_output_token_seconds",
        "gpu_prefix_cache_hit_rate",
        "cpu_prefix_cache_hit_rate",
    },
    "aws-samples__sample-genai-on-eks__vllm": {"time_in_queue_requests"},
    "ray-project__kuberay__serve_llm_grafana_dashboard": {"num_requests_swapped"},
    "vllm-project__vllm__grafana-2026-08": set(),
    "vllm-project__vllm__performance_statistics": set(),
    "vllm-project__vllm__query_statistics": set(),
    "llm-d__llm-d__llm-d-vllm-overview": set(),
    "llm-d__llm-d__llm-d-performance-kv-cache": set(),
    "kserve__kserve__prefix-caching-dashboard": set(),
}
"""The names in public dashboards that the engine of today does not have, as somebody else listed them."""


@pytest.mark.skipif(not SHARED.is_dir(), reason=WHY_SKIPPED)
@pytest.mark.parametrize("file", DEAD)
def test_stale_dashboards(file: str) -> None:
    """The guard finds in a public dashboard the names that are known to be dead in it, and no others."""
    from kvobs.dashboard.promql_tokens import metric_names

    board = board_of(json.loads((SHARED / "dashboards" / f"{file}.json").read_text()))
    names = {name.name for panel in board.panels for each in panel.targets for name in metric_names(each.expr or "")}
    found = {each: missing_in(each, version("0.33.0")) for each in names}
    dead = {each.subject for each in found.values() if each is not None and each.cause in ("KVO-502", "KVO-504")}
    stripped = {each.removeprefix("ray_").removeprefix("vllm")[1:].removesuffix("_total") for each in dead}
    assert stripped == DEAD[file]
