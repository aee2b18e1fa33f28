"""Versions of vLLM, as written and as told from the names of the metrics."""

from __future__ import annotations

import re

import pytest

from kvobs.health.running_version import version_range
from kvobs.health.versions import VersionRange, read_version, version

from ..vllm_capture import METRICS, WHY_SKIPPED

ORDERED = [
    "0.10.2",
    "0.11.0.dev3",
    "0.11.0a1",
    "0.11.0rc1.dev2",
    "0.11.0rc1",
    "0.11.0rc2",
    "0.11.0",
    "0.11.0.post1",
    "0.11.1",
    "0.11.10",
    "1.0",
]


def test_versions_in_order() -> None:
    """They compare as Python's packaging says, number by number."""
    read = [version(each) for each in ORDERED]
    assert sorted(read) == read
    assert sorted(read, reverse=True) == read[::-1]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("v0.32.0", "0.32.0"),
        ("0.8.5.post1", "0.8.5.post1"),
        ("v0.11.1rc3.dev12+g12ab34c", "0.11.1rc3.dev12"),
        ("v0.9.0-rc1", "0.9.0rc1"),
        ("v0.12.0-cu129", "0.12.0"),
        ("0.10.2-x86_64", "0.10.2"),
        (" 0.12 ", "0.12"),
        ("latest", None),
        ("nightly-2f3a", None),
        ("sha256:0123", None),
        ("7", None),
        ("", None),
        ("0." + "9" * 5000, None),
        ("٠.١.٢", None),
    ],
)
def test_reading(text: str, read: str | None) -> None:
    """Package versions and image tags are read; what names no version is none."""
    found = read_version(text)
    assert (None if found is None else str(found)) == read


def test_a_change_is_in_its_own_candidates() -> None:
    """A pre-release of a version has what changed in it already."""
    assert version("0.12.0rc1").reached(version("0.12.0"))
    assert not version("0.11.2.post3").reached(version("0.12.0"))


@pytest.mark.skipif(not METRICS.is_dir(), reason=WHY_SKIPPED)
@pytest.mark.parametrize("capture", sorted(path.name for path in METRICS.glob("vllm-metrics-*.txt")))
def test_captures_tell_their_version(capture: str) -> None:
    """The names that a real server shows tell a range with its version in it, no older than the scan before."""
    names = set(re.findall(r"^(vllm:\w+)", (METRICS / capture).read_text(), re.MULTILINE))
    running = version(capture.split("-")[2])
    told = version_range(names)
    assert told.oldest is not None
    assert told.oldest <= running
    assert told.before is None or running < told.before
    assert version("0.16.0") < told.oldest


CORE = {
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:num_preemptions_total",
    "vllm:request_success_total",
    "vllm:cache_config_info",
    *(
        f"vllm:{name}_count"
        for name in (
            "time_to_first_token_seconds",
            "e2e_request_latency_seconds",
            "request_prompt_tokens",
            "request_generation_tokens",
            "request_params_n",
            "request_queue_time_seconds",
            "request_inference_time_seconds",
            "request_prefill_time_seconds",
            "request_decode_time_seconds",
            "request_max_num_generation_tokens",
            "request_params_max_tokens",
            "iteration_tokens_total",
        )
    ),
}
V1_OF_0_8 = CORE | {"vllm:gpu_cache_usage_perc", "vllm:gpu_prefix_cache_queries_total"}


@pytest.mark.parametrize(
    ("names", "oldest", "before"),
    [
        (set(), None, None),
        ({"up", "vllm:nothing_of_the_kind"}, None, None),
        ({"vllm:kv_cache_usage_perc"}, "0.9.2", None),
        ({"ray_vllm_kv_cache_usage_perc"}, "0.9.2", None),
        ({"vllm:gpu_cache_usage_perc"}, "0.2.7", "0.12.0"),
        ({"vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"}, "0.9.2", "0.12.0"),
        ({"vllm:num_requests_swapped", "vllm:engine_sleep_state"}, None, None),
        (V1_OF_0_8, "0.7.3", "0.9.2"),
        (CORE | {"vllm:num_requests_swapped"}, "0.5.5", "0.9.1"),
        (CORE - {"vllm:cache_config_info"}, "0.4.3", None),
    ],
    ids=[
        "nothing there",
        "nothing known",
        "one name",
        "in Ray",
        "one that went",
        "both of a rename",
        "of two versions at once",
        "complete, so that what is missing counts",
        "complete, of the old engine",
        "incomplete, so that nothing missing counts",
    ],
)
def test_names_tell_a_range(names: set[str], oldest: str | None, before: str | None) -> None:
    """Names that are there bound the version; names that are not do so only where the rest is complete."""
    told = version_range(names)
    assert (told.oldest and str(told.oldest), told.before and str(told.before)) == (oldest, before)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (VersionRange(version("0.9.2"), version("0.12.0")), "0.9.2 or newer, older than 0.12.0"),
        (VersionRange(version("0.9.2"), None), "0.9.2 or newer"),
        (VersionRange(None, version("0.12.0")), "older than 0.12.0"),
        (VersionRange(None, None), "not known"),
    ],
)
def test_a_range_in_words(known: VersionRange, said: str) -> None:
    """A range says what it knows, and whether it knows anything."""
    assert str(known) == said
    assert known.told is (said != "not known")
