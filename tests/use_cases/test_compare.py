"""What is asked of a server to foretell an install: its word on an object, read once, and nothing kept."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.adapters.discovery import Discovery, Resource
from kvobs.errors import ApiError, Conflict, Forbidden, Unanswered
from kvobs.stack.changes import OTHERS_FIELDS, ObjectChange
from kvobs.stack.facts import Object, Ref
from kvobs.stack.objects import PART_OF_LABEL, kind_of, ref
from kvobs.stack.ownership import TAKE
from kvobs.use_cases.compare import Arrivals, Live, ask, validated

KINDS = {"ConfigMap": True, "Secret": True, "Namespace": False, "Deployment.apps": True, "ClusterRole.x": False}
CONFIG_MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}
TOKEN = "Wren-that-nobody-may-see"


class Server:
    """Answers dry runs as it is told, by kind, and counts what it is asked. Anything but a dry run fails the test."""

    server = "https://cluster"

    def __init__(self, *objects: Object, says: dict[str, Any] | None = None, makes_pods: bool = True) -> None:
        self.objects = objects
        self.says = says or {}
        self.makes_pods = makes_pods
        self.asked: list[Any] = []
        self.applied: list[Object] = []

    def discover(self) -> Discovery:
        """Say which kinds are served."""
        return Discovery(
            {
                kind: Resource(kind=kind, version="v1", plural=kind, namespaced=namespaced, verbs=frozenset())
                for kind, namespaced in KINDS.items()
            }
        )

    def list(self, kind: str, *, namespace: str | None = None) -> list[Object]:
        """List one kind."""
        self.asked.append(("list", kind, namespace))
        return [each for each in self.objects if kind_of(each) == kind]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Find one object."""
        self.asked.append(("get", kind, name))
        return next((each for each in self.objects if ref(each) == Ref(kind, namespace or "", name)), None)

    def apply(self, obj: Object, *, dry_run: bool = False, force: bool = False, field_manager: str = "kvobs") -> Object:
        """Say what it is told to say of this kind."""
        assert dry_run
        self.applied.append(obj)
        self.asked.append((kind_of(obj), "by force" if force else "", field_manager))
        answer = self.says.get(kind_of(obj), obj)
        answer = answer[force] if isinstance(answer, tuple) else answer
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool:
        """Say whether it may be done: all but to make pods."""
        return kind != "Pod" or self.makes_pods


def test_live_objects_are_read_once_and_secrets_by_name() -> None:
    """One list a kind and namespace; no list of Secrets, nor of all namespaces."""
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}}
    server = Server(CONFIG_MAP, secret)
    live = Live(server)

    found = [live.find(Ref("ConfigMap", "ns", name)) for name in ("a", "b", "a")]
    assert found == [CONFIG_MAP, None, CONFIG_MAP]
    assert live.find(Ref("Secret", "ns", "s")) == secret
    assert live.find(Ref("Namespace", "", "ns")) is None
    assert live.find(Ref("Widget.example.com", "ns", "w")) is None
    assert server.asked == [("list", "ConfigMap", "ns"), ("get", "Secret", "s"), ("get", "Namespace", "ns")]


@pytest.mark.parametrize(
    ("obj", "want"),
    [
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, Ref("ConfigMap", "home", "a")),
        (CONFIG_MAP, Ref("ConfigMap", "ns", "a")),
        ({"apiVersion": "x/v1", "kind": "ClusterRole", "metadata": {"name": "a"}}, Ref("ClusterRole.x", "", "a")),
        ({"apiVersion": "y/v1", "kind": "Widget", "metadata": {"name": "a"}}, Ref("Widget.y", "home", "a")),
    ],
    ids=["names no namespace", "names one", "has none", "of an unknown kind"],
)
def test_which_object_a_manifest_means(obj: Object, want: Ref) -> None:
    """As Helm reads it: the release's namespace, unless it says otherwise or has none."""
    assert Live(Server()).place(obj, "home") == want


@pytest.mark.parametrize(
    ("at", "want"),
    [
        (Ref("ConfigMap", "new", "a"), "arrives with step 1"),
        (Ref("Widget.y", "ns", "a"), "arrives with step 3"),
        (Ref("Widget.y", "new", "a"), "arrives with step 3"),
        (Ref("ConfigMap", "ns", "a"), None),
    ],
)
def test_what_arrives_with_a_step(at: Ref, want: str | None) -> None:
    """The last step that brings its namespace or its kind; nothing for what is all there."""
    assert Arrivals(namespaces={"new": 1}, release=3).of(at, Live(Server())) == want


def test_the_servers_word_is_the_answer() -> None:
    """Made, changed or left: by what the dry run says."""
    changed = {**CONFIG_MAP, "data": {"a": "1"}}

    assert ask(Server(), CONFIG_MAP, None).verdict == "create"
    assert ask(Server(), CONFIG_MAP, CONFIG_MAP).verdict == "unchanged"
    assert ask(Server(says={"ConfigMap": changed}), CONFIG_MAP, CONFIG_MAP).verdict == "change"


@pytest.mark.parametrize("labels", [{PART_OF_LABEL: "ours"}, {}], ids=["ours", "somebody's"])
def test_a_conflict_is_answered_by_what_force_would_do(labels: dict[str, str]) -> None:
    """Every field of others is seen with both values; nothing is forced, and only what is ours may be taken."""
    owned = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}}
    live = {**CONFIG_MAP, "metadata": {**CONFIG_MAP["metadata"], "managedFields": [owned]}, "data": {"a": "theirs"}}
    refused = Conflict("conflict", status=409, reason="Conflict", hint="look who it was")
    wanted = {**CONFIG_MAP, "metadata": {**CONFIG_MAP["metadata"], "labels": labels}}
    server = Server(says={"ConfigMap": (refused, {**CONFIG_MAP, "data": {"a": "ours"}})})

    change = ask(server, wanted, live)

    assert (change.verdict, change.reason) == ("refused", OTHERS_FIELDS)
    assert [(each.path, each.managers, each.live, each.wanted) for each in change.theirs] == [
        ("data.a", ("kubectl-edit",), "theirs", "ours")
    ]
    assert change.hint == (TAKE if labels else "look who it was")
    assert server.asked == [("ConfigMap", "", "kvobs"), ("ConfigMap", "by force", "kvobs")]


def test_a_refusal_is_an_answer_too() -> None:
    """What it says is said of the object, without secrets."""
    said = ApiError(f"cannot apply ConfigMap ns/a: no {TOKEN} here", status=422, reason="Invalid", hint="do this")

    change = ask(Server(says={"ConfigMap": said}), CONFIG_MAP, None, secrets=(TOKEN,))

    assert (change.verdict, change.reason, change.hint) == ("refused", "no <hidden> here", "do this")


@pytest.mark.parametrize("status", [429, 503, 504])
def test_a_server_that_cannot_say_gives_no_answer(status: int) -> None:
    """Neither a difference nor none."""
    with pytest.raises(Unanswered):
        ask(Server(says={"ConfigMap": ApiError("busy", status=status)}), CONFIG_MAP, None)


DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"serviceAccountName": "comes-later", "containers": [{"name": "x"}]},
        }
    },
}
CREATED = ObjectChange(ref=Ref("Deployment.apps", "ns", "d"), verdict="create")


def test_of_a_workload_of_helms_a_pod_is_tried_too() -> None:
    """Under Helm's name; the pod is refused where the workload would be let in."""
    violation = Forbidden('cannot apply Pod ns/d-dry-run: violates PodSecurity "restricted"', status=403)
    server = Server(says={"Pod": violation})

    change = validated(server, CREATED, DEPLOYMENT)

    assert (change.verdict, change.reason) == ("refused", 'a pod of it: violates PodSecurity "restricted"')
    assert server.asked == [("Deployment.apps", "by force", "helm"), ("Pod", "by force", "helm")]
    assert validated(Server(), CREATED, DEPLOYMENT) == CREATED


def test_a_pod_that_the_credentials_may_not_make_is_no_refusal() -> None:
    """An install makes no pod itself, and succeeds without that right."""
    lacking = Forbidden("somebody may not patch pods in namespace ns", status=403)

    change = validated(Server(says={"Pod": lacking}, makes_pods=False), CREATED, DEPLOYMENT)

    assert (change.verdict, change.reason) == ("create", None)
    assert change.unvalidated == "a pod of it: somebody may not patch pods in namespace ns"


def test_the_pod_of_a_stateful_set_has_its_claims() -> None:
    """What its containers mount may be a claim that only the controller adds, in place of a volume of that name."""
    volumes = [{"name": "storage", "emptyDir": {}}, {"name": "config", "configMap": {"name": "c"}}]
    template = {"spec": {"containers": [{"name": "x"}], "volumes": volumes}}
    claims = [{"metadata": {"name": "storage"}}]
    at = {"name": f"{'n' * 49}.tail"}
    wanted: Object = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": at,
        "spec": {"template": template, "volumeClaimTemplates": claims},
    }
    server = Server()

    validated(server, ObjectChange(ref=Ref("StatefulSet.apps", "ns", at["name"]), verdict="create"), wanted)

    name = f"{'n' * 49}-dry-run"
    assert server.applied[-1]["metadata"]["name"] == name
    assert server.applied[-1]["spec"]["volumes"] == [
        volumes[1],
        {"name": "storage", "persistentVolumeClaim": {"claimName": f"storage-{name}"}},
    ]


def test_what_needs_another_object_of_the_same_step_is_not_validated() -> None:
    """A binding whose role comes with it."""
    missing = ApiError("cannot apply Deployment ns/d: roles x not found", status=404, reason="NotFound")

    change = validated(Server(says={"Deployment.apps": missing}), CREATED, DEPLOYMENT)

    assert (change.verdict, change.unvalidated) == ("create", str(missing))
    known = validated(Server(says={"Deployment.apps": missing}), CREATED, DEPLOYMENT, needs="arrives with step 3")
    assert known.unvalidated == "arrives with step 3"
