"""The causes as data: complete, ordered, each used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvobs.health.causes import CAUSES, Cause, found
from kvobs.health.verdict import ORDER

CODE = Path(__file__).parents[2] / "kvobs"
CASES = Path(__file__).parents[1] / "data" / "dark"


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.id)
def test_complete(cause: Cause) -> None:
    """Each cause has a sentence, its evidence, paragraphs that explain it, and a fix unless nothing is to be done."""
    assert re.fullmatch(r"KVO-[1-9]\d\d", cause.id)
    assert cause.severity in ORDER
    assert cause.title[-1] not in ".,;"
    assert cause.sentence.endswith(".")
    assert cause.evidence.endswith(".")
    assert cause.fix or cause.severity == "expected"
    assert len(cause.explanation.split("\n\n")) >= 2
    assert cause.explanation.endswith(".")


def test_in_order() -> None:
    """They stand in the order of their numbers, and the keys are their ids."""
    assert list(CAUSES) == sorted(CAUSES)
    assert all(key == cause.id for key, cause in CAUSES.items())


def test_each_is_named_by_the_code_and_no_other() -> None:
    """Every cause is one that something finds, and nothing finds a cause that is not here."""
    own = CODE / "health" / "causes"
    named = {
        each
        for path in CODE.rglob("*.py")
        if own not in path.parents
        for each in re.findall(r"KVO-\d{3}", path.read_text())
    }

    assert named == set(CAUSES)


def test_found_takes_what_the_cause_says() -> None:
    """Severity and, where none is given, the fix come from the cause."""
    finding = found("KVO-405", subject="x", said="y")

    assert (finding.severity, finding.fix) == ("broken", CAUSES["KVO-405"].fix)
    assert found("KVO-405", subject="x", said="y", fix="").fix == ""
