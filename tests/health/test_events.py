"""Events of either API group, and which of them say nothing about what is there now."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.health.events import about, is_outdated, said, when

SUBJECT = {"kind": "ServiceMonitor", "namespace": "ml", "name": "chat", "uid": "1"}
NEWER = {"regarding": SUBJECT, "note": "no", "eventTime": "2026-11-01T10:00:00.500000Z"}
CORE = {"involvedObject": SUBJECT, "message": "no", "lastTimestamp": "2026-11-01T10:00:00Z"}


@pytest.mark.parametrize("event", [NEWER, CORE])
def test_both_groups(event: dict[str, Any]) -> None:
    """Subject, words and time are read from the fields of either group."""
    assert about(event) == ("ServiceMonitor", "ml", "chat")
    assert said(event) == "no"
    assert when(event) == "2026-11-01T10:00:00"


def test_a_series_is_as_new_as_its_last() -> None:
    """An event that was seen again counts by when that was; one that tells nothing is the oldest."""
    assert when({**NEWER, "series": {"lastObservedTime": "2026-11-01T11:00:00Z"}}) == "2026-11-01T11:00:00"
    assert (about({}), said({}), when({})) == (("", "", ""), "", "")


def live(uid: str = "1", **times: str) -> dict[str, Any]:
    """Return the object, changed at some times by `spec` or `status`."""
    fields = [{"time": at, **({"subresource": "status"} if what == "status" else {})} for what, at in times.items()]
    return {"metadata": {"uid": uid, "managedFields": fields}}


@pytest.mark.parametrize(
    ("there", "outdated"),
    [
        (live(), False),
        (live(spec="2026-11-01T09:59:59Z"), False),
        (live(spec="2026-11-01T10:00:00Z"), False),
        (live(spec="2026-11-01T10:00:01Z"), True),
        (live(status="2026-11-01T10:00:01Z"), False),
        (live(uid="2"), True),
        (None, True),
    ],
)
@pytest.mark.parametrize("event", [NEWER, CORE])
def test_outdated(event: dict[str, Any], there: Any, outdated: bool) -> None:
    """What was said before the object was changed, or of another one, says nothing of it now."""
    assert is_outdated(event, there) is outdated
