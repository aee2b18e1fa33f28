"""Names of metrics after a monitor's metricRelabelings."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.relabel import Fate, fate, keeps_any, stored_name

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


KEEP = {"action": "keep", "regex": "up|go_.*|process_.*|node_.*|kube_.*|DCGM_.*"}
OF_OTHERS = {"sourceLabels": ["job", "__name__"], **TO_NAME, "replacement": "$1"}


@pytest.mark.parametrize(
    ("steps", "becomes"),
    [
        ([], Fate("vllm:x", None)),
        ([NAME | {"action": "drop", "regex": "go_.*"}, NAME | KEEP], Fate(None, 1)),
        ([NAME | TO_NAME | {"replacement": "a_$1"}, NAME | TO_NAME | {"replacement": "b_$1"}], Fate("b_a_vllm:x", 1)),
        ([NAME | TO_NAME | {"replacement": "up"}, NAME | KEEP], Fate("up", 0)),
        ([NAME | TO_NAME | {"action": "uppercase"}], Fate("VLLM:X", 0)),
        ([NAME | TO_NAME | {"action": "LowerCase"}], Fate("vllm:x", None)),
        ([{"action": "drop"}], Fate(None, 0)),
        ([{"action": "keep"}], Fate("vllm:x", None)),
        ([{**TO_NAME, "replacement": "one_for_all"}], Fate("one_for_all", 0)),
        ([{"sourceLabels": ["__name__", "le"], "action": "drop", "regex": ".*"}], Fate("vllm:x", None)),
        ([NAME | {"action": "drop", "regex": "(v+)+:x"}], Fate("vllm:x", None)),
        ([NAME | {"action": "drop", "regex": "[[:alpha:]]+:x"}], Fate("vllm:x", None)),
        ([OF_OTHERS, NAME | {"action": "drop"}], None),
        ([NAME | TO_NAME | {"action": "hashmod", "modulus": 2}], None),
        ([NAME | TO_NAME | {"regex": r"\pL+:x", "replacement": "y"}], None),
        ([NAME | {"action": "drop"}, OF_OTHERS], Fate(None, 0)),
    ],
    ids=[
        "none", "a keep list of many", "renamed twice", "renamed to what is kept", "upper case", "lower case already",
        "everything dropped", "everything kept", "one name for all", "by two labels", "may take for ever", "only RE2's",
        "made of other labels", "made a number", "renamed by what only RE2 reads", "dropped before",
    ],
)  # fmt: skip
def test_fate(steps: list[dict[str, Any]], becomes: Fate | None) -> None:
    """A name's fate, and the step that decided it; none where a step makes the name of other labels."""
    assert fate("vllm:x", steps) == becomes
