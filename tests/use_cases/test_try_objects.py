"""Whether the API server would take objects: what it says, put into kinds, without a change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kvobs.errors import ApiError, ClusterUnreachable, Conflict, Forbidden, KvobsError
from kvobs.stack.facts import Object, Ref
from kvobs.stack.rights import Right
from kvobs.use_cases.try_objects import together, try_objects, worth_trying
from tests.stack.clusters import cluster

RBAC = "rbac.authorization.k8s.io"
FACTS = cluster(
    kinds=frozenset({"ConfigMap", "Namespace", f"ClusterRole.{RBAC}", "Prometheus.monitoring.coreos.com"}),
    namespaces={"mon": {}},
)


def thing(kind: str, name: str, namespace: str | None = "mon", version: str = "v1", **metadata: Any) -> Object:
    """Return an object."""
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **where, **metadata}}


def refused(status: int, reason: str, said: str, kind: type[ApiError] = ApiError) -> ApiError:
    """Return a refusal of the API server."""
    return kind(said, status=status, reason=reason, hint="what to do")


@dataclass
class Server:
    """Answers dry-runs as it is told; anything but a dry-run is an error."""

    says: dict[str, KvobsError] = field(default_factory=dict)
    asked: list[tuple[str, bool, str]] = field(default_factory=list)
    slow: frozenset[str] = frozenset()
    """Names about which an answer takes ten seconds."""
    now: float = 0.0

    def clock(self) -> float:
        """Tell the time."""
        return self.now

    def apply(self, obj: Object, *, dry_run: bool = False, force: bool = False, field_manager: str = "kvobs") -> Object:
        """Answer."""
        assert dry_run
        name = obj["metadata"]["name"]
        self.asked.append((name, force, field_manager))
        self.now += 10 if name in self.slow else 0
        if name in self.says:
            raise self.says[name]
        return obj


ANSWERS = [
    ("a policy", refused(422, "Invalid", "denied by policy"), "refused"),
    ("a quota", refused(403, "Forbidden", "exceeded quota: few", Forbidden), "refused"),
    ("somebody's field", refused(409, "Conflict", "belongs to x", Conflict), "refused"),
    ("a webhook that fails", refused(500, "InternalError", 'failed calling webhook "x"'), "refused"),
    ("a role's rights", refused(403, "Forbidden", "is attempting to grant RBAC permissions", Forbidden), "grants"),
    ("no answer in time", ClusterUnreachable("did not answer within 3 s", hint="what to do"), "no answer"),
    ("overloaded", refused(503, "ServiceUnavailable", "not now"), "no answer"),
]


@pytest.mark.parametrize(("error", "kind"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_what_is_said_against_an_object(error: KvobsError, kind: str) -> None:
    """A refusal is kept with its kind, the object, the server's words and the hint; the others are tried as well."""
    server = Server({"bad": error})
    found = try_objects(server, [thing("ConfigMap", "bad"), thing("Namespace", "good", None)], FACTS)

    (refusal,) = found.refusals
    assert (refusal.ref, refusal.kind, refusal.hint) == (Ref("ConfigMap", "mon", "bad"), kind, "what to do")
    assert str(error) in refusal.said
    assert found.taken == 1


LATER = [
    ("a namespace that is not there", thing("ConfigMap", "a", "new"), None),
    ("a kind that is not there", thing("Alertmanager", "a", "mon", "monitoring.coreos.com/v1"), None),
    ("a role that is not there", thing("ClusterRole", "a", None, f"{RBAC}/v1"), refused(404, "NotFound", "no role")),
    ("a webhook without dry-run", thing("ConfigMap", "a"), refused(400, "BadRequest", "x does not support dry run")),
]


@pytest.mark.parametrize(("obj", "error"), [case[1:] for case in LATER], ids=[case[0] for case in LATER])
def test_what_cannot_be_asked_yet(obj: Object, error: ApiError | None) -> None:
    """What an earlier step brings, or nobody can try, is neither taken nor refused."""
    server = Server({"a": error} if error else {})
    found = try_objects(server, [obj], FACTS)

    assert len(found.later) == 1
    assert (found.taken, found.refusals) == (0, ())


def test_a_slow_answer_is_an_answer() -> None:
    """What took long is known all the same, with how long; the others of its kind are not waited for."""
    server = Server({"a": refused(500, "InternalError", 'failed calling webhook "x"')}, slow=frozenset("ac"))
    things = [thing("ConfigMap", "a"), thing("ConfigMap", "b"), thing("Namespace", "c", None)]
    found = try_objects(server, things, FACTS, clock=server.clock)

    assert [name for name, _, _ in server.asked] == ["a", "c"]
    assert [(each.ref.name, each.seconds) for each in found.slow] == [("a", 10), ("c", 10)]
    assert [each.kind for each in found.refusals] == ["refused"]
    assert found.taken == 1


def test_a_secret_that_is_quoted() -> None:
    """What the server quotes of an object may be a secret of the values, and is not repeated."""
    said = refused(422, "Invalid", 'spec.password: Invalid value: "hunter22-hunter22"')
    tried = try_objects(Server({"a": said}), [thing("ConfigMap", "a")], FACTS, secrets=["hunter22-hunter22"])
    assert "hunter22" not in repr(tried)
    assert "spec.password" in tried.refusals[0].said


def test_waiting_has_an_end() -> None:
    """After three slow kinds the others are not asked about, which is said."""
    kinds = [f"Kind{number}" for number in range(5)]
    server = Server(slow=frozenset(kinds))
    things = [thing(kind, kind) for kind in kinds] + [thing("Kind4", "another")]
    found = try_objects(server, things, replace(FACTS, kinds=frozenset(kinds)), clock=server.clock)

    assert len(server.asked) == len(found.slow) == found.taken == 3
    assert [(each.ref.name, each.kind) for each in found.refusals] == [("Kind3", "no answer"), ("Kind4", "no answer")]


def test_silence_is_paid_for_once() -> None:
    """Of a kind that gets no answer the others are not asked about; other kinds are."""
    server = Server({"a": ClusterUnreachable("silence")})
    found = try_objects(
        server, [thing("ConfigMap", "a"), thing("ConfigMap", "b"), thing("Namespace", "c", None)], FACTS
    )

    assert [name for name, _, _ in server.asked] == ["a", "c"]
    assert len(found.refusals) == 1


def test_without_a_right() -> None:
    """What the credentials may not make is not tried: the missing right says it all."""
    server = Server()
    found = try_objects(server, [thing("ConfigMap", "a")], FACTS, lacking=[Right("create", "ConfigMap", "mon")])

    assert server.asked == []
    assert found.forbidden == (Ref("ConfigMap", "mon", "a"),)


def test_as_whom() -> None:
    """The chart's objects are tried as Helm would apply them."""
    server = Server()
    try_objects(server, [thing("ConfigMap", "a")], FACTS, force=True, field_manager="helm")
    assert server.asked == [("a", True, "helm")]


def test_what_may_be_taken() -> None:
    """By force it is as if no field were anybody else's, but of a namespace; without, the way out is said."""
    server = Server()
    try_objects(server, [thing("ConfigMap", "a"), thing("Namespace", "n", None)], FACTS, force=True)
    assert [(name, force) for name, force, _ in server.asked] == [("a", True), ("n", False)]

    theirs = Conflict("a field", status=409, reason="Conflict", hint="kubectl get", fields=(("data", "x"),))
    found = try_objects(Server({"a": theirs}), [thing("ConfigMap", "a")], FACTS)
    assert [each.hint for each in found.refusals] == ["kubectl get; to have it as kvobs makes it: --take-ownership"]


def test_worth_trying() -> None:
    """Every workload and role, one of each other kind, no Secret."""
    chart = [
        thing("ConfigMap", "a"),
        thing("ConfigMap", "b"),
        thing("Secret", "s"),
        thing("Deployment", "d", version="apps/v1"),
        thing("Deployment", "e", version="apps/v1"),
        thing("ClusterRole", "r", None, f"{RBAC}/v1"),
        thing("ClusterRole", "q", None, f"{RBAC}/v1"),
    ]
    assert [each["metadata"]["name"] for each in worth_trying(chart)] == ["a", "d", "e", "r", "q"]


def test_together() -> None:
    """Several dry-runs add up."""
    one = try_objects(Server({"a": refused(403, "Forbidden", "no")}), [thing("ConfigMap", "a")], FACTS)
    two = try_objects(Server(), [thing("ConfigMap", "b"), thing("ConfigMap", "c", "new")], FACTS)
    whole = together(one, two)

    assert (whole.taken, len(whole.later), len(whole.refusals)) == (1, 1, 1)
