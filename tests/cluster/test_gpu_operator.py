"""GPU metrics beside somebody's GPU Operator: the owner's next `helm upgrade` passes, and values are given back.

One bed with a stack that kvobs reuses. Each test puts up the GPU Operator's release anew, with Helm 3 or Helm 4.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

import kvobs
from kvobs.settings import Dcgm, Settings
from kvobs.use_cases.install import InstallReport
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.clusterpolicy import EXPORTER
from tests.cluster.clusterpolicy import NAMESPACE as OPERATOR_NAMESPACE
from tests.cluster.workloads import CHARTS, gpu_operator, helm_run

MONITORS = "monitoring.coreos.com/v1"
OURS = "app.kubernetes.io/managed-by=kvobs"
OPERATOR_IMAGE = "quay.io/prometheus-operator/prometheus-operator:v0.93.1"
ENABLED = "dcgmExporter.serviceMonitor.enabled"
SELECTED = {"release": "kps"}
HELMS = pytest.mark.parametrize("helm", ["3", "4"], ids=["Helm 3", "Helm 4"])


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A bed with a GPU node and somebody's Prometheus, which reads what is labelled `release: kps`."""
    with Bed(gpu=True) as bed:
        bed.apply_crds("prometheus-operator")
        bed.apply_crds("gpu-operator")
        bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mon"}}, *stack())
        yield bed


def stack() -> list[Object]:
    """Return an operator and a Prometheus object; no dashboards are asked for here."""
    labels = {"app": "operator"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "o", "image": OPERATOR_IMAGE}]}}
    metadata = {"name": "operator", "namespace": "mon"}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    selectors: Object = {}
    for kind in ("serviceMonitor", "podMonitor"):
        selectors |= {f"{kind}Selector": {"matchLabels": SELECTED}, f"{kind}NamespaceSelector": {}}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec},
        {"apiVersion": MONITORS, "kind": "Prometheus", "metadata": {**metadata, "name": "p"}, "spec": selectors},
    ]


@pytest.fixture(autouse=True)
def clean(bed: Bed) -> Iterator[None]:
    """Take away what a test leaves: kvobs, and whatever releases brought an exporter."""
    yield
    uninstall(bed)
    for line in json.loads(helm_run(bed, "list", "-A", "-o", "json")):
        helm_run(bed, "uninstall", line["name"], "-n", line["namespace"])
    eventually(lambda: _gone(bed))


def _gone(bed: Bed) -> bool:
    """Take away what the release's ClusterPolicy owned; say whether nothing of it is left."""
    # The garbage collector would do it, but takes half a minute to hear of a new kind of owner.
    parts = (("apps/v1", "DaemonSet"), ("v1", "Service"), (MONITORS, "ServiceMonitor"))
    for api_version, kind in parts:
        bed.api.delete(api_version, kind, EXPORTER, OPERATOR_NAMESPACE)
    return not any(bed.api.list(*each, OPERATOR_NAMESPACE) for each in (*parts, ("v1", "Pod")))


def install(bed: Bed, dcgm: Dcgm = "auto") -> InstallReport:
    """Run an install for monitors only. It needs no Helm, and would find none."""
    settings = Settings(kubeconfig=str(bed.kubeconfig), helm="/no/helm", grafana="none", wait=False, dcgm=dcgm)
    return kvobs.install(settings)


def uninstall(bed: Bed) -> tuple[str, ...]:
    """Run an uninstall; return what it says of foreign fields."""
    return kvobs.uninstall(Settings(kubeconfig=str(bed.kubeconfig), helm="/no/helm")).restored


def notes(report: InstallReport) -> dict[str, str]:
    """Return the notes about GPU metrics by id."""
    other = ("no-vllm", "no-grafana", "metrics-not-kept")
    return {note.id: note.text for note in report.notes if note.id not in other}


def policy(bed: Bed) -> Object:
    """Return the ClusterPolicy."""
    return bed.api.get("nvidia.com/v1", "ClusterPolicy", "cluster-policy")


def switch(bed: Bed) -> dict[str, Any]:
    """Return what the ClusterPolicy says of the exporter's monitor."""
    said: dict[str, Any] = policy(bed)["spec"]["dcgmExporter"]["serviceMonitor"]
    return said


def managers(bed: Bed) -> set[str]:
    """Return who owns something of the ClusterPolicy's spec."""
    return {each["manager"] for each in policy(bed)["metadata"]["managedFields"] if each.get("subresource") != "status"}


def our_monitors(bed: Bed) -> list[Object]:
    """Return our monitors, the generic ones for vLLM aside."""
    found = [each for kind in ("ServiceMonitor", "PodMonitor") for each in bed.api.list(MONITORS, kind, labels=OURS)]
    return [each for each in found if "dcgm" in each["metadata"]["name"]]


def exporter(bed: Bed) -> None:
    """Wait until the operator has put up its exporter."""
    eventually(lambda: bed.api.find("v1", "Service", EXPORTER, OPERATOR_NAMESPACE))


def their_monitor(bed: Bed) -> Object | None:
    """Return the ServiceMonitor that the GPU Operator makes."""
    return bed.api.find(MONITORS, "ServiceMonitor", EXPORTER, OPERATOR_NAMESPACE)


def upgrade_conflicts(bed: Bed, *arguments: str) -> str:
    """Run the owner's upgrade with Helm 4, which must fail; return what Helm says."""
    command = ["upgrade", "gpu-operator", str(CHARTS / "gpu-operator"), "-n", OPERATOR_NAMESPACE, *arguments]
    done = subprocess.run(
        [str(bed.helm("4")), *command], env=bed.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    return done.stderr


@HELMS
def test_switched_off_by_their_release(bed: Bed, helm: str) -> None:
    """The policy stays theirs, our monitor does the work, the note gives their values; their upgrades pass."""
    gpu_operator(bed, helm=helm)
    exporter(bed)
    before = policy(bed)
    report = install(bed)
    (ours,) = our_monitors(bed)

    assert ours["metadata"]["labels"]["release"] == "kps"
    assert [each["port"] for each in ours["spec"]["endpoints"]] == ["gpu-metrics"]
    assert policy(bed)["metadata"]["generation"] == before["metadata"]["generation"]
    assert "kvobs" not in managers(bed)
    told = notes(report)["dcgm-policy-left"]
    assert "belongs to helm" in told
    assert f"--set {ENABLED}=true" in told
    assert "additionalLabels.release=kps" in told

    gpu_operator(bed, "--set", "dcgmExporter.serviceMonitor.interval=30s", helm=helm)
    assert switch(bed)["interval"] == "30s"
    uninstall(bed)
    gpu_operator(bed, "--set", "dcgmExporter.serviceMonitor.interval=60s", helm=helm)

    assert switch(bed) == {**switch(bed), "enabled": False, "interval": "60s"}
    assert our_monitors(bed) == []


@HELMS
def test_values_that_the_note_gives(bed: Bed, helm: str) -> None:
    """Once their release says what the note told, the next run leaves it to the operator's own monitor."""
    gpu_operator(bed, helm=helm)
    exporter(bed)
    install(bed)
    labels = "dcgmExporter.serviceMonitor.additionalLabels.release=kps"
    gpu_operator(bed, "--set", f"{ENABLED}=true", "--set-string", labels, helm=helm)
    eventually(lambda: their_monitor(bed))
    report = install(bed)

    assert our_monitors(bed) == []
    assert "operator's own ServiceMonitor" in notes(report)["already-scraped"]
    assert "kvobs" not in managers(bed)


@HELMS
def test_field_is_taken_and_given_back(bed: Bed, helm: str) -> None:
    """Asked to, kvobs takes the field and says whose it was and what that means; uninstall gives it back."""
    gpu_operator(bed, helm=helm)
    exporter(bed)
    before = switch(bed)
    told = notes(install(bed, dcgm="operator"))["dcgm-policy-taken"]
    monitor = eventually(lambda: their_monitor(bed))

    assert monitor["metadata"]["labels"]["release"] == "kps"
    assert our_monitors(bed) == []
    assert "taken from helm" in told
    assert "next helm upgrade of its release fails with a conflict under Helm 4" in told
    assert '"before": {\n        "value": false' in _record(bed)

    if helm == "4":
        assert "conflict" in upgrade_conflicts(bed)
    again = install(bed)
    assert not again.changed

    restored = uninstall(bed)
    assert any("enabled: given back" in line for line in restored)
    assert switch(bed) == before
    assert "kvobs" not in managers(bed)
    eventually(lambda: their_monitor(bed) is None)
    gpu_operator(bed, "--set", "dcgmExporter.serviceMonitor.interval=60s", helm=helm)
    assert switch(bed) == before | {"interval": "60s"}


def _record(bed: Bed) -> str:
    text: str = bed.api.get("v1", "ConfigMap", "kvobs", "mon")["data"]["record.json"]
    return text


@HELMS
def test_no_longer_wanted(bed: Bed, helm: str) -> None:
    """A later run with another choice gives the field back itself, and the owner's upgrade passes."""
    gpu_operator(bed, helm=helm)
    exporter(bed)
    before = switch(bed)
    install(bed, dcgm="operator")
    report = install(bed, dcgm="none")

    assert "enabled: given back" in next(step.detail for step in report.steps if step.id == "restore")
    assert switch(bed) == before
    assert "kvobs" not in managers(bed)
    assert '"foreign_fields": []' in _record(bed)
    gpu_operator(bed, "--set", "dcgmExporter.serviceMonitor.interval=60s", helm=helm)
    assert switch(bed) == before | {"interval": "60s"}


def test_changed_since(bed: Bed) -> None:
    """A field that somebody set since is left as it is, and that is said; what they did not set is given back."""
    gpu_operator(bed)
    exporter(bed)
    install(bed, dcgm="operator")
    changed = {"spec": {"dcgmExporter": {"serviceMonitor": {"additionalLabels": {"release": "else"}}}}}
    bed.api.merge(policy(bed), changed)
    restored = uninstall(bed)

    assert any("release: changed since, left as it is" in line and "else" in line for line in restored)
    assert switch(bed)["additionalLabels"] == {"release": "else"}
    assert switch(bed)["enabled"] is False
    assert "kvobs" not in managers(bed)


def test_owner_says_the_same_since(bed: Bed) -> None:
    """Once the owner's values say what kvobs set, uninstall leaves it: it is theirs now, and their upgrade passes."""
    gpu_operator(bed)
    exporter(bed)
    install(bed, dcgm="operator")
    labels = "dcgmExporter.serviceMonitor.additionalLabels.release=kps"
    agreed = ("--set", f"{ENABLED}=true", "--set-string", labels)
    gpu_operator(bed, *agreed)
    restored = uninstall(bed)

    assert all("says the same since, left as it is" in line for line in restored)
    assert (switch(bed)["enabled"], switch(bed)["additionalLabels"]) == (True, SELECTED)
    assert "kvobs" not in managers(bed)
    gpu_operator(bed, *agreed, "--set", "dcgmExporter.serviceMonitor.interval=60s")


def test_owner_takes_the_switch_over(bed: Bed) -> None:
    """Once the owner's values switch the monitor on, that is theirs; the label that it lacks stays ours."""
    gpu_operator(bed)
    exporter(bed)
    install(bed, dcgm="operator")
    gpu_operator(bed, "--set", f"{ENABLED}=true")
    install(bed)

    assert (switch(bed)["enabled"], switch(bed)["additionalLabels"]) == (True, SELECTED)
    assert not install(bed).changed
    assert uninstall(bed) == (
        "ClusterPolicy cluster-policy spec.dcgmExporter.serviceMonitor.additionalLabels.release: taken away again",
    )
    assert (switch(bed)["enabled"], switch(bed)["additionalLabels"]) == (True, {})
    gpu_operator(bed, "--set", f"{ENABLED}=true", "--set", "dcgmExporter.serviceMonitor.interval=60s")


@HELMS
def test_monitor_on_without_our_label(bed: Bed, helm: str) -> None:
    """Where their release has the monitor on, only the label is added; uninstall takes away just that."""
    on = ("--set", f"{ENABLED}=true")
    gpu_operator(bed, *on, helm=helm)
    exporter(bed)
    eventually(lambda: their_monitor(bed))
    before = switch(bed)
    report = install(bed)
    monitor = eventually(lambda: _labelled(bed))

    assert monitor["metadata"]["labels"]["release"] == "kps"
    assert switch(bed) == before | {"additionalLabels": SELECTED}
    assert our_monitors(bed) == []
    assert "dcgm-policy-left" not in notes(report)
    gpu_operator(bed, *on, "--set", "dcgmExporter.serviceMonitor.interval=30s", helm=helm)
    assert switch(bed) == before | {"additionalLabels": SELECTED, "interval": "30s"}

    uninstall(bed)
    assert {key: value for key, value in switch(bed).items() if value} == {"enabled": True, "interval": "30s"}
    assert "kvobs" not in managers(bed)
    gpu_operator(bed, *on, "--set", "dcgmExporter.serviceMonitor.interval=60s", helm=helm)
    assert switch(bed)["interval"] == "60s"


def _labelled(bed: Bed) -> Object | None:
    monitor = their_monitor(bed)
    return monitor if monitor and monitor["metadata"]["labels"].get("release") == "kps" else None


@pytest.mark.parametrize(
    ("values", "makes_ours", "note"),
    [
        (("serviceMonitor.enabled=false",), True, None),
        (("serviceMonitor.enabled=true",), True, "monitor-not-read"),
        (("serviceMonitor.enabled=true", "serviceMonitor.additionalLabels.release=kps"), False, "already-scraped"),
    ],
    ids=["without a monitor", "with one that is not read", "with one that is read"],
)
def test_stand_alone_exporter(bed: Bed, values: tuple[str, ...], makes_ours: bool, note: str | None) -> None:
    """The exporter of NVIDIA's own chart is scraped once, by the port it really has."""
    arguments = [argument for value in (*values, "service.port=9500") for argument in ("--set", value)]
    chart = str(CHARTS / "dcgm-exporter")
    helm_run(bed, "install", "dcgm", chart, "-n", "gpu", "--create-namespace", *arguments)
    eventually(lambda: bed.api.list("v1", "Pod", "gpu"))
    told = notes(install(bed))
    ours = our_monitors(bed)

    assert [each["spec"]["endpoints"][0]["port"] for each in ours] == (["metrics"] if makes_ours else [])
    assert all(each["metadata"]["labels"]["release"] == "kps" for each in ours)
    assert told.keys() == ({note} if note else set())
    helm_run(bed, "upgrade", "dcgm", chart, "-n", "gpu", *arguments)
    uninstall(bed)
    helm_run(bed, "uninstall", "dcgm", "-n", "gpu")
    eventually(lambda: not bed.api.list("v1", "Pod", "gpu"))


def test_no_exporter(bed: Bed) -> None:
    """Without an exporter nothing is made for GPUs, and that is said in one sentence."""
    told = notes(install(bed))

    assert told["no-gpu-exporter"].startswith("GPU metrics: no GPU exporter, skipped.")
    assert our_monitors(bed) == []
