"""What a vLLM server shows by an option only, and the option. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .spellings import plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """Something that a server does when it is told to, with the metrics that come by it."""

    id: str
    title: str
    """In a sentence: "only with …", without its flag."""
    flag: str
    """What turns it on, as it is written on vLLM's command line; "" where it is no flag of vLLM's."""
    prefixes: tuple[str, ...]
    """What its metrics' names start with."""
    at_zero: bool = False
    """Its metrics are there without it, and stay 0 (as a ratio: NaN)."""

    @property
    def in_words(self) -> str:
        """What it takes to have it: the flag, with what it is for.

        >>> next(each for each in FEATURES if each.id == "lora").in_words
        'LoRA adapters (--enable-lora)'
        """
        return f"{self.title} ({self.flag})" if self.flag else self.title


FEATURES: tuple[Feature, ...] = (
    Feature(
        id="kv-cache-metrics",
        title="sampled lifetimes of KV blocks",
        flag="--kv-cache-metrics",
        prefixes=("vllm:kv_block_",),
    ),
    Feature(
        id="speculation",
        title="speculative decoding",
        flag="--speculative-config '{…}'",
        prefixes=("vllm:spec_decode_",),
    ),
    Feature(id="lora", title="LoRA adapters", flag="--enable-lora", prefixes=("vllm:lora_requests_info",)),
    Feature(
        id="mfu",
        title="estimates of the GPUs' work",
        flag="--enable-mfu-metrics",
        prefixes=(
            "vllm:estimated_flops_per_gpu",
            "vllm:estimated_read_bytes_per_gpu",
            "vllm:estimated_write_bytes_per_gpu",
        ),
        at_zero=True,
    ),
    Feature(
        id="external-cache",
        title="a prefix cache outside the engine",
        flag="--kv-transfer-config '{…}'",
        prefixes=("vllm:external_prefix_cache_",),
        at_zero=True,
    ),
    Feature(
        id="multimodal",
        title="a multimodal model",
        flag="",
        prefixes=("vllm:mm_cache_",),
        at_zero=True,
    ),
    Feature(
        id="kv-offload",
        title="offloading of the KV cache",
        flag='--kv-transfer-config \'{"kv_connector":"OffloadingConnector",…}\'',
        prefixes=("vllm:kv_offload_",),
    ),
    Feature(
        id="simple-kv-offload",
        title="simple offloading of the KV cache",
        flag="--kv-transfer-config '{…}'",
        prefixes=("vllm:simple_kv_offload_",),
    ),
    Feature(
        id="nixl",
        title="KV transfer by NIXL",
        flag='--kv-transfer-config \'{"kv_connector":"NixlConnector",…}\'',
        prefixes=("vllm:nixl_",),
    ),
    Feature(
        id="mooncake",
        title="KV transfer by Mooncake",
        flag='--kv-transfer-config \'{"kv_connector":"MooncakeConnector",…}\'',
        prefixes=("vllm:mooncake_",),
    ),
    Feature(
        id="hf3fs",
        title="KV transfer by HF3FS",
        flag="--kv-transfer-config '{…}'",
        prefixes=("vllm:hf3fs_",),
    ),
    Feature(
        id="hisparse",
        title="KV transfer by HiSparse",
        flag="--kv-transfer-config '{…}'",
        prefixes=("vllm:hisparse_",),
    ),
    Feature(
        id="umbp",
        title="KV transfer by UMBP",
        flag="--kv-transfer-config '{…}'",
        prefixes=("vllm:umbp_",),
    ),
    Feature(
        id="kv-consumer",
        title="fetching of KV blocks from another server",
        flag='--kv-transfer-config \'{"kv_role":"kv_consumer",…}\'',
        prefixes=("vllm:num_requests_kv_fetch_by_stage",),
    ),
    Feature(
        id="sleep-mode",
        title="sleep mode",
        flag="--enable-sleep-mode",
        prefixes=("vllm:sleep_mode_",),
    ),
    Feature(
        id="tool-calls",
        title="parsing of tool calls",
        flag="--enable-auto-tool-choice --tool-call-parser NAME",
        prefixes=("vllm:tool_call_parser_",),
    ),
    Feature(
        id="nan-check",
        title="the check of logits for NaN",
        flag="VLLM_COMPUTE_NANS_IN_LOGITS=1 in the server's environment",
        prefixes=("vllm:corrupted_requests",),
    ),
    Feature(id="watermark", title="watermarks", flag="", prefixes=("vllm:watermark_requests",)),
    Feature(
        id="realtime",
        title="a speech model's realtime endpoint",
        flag="",
        prefixes=("vllm:websocket_",),
    ),
    Feature(
        id="rl",
        title="weights that are updated while it serves (RL)",
        flag="",
        prefixes=("vllm:rl_weight_update_",),
    ),
    Feature(
        id="diffusion",
        title="a diffusion language model",
        flag="",
        prefixes=("vllm:diffusion_",),
    ),
    # It serves metrics of its own under the engine's prefix.
    Feature(
        id="router",
        title="the router of vLLM's production-stack",
        flag="",
        prefixes=("vllm:current_qps", "vllm:healthy_pods_total"),
    ),
)


def feature_of(name: str) -> Feature | None:
    """Return the feature that brings a metric, by its name on the wire in any spelling; None: no option does.

    >>> feature_of("vllm:kv_block_lifetime_seconds_bucket").flag
    '--kv-cache-metrics'
    >>> feature_of("ray_vllm_nixl_xfer_time_seconds_sum").id
    'nixl'
    """
    name = plain(name)
    return next((each for each in FEATURES if name.startswith(each.prefixes)), None)
