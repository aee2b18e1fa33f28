"""Which version of vLLM, or of the DCGM exporter, an image's tag names. Pure."""

from __future__ import annotations

import re

from ..stack.workloads import image_path

_VLLM = re.compile(r"v?(\d+\.\d+(?:\.\d+)*(?:\.post\d+|\.?rc\d+)?)(?:[-_+].*)?")
_DCGM = re.compile(r"(\d+\.\d+\.\d+-\d+\.\d+\.\d+)(?:-.*)?")
_OWN_NUMBERS = ("lmcache",)
"""Whose images are called like vLLM's, and have numbers of their own."""


def vllm_version(image: str) -> str | None:
    """Return the version of vLLM in *image*; None where its tag tells none, or is of a product with its own numbers.

    >>> vllm_version("vllm/vllm-openai:v0.32.0"), vllm_version("mirror:5000/vllm/vllm-openai:v0.11.0-x86_64")
    ('0.32.0', '0.11.0')
    >>> vllm_version("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.4.0"), vllm_version("lmcache/vllm-openai:v0.3.9")
    (None, None)
    >>> vllm_version("vllm/vllm-openai:latest"), vllm_version("vllm/vllm-openai@sha256:00")
    (None, None)
    """
    path = image_path(image)
    if not path[-1].startswith("vllm-openai") or any(each in path for each in _OWN_NUMBERS):
        return None
    match = _VLLM.fullmatch(_tag(image))
    return match[1] if match else None


def dcgm_version(image: str) -> str | None:
    """Return the version of a DCGM exporter as its tags have it: that of DCGM, then its own.

    >>> dcgm_version("nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-ubuntu22.04"), dcgm_version("x/dcgm-exporter:main")
    ('4.5.3-4.8.2', None)
    """
    if image_path(image)[-1] != "dcgm-exporter":
        return None
    match = _DCGM.fullmatch(_tag(image))
    return match[1] if match else None


def _tag(image: str) -> str:
    _, colon, tag = image.partition("@")[0].rpartition(":")
    return tag if colon and "/" not in tag else ""
