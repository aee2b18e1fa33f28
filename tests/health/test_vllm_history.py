"""The history of vLLM's metrics, against the scan of its sources and against what is known of single names."""

from __future__ import annotations

import re

import pytest

from kvobs.health.features import FEATURES, feature_of
from kvobs.health.metric import Metric
from kvobs.health.renames import METRICS, by_base, hidden_flag, known, meant, standing
from kvobs.health.versions import version
from kvobs.health.vllm_history import SCANNED

from ..vllm_capture import METRICS as CAPTURES
from ..vllm_capture import WHY_SKIPPED

SCAN = CAPTURES / "vllm-metric-history.tsv"
needs_captures = pytest.mark.skipif(not SCAN.is_file(), reason=WHY_SKIPPED)


def scanned_rows() -> dict[str, tuple[str, dict[str, bool]]]:
    """Return each scanned name with its kind and the versions that define it."""
    lines = [line.split("\t") for line in SCAN.read_text().splitlines() if not line.startswith("#")]
    versions = [each.partition(".post")[0] for each in lines[0][3:-1]]
    return {
        row[0]: (row[1], {at: mark == "x" for at, mark in zip(versions, row[3:-1], strict=True)}) for row in lines[1:]
    }


@needs_captures
def test_every_scanned_name_is_known() -> None:
    """No name of the scan is missing, and its kind is as the scan found it."""
    told = {name: kind for name, (kind, _) in scanned_rows().items()}
    ours = {name: "?" if metric is None else (metric.kind or "?") for name in told for metric in [by_base(name)]}
    assert ours == told


@needs_captures
def test_names_come_and_go_as_scanned() -> None:
    """In each scanned version the history has exactly the names that its sources define, hidden ones among them."""
    for name, (_, versions) in scanned_rows().items():
        metric = by_base(name)
        assert metric is not None
        for at, defined in versions.items():
            came = metric.since.state(version(at))
            went = "before" if metric.removed is None else metric.removed.state(version(at))
            assert "uncertain" not in (came, went), (name, at)
            assert (came == "after" and went == "before") == defined, (name, at)


@needs_captures
def test_the_scan_ends_where_the_history_does() -> None:
    """The versions that count as scanned are those of the scan."""
    assert list(SCANNED) == list(next(iter(scanned_rows().values()))[1])


@needs_captures
@pytest.mark.parametrize("capture", sorted(path.stem for path in CAPTURES.glob("vllm-metrics-*.txt")))
def test_every_captured_name_is_known_and_there(capture: str) -> None:
    """What a real server showed is in the history of its version, and by an option only where one was given."""
    running = version(capture.split("-")[2])
    names = set(re.findall(r"^(vllm:\w+)", (CAPTURES / f"{capture}.txt").read_text(), re.MULTILINE))
    assert names
    for name in names:
        told = standing(name, running)
        assert told is not None, name
        assert told.state == "there", (name, told.said)


@needs_captures
def test_a_default_server_shows_what_needs_no_option() -> None:
    """A server without any option shows each metric of today that no feature brings, and none that one does."""
    text = (CAPTURES / "vllm-metrics-0.32.0-idle.txt").read_text()
    shown = {named.metric.name for name in re.findall(r"^(vllm:\w+)", text, re.MULTILINE) if (named := known(name))}
    expected = {each.name for each in METRICS if current(each, "0.32.0") and not optional(each)}
    assert shown == expected


def current(metric: Metric, at: str) -> bool:
    """Whether a version has a metric, of known kind."""
    told = standing(metric.main, version(at))
    return metric.kind is not None and told is not None and told.state == "there"


def optional(metric: Metric) -> bool:
    """Whether only a feature brings it."""
    feature = feature_of(metric.name)
    return feature is not None and not feature.at_zero


@pytest.mark.parametrize(
    ("name", "at", "state"),
    [
        ("vllm:avg_prompt_throughput_toks_per_s", "0.6.6", "there"),
        ("vllm:avg_prompt_throughput_toks_per_s", "0.7.0", "removed"),
        ("vllm:avg_generation_throughput_toks_per_s", "0.2.7", "there"),
        ("vllm:time_to_first_token_seconds_bucket", "0.3.0", "not yet"),
        ("vllm:e2e_request_latency_seconds_sum", "0.3.1", "there"),
        ("vllm:prompt_tokens_total", "0.33.0", "there"),
        ("vllm:cache_config", "0.4.0", "there"),
        ("vllm:cache_config_info", "0.5.4", "not yet"),
        ("vllm:cache_config_info", "0.5.5", "there"),
        ("vllm:request_success_total", "0.4.1", "not yet"),
        ("vllm:request_params_best_of_bucket", "0.6.2", "there"),
        ("vllm:request_params_best_of_bucket", "0.6.3", "removed"),
        ("vllm:num_preemptions_total", "0.4.2", "not yet"),
        ("vllm:spec_decode_draft_acceptance_rate", "0.9.2", "there"),
        ("vllm:spec_decode_efficiency", "0.10.0", "removed"),
        ("vllm:spec_decode_num_emitted_tokens_total", "0.10.0", "removed"),
        ("vllm:num_requests_swapped", "0.8.2", "there"),
        ("vllm:num_requests_swapped", "0.8.3", "hidden"),
        ("vllm:cpu_cache_usage_perc", "0.9.0", "hidden"),
        ("vllm:cpu_prefix_cache_hit_rate", "0.9.1", "removed"),
        ("vllm:gpu_prefix_cache_hit_rate", "0.8.5.post1", "hidden"),
        ("vllm:time_in_queue_requests_count", "0.9.1", "renamed"),
        ("vllm:model_forward_time_milliseconds_sum", "0.9.1", "removed"),
        ("vllm:model_execute_time_milliseconds_sum", "0.8.4", "hidden"),
        ("vllm:tokens_total", "0.7.3", "there"),
        ("vllm:tokens_total", "0.8.0", "removed"),
        ("vllm:gpu_prefix_cache_queries_total", "0.7.2", "not yet"),
        ("vllm:gpu_prefix_cache_hits_total", "0.10.2", "there"),
        ("vllm:gpu_prefix_cache_hits_total", "0.11.2", "hidden"),
        ("vllm:gpu_prefix_cache_hits_total", "0.12.0", "renamed"),
        ("vllm:prefix_cache_hits_total", "0.9.1", "not yet"),
        ("vllm:gpu_cache_usage_perc", "0.10.2", "there"),
        ("vllm:gpu_cache_usage_perc", "v0.11.0rc1", "hidden"),
        ("vllm:gpu_cache_usage_perc", "0.12.0", "renamed"),
        ("vllm:kv_cache_usage_perc", "0.9.2", "there"),
        ("vllm:time_per_output_token_seconds_bucket", "0.11.0", "there"),
        ("vllm:time_per_output_token_seconds_bucket", "0.13.0", "hidden"),
        ("vllm:time_per_output_token_seconds_bucket", "0.14.0", "hidden"),
        ("vllm:time_per_output_token_seconds_bucket", "0.14.1", "uncertain"),
        ("vllm:time_per_output_token_seconds_bucket", "0.16.0", "renamed"),
        ("vllm:inter_token_latency_seconds_bucket", "0.10.1", "not yet"),
        ("vllm:request_time_per_output_token_seconds_sum", "0.11.0", "there"),
        ("vllm:engine_sleep_state", "0.11.0", "not yet"),
        ("vllm:corrupted_requests_total", "0.11.1", "there"),
        ("vllm:kv_block_lifetime_seconds_bucket", "0.12.0", "there"),
        ("vllm:request_prefill_kv_computed_tokens_bucket", "0.13.0", "there"),
        ("vllm:prompt_tokens_by_source_total", "0.13.0", "uncertain"),
        ("vllm:prompt_tokens_recomputed_total", "0.16.0", "there"),
        ("vllm:prompt_tokens_recomputed_total", "0.19.0", "uncertain"),
        ("vllm:prompt_tokens_recomputed_total", "0.20.2", "removed"),
        ("vllm:num_requests_waiting_by_reason", "0.20.2", "there"),
        ("vllm:kv_offload_total_bytes_total", "0.32.0", "there"),
    ],
)
def test_a_name_in_a_version(name: str, at: str, state: str) -> None:
    """The history says of a name in a version what its sources at that tag say."""
    told = standing(name, version(at.removeprefix("v")))
    assert told is not None
    assert told.state == state, told.said


@pytest.mark.parametrize(
    ("old", "new", "exact"),
    [
        ("vllm:gpu_cache_usage_perc", ["vllm:kv_cache_usage_perc"], True),
        ("vllm:time_per_output_token_seconds_bucket", ["vllm:inter_token_latency_seconds_bucket"], True),
        ("vllm:time_in_queue_requests_sum", ["vllm:request_queue_time_seconds_sum"], True),
        ("ray_vllm_gpu_prefix_cache_hits_total", ["ray_vllm_prefix_cache_hits_total"], True),
        ("vllm_gpu_cache_usage_perc", ["vllm_kv_cache_usage_perc"], True),
        ("vllm:tokens_total", ["vllm:prompt_tokens_total", "vllm:generation_tokens_total"], False),
        ("vllm:avg_prompt_throughput_toks_per_s", ["vllm:prompt_tokens_total"], False),
        (
            "vllm:gpu_prefix_cache_hit_rate",
            ["vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"],
            False,
        ),
        ("vllm:num_requests_swapped", [], False),
        ("vllm:model_forward_time_milliseconds_bucket", None, False),
    ],
)
def test_what_comes_instead(old: str, new: list[str] | None, exact: bool) -> None:
    """The replacement keeps the spelling and the ending of the name that was asked; a gauge of old may be a counter."""
    told = standing(old, version("0.32.0"))
    assert told is not None
    assert told.exact is exact
    assert told.advice
    if new is not None:
        assert list(told.instead) == new


def test_every_inexact_replacement_says_why() -> None:
    """What cannot just be renamed says what is different; what can, says nothing and has one name."""
    for metric in METRICS:
        if metric.removed is not None or metric.deprecated is not None:
            assert bool(metric.why_not) != metric.exact, metric.name
        if metric.exact:
            (new,) = [by_base(each) for each in metric.replaced_by]
            assert new is not None
            assert new.kind == metric.kind


def test_every_replacement_is_known() -> None:
    """No history leads to a name that there is not."""
    assert all(by_base(each) is not None for metric in METRICS for each in metric.replaced_by)


def test_no_two_metrics_share_a_series() -> None:
    """Each name on the wire is one metric's."""
    names = [each for metric in METRICS for each in metric.on_the_wire]
    assert len(names) == len(set(names))


def test_every_feature_brings_something() -> None:
    """Each feature of the engine has metrics in the history; the router's are none of the engine's."""
    for feature in FEATURES:
        brought = [each for each in METRICS if each.name.startswith(feature.prefixes)]
        assert bool(brought) != (feature.id == "router"), feature.id


def test_nothing_is_known_of_a_strange_name() -> None:
    """A name that no version had has no standing."""
    assert standing("vllm:nothing_of_the_kind", None) is None
    assert standing("node_cpu_seconds_total", None) is None


def test_without_a_version_the_newest_counts() -> None:
    """Where the version is not known, a name is judged by the newest known one."""
    told = standing("vllm:gpu_cache_usage_perc", None)
    assert told is not None
    assert told.cause == "KVO-502"


def test_the_hidden_flag_names_the_minor_before() -> None:
    """vLLM shows what it hides only for exactly the minor version before the running one."""
    assert hidden_flag(version("0.8.5")) == "--show-hidden-metrics-for-version=0.7"
    told = standing("vllm:time_per_output_token_seconds_sum", version("0.12.0"))
    assert told is not None
    assert "--show-hidden-metrics-for-version=0.11" in told.advice


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("vllm:num_preemptions", ("vllm:num_preemptions_total",)),
        (
            "vllm:iteration_tokens_total",
            tuple(f"vllm:iteration_tokens_total_{each}" for each in ("bucket", "sum", "count")),
        ),
        ("vllm:num_requests_running", ()),
        ("ray_vllm_num_preemptions", ()),
        ("up", ()),
    ],
)
def test_a_name_without_its_ending(name: str, names: tuple[str, ...]) -> None:
    """A counter or a histogram that is asked for without its ending is recognised; Ray serves counters so."""
    assert meant(name) == names
