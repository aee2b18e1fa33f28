"""The metrics of vLLM's engine, version by version, as data. Pure.

From the sources of vLLM: the tags v0.2.7 to v0.14.0 for the exact versions, and a scan of the packages of the
versions in `SCANNED` for the rest, where what is told is the first of them that has a name. The connectors of KV
transfer, and what else an engine has by an option only, are in `vllm_optional_history`.
"""

from __future__ import annotations

from .metric import Change, Kind, Metric, at, between
from .versions import version

SCANNED = ("0.8.5", "0.10.2", "0.12.0", "0.16.0", "0.20.2", "0.25.1", "0.28.0", "0.30.0", "0.32.0", "0.33.0")
"""Versions whose every name is known."""

NEWEST = SCANNED[-1]
"""The newest version that is known; of newer ones it is assumed that they are like it."""


def seen_in(scanned: str) -> Change:
    """Return when a name came whose first version among the scanned ones is *scanned*."""
    place = SCANNED.index(scanned)
    return between(SCANNED[place - 1], scanned) if place else between("0.2.6", scanned)


def metrics(kind: Kind | None, since: Change, names: str) -> tuple[Metric, ...]:
    """Return metrics that are alike, of names that stand in one text."""
    return tuple(Metric(name=f"vllm:{name}", kind=kind, since=since) for name in names.split())


CURRENT: tuple[Metric, ...] = (
    *metrics("gauge", at("0.2.7"), "num_requests_running num_requests_waiting"),
    *metrics("counter", at("0.3.1"), "prompt_tokens generation_tokens"),
    *metrics("histogram", at("0.3.1"), "time_to_first_token_seconds e2e_request_latency_seconds"),
    *metrics("counter", at("0.4.2"), "request_success"),
    *metrics("histogram", at("0.4.2"), "request_prompt_tokens request_generation_tokens request_params_n"),
    *metrics("counter", at("0.4.3"), "num_preemptions"),
    *metrics("gauge", at("0.5.5"), "cache_config_info"),
    *metrics(
        "histogram",
        seen_in("0.8.5"),
        "request_queue_time_seconds request_inference_time_seconds request_prefill_time_seconds"
        " request_decode_time_seconds request_max_num_generation_tokens request_params_max_tokens"
        " iteration_tokens_total",
    ),
    *metrics("gauge", at("0.9.2"), "kv_cache_usage_perc"),
    *metrics("counter", at("0.9.2"), "prefix_cache_queries prefix_cache_hits"),
    *metrics("histogram", at("0.10.2"), "inter_token_latency_seconds"),
    *metrics("histogram", at("0.11.0"), "request_time_per_output_token_seconds"),
    *metrics("gauge", at("0.11.1"), "engine_sleep_state"),
    *metrics(
        "counter",
        at("0.11.1"),
        "external_prefix_cache_queries external_prefix_cache_hits mm_cache_queries mm_cache_hits",
    ),
    *metrics("histogram", at("0.13.0"), "request_prefill_kv_computed_tokens"),
    *metrics("counter", seen_in("0.16.0"), "prompt_tokens_by_source prompt_tokens_cached"),
    *metrics("gauge", seen_in("0.20.2"), "num_requests_waiting_by_reason"),
    *metrics(
        "counter",
        between("0.16.0", "0.16.1"),
        "estimated_flops_per_gpu estimated_read_bytes_per_gpu estimated_write_bytes_per_gpu",
    ),
    *metrics("histogram", seen_in("0.30.0"), "request_num_preemptions"),
    *metrics("counter", seen_in("0.32.0"), "admission_rejections prompt_tokens_cached_by_source"),
)
"""What a server of today shows without any option."""


def _of_v0(
    name: str, kind: Kind, since: str, *, replaced_by: tuple[str, ...] = (), exact: bool = False, why_not: str = ""
) -> Metric:
    """Return a metric of the old engine that was hidden, and went, with the others."""
    return Metric(
        name=name,
        kind=kind,
        since=at(since),
        deprecated=version("0.8.0"),
        hidden=at("0.8.3"),
        removed=at("0.9.1"),
        replaced_by=replaced_by,
        exact=exact,
        why_not=why_not,
        engine="V0",
    )


_NO_SWAPPING = "nothing replaces it: the engine V1 swaps nothing to the CPU's memory, it preempts and computes again"

GONE: tuple[Metric, ...] = (
    Metric(
        name="vllm:avg_prompt_throughput_toks_per_s",
        kind="gauge",
        since=at("0.2.7"),
        removed=at("0.7.0"),
        replaced_by=("vllm:prompt_tokens",),
        why_not="the gauge is the rate of a counter now: rate(vllm:prompt_tokens_total[5m])",
    ),
    Metric(
        name="vllm:avg_generation_throughput_toks_per_s",
        kind="gauge",
        since=at("0.2.7"),
        removed=at("0.7.0"),
        replaced_by=("vllm:generation_tokens",),
        why_not="the gauge is the rate of a counter now: rate(vllm:generation_tokens_total[5m])",
    ),
    Metric(
        name="vllm:cache_config",
        kind="gauge",
        since=at("0.3.3"),
        removed=at("0.5.5"),
        replaced_by=("vllm:cache_config_info",),
        why_not="its labels are the fields of the cache's configuration, which change from version to version",
    ),
    Metric(
        name="vllm:request_params_best_of",
        kind="histogram",
        since=at("0.4.2"),
        removed=at("0.6.3"),
        why_not="nothing replaces it: the parameter best_of is gone",
    ),
    Metric(
        name="vllm:tokens",
        kind="counter",
        since=at("0.6.4"),
        removed=at("0.8.0"),
        replaced_by=("vllm:prompt_tokens", "vllm:generation_tokens"),
        why_not="it is a sum now: vllm:prompt_tokens_total + vllm:generation_tokens_total",
    ),
    _of_v0("vllm:num_requests_swapped", "gauge", "0.2.7", why_not=_NO_SWAPPING),
    _of_v0("vllm:cpu_cache_usage_perc", "gauge", "0.2.7", why_not=_NO_SWAPPING),
    _of_v0("vllm:cpu_prefix_cache_hit_rate", "gauge", "0.5.5", why_not=_NO_SWAPPING),
    _of_v0(
        "vllm:gpu_prefix_cache_hit_rate",
        "gauge",
        "0.5.5",
        replaced_by=("vllm:prefix_cache_hits", "vllm:prefix_cache_queries"),
        why_not="the gauge is a ratio of two counters now:"
        " rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])",
    ),
    _of_v0(
        "vllm:time_in_queue_requests",
        "histogram",
        "0.6.4",
        replaced_by=("vllm:request_queue_time_seconds",),
        exact=True,
    ),
    _of_v0(
        "vllm:model_forward_time_milliseconds",
        "histogram",
        "0.6.4",
        replaced_by=(
            "vllm:request_prefill_time_seconds",
            "vllm:request_decode_time_seconds",
            "vllm:request_inference_time_seconds",
        ),
        why_not="what is measured now is a request's time in prefill, in decode, or in both, in seconds",
    ),
    _of_v0(
        "vllm:model_execute_time_milliseconds",
        "histogram",
        "0.6.4",
        replaced_by=(
            "vllm:request_inference_time_seconds",
            "vllm:request_prefill_time_seconds",
            "vllm:request_decode_time_seconds",
        ),
        why_not="what is measured now is a request's time in prefill, in decode, or in both, in seconds",
    ),
    Metric(
        name="vllm:spec_decode_draft_acceptance_rate",
        kind="gauge",
        since=at("0.5.3"),
        removed=at("0.10.0"),
        replaced_by=("vllm:spec_decode_num_accepted_tokens", "vllm:spec_decode_num_draft_tokens"),
        why_not="the gauge is a ratio of two counters now: rate(vllm:spec_decode_num_accepted_tokens_total[5m])"
        " / rate(vllm:spec_decode_num_draft_tokens_total[5m])",
        engine="V0",
    ),
    Metric(
        name="vllm:spec_decode_efficiency",
        kind="gauge",
        since=at("0.5.3"),
        removed=at("0.10.0"),
        replaced_by=("vllm:spec_decode_num_accepted_tokens", "vllm:spec_decode_num_draft_tokens"),
        why_not="nothing measures it now; the nearest is the ratio of accepted to drafted tokens",
        engine="V0",
    ),
    Metric(
        name="vllm:spec_decode_num_emitted_tokens",
        kind="counter",
        since=at("0.5.3"),
        removed=at("0.10.0"),
        replaced_by=("vllm:spec_decode_num_accepted_tokens", "vllm:spec_decode_num_drafts"),
        why_not="nothing counts them now; the nearest is accepted tokens plus drafts",
        engine="V0",
    ),
    Metric(
        name="vllm:gpu_cache_usage_perc",
        kind="gauge",
        since=at("0.2.7"),
        deprecated=version("0.9.2"),
        hidden=at("0.11.0"),
        removed=at("0.12.0"),
        replaced_by=("vllm:kv_cache_usage_perc",),
        exact=True,
    ),
    *(
        Metric(
            name=f"vllm:gpu_prefix_cache_{what}",
            kind="counter",
            since=at("0.7.3"),
            deprecated=version("0.9.2"),
            hidden=at("0.11.0"),
            removed=at("0.12.0"),
            replaced_by=(f"vllm:prefix_cache_{what}",),
            exact=True,
            engine="V1",
        )
        for what in ("queries", "hits")
    ),
    Metric(
        name="vllm:time_per_output_token_seconds",
        kind="histogram",
        since=at("0.3.1"),
        deprecated=version("0.10.2"),
        hidden=at("0.12.0"),
        removed=between("0.14.0", "0.15.0"),
        replaced_by=("vllm:inter_token_latency_seconds",),
        exact=True,
    ),
    Metric(
        name="vllm:prompt_tokens_recomputed",
        kind="counter",
        since=seen_in("0.16.0"),
        removed=between("0.16.0", "0.20.2"),
        replaced_by=("vllm:prompt_tokens_by_source",),
        why_not="prompt tokens are counted by a label source now, and it has no value for recomputed ones",
    ),
)
"""What is gone, or going."""
