"""One metric under several prefixes: what an escaping scrape, Ray, or another release makes of a name. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Why = Literal["plain", "escaped", "ray", "release"]
"""plain: as its own source has it; escaped: a scrape that puts `_` for `:`; ray: the engine runs inside Ray Serve,
which puts a prefix before the name; release: another release of the same program spells its prefix so."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """One spelling of a family's prefix."""

    text: str
    why: Why
    said: str = ""
    """In words, who writes it so."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name that a metric may have besides the one that was asked for."""

    name: str
    why: Why
    said: str


_VLLM = "vllm:"

FAMILIES: tuple[tuple[Prefix, ...], ...] = (
    (
        Prefix(_VLLM, "plain", "vLLM's own server, scraped with its names as they are"),
        Prefix("ray_vllm_", "ray", "vLLM inside Ray Serve, which puts ray_ before the name and _ for its colon"),
        Prefix("ray_vllm:", "ray", "vLLM inside an older Ray Serve, which puts ray_ before the name"),
        Prefix("vllm_", "escaped", "a scrape that escapes the colon in names"),
    ),
    (
        Prefix("sglang:", "plain", "SGLang's own server, scraped with its names as they are"),
        Prefix("sglang_", "escaped", "SGLang behind its router, or a scrape that escapes the colon in names"),
    ),
    (
        Prefix("llm_d_epp_", "plain", "the endpoint picker of llm-d since June 2026"),
        Prefix("llm_d_router_epp_", "release", "the endpoint picker of llm-d before June 2026"),
    ),
)
"""The spellings of each family's prefix, its own first; of two that both fit, the longer comes before the shorter."""


def plain(name: str) -> str:
    """Return a name as the metric's own source has it; any other name comes back as it is.

    >>> plain("ray_vllm_num_requests_running"), plain("up")
    ('vllm:num_requests_running', 'up')
    """
    found = _prefix_of(name)
    return name if found is None else found[0][0].text + name.removeprefix(found[1].text)


def of_vllm(name: str) -> bool:
    """Whether a name has the prefix of vLLM's, in any spelling."""
    return plain(name).startswith(_VLLM)


def prefix_of(name: str) -> Prefix | None:
    """Return the spelling that a name has; None where it is of no known family."""
    found = _prefix_of(name)
    return None if found is None else found[1]


def respelled(plain_name: str, like: str) -> str:
    """Return a metric's own name in the spelling of another name of its family.

    >>> respelled("vllm:kv_cache_usage_perc", "ray_vllm_gpu_cache_usage_perc")
    'ray_vllm_kv_cache_usage_perc'
    """
    found = _prefix_of(like)
    if found is None or not plain_name.startswith(found[0][0].text):
        return plain_name
    return found[1].text + plain_name.removeprefix(found[0][0].text)


def other_spellings(name: str) -> tuple[Spelling, ...]:
    """Return the names under which the same metric may be found instead, and who writes them so.

    >>> [each.name for each in other_spellings("sglang_num_running_reqs")]
    ['sglang:num_running_reqs']
    """
    found = _prefix_of(name)
    if found is None:
        return ()
    family, written = found
    rest = name.removeprefix(written.text)
    return tuple(Spelling(each.text + rest, each.why, each.said) for each in family if each is not written)


def _prefix_of(name: str) -> tuple[tuple[Prefix, ...], Prefix] | None:
    for family in FAMILIES:
        for prefix in family:
            if name.startswith(prefix.text):
                return family, prefix
    return None
