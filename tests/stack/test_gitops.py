"""What of a chart is handed to GitOps: no secret, no test, each object in its namespace, in an order that works."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kvobs.errors import ActionError, UsageError
from kvobs.settings import Settings
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, Object
from kvobs.stack.gitops import chart_defaults, handed_out, in_the_open, refuse_doubles, refuse_made_up, secret_notes
from kvobs.stack.kinds import in_namespaces, resource_of
from kvobs.stack.manifests import to_yaml
from kvobs.stack.objects import apply_order, ref
from kvobs.stack.target import Target

TOKEN = "hunter22hunter22"


def thing(kind: str, name: str = "x", *, hook: str | None = None, api: str = "v1", **more: Any) -> Object:
    """Return an object as a chart renders it."""
    metadata: dict[str, Any] = {"name": name}
    if hook is not None:
        metadata["annotations"] = {"helm.sh/hook": hook}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def secret(name: str, text: str) -> Object:
    """Return a Secret that holds a text."""
    return thing("Secret", name, data={"key": base64.b64encode(text.encode()).decode()})


def target(**given: Any) -> Target:
    """Return the choice for a cluster where nothing is."""
    return choose(Facts(server_version="", kinds=frozenset()), Settings(**given))


@pytest.mark.parametrize(
    ("by_default", "kept"),
    [
        ([secret("a", "public")], True),
        ([secret("another-name", "public")], True),
        ([secret("a", "other")], False),
        ([], False),
        ([thing("ConfigMap", "a", data=secret("a", "public")["data"])], False),
    ],
    ids=["the chart's own", "under the user's name", "changed by values", "from values alone", "no Secret there"],
)
def test_a_secret_of_the_chart(by_default: list[Object], kept: bool) -> None:
    """A Secret whose content the chart makes for everybody is handed out whole; any other is left out and named."""
    out = handed_out([secret("a", "public")], by_default, namespace="mon")

    assert [each["metadata"]["name"] for each in out.objects] == (["a"] if kept else [])
    assert {str(at) for at in out.public} == ({"Secret mon/a"} if kept else set())
    assert [note.id for note in out.notes] == ([] if kept else ["secret-left-out"])
    assert all("Secret mon/a " in note.text and "(keys: key)" in note.text for note in out.notes)
    assert (secret("a", "public")["data"]["key"] in to_yaml(out.objects, public=out.public)) is kept


def test_no_value_in_what_is_said() -> None:
    """A Secret that is left out is named by its keys; its value, plain or encoded, is nowhere."""
    given = thing("Secret", "a", stringData={"one": TOKEN}, data={"two": base64.b64encode(TOKEN.encode()).decode()})
    out = handed_out([given], [], namespace="mon")

    assert "(keys: one, two)" in out.notes[0].text
    assert TOKEN not in repr(out)
    assert base64.b64encode(TOKEN.encode()).decode() not in repr(out)


@pytest.mark.parametrize(
    ("values", "objects", "said"),
    [
        (
            {"ini": {"client_secret": TOKEN}},
            [thing("ConfigMap", data={"a.ini": f"[x]\nclient_secret = {TOKEN}\n"})],
            "value ini.client_secret stands in ConfigMap x for everybody",
        ),
        (
            {"env": [{"name": "TOKEN", "value": TOKEN}]},
            [thing("Pod", spec={"containers": [{"env": [{"value": TOKEN}]}]})],
            "value env[0].value stands in Pod x",
        ),
        (
            {"password": TOKEN},
            [thing("ConfigMap", str(number), data={"a": TOKEN}) for number in range(5)],
            "ConfigMap 2 and 2 more",
        ),
        ({"password": TOKEN}, [thing("Secret", data={"a": TOKEN}), thing("ConfigMap", data={"a": "b"})], ""),
        ({"password": "admin"}, [thing("ConfigMap", data={"a": "grafana-admin"})], ""),
        ({"password": "admin"}, [thing("ConfigMap", data={"a": "admin"})], "value password stands in ConfigMap x"),
        (
            {"envFromSecret": "my-secret", "token_url": "https://a.example"},
            [thing("Pod", spec={"from": "my-secret", "url": "https://a.example"})],
            "",
        ),
        ({"imagePullSecrets": [{"name": "my-secret"}]}, [thing("Pod", spec={"from": "my-secret"})], ""),
    ],
    ids=["in a file", "in a variable", "in many", "in a Secret", "short in a word", "a short one", "names", "lists"],
)
def test_a_secret_in_the_open_is_said(values: dict[str, Any], objects: list[Object], said: str) -> None:
    """A value that its name calls secret and that a chart puts elsewhere than into a Secret is named, never shown."""
    notes = in_the_open(values, objects)

    assert [note.id for note in notes] == (["secret-in-the-open"] if said else [])
    assert all(said in note.text and TOKEN not in note.text for note in notes)


@pytest.mark.parametrize(
    ("hook", "kept"),
    [
        (None, True),
        ("pre-install,pre-upgrade", True),
        ("post-install", True),
        ("test", False),
        ("test-success", False),
        ("pre-install, test", False),
    ],
)
def test_hooks_stay_and_tests_go(hook: str | None, kept: bool) -> None:
    """Hooks are handed out with their annotation, which Argo CD reads; what only `helm test` applies is not."""
    given = thing("Job", hook=hook, api="batch/v1")

    assert [each["metadata"].get("annotations") for each in handed_out([given], [], namespace="mon").objects] == (
        [given["metadata"].get("annotations")] if kept else []
    )


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "wides.example.com"},
    "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Wide", "plural": "wides"}},
}


@pytest.mark.parametrize(
    ("each", "namespace"),
    [
        (thing("ConfigMap"), "mon"),
        (thing("Deployment", api="apps/v1"), "mon"),
        (thing("Prometheus", api="monitoring.coreos.com/v1"), "mon"),
        ({**thing("Service"), "metadata": {"name": "x", "namespace": "kube-system"}}, "kube-system"),
        (thing("ClusterRole", api="rbac.authorization.k8s.io/v1"), None),
        (thing("ValidatingWebhookConfiguration", api="admissionregistration.k8s.io/v1"), None),
        (thing("Namespace"), None),
        (thing("Wide", api="example.com/v1"), None),
        (CRD, None),
    ],
    ids=lambda each: each["kind"] if isinstance(each, dict) else "",
)
def test_namespaces(each: Object, namespace: str | None) -> None:
    """An object that names no namespace gets the release's, as Helm applies it, unless its kind is in none."""
    placed, _ = in_namespaces([each, CRD], "mon")

    assert placed["metadata"].get("namespace") == namespace
    assert each["metadata"].get("namespace") == (namespace if namespace == "kube-system" else None)


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Alertmanager.monitoring.coreos.com", "alertmanagers"),
        ("Endpoints", "endpoints"),
        ("EndpointSlice.discovery.k8s.io", "endpointslices"),
        ("Ingress.networking.k8s.io", "ingresses"),
        ("NetworkPolicy.networking.k8s.io", "networkpolicies"),
        ("Prometheus.monitoring.coreos.com", "prometheuses"),
        ("StorageClass.storage.k8s.io", "storageclasses"),
        ("APIService.apiregistration.k8s.io", "apiservices"),
    ],
)
def test_plurals(kind: str, plural: str) -> None:
    """A role and a path name the kind as the API server does."""
    assert resource_of(kind) == (kind.partition(".")[2], plural)


def test_one_object_twice_is_refused() -> None:
    """Two objects of one kind, namespace and name would overwrite each other: refused, with the name."""
    with pytest.raises(ActionError, match="ConfigMap x is rendered twice"):
        refuse_doubles([thing("ConfigMap"), thing("Secret"), thing("ConfigMap")])
    refuse_doubles(
        [thing("ConfigMap"), thing("Secret"), {**thing("ConfigMap"), "metadata": {"name": "x", "namespace": "y"}}]
    )


def test_the_order() -> None:
    """Namespaces and definitions go first, custom objects last; within one kind by name, whatever the order before."""
    given = [
        thing("Prometheus", api="monitoring.coreos.com/v1"),
        thing("Deployment", api="apps/v1"),
        thing("ServiceAccount", "b"),
        CRD,
        thing("ServiceAccount", "a"),
        thing("Namespace"),
    ]
    names = [f"{ref(each).kind.partition('.')[0]} {ref(each).name}" for each in apply_order(given)]

    assert names == [
        *("Namespace x", "CustomResourceDefinition wides.example.com"),
        *("ServiceAccount a", "ServiceAccount b", "Deployment x", "Prometheus x"),
    ]
    assert apply_order(reversed(given)) == apply_order(given)


def test_a_made_up_password_is_refused() -> None:
    """Values that take back the named Secret would put a new random password into each render."""
    release = target(set_values=("grafana.admin.existingSecret=",)).release
    assert release is not None
    with pytest.raises(UsageError, match="random password"):
        refuse_made_up(release.values)
    for given in ((), ("grafana.adminPassword=x",), ("grafana.enabled=false",), ("grafana.admin.existingSecret=own",)):
        release = target(set_values=given).release
        assert release is not None
        refuse_made_up(release.values)


def test_defaults_hold_nothing_of_the_users() -> None:
    """What a Secret is compared with is made of values without a single one of the user's."""
    release = target(set_values=(f"grafana.adminPassword={TOKEN}", f"alertmanager.config.x={TOKEN}")).release
    assert release is not None

    assert TOKEN not in repr(chart_defaults(release))
    assert chart_defaults(release)["grafana"]["admin"]["existingSecret"]


def test_secrets_to_make() -> None:
    """The Secrets that a render counts on are named, with a command that has no password among its arguments."""
    notes = {note.id: note.text for note in secret_notes(target(release="kps", namespace="obs"), ("pull",))}

    assert set(notes) == {"admin-secret", "pull-secret"}
    assert "kubectl -n obs create secret generic kps-grafana-admin" in notes["admin-secret"]
    assert "--from-file=admin-password=/dev/stdin" in notes["admin-secret"]
    assert "kubectl -n obs create secret generic pull --type=kubernetes.io/dockerconfigjson" in notes["pull-secret"]
    assert "password" not in notes["pull-secret"]
    assert secret_notes(target(set_values=("grafana.admin.existingSecret=own",)), ("",)) == ()
