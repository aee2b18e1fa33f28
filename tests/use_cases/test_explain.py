"""What a cause means, without a cluster."""

from __future__ import annotations

import pytest

from kvobs.errors import UsageError
from kvobs.health.causes import CAUSES
from kvobs.report import to_document, to_text
from kvobs.use_cases.explain import CauseList, Explanation, explain


@pytest.mark.parametrize("text", ["KVO-405", "kvo-405", " 405 ", "KVO405", "kvo 405"])
def test_an_id_in_any_spelling(text: str) -> None:
    """However it is typed, the cause is found."""
    assert explain(text) == Explanation(cause=CAUSES["KVO-405"])


@pytest.mark.parametrize(("text", "near"), [("KVO-499", "KVO-4"), ("nonsense", "")])
def test_an_unknown_id_is_wrong_usage(text: str, near: str) -> None:
    """The error names what is near, and how to see all."""
    with pytest.raises(UsageError, match="is no cause that kvobs knows") as refused:
        explain(text)
    assert near in (refused.value.hint or "")
    assert "kvobs explain lists them all" in (refused.value.hint or "")


def test_the_list_has_every_cause() -> None:
    """Without an id all are listed, each in a line, in the order of their numbers."""
    listed = explain()
    assert isinstance(listed, CauseList)
    assert listed.causes == tuple(CAUSES.values())
    told = [line.split()[:2] for line in to_text(listed).splitlines()[1:] if line.startswith("KVO-")]
    assert told == [[each.id, each.severity] for each in CAUSES.values()]


@pytest.mark.parametrize("cause", CAUSES)
def test_each_explanation_says_it_all(cause: str) -> None:
    """Title, sentence, evidence, fix and explanation are all in the text and in the document; nothing is cut."""
    report = explain(cause)
    words = " ".join(to_text(report).split())
    told = CAUSES[cause]
    for text in (cause, told.title, told.sentence, told.evidence, told.severity, told.fix, told.explanation):
        assert " ".join(text.split()) in words
    assert to_document(report)["cause"]["id"] == cause
