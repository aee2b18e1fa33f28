"""The metrics of vLLM that an option brings, as data: no default server shows them. Pure.

In the order of `features`, which says which option it is.
"""

from __future__ import annotations

from .metric import Metric, at
from .versions import version
from .vllm_history import metrics, seen_in

_BY_DIRECTION = (
    "bytes, times and sizes are counted by direction now, in families kv_offload_load_* and kv_offload_store_*,"
    " where a label transfer_type told it"
)

OPTIONAL: tuple[Metric, ...] = (
    *metrics("gauge", seen_in("0.8.5"), "lora_requests_info"),
    # V0 had the two counters that V1 took over.
    *metrics("counter", at("0.5.3"), "spec_decode_num_accepted_tokens spec_decode_num_draft_tokens"),
    *metrics("counter", at("0.8.5"), "spec_decode_num_drafts spec_decode_num_accepted_tokens_per_pos"),
    *metrics("counter", at("0.11.1"), "corrupted_requests"),
    *metrics(
        "histogram",
        at("0.12.0"),
        "kv_block_lifetime_seconds kv_block_idle_before_evict_seconds kv_block_reuse_gap_seconds",
    ),
    *metrics("counter", seen_in("0.20.2"), "websocket_connections"),
    *metrics("gauge", seen_in("0.20.2"), "websocket_connections_active"),
    *metrics("histogram", seen_in("0.20.2"), "websocket_connection_duration_seconds"),
    *metrics(
        "counter",
        seen_in("0.25.1"),
        "diffusion_num_canvas_positions diffusion_num_committed_tokens diffusion_num_denoising_steps"
        " tool_call_parser_invocations",
    ),
    *metrics("counter", seen_in("0.32.0"), "watermark_requests"),
    *metrics("gauge", seen_in("0.32.0"), "rl_weight_update_operations_in_flight sleep_mode_operations_in_flight"),
    *metrics(
        "histogram",
        seen_in("0.32.0"),
        "rl_weight_update_operation_duration_seconds sleep_mode_operation_duration_seconds",
    ),
)
"""By an option of the server, or by the kind of its model."""

_OFFLOAD = "vllm:kv_offload_"

CONNECTORS: tuple[Metric, ...] = (
    *metrics("gauge", seen_in("0.32.0"), "num_requests_kv_fetch_by_stage"),
    # NIXL
    *metrics(
        "histogram",
        seen_in("0.12.0"),
        "nixl_bytes_transferred nixl_num_descriptors nixl_post_time_seconds nixl_xfer_time_seconds",
    ),
    *metrics("counter", seen_in("0.12.0"), "nixl_num_failed_notifications nixl_num_failed_transfers"),
    *metrics("counter", seen_in("0.16.0"), "nixl_num_kv_expired_reqs"),
    *metrics("counter", seen_in("0.32.0"), "nixl_num_notifications_after_expiry"),
    # Offloading
    Metric(
        name=_OFFLOAD + "size",
        kind="histogram",
        since=seen_in("0.16.0"),
        deprecated=version("0.32.0"),
        replaced_by=(_OFFLOAD + "load_size", _OFFLOAD + "store_size"),
        why_not=_BY_DIRECTION,
    ),
    *(
        Metric(
            name=f"{_OFFLOAD}total_{what}",
            kind="counter",
            since=seen_in("0.16.0"),
            deprecated=version("0.32.0"),
            replaced_by=(f"{_OFFLOAD}load_{what}", f"{_OFFLOAD}store_{what}"),
            why_not=_BY_DIRECTION,
        )
        for what in ("bytes", "time")
    ),
    *metrics(
        "counter",
        seen_in("0.25.1"),
        "kv_offload_load_bytes kv_offload_load_time kv_offload_store_bytes kv_offload_store_time",
    ),
    *metrics("histogram", seen_in("0.25.1"), "kv_offload_load_size kv_offload_store_size"),
    *metrics(None, seen_in("0.25.1"), "kv_offload_cpu_cache_usage_perc kv_offload_stores_skipped"),
    *metrics("counter", seen_in("0.28.0"), "kv_offload_allocation_failure"),
    *metrics(
        "histogram",
        seen_in("0.28.0"),
        "kv_offload_lookup_async_delay_seconds kv_offload_lookup_sync_delay_seconds",
    ),
    *metrics(
        None,
        seen_in("0.28.0"),
        "kv_offload_cpu_allocation_size kv_offload_cpu_cache_read_usage_perc kv_offload_cpu_cache_write_usage_perc"
        " kv_offload_tiering_active_cascade_jobs kv_offload_tiering_active_promotion_jobs"
        " kv_offload_tiering_cascade_job_failures kv_offload_tiering_chunk_hits kv_offload_tiering_chunk_queries"
        " kv_offload_tiering_lookup_async_delay_seconds kv_offload_tiering_lookup_sync_delay_seconds"
        " kv_offload_tiering_primary_read_usage_perc kv_offload_tiering_primary_write_usage_perc"
        " kv_offload_tiering_promotion_allocation_failures kv_offload_tiering_promotion_job_failures"
        " kv_offload_tiering_read_bytes kv_offload_tiering_read_time kv_offload_tiering_write_bytes"
        " kv_offload_tiering_write_time",
    ),
    *metrics(
        None,
        seen_in("0.32.0"),
        "kv_offload_tiering_backpressure_blocks_dropped kv_offload_tiering_backpressure_store_latency_ema"
        " kv_offload_tiering_backpressure_stores_dropped",
    ),
    *metrics(None, seen_in("0.33.0"), "kv_offload_tiering_promotion_latency_seconds"),
    *metrics("gauge", seen_in("0.33.0"), "kv_offload_config_info"),
    *metrics(
        "gauge",
        seen_in("0.32.0"),
        "simple_kv_offload_info simple_kv_offload_pending_store_blocks simple_kv_offload_used_blocks",
    ),
    *metrics("counter", seen_in("0.32.0"), "simple_kv_offload_load_blocks simple_kv_offload_save_outcomes"),
    # Mooncake
    *metrics(
        "counter",
        seen_in("0.25.1"),
        "mooncake_store_operation mooncake_store_operation_bytes mooncake_store_operation_failed_keys"
        " mooncake_store_operation_keys",
    ),
    *metrics("histogram", seen_in("0.25.1"), "mooncake_store_operation_time_seconds"),
    *metrics(
        "histogram",
        seen_in("0.33.0"),
        "mooncake_bytes_transferred mooncake_num_descriptors mooncake_xfer_time_seconds",
    ),
    *metrics(
        "counter",
        seen_in("0.33.0"),
        "mooncake_num_failed_recvs mooncake_num_failed_transfers mooncake_num_kv_expired_reqs",
    ),
    # HF3FS
    *metrics("histogram", seen_in("0.20.2"), "hf3fs_load_duration_seconds hf3fs_save_duration_seconds"),
    *metrics("counter", seen_in("0.20.2"), "hf3fs_num_failed_load hf3fs_num_failed_save"),
    # HiSparse
    *metrics("counter", seen_in("0.32.0"), "hisparse_cache_hits hisparse_cache_misses hisparse_host_to_device_bytes"),
    *metrics(
        "histogram",
        seen_in("0.32.0"),
        "hisparse_host_block_idle_before_evict_seconds hisparse_host_block_lifetime_seconds"
        " hisparse_host_block_reuse_gap_seconds",
    ),
    *metrics("gauge", seen_in("0.32.0"), "hisparse_host_cache_usage_perc hisparse_pending_page_transfers"),
    # UMBP
    *metrics(
        "counter",
        seen_in("0.33.0"),
        "umbp_transfer_bytes umbp_transfer_completed umbp_transfer_failed umbp_transfer_submitted",
    ),
)
"""By a connector of KV transfer."""
