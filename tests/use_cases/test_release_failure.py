"""What is done about a release that failed depends on what stood before, and on whose doing it is."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kvobs.adapters.helm_release import HelmRelease
from kvobs.errors import ClusterUnreachable, HelmError, NotUpgraded, RolledBack
from kvobs.stack.target import DesiredRelease
from kvobs.use_cases.release import PendingRelease

DESIRED = DesiredRelease(namespace="m", name="r", chart="c", version="2.0.0", values={"a": 1})
HOOK = (
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
)


def revision(number: int, status: str, **values: Any) -> HelmRelease:
    """Return a revision of the release."""
    return HelmRelease(
        name="r", namespace="m", revision=number, status=status, chart_version="1.0.0", values=values, hooks_text=HOOK
    )


@dataclass
class FailingHelm:
    """Fails in an upgrade, and does the rest unless told otherwise."""

    after: Callable[[], HelmRelease | None]
    fails: Sequence[str] = ()
    keeps_secrets: bool = True
    done: list[str] = field(default_factory=list)

    def install_or_upgrade(self, name: str, chart: str, **given: Any) -> HelmRelease:
        """Fail."""
        raise HelmError("release m/r: it does not fit", hint="mend the values")

    def rollback(self, name: str, namespace: str, *, revision: int | None = None, timeout_s: int) -> None:
        """Roll back."""
        self._do(f"rollback {revision}")

    def uninstall(self, name: str, namespace: str, *, timeout_s: int) -> bool:
        """Uninstall."""
        self._do("uninstall")
        return True

    def release(self, name: str, namespace: str) -> HelmRelease | None:
        """Say how it stands."""
        return self.after()

    def _do(self, what: str) -> None:
        self.done.append(what)
        if what.split()[0] in self.fails:
            raise HelmError(f"cannot {what}", hint="look at it")


@dataclass
class Records:
    """Helm's records on a cluster, by revision."""

    revisions: dict[int, HelmRelease]
    deleted: list[str] = field(default_factory=list)

    def list(self, kind: str, **asked: Any) -> list[Any]:
        """Give the labels of Helm's Secrets."""
        labels = [{"version": str(number), "status": each.status} for number, each in self.revisions.items()]
        return [{"metadata": {"name": "x", "labels": each}} for each in labels]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Any:
        """Give one record whole."""
        each = self.revisions[int(name.rpartition(".v")[2])]
        document = {
            "name": "r",
            "namespace": "m",
            "version": each.revision,
            "info": {"status": each.status},
            "chart": {"metadata": {"version": each.chart_version}},
            "config": each.values,
            "hooks": [
                {"manifest": HOOK, "last_run": {"phase": "Failed"}},
                {
                    "manifest": "kind: Job\napiVersion: batch/v1\nmetadata: {name: never-ran}\n",
                    "last_run": {"phase": ""},
                },
            ],
        }
        packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(document).encode()))).decode()
        return {"metadata": {"name": name, "namespace": namespace}, "data": {"release": packed}}

    def delete(self, kind: str, name: str, namespace: str | None = None) -> bool:
        """Delete an object."""
        self.deleted.append(f"{kind} {namespace}/{name}")
        return True


def failed(
    before: HelmRelease | None, after: HelmRelease | None, *, action: str = "upgrade", fails: Sequence[str] = ()
) -> tuple[HelmError, FailingHelm, Records]:
    """Carry out an upgrade that fails; return its error, Helm, and what stood on the cluster."""
    there = {each.revision: each for each in (before, after) if each is not None}
    records = Records(there)
    helm = FailingHelm(lambda: after, fails)
    pending = PendingRelease(
        helm=helm,  # type: ignore[arg-type]
        desired=DESIRED,
        current=before,
        chart_version="2.0.0",
        action=action,  # type: ignore[arg-type]
        cluster=records,  # type: ignore[arg-type]
    )
    with pytest.raises(HelmError) as raised:
        pending.carry_out(timeout_s=5, on_line=lambda line: None)
    return raised.value, helm, records


CASES = {
    "an upgrade that failed": (
        *(revision(3, "deployed"), revision(4, "failed", a=1)),
        (["rollback 3"], "it does not fit; rolled back: what revision 3 had made is in force again", "again"),
    ),
    "an upgrade that was stopped": (
        *(revision(3, "deployed"), revision(4, "pending-upgrade", a=1)),
        (["rollback 3"], "rolled back", "mend the values; then run the same command again"),
    ),
    "no revision was made": (
        *(revision(3, "deployed"), revision(3, "deployed")),
        ([], "it does not fit; revision 3 is still in force", "mend the values"),
    ),
    "somebody else's operation": (
        *(revision(3, "deployed"), revision(4, "pending-upgrade", b=2)),
        ([], "it does not fit", "mend the values"),
    ),
    "somebody else's, two revisions on": (
        *(revision(3, "deployed"), revision(5, "failed", a=1)),
        ([], "it does not fit", "mend the values"),
    ),
    "a first install that failed": (
        *(None, revision(1, "failed", a=1)),
        (["uninstall"], "what this first install of the release had made is taken away again", "kvobs uninstall"),
    ),
    "a first install that made nothing": (*(None, None), ([], "it does not fit", "mend the values")),
    "somebody else's first install": (
        *(None, revision(1, "pending-install", b=2)),
        ([], "it does not fit", "mend the values"),
    ),
    "nothing was ever in force": (
        *(revision(1, "failed"), revision(2, "failed", a=1)),
        (["uninstall"], "taken away again", "again"),
    ),
}


@pytest.mark.parametrize(("before", "after", "outcome"), CASES.values(), ids=CASES.keys())
def test_taken_back(before: HelmRelease | None, after: HelmRelease | None, outcome: tuple[list[str], str, str]) -> None:
    """What is done, and what the error says of it and of the way on."""
    done, says, hint = outcome
    error, helm, _ = failed(before, after)

    assert helm.done == done
    assert str(error).endswith(says) or says in str(error)
    assert hint in str(error.hint)
    assert isinstance(error, RolledBack) == (done[:1] == ["rollback 3"])
    assert error.exit_code == 3


@pytest.mark.parametrize(
    ("before", "after", "came_to_nothing"),
    [
        (revision(3, "deployed"), revision(3, "deployed"), True),
        (revision(3, "failed"), revision(3, "failed"), True),
        (revision(3, "deployed"), revision(4, "pending-upgrade", b=2), True),
        (revision(3, "deployed"), revision(4, "deployed", b=2), True),
        (revision(3, "deployed"), revision(4, "failed", a=1), True),
        (revision(3, "deployed"), revision(4, "deployed", a=1), False),
        (revision(3, "deployed"), revision(5, "failed", a=1), False),
        (None, None, False),
        (None, revision(1, "failed", a=1), False),
    ],
    ids=[
        *("no revision", "no revision over a failed one", "somebody else's at work", "somebody else's in force"),
        *("rolled back", "ours in force all the same", "may be ours"),
        *("a first one that made nothing", "a first one"),
    ],
)
def test_nothing_of_an_upgrade_is_in_force(
    before: HelmRelease | None, after: HelmRelease | None, came_to_nothing: bool
) -> None:
    """Only where that is sure is it said: what the run was told is forgotten then."""
    error, _, _ = failed(before, after)

    assert isinstance(error, NotUpgraded) == came_to_nothing


def test_a_pending_upgrade_that_cannot_be_rolled_back() -> None:
    """The upgrade that was to follow has not begun: Helm's word is told as it is, and nothing of it is in force."""
    error, helm, _ = failed(revision(3, "pending-upgrade"), None, action="roll back and upgrade", fails=("rollback",))

    assert (str(error), error.hint, helm.done) == ("cannot rollback None", "look at it", ["rollback None"])
    assert isinstance(error, NotUpgraded)
    assert not isinstance(error, RolledBack)


def test_an_earlier_one_is_in_force() -> None:
    """Where the last upgrade failed too, what is in force is an older revision, and that is what is gone back to."""
    records = Records({1: revision(1, "deployed"), 2: revision(2, "failed"), 3: revision(3, "failed", a=1)})
    helm = FailingHelm(lambda: records.revisions[3])
    pending = PendingRelease(
        helm=helm,  # type: ignore[arg-type]
        desired=DESIRED,
        current=records.revisions[2],
        chart_version="2.0.0",
        action="upgrade",
        cluster=records,  # type: ignore[arg-type]
    )
    with pytest.raises(RolledBack, match="what revision 1 had made is in force again"):
        pending.carry_out(timeout_s=5, on_line=lambda line: None)

    assert helm.done == ["rollback 1"]


def test_a_roll_back_had_failed_before() -> None:
    """A roll-back that fails leaves no revision deployed: what earlier ones made runs on, and is not taken away."""
    records = Records({2: revision(2, "superseded"), 3: revision(3, "failed"), 4: revision(4, "failed", a=1)})
    helm = FailingHelm(lambda: records.revisions[4])
    pending = PendingRelease(
        helm=helm,  # type: ignore[arg-type]
        desired=DESIRED,
        current=records.revisions[3],
        chart_version="2.0.0",
        action="upgrade",
        cluster=records,  # type: ignore[arg-type]
    )
    with pytest.raises(HelmError, match="revision 3 before it is failed too, and nothing is undone") as raised:
        pending.carry_out(timeout_s=5, on_line=lambda line: None)

    assert helm.done == []
    assert "helm -n m history r" in str(raised.value.hint)
    assert not isinstance(raised.value, RolledBack)


def test_hooks_of_a_first_install() -> None:
    """What hooks have made goes with it, dependents first; what never ran may be somebody else's."""
    _, _, records = failed(None, revision(1, "failed", a=1))

    assert records.deleted == ["Job.batch m/hook", "Secret m/s"]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            revision(3, "deployed"),
            revision(4, "failed", a=1),
            "rolling back to revision 3 failed too: cannot rollback 3",
        ),
        (None, revision(1, "failed", a=1), "taking away what it had made failed too: cannot uninstall"),
    ],
)
def test_what_cannot_be_taken_back(before: HelmRelease | None, after: HelmRelease, says: str) -> None:
    """A second failure is told with the first, and is no promise that anything is in force."""
    error, _, _ = failed(before, after, fails=("rollback", "uninstall"))

    assert "it does not fit; " in str(error)
    assert says in str(error)
    assert "look at it; then run the same command again" in str(error.hint)
    assert not isinstance(error, NotUpgraded)


def test_how_it_stands_is_not_known() -> None:
    """An API server that does not answer any more is named; nothing is undone unseen."""

    def silent() -> HelmRelease | None:
        raise ClusterUnreachable("https://x does not answer")

    helm = FailingHelm(silent, keeps_secrets=False)
    pending = PendingRelease(
        helm=helm,  # type: ignore[arg-type]
        desired=DESIRED,
        current=revision(3, "deployed"),
        chart_version="2.0.0",
        action="upgrade",
    )
    with pytest.raises(HelmError, match="how the release stands now is not known: https://x does not answer"):
        pending.carry_out(timeout_s=5, on_line=lambda line: None)
    assert helm.done == []


def test_a_driver_that_only_helm_can_read() -> None:
    """Without records that can be read, what stood before decides; a failed one is left, and is told."""
    before = revision(1, "failed")
    helm = FailingHelm(lambda: revision(2, "failed", a=1), keeps_secrets=False)
    pending = PendingRelease(
        helm=helm,  # type: ignore[arg-type]
        desired=DESIRED,
        current=before,
        chart_version="2.0.0",
        action="upgrade",
    )
    with pytest.raises(HelmError, match="revision 1 before it is failed too"):
        pending.carry_out(timeout_s=5, on_line=lambda line: None)
    with pytest.raises(RolledBack):
        replace(pending, current=revision(1, "deployed")).carry_out(timeout_s=5, on_line=lambda line: None)
    assert helm.done == ["rollback 1"]
