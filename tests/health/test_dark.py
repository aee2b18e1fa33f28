"""Each dark panel gets the one cause that it has, and no healthy one is accused: the cases are files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kvobs.health.causes import CAUSES
from kvobs.health.verdict import PanelVerdict

from ..prometheus_server import Binary
from .dark import Case, Servers, cases, judged


def as_expected(verdict: PanelVerdict | None, expected: dict[str, Any]) -> dict[str, Any]:
    """What a verdict is, as far as the case names it."""
    if verdict is None:
        return {"state": "no such panel"}
    finding = verdict.finding
    actual: dict[str, Any] = {"state": verdict.state}
    if "cause" in expected:
        actual["cause"] = finding.cause if finding else None
    for key in ("said", "fix", "subject"):
        if key in expected:
            text = getattr(finding, key) if finding else ""
            actual[key] = [phrase if phrase in text else f"{phrase!r} is not in: {text}" for phrase in expected[key]]
    if "zero" in expected:
        actual["zero"] = all(each.zero for each in verdict.targets if each.state == "lit")
    return actual


def on_the_old_server() -> list[Case]:
    """Of each cause the first case that an old Prometheus can hold, and every fourth healthy one."""
    able = [case for case in cases() if "since_3" not in case.expected]
    firsts = {case.folder.parent.name: case for case in reversed(able)}
    return [*firsts.values(), *[case for case in able if case.folder.parent.name == "healthy"][1::4]]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """The servers of all cases."""
    with Servers() as running:
        yield running


@pytest.mark.parametrize(
    ("case", "binary"),
    [*((case, "3") for case in cases()), *((case, "2.42") for case in on_the_old_server())],
    ids=lambda each: each.name if isinstance(each, Case) else each,
)
def test_verdicts(case: Case, binary: Binary, servers: Servers) -> None:
    """Every panel has the state and the cause that the case says."""
    boards = judged(case, servers, binary)
    verdicts = {panel.title: panel for board in boards for panel in board.panels}
    expected = case.expected["panels"]

    assert {title: as_expected(verdicts.get(title), each) for title, each in expected.items()} == expected
    assert set(verdicts) == set(expected), "a panel that the case says nothing of"
    causes = {board.source: [each.cause for each in board.findings] for board in boards if board.findings}
    assert causes == case.expected.get("boards", {})


def test_every_case_says_what_must_hold() -> None:
    """Each folder stands under its cause, or under `healthy`, and says in one sentence what must hold."""
    for case in cases():
        cause = case.folder.parent.name
        assert cause == "healthy" or cause[: len("KVO-000")] in CAUSES, case.name
        assert case.expected["says"].endswith("."), case.name
        found = {each.get("cause") for each in case.expected["panels"].values()}
        found |= {each for board in case.expected.get("boards", {}).values() for each in board}
        if cause == "healthy":
            assert all(
                each["state"] in ("lit", "expected", "dark", "not checked") for each in case.expected["panels"].values()
            )
        else:
            assert cause[: len("KVO-000")] in found, case.name
