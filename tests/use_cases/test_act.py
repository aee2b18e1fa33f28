"""Single steps against a stand-in for the API server."""

from __future__ import annotations

import pytest

from kvobs.errors import ActionError, ClusterUnreachable, Forbidden
from kvobs.stack.rights import Right
from kvobs.use_cases.act import acting, require


class Allows:
    """Allows some verbs, everywhere."""

    def __init__(self, *verbs: str) -> None:
        self._verbs = verbs

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool:
        """Say yes to the verbs that it was made with."""
        return verb in self._verbs


RIGHTS = (
    Right("get", "ConfigMap", "m"),
    Right("patch", "ConfigMap", "m"),
    Right("create", "ConfigMap", "m"),
    Right("create", "Namespace", ""),
)


def test_every_missing_right_is_named_at_once() -> None:
    """What is missing is named by kind and place, so that it can be asked for in one go."""
    with pytest.raises(Forbidden) as missing:
        require(Allows("get"), RIGHTS)
    assert "may not patch or create ConfigMap in namespace m; create any Namespace" in str(missing.value)
    assert missing.value.exit_code == 3


def test_nothing_is_said_where_all_is_allowed() -> None:
    """Who has every right is let through."""
    require(Allows("get", "patch", "create"), RIGHTS)


def test_an_answer_that_stays_away_amid_changes_is_a_failed_action() -> None:
    """Exit code 4 promises that nothing was changed; amid changes it is 3, with the same words and the way on."""
    with pytest.raises(ActionError, match="does not answer; what was done until then stands") as failed, acting():
        raise ClusterUnreachable("https://x does not answer", hint="look at it")
    assert failed.value.exit_code == 3
    assert str(failed.value.hint).startswith("look at it; then run the same command again")
