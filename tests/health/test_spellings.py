"""One metric under several prefixes."""

from __future__ import annotations

import pytest

from kvobs.health.spellings import other_spellings, plain, prefix_of, respelled


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("vllm:num_requests_running", {"ray": 2, "escaped": 1}),
        ("vllm_num_requests_running", {"plain": 1, "ray": 2}),
        ("ray_vllm_num_requests_running", {"plain": 1, "ray": 1, "escaped": 1}),
        ("ray_vllm:num_requests_running", {"plain": 1, "ray": 1, "escaped": 1}),
        ("sglang:token_usage", {"escaped": 1}),
        ("sglang_token_usage", {"plain": 1}),
        ("llm_d_router_epp_index_evictions_total", {"plain": 1}),
        ("llm_d_epp_request_total", {"release": 1}),
        ("ray_serve_deployment_request_counter_total", {}),
        ("up", {}),
    ],
)
def test_other_spellings(name: str, others: dict[str, int]) -> None:
    """A name of a known family has its other spellings, each with who writes it so; another name has none."""
    found = other_spellings(name)
    whys = [each.why for each in found]
    assert {why: whys.count(why) for why in whys} == others
    assert name not in [each.name for each in found]
    assert {plain(each.name) for each in found} <= {plain(name)}
    assert all(each.said for each in found)


def test_back_and_forth() -> None:
    """A metric's own name comes back in any spelling of its family, and unchanged in that of another."""
    for name in ("vllm:a", "vllm_a", "ray_vllm_a", "ray_vllm:a"):
        assert respelled(plain(name), name) == name
        assert prefix_of(name) is not None
    assert respelled("vllm:a", "sglang_b") == "vllm:a"
    assert respelled("vllm:a", "up") == "vllm:a"
