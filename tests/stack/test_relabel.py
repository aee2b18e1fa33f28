"""Names of metrics after a monitor's metricRelabelings."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.relabel import keeps_any, stored_name

NAME = {"sourceLabels": ["__name__"]}
TO_NAME = {"targetLabel": "__name__"}


@pytest.mark.parametrize(
    ("steps", "stored"),
    [
        ([], "vllm:x"),
        ([NAME | TO_NAME | {"replacement": "kserve_$1"}], "kserve_vllm:x"),
        ([NAME | TO_NAME | {"regex": "vllm:(.+)", "replacement": "llm_${1}_$$"}], "llm_x_$"),
        ([NAME | TO_NAME | {"regex": "vllm:(?P<what>.+)", "replacement": "a_${what}"}], "a_x"),
        # Go reads the longest word after the dollar: there is no group of that name.
        ([NAME | TO_NAME | {"regex": "vllm:(.+)", "replacement": "a_$1_b"}], "a_"),
        ([NAME | TO_NAME | {"regex": "(other)?vllm:x", "replacement": "a${1}"}], "a"),
        ([NAME | TO_NAME | {"regex": "DCGM_.*", "replacement": "y"}], "vllm:x"),
        ([NAME | TO_NAME | {"regex": "vllm", "replacement": "y"}], "vllm:x"),
        ([NAME | TO_NAME | {"replacement": ""}], None),
        ([NAME | TO_NAME, NAME | {"action": "drop", "regex": "vllm:.*"}], None),
        ([NAME | {"targetLabel": "copy", "replacement": "y"}], "vllm:x"),
        ([NAME | {"action": "keep", "regex": "vllm:.*"}], "vllm:x"),
        ([NAME | {"action": "Keep", "regex": "up"}], None),
        ([NAME | {"action": "Drop", "regex": "vllm:x|up"}], None),
        ([NAME | {"action": "drop", "regex": "vllm"}], "vllm:x"),
        ([NAME | {"action": "drop"}, NAME | TO_NAME | {"replacement": "back"}], None),
        ([{"sourceLabels": ["__name__", "le"], "action": "drop", "regex": ".*"}], "vllm:x"),
        ([{"sourceLabels": ["pod"], "action": "keep", "regex": "a"}], "vllm:x"),
        ([{"action": "labeldrop", "regex": "pod"}], "vllm:x"),
        ([NAME | {"action": "drop", "regex": r"\\pL("}], "vllm:x"),
    ],
    ids=[
        "none", "KServe's", "a part, and a dollar", "a named group", "a group that is none", "an empty group",
        "of others", "anchored", "to nothing", "then dropped", "to another label", "kept", "not kept", "dropped",
        "dropped, anchored", "dropped, then renamed", "by two labels", "by another label", "labels only", "unreadable",
    ],
)  # fmt: skip
def test_stored_name(steps: list[dict[str, Any]], stored: str | None) -> None:
    """A name comes out as Prometheus would store it, or not at all."""
    assert stored_name("vllm:x", {"metricRelabelings": steps}) == stored


@pytest.mark.parametrize(
    ("regex", "kept"), [("vllm:(x|y)", True), ("vllm:y", True), ("up", False)], ids=["both", "one", "none"]
)
def test_keeps_any(regex: str, kept: bool) -> None:
    """One name that is kept as it is suffices."""
    assert keeps_any(("vllm:x", "vllm:y"), {"metricRelabelings": [NAME | {"action": "keep", "regex": regex}]}) is kept
    assert keeps_any(("vllm:x",), {})
