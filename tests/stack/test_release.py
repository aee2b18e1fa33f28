"""What has to happen to our Helm release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.stack.choice import DesiredRelease
from kvobs.stack.release import Action, release_action

DESIRED = DesiredRelease(
    namespace="monitoring", name="kps", chart="oci://example/chart", version="2.0.0", values={"a": 1}
)


@dataclass
class Current:
    """A release as Helm tells it."""

    status: str = "deployed"
    chart_version: str = "2.0.0"
    values: dict[str, Any] = field(default_factory=lambda: {"a": 1})


CASES: list[tuple[Current | None, Action]] = [
    (None, "install"),
    (Current(), "keep"),
    (Current(chart_version="1.0.0"), "upgrade"),
    (Current(values={"a": 2}), "upgrade"),
    (Current(values={}), "upgrade"),
    (Current(status="failed"), "upgrade"),
    (Current(status="pending-install"), "reinstall"),
    (Current(status="uninstalling"), "reinstall"),
    (Current(status="uninstalled"), "reinstall"),
    (Current(status="pending-upgrade"), "roll back and upgrade"),
    (Current(status="pending-rollback"), "roll back and upgrade"),
]


@pytest.mark.parametrize(("current", "action"), CASES)
def test_what_brings_a_release_to_what_is_desired(current: Current | None, action: Action) -> None:
    """A release that is as desired is kept; one that a killed run left pending is mended."""
    assert release_action(current, DESIRED, "2.0.0") == action


def test_values_are_in_no_repr() -> None:
    """A user's values may hold secrets, so they are never shown with the release."""
    assert "{" not in repr(DESIRED)
