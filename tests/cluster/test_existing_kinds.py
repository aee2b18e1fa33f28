"""Stacks of every kind on a live API server: the cases of `tests/data/clusters` that a bed can hold, to the last label.

The parts are objects without programs behind them, put up and taken down on one bed, case by case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kvobs import errors
from kvobs.adapters.cluster import Cluster
from kvobs.dashboard.catalog import SHIPPED
from kvobs.errors import KvobsError
from kvobs.settings import Settings
from kvobs.stack.recognise import VICTORIA_METRICS
from kvobs.use_cases.install import InstallReport, install
from kvobs.use_cases.uninstall import uninstall
from tests.cluster.api import Api, Object, eventually
from tests.cluster.bed import Bed, until_served
from tests.stack.cases import ROOT, Case, in_short_objects, load

CASES = [
    load(ROOT / name)
    for name in (
        "kube-prometheus-stack",
        "kube-prometheus-stack-45",
        "stable-prometheus-operator",
        "kube-prometheus",
        "kube-prometheus-told",
        "rancher-monitoring",
        "prometheus-several",
        "prometheus-one-reads-nothing",
        "selects-nothing",
        "selects-by-expressions",
        "namespaces-by-label",
        "ignores-namespace-selectors",
        "sidecar-one-namespace",
        "sidecar-folder-annotation",
        "grafana-chart",
        "grafana-operator",
        "datasource-in-secret",
        "datasources-one-leads",
        "argocd-tracking-id",
        "victoria-metrics",
    )
]
GRAFANA = "grafana.integreatly.org"
OURS = "app.kubernetes.io/managed-by=kvobs"
APPLIED = (
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("v1", "ConfigMap"),
    (f"{GRAFANA}/v1beta1", "GrafanaDashboard"),
)
"""What kvobs applies beside a stack that is there."""


def definition(group: str, version: str, kind: str) -> Object:
    """Return a definition of objects that may hold anything."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A bed that serves what the cases are made of; nobody acts on it."""
    with Bed(gpu=False) as bed:
        bed.apply_crds("prometheus-operator")
        kinds = [(GRAFANA, "v1beta1", kind) for kind in ("Grafana", "GrafanaDatasource", "GrafanaDashboard")]
        for each in VICTORIA_METRICS:
            kind, _, group = each.partition(".")
            kinds.append((group, "v1beta1", kind))
        definitions = [definition(*each) for each in kinds]
        bed.api.apply(*definitions)
        until_served(bed.api, *definitions)
        yield bed


@pytest.fixture
def there(bed: Bed, request: pytest.FixtureRequest) -> Iterator[Case]:
    """A case whose objects stand on the bed, and are gone afterwards with all that kvobs made."""
    case: Case = request.param
    put_up(bed.api, case.objects)
    yield case
    uninstall(told(bed, case), cluster=connected(bed))
    take_down(bed.api, case.objects)


def put_up(api: Api, objects: Iterable[Object]) -> None:
    """Apply *objects*, each after what owns it."""
    for each in sorted(objects, key=lambda obj: (obj["kind"] != "Namespace", "ownerReferences" in obj["metadata"])):
        metadata = {key: value for key, value in each["metadata"].items() if key not in ("uid", "managedFields")}
        if owners := metadata.get("ownerReferences"):
            # The garbage collector takes what has an owner that never was.
            metadata["ownerReferences"] = [_live_owner(api, owner, metadata["namespace"]) for owner in owners]
        api.apply({**{key: value for key, value in each.items() if key != "status"}, "metadata": metadata})


def _live_owner(api: Api, owner: dict[str, Any], namespace: str) -> dict[str, Any]:
    live = api.get(owner["apiVersion"], owner["kind"], owner["name"], namespace)
    return {**owner, "uid": live["metadata"]["uid"]}


def take_down(api: Api, objects: Iterable[Object]) -> None:
    """Delete *objects* but for the namespaces, which would take their time; return once their pods are gone, too."""
    gone = [each for each in objects if each["kind"] != "Namespace"]
    for each in gone:
        api.delete(*place(each), grace_s=0)
    eventually(lambda: all(api.find(*place(each)) is None for each in gone))
    homes = {each["metadata"]["namespace"] for each in gone if "namespace" in each["metadata"]}
    left = (("apps/v1", "ReplicaSet"), ("v1", "Pod"))
    eventually(lambda: not any(api.list(*kind, home) for kind in left for home in homes))


def place(each: Object) -> tuple[str, str, str, str | None]:
    """Return what a client asks for an object by."""
    return each["apiVersion"], each["kind"], each["metadata"]["name"], each["metadata"].get("namespace")


def told(bed: Bed, case: Case, **more: Any) -> Settings:
    """Return what a case tells kvobs, on the bed."""
    return replace(case.settings, kubeconfig=str(bed.kubeconfig), wait=False, **more)


def connected(bed: Bed) -> Cluster:
    """Return the bed's API server as kvobs sees it."""
    return Cluster.connect(str(bed.kubeconfig))


def applied(api: Api) -> dict[str, dict[str, Any]]:
    """Return what kvobs has applied, by step, as the files of the cases have it."""
    live = [each for of in APPLIED for each in api.list(*of, labels=OURS) if each["metadata"]["name"] != "kvobs"]
    monitors = [each for each in live if each["kind"].endswith("Monitor")]
    steps = {
        "monitors": in_short_objects(monitors),
        "dashboards": in_short_objects((each for each in live if each not in monitors), alike=True),
    }
    return {step: objects for step, objects in steps.items() if objects}


def wanted(case: Case) -> dict[str, dict[str, Any]]:
    """Return what a case expects to be applied."""
    assert case.plan is not None
    steps = {step: {name: said or {} for name, said in objects.items()} for step, objects in case.plan["steps"].items()}
    return {step: objects for step, objects in steps.items() if step != "namespace"}


@pytest.mark.parametrize("there", [each for each in CASES if each.plan], indirect=True, ids=lambda case: case.name)
def test_plan(bed: Bed, there: Case) -> None:
    """What is applied is what the case plans, every note is there, and a second run changes nothing."""
    assert there.plan is not None
    report = install(told(bed, there), cluster=connected(bed))

    assert applied(bed.api) == wanted(there)
    assert {note.id for note in report.notes} == set(there.plan["notes"])
    assert (report.prometheus, report.grafana) == (there.plan["prometheus"], there.plan["grafana"])
    assert report.datasource == there.plan["datasource"]
    assert not install(told(bed, there), cluster=connected(bed)).changed


@pytest.mark.parametrize("there", [each for each in CASES if each.error], indirect=True, ids=lambda case: case.name)
def test_error(bed: Bed, there: Case) -> None:
    """What is not decided ends in the case's error, and nothing was changed."""
    assert there.error is not None
    with pytest.raises(getattr(errors, there.error["class"])) as raised:
        install(told(bed, there), cluster=connected(bed))

    assert all(each in str(raised.value) for each in there.error["message"])
    assert all(each in (raised.value.hint or "") for each in there.error["hint"])
    assert applied(bed.api) == {}


# --- a second install ---

VLLM = load(ROOT / "second-install")
"""Somebody's stack and a vLLM server; its first install is put up here by kvobs itself."""


@pytest.fixture
def stack(bed: Bed) -> Iterator[Api]:
    """Somebody's kube-prometheus-stack on the bed, and a vLLM server."""
    objects = [each for each in VLLM.objects if "applyset" not in str(each["metadata"])]
    put_up(bed.api, objects)
    yield bed.api
    for namespace in ("team-b", "kvobs", "mon"):
        uninstall(here(bed, namespace), cluster=connected(bed))
    take_down(bed.api, objects)


def here(bed: Bed, namespace: str, **more: Any) -> Settings:
    """Return the settings of an install in *namespace*."""
    return Settings(kubeconfig=str(bed.kubeconfig), namespace=namespace, wait=False, **more)


def run(bed: Bed, namespace: str, **more: Any) -> InstallReport:
    """Install in *namespace*."""
    return install(here(bed, namespace, **more), cluster=connected(bed))


def names(api: Api, namespace: str) -> set[str]:
    """Return what kvobs has applied in *namespace*, but for its own record."""
    return {
        f"{kind} {each['metadata']['name']}"
        for version, kind in APPLIED
        for each in api.list(version, kind, namespace, labels=OURS)
        if each["metadata"]["name"] != "kvobs"
    }


GENERIC = {"ServiceMonitor kvobs-vllm", "PodMonitor kvobs-vllm-pods"}
DASHBOARDS = {f"ConfigMap kvobs-dashboard-kvobs-{name}" for name in SHIPPED}
OF_CHAT = "ServiceMonitor kvobs-vllm-ml-chat"


def test_second_install(bed: Bed, stack: Api) -> None:
    """It keeps to the first one's dashboards and label; either goes without the other; the second takes over."""
    run(bed, "kvobs", vllm_namespace="elsewhere")
    first = names(stack, "kvobs")
    second = run(bed, "team-b")

    assert first == GENERIC | DASHBOARDS
    assert names(stack, "team-b") == {OF_CHAT}
    assert {"beside", "already-scraped"} <= {note.id for note in second.notes}
    assert not run(bed, "team-b").changed
    assert not install(Settings(kubeconfig=str(bed.kubeconfig), wait=False), cluster=connected(bed)).changed

    uninstall(here(bed, "team-b"), cluster=connected(bed))
    assert (names(stack, "kvobs"), names(stack, "team-b")) == (first, set())

    run(bed, "team-b")
    gone = uninstall(here(bed, "kvobs"), cluster=connected(bed))
    assert (names(stack, "kvobs"), names(stack, "team-b")) == (set(), {OF_CHAT})
    assert any("kvobs install --namespace team-b" in left.why for left in gone.left)

    taken_over = run(bed, "team-b")
    assert names(stack, "team-b") == {OF_CHAT} | GENERIC | DASHBOARDS
    assert "took-over" in {note.id for note in taken_over.notes}


def test_several_installs_are_not_guessed_at_when_one_is_to_go(bed: Bed, stack: Api) -> None:
    """Without --namespace an uninstall asks which of several is meant."""
    run(bed, "kvobs")
    run(bed, "team-b")

    with pytest.raises(errors.Undecided, match="kvobs, team-b"):
        uninstall(Settings(kubeconfig=str(bed.kubeconfig)), cluster=connected(bed))


# --- what is somebody else's ---


def board(**annotations: str) -> Object:
    """Return somebody's ConfigMap of the name that one of ours gets."""
    metadata = {"name": "kvobs-dashboard-kvobs-vllm", "namespace": "mon", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"note": "theirs"}}


def refused(bed: Bed, **more: Any) -> KvobsError:
    """Return the refusal of an install."""
    with pytest.raises(errors.Conflict) as raised:
        run(bed, "mon", **more)
    return raised.value


def test_object_of_our_name(bed: Bed, stack: Api) -> None:
    """It is taken over only where the user says so, and is kvobs' own then: uninstall deletes it."""
    stack.apply(board())
    found = refused(bed)

    assert "ConfigMap mon/kvobs-dashboard-kvobs-vllm is already there" in str(found)
    assert "--take-ownership" in (found.hint or "")
    assert names(stack, "mon") == set()

    assert run(bed, "mon", take_ownership=True).changed
    assert not run(bed, "mon").changed
    assert names(stack, "mon") == GENERIC | DASHBOARDS | {OF_CHAT}
    uninstall(here(bed, "mon"), cluster=connected(bed))
    assert stack.find(*place(board())) is None


@pytest.mark.parametrize(
    ("annotations", "owner"),
    [
        ({"meta.helm.sh/release-name": "boards", "meta.helm.sh/release-namespace": "mon"}, "Helm release mon/boards"),
        ({"argocd.argoproj.io/tracking-id": "boards:/ConfigMap:mon/x"}, "Argo CD application boards"),
    ],
    ids=["Helm", "Argo CD"],
)
def test_object_that_somebody_looks_after(
    bed: Bed, stack: Api, annotations: dict[str, str], owner: str
) -> None:  # fmt: skip
    """It is never taken over: its owner would put it back, or delete it."""
    stack.apply(board(**annotations))

    assert owner in str(refused(bed, take_ownership=True))
    assert stack.get(*place(board()))["data"] == {"note": "theirs"}
    stack.delete(*place(board()))


def test_field_of_ours_that_somebody_took(bed: Bed, stack: Api) -> None:
    """Its manager, path and value are named; it is ours again only where the user says so."""
    run(bed, "mon")
    (ours,) = stack.list("monitoring.coreos.com/v1", "ServiceMonitor", "mon", labels=f"{OURS},release=kps")[:1]
    theirs = {**{key: ours[key] for key in ("apiVersion", "kind")}, "spec": {**ours["spec"], "jobLabel": "team"}}
    theirs["spec"]["endpoints"] = [{"path": "/metrics", "interval": "5m"}]
    theirs["metadata"] = {key: ours["metadata"][key] for key in ("name", "namespace")}
    stack.apply(theirs, manager="somebody")
    found = refused(bed)

    assert '.spec.endpoints belongs to field manager "somebody", which has it at [{' in str(found)
    assert '"interval": "5m"' in str(found)
    assert "--take-ownership" in (found.hint or "")

    assert run(bed, "mon", take_ownership=True).changed
    assert stack.get(*place(ours))["spec"]["endpoints"] == ours["spec"]["endpoints"]
    assert not run(bed, "mon").changed
