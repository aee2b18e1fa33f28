"""Single steps against a stand-in for the API server."""

from __future__ import annotations

import pytest

from kvobs.errors import ActionError, ClusterUnreachable, Conflict, Forbidden
from kvobs.stack.facts import Object
from kvobs.stack.objects import PART_OF_LABEL
from kvobs.stack.rights import Right
from kvobs.use_cases.act import acting, refuse_foreign, require, taken


class Allows:
    """Allows some verbs, everywhere; "*" is all of them."""

    def __init__(self, *verbs: str) -> None:
        self._verbs = verbs
        self.asked: list[Right | None] = []

    def allows_everything(self) -> bool:
        """Say whether it was made for an administrator."""
        self.asked.append(None)
        return "*" in self._verbs

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool:
        """Say yes to the verbs that it was made with."""
        self.asked.append(Right(verb, kind, namespace or ""))
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


@pytest.mark.parametrize(
    ("verbs", "asked"),
    [(("get", "patch", "create"), [None, *RIGHTS]), (("*",), [None])],
    ids=["each right", "an administrator"],
)
def test_nothing_is_said_where_all_is_allowed(verbs: tuple[str, ...], asked: list[Right | None]) -> None:
    """Who has every right is let through: an administrator after one question, somebody else after one for each."""
    cluster = Allows(*verbs)
    require(cluster, RIGHTS)
    assert cluster.asked == asked


def test_an_answer_that_stays_away_amid_changes_is_a_failed_action() -> None:
    """Exit code 4 promises that nothing was changed; amid changes it is 3, with the same words and the way on."""
    with pytest.raises(ActionError, match="does not answer; what was done until then stands") as failed, acting():
        raise ClusterUnreachable("https://x does not answer", hint="look at it")
    assert failed.value.exit_code == 3
    assert str(failed.value.hint).startswith("look at it; then run the same command again")


def found(**metadata: object) -> Object:
    """Return an object of a name of ours."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "m", **metadata}}


HELM = {"meta.helm.sh/release-name": "boards", "meta.helm.sh/release-namespace": "m"}


@pytest.mark.parametrize(
    ("live", "take", "says", "hint"),
    [
        (found(labels={PART_OF_LABEL: "ours"}), False, None, None),
        (found(), True, None, None),
        (found(), False, "ConfigMap m/x is already there, and kvobs did not make it", "--take-ownership"),
        (found(annotations=HELM), True, "it belongs to Helm release m/boards", "take it out of there first"),
        (found(labels={PART_OF_LABEL: "others"}), True, "it belongs to another ApplySet (others)", "--namespace"),
        ({**found(), "kind": "Secret"}, True, "Secret m/x is already there", "rename or delete it"),
    ],
    ids=["ours", "taken", "not taken", "Helm's", "another set's", "a Secret"],
)
def test_object_that_is_there(live: Object, take: bool, says: str | None, hint: str | None) -> None:
    """What is not ours stops the run, with the way on; only what nobody looks after may be taken."""
    if says is None:
        refuse_foreign(live, applyset="ours", take=take)
        return
    with pytest.raises(Conflict) as refused:
        refuse_foreign(live, applyset="ours", take=take)
    assert says in str(refused.value)
    assert str(hint) in str(refused.value.hint)


def test_conflict_names_manager_field_and_value() -> None:
    """Of a field that others have taken it is said whose it is and what they gave it; many are counted."""
    fields = tuple((f".data.k{number}", "kubectl") for number in range(7))
    said = taken(
        Conflict("no", status=409, reason="Conflict", hint="look", fields=fields), {**found(), "data": {"k0": "theirs"}}
    )

    assert str(said).startswith(
        'cannot apply ConfigMap m/x: .data.k0 belongs to field manager "kubectl", which has it at "theirs"; .data.k1'
    )
    assert str(said).endswith(" and 2 more")
    assert str(said.hint).startswith("look; ")
    assert "--take-ownership" in str(said.hint)
    assert (said.status, said.fields) == (409, fields)
