"""Mixtures of somebody's monitoring parts, as live objects: what kvobs cannot decide, it names, and it touches nothing.

The parts are put up by hand on one bed: an operator, Prometheus objects, Grafanas.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cluster.api import ApiError, Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.commands import kvobs, stack_arguments
from tests.cluster.snapshots import settled, snapshot, versions
from tests.cluster.workloads import CHARTS, helm_run

MONITORS = "monitoring.coreos.com/v1"
OPERATOR = "quay.io/prometheus-operator/prometheus-operator:v0.93.1"
HAND_MADE = {
    "Prometheus by hand": {"uid": "hand", "type": "prometheus", "isDefault": True},
    "Logs": {"uid": "logs", "type": "loki", "isDefault": False},
    "-- Grafana --": {"uid": "grafana", "type": "datasource", "isDefault": False},
}
"""What a Grafana says of its datasources: made in its own pages, so that no ConfigMap holds them."""


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A bed with the operator's CRDs; no program runs behind the pods."""
    with Bed(gpu=False) as bed:
        bed.apply_crds("prometheus-operator")
        for name in ("mon", "team"):
            bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield bed


def deployment(name: str, namespace: str, image: str, *more: Object, labels: dict[str, str] | None = None) -> Object:
    """Return a Deployment of one pod."""
    own = {"app.kubernetes.io/name": name}
    containers = [{"name": "main", "image": image, "ports": [{"name": "web", "containerPort": 3000}]}, *more]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {**own, **(labels or {})}},
        "spec": {
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": own}, "spec": {"containers": containers}},
        },
    }


def operator() -> list[Object]:
    """Return a Prometheus Operator."""
    return [deployment("prometheus-operator", "mon", OPERATOR)]


def prometheus(name: str = "k8s", namespace: str = "mon", **annotations: str) -> list[Object]:
    """Return a Prometheus object that reads every monitor."""
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    selectors = {f"{kind}{what}": {} for kind in ("serviceMonitor", "podMonitor")
                 for what in ("Selector", "NamespaceSelector")}  # fmt: skip
    return [{"apiVersion": MONITORS, "kind": "Prometheus", "metadata": metadata, "spec": selectors}]


def grafana(name: str = "grafana", namespace: str = "mon", image: str = "grafana/grafana:13.2.0") -> list[Object]:
    """Return a Grafana with its Service; its sidecar looks for dashboards by a label of its own."""
    environment = {"LABEL": "boards", "LABEL_VALUE": "yes", "NAMESPACE": "ALL"}
    container = {
        "name": "dashboards",
        "image": "quay.io/kiwigrid/k8s-sidecar:2.10.1",
        "env": [{"name": key, "value": value} for key, value in environment.items()],
    }
    front: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app.kubernetes.io/name": name}, "ports": [{"port": 80, "targetPort": 3000}]},
    }
    return [deployment(name, namespace, image, container), front]


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """What stands there, and how it is decided."""

    says: str
    objects: list[Object]
    names: tuple[str, ...]
    """What the refusal names."""
    flag: str
    """What its hint tells to say."""
    decided: tuple[str, ...]
    """The arguments that decide it."""
    prometheus: str = "mon/k8s"
    """What is used then."""
    grafana: str | None = "mon/grafana"


DATASOURCE = ("--datasource", "prometheus=given")
TRACKED = {"argocd.argoproj.io/tracking-id": "obs:monitoring.coreos.com/Prometheus:mon/k8s"}
MIXTURES = [
    Mixture(
        says="an operator and a Prometheus, no Grafana",
        objects=[*operator(), *prometheus()],
        names=("mon/prometheus-operator", "mon/k8s", "no Grafana with a dashboard sidecar"),
        flag="--grafana none",
        decided=("--grafana", "none"),
        grafana=None,
    ),
    Mixture(
        says="two Prometheus objects",
        objects=[*operator(), *prometheus(), *prometheus("team", "team"), *grafana()],
        names=("mon/k8s", "team/team"),
        flag="--prometheus NAMESPACE/NAME",
        decided=("--prometheus", "team/team", *DATASOURCE),
        prometheus="team/team",
    ),
    Mixture(
        says="two Grafanas",
        objects=[*operator(), *prometheus(), *grafana(), *grafana("second", "team")],
        names=("mon/grafana", "team/second"),
        flag="--grafana NAMESPACE/NAME",
        decided=("--grafana", "team/second", *DATASOURCE),
        grafana="team/second",
    ),
    Mixture(
        says="a Grafana that nothing calls so",
        objects=[*operator(), *prometheus(), *grafana("boards", "team", "registry.local/boards:1")],
        names=("mon/k8s", "no Grafana with a dashboard sidecar"),
        flag="--grafana NAMESPACE/NAME",
        decided=("--grafana", "team/boards", *DATASOURCE),
        grafana="team/boards",
    ),
    Mixture(
        says="a stack that Argo CD tracks",
        objects=[*operator(), *prometheus(**TRACKED), *grafana()],
        names=("Argo CD application obs", "mon/k8s"),
        flag="--stack reuse",
        decided=("--stack", "reuse", *DATASOURCE),
    ),
    Mixture(
        says="a Grafana whose datasources nobody tells",
        objects=[*operator(), *prometheus(), *grafana()],
        names=("mon/grafana", "no datasource of type prometheus"),
        flag="--datasource prometheus=UID",
        decided=DATASOURCE,
    ),
]


@pytest.fixture
def environment(bed: Bed, tmp_path: Any) -> dict[str, str]:
    """An environment without Helm: nothing here may need it."""
    return bed.environment() | {"PATH": str(tmp_path)}


@pytest.fixture
def standing(bed: Bed, request: pytest.FixtureRequest) -> Iterator[list[Object]]:
    """The objects of the case, there while the test runs."""
    objects = getattr(request.param, "objects", request.param)
    bed.api.apply(*objects)
    yield objects
    for each in objects:
        metadata = each["metadata"]
        bed.api.delete(each["apiVersion"], each["kind"], metadata["name"], metadata["namespace"])
    eventually(lambda: not any(bed.api.list("v1", "Pod", namespace) for namespace in ("mon", "team")))


@pytest.mark.parametrize(
    ("mixture", "standing"), [(each, each) for each in MIXTURES], ids=[each.says for each in MIXTURES],
    indirect=["standing"],
)  # fmt: skip
@pytest.mark.usefixtures("standing")
def test_mixture(bed: Bed, environment: dict[str, str], mixture: Mixture) -> None:
    """Undecided: exit 3, one sentence with what was found, the flag, and nothing touched. With the flag it is done."""
    before = versions(settled(bed.api))
    refused = kvobs("install", env=environment, code=3)
    sentence, _, hint = refused.stderr.partition("kvobs: ")[2].partition("\n  what to do: ")

    assert all(name in sentence for name in mixture.names), refused.stderr
    assert mixture.flag in hint, refused.stderr
    assert versions(snapshot(bed.api)) == before

    arguments = ("--no-wait", "-o", "json", *mixture.decided)
    report = json.loads(kvobs("install", *arguments, env=environment).stdout)
    again = json.loads(kvobs("install", "--no-wait", "-o", "json", env=environment).stdout)
    kvobs("uninstall", "--yes", env=environment)

    assert (report["prometheus"], report["grafana"]) == (mixture.prometheus, mixture.grafana)
    assert (again["prometheus"], again["grafana"]) == (mixture.prometheus, mixture.grafana)
    assert {step["outcome"] for step in again["steps"]} == {"unchanged"}
    assert "GPU metrics: no GPU exporter, skipped." in [note["text"] for note in report["notes"]]
    assert versions(snapshot(bed.api)) == before


@pytest.mark.parametrize("standing", [operator()], ids=["operator"], indirect=True)
@pytest.mark.usefixtures("standing")
def test_second_operator_is_refused(bed: Bed, environment: dict[str, str]) -> None:
    """`--stack install` beside somebody's operator names it and the values that do without a second one."""
    before = versions(settled(bed.api))
    refused = kvobs("install", "--stack", "install", env=environment, code=3)

    assert "mon/prometheus-operator" in refused.stderr
    assert "--set prometheusOperator.enabled=false" in refused.stderr
    assert versions(snapshot(bed.api)) == before


@pytest.mark.parametrize("standing", [operator()], ids=["operator"], indirect=True)
@pytest.mark.usefixtures("standing")
def test_own_stack_for_an_operator_that_is_there(bed: Bed) -> None:
    """What the refusal tells to say is done, and holds: a later run needs no flag, and status only looks."""
    environment = bed.environment()
    decided = ("--stack", "install", "--set", "prometheusOperator.enabled=false", "--set", "crds.enabled=false")
    kvobs("install", "-n", "team", "--no-wait", *stack_arguments(), *decided, env=environment)
    again = json.loads(kvobs("install", "--no-wait", "-o", "json", env=environment).stdout)
    told = json.loads(kvobs("status", "-o", "json", env=environment, code=1).stdout)
    kvobs("uninstall", "--yes", env=environment)

    assert {step["outcome"] for step in again["steps"]} == {"unchanged"}
    assert again["notes"][0]["id"] == "values-kept"
    assert (told["stack"], told["prometheus"]) == ("installed by kvobs", again["prometheus"])
    assert any("has not said Available" in each for each in told["unready"])


def test_foreign_release_of_our_name(bed: Bed) -> None:
    """A Helm release that has our name and is not ours is named, and stays as it is."""
    chart = CHARTS / "gpu-operator"
    bed.apply_crds("gpu-operator")
    helm_run(bed, "install", "kube-prometheus-stack", str(chart), "-n", "monitoring", "--create-namespace")
    before = versions(settled(bed.api))
    refused = kvobs("install", *stack_arguments(), env=bed.environment(), code=3)
    after = versions(snapshot(bed.api))
    helm_run(bed, "uninstall", "kube-prometheus-stack", "-n", "monitoring")

    assert "Helm release kube-prometheus-stack already exists in namespace monitoring" in refused.stderr
    assert "--release" in refused.stderr
    assert after == before


# --- objects that have our names ---

STACK = [*operator(), *prometheus(), *grafana()]
SECRET = "kube-prometheus-stack-grafana-admin"
OWN_STACK = ("--stack", "install", "-n", "mon", "--set", "prometheusOperator.enabled=false")
NOT_OURS = "kvobs did not make it"
TAKEN: list[tuple[Object, str, tuple[str, ...]]] = [
    (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kvobs-dashboard-kvobs-vllm"}},
        NOT_OURS,
        DATASOURCE,
    ),
    ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kvobs"}}, "not an ApplySet of kvobs", DATASOURCE),
    (
        {
            "apiVersion": MONITORS,
            "kind": "ServiceMonitor",
            "metadata": {"name": "kvobs-vllm"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "endpoints": [{"port": "web"}]},
        },
        NOT_OURS,
        DATASOURCE,
    ),
    (
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": {"admin-password": "x"}},
        NOT_OURS,
        OWN_STACK,
    ),
]


@pytest.mark.parametrize(
    ("taken", "says", "arguments"), TAKEN, ids=[f"{each['kind']} {each['metadata']['name']}" for each, *_ in TAKEN]
)
@pytest.mark.parametrize("standing", [STACK], ids=["stack"], indirect=True)
@pytest.mark.usefixtures("standing")
def test_name_that_is_taken(bed: Bed, taken: Object, says: str, arguments: tuple[str, ...]) -> None:
    """An object with our name that is not ours is named, never taken over; once it is gone, install goes on."""
    taken = {**taken, "metadata": {**taken["metadata"], "namespace": "mon"}}
    created = bed.api.create(taken)
    arguments = (*arguments, *stack_arguments())
    refused = kvobs("install", *arguments, env=bed.environment(), code=3)
    at = (taken["apiVersion"], taken["kind"], taken["metadata"]["name"], "mon")
    live = bed.api.get(*at)
    made = [
        each["metadata"]["name"]
        for version, kind in (("v1", "ConfigMap"), ("v1", "Secret"), (MONITORS, "ServiceMonitor"))
        for each in bed.api.list(version, kind)
        if (each["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == "kvobs"
    ]
    bed.api.delete(*at)
    finished = kvobs("install", *arguments, env=bed.environment())
    kvobs("uninstall", "--yes", env=bed.environment())

    assert f"{taken['kind']} mon/{taken['metadata']['name']}" in refused.stderr
    assert says in refused.stderr
    assert made == []
    assert live["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert finished.stdout


# --- a Grafana that tells its datasources itself ---


@pytest.fixture
def talking_grafana(bed: Bed) -> Iterator[None]:
    """A server behind Grafana's pod that answers as Grafana answers a visitor."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Tell the datasources."""
            known = self.path == "/api/frontend/settings"
            body = json.dumps({"datasources": HAND_MADE} if known else {}).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bed.expose("mon/talking-*", 3000, ("127.0.0.1", int(server.server_address[1])))
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("standing", [[*operator(), *prometheus(), *grafana("talking")]], ids=["stack"], indirect=True)
@pytest.mark.usefixtures("standing", "talking_grafana")
def test_datasource_made_by_hand(bed: Bed, environment: dict[str, str]) -> None:
    """A datasource that only Grafana itself knows is found through the API server, and the dashboards point to it."""
    pod = eventually(lambda: bed.api.list("v1", "Pod", "mon", labels="app.kubernetes.io/name=talking"))[0]
    bed.api.until("v1", "Pod", pod["metadata"]["name"], "mon", lambda each: each["status"].get("phase") == "Running")
    path = "/api/v1/namespaces/mon/services/talking:80/proxy/api/frontend/settings"
    eventually(lambda: _answers(lambda: bed.api.request("GET", path)))

    report = json.loads(kvobs("install", "--no-wait", "-o", "json", env=environment).stdout)
    maps = bed.api.list("v1", "ConfigMap", "mon", labels="boards=yes")
    kvobs("uninstall", "--yes", env=environment)

    assert report["datasource"] == "hand"
    assert len(maps) == len(report["dashboards"])
    assert all('"uid":"hand"' in text for each in maps for text in each["data"].values())


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except ApiError:
        return False
    return True
