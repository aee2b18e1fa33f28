"""From an install that does not get ready to an uninstall that leaves what was there, beside a GPU Operator.

Each test begins on a cluster without kvobs and leaves it so.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kvobs.settings import CHART_VERSION
from tests.cluster.api import Api, eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import chart_under_test, package
from tests.cluster.commands import kvobs as run
from tests.cluster.registry import OciRegistry
from tests.cluster.snapshots import Key, Snapshot, come_to, settled
from tests.cluster.workloads import gpu_operator, vllm

NAMESPACE = "monitoring"
RELEASE = "kube-prometheus-stack"
GROUP = "monitoring.coreos.com"
CRDS = f"10 CRDs of {GROUP}"
CRD_KIND = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
ALL = ("--delete-crds", "--delete-pvcs", "--delete-namespace")
STORAGE = "prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec"
WITH_STORAGE = ("--set", f"{STORAGE}.accessModes={{ReadWriteOnce}},{STORAGE}.resources.requests.storage=1Gi")
CLAIM = f"prometheus-{RELEASE}-prometheus-db-prometheus-{RELEASE}-prometheus-0"
CLASSLESS = ("--ignore-check", "storage-class")
"""The bed has no StorageClass, and its pods run without their volumes."""
POLICY = ("ClusterPolicy.nvidia.com", "", "cluster-policy")
STAYS: dict[Key, str] = {
    ("Namespace", "", NAMESPACE): "new",
    ("ConfigMap", NAMESPACE, "kube-root-ca.crt"): "new",
    ("ServiceAccount", NAMESPACE, "default"): "new",
}
"""What stays of an install unless asked: the namespace, with what Kubernetes itself puts into each; and the CRDs."""
THEIRS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "precious", "namespace": NAMESPACE}},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "theirs", "namespace": NAMESPACE},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "theirs"}},
            "template": {
                "metadata": {"labels": {"app": "theirs"}},
                "spec": {"containers": [{"name": "theirs", "image": "theirs"}]},
            },
        },
    },
]
"""What somebody else put into our namespace; no pod of it runs."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, kw_only=True)
class Clean:
    """A bed without kvobs."""

    bed: Bed
    kvobs: Command
    """Runs a kvobs command against the bed; `install` takes the chart from a registry."""

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.bed.api


@pytest.fixture(scope="module")
def clean(bed: Bed) -> Iterator[Clean]:
    """A GPU Operator whose monitor is off, and a vLLM server."""
    gpu_operator(bed)
    vllm(bed)
    eventually(lambda: bed.api.list("v1", "Service", "gpu-operator"))
    with OciRegistry() as registry:
        registry.push(package(chart_under_test()))
        chart = ("--chart", registry.ref, "--chart-version", CHART_VERSION)

        def command(what: str, *arguments: str, helm: str = "4", **how: Any) -> subprocess.CompletedProcess[str]:
            own = {"install": (*chart, "--no-verify"), "uninstall": ("--yes",)}[what]
            environment = bed.environment(helm) | {"SSL_CERT_FILE": str(registry.ca_file)}
            return run(what, *own, *arguments, env=environment, **how)

        yield Clean(bed=bed, kvobs=command)


def test_wait(clean: Clean) -> None:
    """A pod that does not get ready ends the wait in its time, as exit 3, with its last state in the pod's own words.

    Once the pod is ready, the same command is all that it takes; and an uninstall with every flag leaves no trace.
    """
    before = settled(clean.api)
    pod, message = f"{NAMESPACE}/{RELEASE}-grafana-*", 'Back-off pulling image "grafana/grafana:0.0"'
    clean.bed.hold(pod, "ImagePullBackOff", message)
    try:
        # Without a wait: the time is Helm's too, and its hooks may need more of it.
        clean.kvobs("install", "--no-wait")
        eventually(lambda: _waiting(clean, f"{RELEASE}-grafana-"))
        first = clean.kvobs("install", "--timeout", "5s", code=3)
        start = time.monotonic()
        again = clean.kvobs("install", "--timeout", "5s", "-o", "json", code=3)
        assert 5 <= time.monotonic() - start < 120
    finally:
        clean.bed.release(pod)

    assert first.stdout == ""
    assert "not ready after 5 s:" in first.stderr
    assert f"Deployment {RELEASE}-grafana: 0 of 1 pods are ready (pod {RELEASE}-grafana-" in first.stderr
    assert f"ImagePullBackOff: {message})" in first.stderr
    assert "what to do: kubectl -n monitoring get pods; then run the same command again" in first.stderr
    told = json.loads(again.stdout)
    assert (told["kind"], told["error"], told["exit_code"]) == ("Error", "NotReady", 3)
    assert f"ImagePullBackOff: {message}" in told["message"]

    done = clean.kvobs("install")
    assert "Everything is ready" in done.stdout
    assert f"unchanged  Helm release {NAMESPACE}/{RELEASE}" in done.stdout

    report = _uninstalled(clean, *ALL)
    assert report["left"] == []
    eventually(lambda: clean.api.find("v1", "Namespace", NAMESPACE) is None)
    assert _changes(clean, before, set()) == {}


@pytest.mark.parametrize("helm", ["4", "3"])
def test_leaves_what_was_there(clean: Clean, helm: str) -> None:
    """After an uninstall the cluster is as it was before, but for CRDs and namespace, which are listed with their flag.

    So it is also where the GPU Operator's release was upgraded in between; what that changed is what it has changed.
    A second uninstall has nothing to do.
    """
    before = settled(clean.api)
    crds = [key for key in before if key[0].startswith("CustomResourceDefinition") and key[2].endswith(GROUP)]
    interval = before[POLICY]["spec"]["dcgmExporter"]["serviceMonitor"]["interval"]
    other = "20s" if interval == "15s" else "15s"

    clean.kvobs("install", helm=helm)
    gpu_operator(clean.bed, "--set", f"dcgmExporter.serviceMonitor.interval={other}", helm=helm)
    report = _uninstalled(clean, helm=helm)

    changed = _changes(clean, before, {POLICY, *STAYS})
    policy = changed.pop(POLICY).removeprefix("changed: ").split("; ")
    # Who has written a field changes with Helm's major version; kvobs has written none.
    (value,) = (each for each in policy if not each.startswith("metadata.managedFields"))
    assert value == f"spec.dcgmExporter.serviceMonitor.interval '{interval}' -> '{other}'"
    assert "kvobs" not in _managers(clean)
    theirs = {key for key in changed if key[:2] == ("Secret", "gpu-operator") and "sh.helm.release.v1" in key[2]}
    definitions = {key for key in changed if key[2].endswith(GROUP) and changed[key] == "new"}
    assert {key: what for key, what in changed.items() if key not in {*theirs, *definitions, *STAYS}} == {}
    left = {each["what"]: each["how"].partition(" ")[0] for each in report["left"]}
    assert left == {CRDS: "--delete-crds", f"Namespace {NAMESPACE}": "--delete-namespace"}
    assert len([key for key in definitions if key[0].startswith("CustomResourceDefinition")]) == 10 - len(crds)
    (why,) = (each["why"] for each in report["left"] if each["what"] == CRDS)
    assert why.startswith("they were there before this install") is bool(crds)
    assert report["restored"] == []

    done = clean.kvobs("uninstall", *ALL, "-o", "json")
    nothing = json.loads(done.stdout)
    assert (nothing["exit_code"], nothing["namespace"], nothing["removed"], nothing["left"]) == (0, None, [], [])


def test_volumes(clean: Clean) -> None:
    """Volumes stay unless asked, and are named; what the release left behind goes under whatever name it has."""
    before = settled(clean.api)
    kubelets = "prometheusOperator.kubeletService.name=nodes,prometheusOperator.kubeletEndpointSliceEnabled=true"
    values = (*WITH_STORAGE, "--set", kubelets, "--no-wait", *CLASSLESS)

    def claimed() -> bool:
        return clean.api.find("v1", "PersistentVolumeClaim", CLAIM, NAMESPACE) is not None

    done = clean.kvobs("install", *values)
    assert "Metrics are lost" not in done.stdout
    eventually(claimed)
    eventually(lambda: clean.api.find("v1", "Service", "nodes", "kube-system"))
    report = _uninstalled(clean)
    volume = f"PersistentVolumeClaim {NAMESPACE}/{CLAIM}"
    (kept,) = (each for each in report["left"] if each["what"] == volume)
    assert kept["how"] == f"--delete-pvcs next time, or now kubectl delete pvc {CLAIM} -n {NAMESPACE}"
    assert claimed()

    clean.kvobs("install", *values)
    report = _uninstalled(clean, *ALL)
    assert volume in report["removed"]
    assert f"Namespace {NAMESPACE}" in report["removed"], report["left"]
    eventually(lambda: clean.api.find("v1", "Namespace", NAMESPACE) is None)
    changed = _changes(clean, before, set(STAYS))
    assert {key: what for key, what in changed.items() if not (key[2].endswith(GROUP) or key in STAYS)} == {}


def test_what_others_would_lose(clean: Clean) -> None:
    """Grafana's database stays with the password that it knows, for the next install; so does what others put there.

    What the release made under earlier names goes with the rest; and CRDs that an earlier install brought go too,
    as soon as nobody needs them.
    """
    database = f"{RELEASE}-grafana"
    kept = ("--set", "grafana.persistence.enabled=true", "--no-wait", *CLASSLESS)
    renamed = ("--set", "fullnameOverride=abc")
    kubelets = [f"{full}-kubelet" for full in (RELEASE, "abc")]
    secrets = [f"{full}-admission" for full in (RELEASE, "abc")]

    def there(kind: str, names: list[str], namespace: str) -> list[str]:
        return [each for each in names if clean.api.find("v1", kind, each, namespace) is not None]

    def identity() -> tuple[Any, ...]:
        claim = clean.api.get("v1", "PersistentVolumeClaim", database, NAMESPACE)
        return claim["metadata"]["uid"], clean.api.get("v1", "Secret", f"{database}-admin", NAMESPACE)["data"]

    clean.kvobs("install", *kept)
    eventually(lambda: there("Service", kubelets[:1], "kube-system"))
    clean.kvobs("install", *kept, *renamed)
    eventually(lambda: there("Service", kubelets, "kube-system") == kubelets)
    assert there("Secret", secrets, NAMESPACE) == secrets
    first = identity()
    clean.api.apply(*THEIRS)

    left = {each["what"]: each for each in _uninstalled(clean, "--delete-namespace")["left"]}
    assert left.keys() == {
        CRDS,
        f"Namespace {NAMESPACE}",
        f"PersistentVolumeClaim {NAMESPACE}/{database}",
        f"Secret {NAMESPACE}/{database}-admin",
    }
    for name in ("Deployment monitoring/theirs", "PersistentVolumeClaim", "Secret monitoring/precious"):
        assert name in left[f"Namespace {NAMESPACE}"]["why"]
    assert left[f"PersistentVolumeClaim {NAMESPACE}/{database}"]["how"].startswith("--delete-pvcs next time")
    assert there("Service", kubelets, "kube-system") == there("Secret", secrets, NAMESPACE) == []
    assert identity() == first

    clean.kvobs("install", *kept, helm="3")
    assert identity() == first
    for each in THEIRS:
        clean.api.delete(each["apiVersion"], each["kind"], each["metadata"]["name"], NAMESPACE)
    (left_then,) = _uninstalled(clean, "--delete-crds", "--delete-pvcs", helm="3")["left"]
    assert left_then["what"] == f"Namespace {NAMESPACE}"
    assert there("Secret", [f"{database}-admin"], NAMESPACE) == []
    eventually(lambda: not [each for each in clean.api.list(*CRD_KIND) if each["spec"]["group"] == GROUP])


def test_fields_given_back(clean: Clean) -> None:
    """A ClusterPolicy whose field kvobs took has its values back, and its release can be upgraded."""
    before = settled(clean.api)

    clean.kvobs("install", "--no-wait", "--dcgm", "operator")
    taken = clean.api.get("nvidia.com/v1", "ClusterPolicy", "cluster-policy")["spec"]["dcgmExporter"]["serviceMonitor"]
    assert (taken["enabled"], taken["additionalLabels"]) == (True, {"release": RELEASE})
    report = _uninstalled(clean)

    assert len(report["restored"]) == 2
    policy = _changes(clean, before, {POLICY, *STAYS}).get(POLICY, "")
    # The field that was taken from a manager is nobody's until that manager's next apply.
    assert not policy or (policy.startswith("changed: metadata.managedFields ") and ";" not in policy)
    assert "kvobs" not in _managers(clean)
    gpu_operator(clean.bed, "--set", "dcgmExporter.serviceMonitor.enabled=true")
    gpu_operator(clean.bed, "--set", "dcgmExporter.serviceMonitor.enabled=false")


def _waiting(clean: Clean, pod: str) -> bool:
    """Whether a pod of that name says what a container of it waits for."""
    pods = [each for each in clean.api.list("v1", "Pod", NAMESPACE) if each["metadata"]["name"].startswith(pod)]
    states = [state for each in pods for state in each.get("status", {}).get("containerStatuses", ())]
    return any("waiting" in each["state"] for each in states)


def _managers(clean: Clean) -> set[str]:
    """Who owns fields of the ClusterPolicy."""
    policy = clean.api.get("nvidia.com/v1", "ClusterPolicy", "cluster-policy")
    return {each["manager"] for each in policy["metadata"]["managedFields"]}


def _uninstalled(clean: Clean, *arguments: str, helm: str = "4") -> dict[str, Any]:
    """Uninstall, and return the report."""
    report: dict[str, Any] = json.loads(clean.kvobs("uninstall", *arguments, "-o", "json", helm=helm).stdout)
    assert report["namespace"] == NAMESPACE
    return report


def _changes(clean: Clean, before: Snapshot, expected: set[Key]) -> dict[Key, str]:
    """Return how the cluster differs from *before*, as soon as only what is *expected* (or stays anyway) does.

    The garbage collector needs a moment, or half a minute where a kind is new; what is still there then is returned.
    """

    def stays(key: Key) -> bool:
        return key in expected or key[2].endswith(GROUP) or "helm" in key[2]

    return come_to(clean.api, before, lambda changed: all(map(stays, changed)))
