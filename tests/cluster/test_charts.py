"""The charts of our own: what Helm makes of them, and that the small stack says what the real one says."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import charts
from tests.cluster.api import eventually
from tests.cluster.bed import Bed
from tests.cluster.build import KUBERNETES_VERSION, crd_files
from tests.cluster.charts import CASES, Object, helm, rendered
from tests.cluster.registry import OciRegistry

HELMS = ("helm4", "helm3")


def identity(thing: Object) -> tuple[str, str]:
    """Return what tells one object of a render from another."""
    return thing["kind"], thing["metadata"]["name"]


def named(objects: list[Object], kind: str, name: str) -> Object:
    """Return the one object of that kind and name."""
    (found,) = [thing for thing in objects if identity(thing) == (kind, name)]
    return found


# The small kube-prometheus-stack by itself.


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_both_helms_agree(case: Path) -> None:
    """Helm 3 and Helm 4 make the same objects of the small chart."""
    # A named Secret, because a random password differs between any two renders.
    chosen = ("--values", case, "--set", "grafana.admin.existingSecret=named")

    four, three = (rendered(charts.small_chart(), *chosen, name=name) for name in HELMS)
    assert sorted(four, key=identity) == sorted(three, key=identity)


def test_password_changes_with_every_render() -> None:
    """Without a Secret named, two renders differ in the password and in what restarts Grafana; in no more."""
    first, second = (rendered(charts.small_chart()) for _ in range(2))

    differing = [identity(one) for one, other in zip(first, second, strict=True) if one != other]
    assert differing == [("Secret", "kps-grafana"), ("Deployment", "kps-grafana")]


def test_named_secret_makes_renders_equal() -> None:
    """With a Secret named, two renders are equal byte for byte, and no Secret of Grafana's is among them."""
    values = charts.CHARTS / "cases" / "admin-secret.yaml"
    first, second = (helm("helm4", "template", "kps", charts.small_chart(), "-f", values) for _ in range(2))

    assert first == second
    assert ("Secret", "kps-grafana") not in [identity(thing) for thing in yaml.safe_load_all(first)]


@pytest.mark.parametrize(("setting", "count"), [("true", 10), ("false", 0)])
def test_crds_come_with_the_chart(setting: str, count: int) -> None:
    """The operator's ten CRDs are installed with the chart, unless ``crds.enabled`` says no."""
    chosen = ("--include-crds", "--set", f"crds.enabled={setting}", "--kube-version", KUBERNETES_VERSION)
    text = helm("helm4", "template", "kps", charts.small_chart(), *chosen)

    assert text.count("\nkind: CustomResourceDefinition\n") == count


def test_repository_holds_no_crds() -> None:
    """The CRDs are put into a copy of the chart, never into the repository."""
    charts.small_chart()

    kept = charts.CHARTS / charts.STACK / "charts" / "crds"
    assert [path.name for path in kept.iterdir()] == ["Chart.yaml"]


def test_chart_is_made_once() -> None:
    """Asked twice, the chart and its archive are the same files, and the archive says name and version."""
    assert charts.small_chart() == charts.small_chart()
    archive = charts.package(charts.small_chart())
    written = archive.stat().st_mtime_ns

    assert charts.package(charts.small_chart()).stat().st_mtime_ns == written
    assert archive.name == "kube-prometheus-stack-88.5.3.tgz"


# The registry.


@pytest.fixture(scope="module")
def registry() -> Iterator[OciRegistry]:
    """A registry that holds the chart under test."""
    with OciRegistry() as running:
        assert running.push(charts.package(charts.chart_under_test())) == running.ref
        yield running


@pytest.mark.parametrize("name", HELMS)
def test_pull(registry: OciRegistry, name: str, tmp_path: Path) -> None:
    """Either Helm pulls the chart by https, and gets the bytes that were pushed."""
    helm(name, "pull", registry.ref, "--version", "88.5.3", "-d", tmp_path, environment=registry.environment)

    pulled = tmp_path / "kube-prometheus-stack-88.5.3.tgz"
    assert pulled.read_bytes() == charts.package(charts.chart_under_test()).read_bytes()


def test_stranger_is_not_trusted(registry: OciRegistry, tmp_path: Path) -> None:
    """A Helm that was not told of the certificate refuses the registry: the TLS is real."""
    with pytest.raises(RuntimeError, match="certificate signed by unknown authority"):
        helm("helm4", "pull", registry.ref, "--version", "88.5.3", "-d", tmp_path)


def test_registry_dies_with_its_run() -> None:
    """A test run that is killed leaves no registry behind."""
    script = (
        "import time\n"
        "from tests.cluster.registry import OciRegistry\n"
        "with OciRegistry() as registry:\n"
        "    print(registry.plain_port, flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=charts.CHARTS.parents[2], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        port = int(run.stdout.readline())
        assert listens(port)
        run.kill()

    eventually(lambda: not listens(port))


def listens(port: int) -> bool:
    """Whether anybody accepts connections on that port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# On a cluster.


@pytest.fixture
def run_helm(bed: Bed, registry: OciRegistry) -> Callable[..., str]:
    """Helm of the major version given first, on the bed, trusting the registry."""

    def run(major: str, *arguments: str | Path) -> str:
        environment = bed.environment(major) | {"SSL_CERT_FILE": str(registry.ca_file)}
        return helm(f"helm{major}", *arguments, environment=environment)

    return run


@pytest.mark.parametrize(("major", "release"), [("4", "kps"), ("3", "kube-prometheus-stack")])
def test_stack_comes_up(
    bed: Bed, registry: OciRegistry, run_helm: Callable[..., str], major: str, release: str
) -> None:
    """Pulled from the registry, the stack comes up: hooks run, workloads are ready, Prometheus has its config."""
    namespace = f"monitoring-{major}"
    where = ("--namespace", namespace, "--wait", "--timeout", "300s")
    run_helm(major, "install", release, registry.ref, "--version", "88.5.3", *where, "--create-namespace")
    full = release if release == charts.STACK else f"{release}-{charts.STACK}"

    webhooks = bed.api.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", f"{full}-admission")
    secret = bed.api.get("v1", "Secret", f"{full}-admission", namespace)
    assert {hook["clientConfig"]["caBundle"] for hook in webhooks["webhooks"]} == {secret["data"]["ca"]}
    bed.api.until("monitoring.coreos.com/v1", "Prometheus", f"{full}-prometheus", namespace, is_available)

    run_helm(major, "uninstall", release, *where)
    left = [thing["metadata"]["name"] for thing in bed.api.list("apps/v1", "Deployment", namespace)]
    assert left == []


def is_available(prometheus: Object) -> bool:
    """Whether the operator says that a Prometheus object's pods are up."""
    conditions = prometheus.get("status", {}).get("conditions", [])
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


@pytest.mark.parametrize(("major", "operation"), [("4", "Apply"), ("3", "Update")])
def test_release_owns_the_cluster_policy(bed: Bed, run_helm: Callable[..., str], major: str, operation: str) -> None:
    """The GPU Operator's release is the manager of the monitor's switch, until its values leave it out."""
    bed.apply_crds("gpu-operator")
    release = ("gpu-operator", charts.CHARTS / "gpu-operator", "--namespace", "gpu-operator")
    run_helm(major, "install", *release, "--create-namespace")
    assert switch_managers(bed) == [("helm", operation)]

    run_helm(major, "upgrade", *release, "--set", "dcgmExporter.serviceMonitor.enabled=null")
    assert switch_managers(bed) == []

    run_helm(major, "uninstall", "gpu-operator", "--namespace", "gpu-operator")


def switch_managers(bed: Bed) -> list[tuple[str, str]]:
    """Return who manages ``dcgmExporter.serviceMonitor.enabled`` of the ClusterPolicy, and by which operation."""
    policy = bed.api.get("nvidia.com/v1", "ClusterPolicy", "cluster-policy")
    found = []
    for entry in policy["metadata"]["managedFields"]:
        fields = entry["fieldsV1"]
        for key in ("f:spec", "f:dcgmExporter", "f:serviceMonitor"):
            fields = fields.get(key, {})
        if "f:enabled" in fields:
            found.append((entry["manager"], entry["operation"]))
    return found


# The charts for GPUs.


@pytest.mark.parametrize(
    ("setting", "want"),
    [
        ((), {"enabled": False, "interval": "15s", "additionalLabels": {}}),
        (("enabled=true",), {"enabled": True, "interval": "15s", "additionalLabels": {}}),
        (("enabled=null",), {"interval": "15s", "additionalLabels": {}}),
        (
            ("enabled=true", "interval=5s", "additionalLabels.release=kps"),
            {"enabled": True, "interval": "5s", "additionalLabels": {"release": "kps"}},
        ),
    ],
    ids=["up-to-26.3", "26.7", "left-out", "labelled"],
)
def test_cluster_policy_monitor(setting: tuple[str, ...], want: Object) -> None:
    """The GPU Operator's release writes its monitor's values into the ClusterPolicy as they are given."""
    chosen = [part for text in setting for part in ("--set", f"dcgmExporter.serviceMonitor.{text}")]
    (policy,) = rendered(charts.CHARTS / "gpu-operator", *chosen)

    monitor = policy["spec"]["dcgmExporter"]["serviceMonitor"]
    assert {key: monitor[key] for key in ("enabled", *want) if key in monitor} == want


def test_cluster_policy_without_monitor() -> None:
    """The whole monitor can be left out, as by a chart that knows nothing of it."""
    (policy,) = rendered(charts.CHARTS / "gpu-operator", "--set", "dcgmExporter.serviceMonitor=null")

    assert "serviceMonitor" not in policy["spec"]["dcgmExporter"]


def test_cluster_policy_fits_its_crd() -> None:
    """NVIDIA's CRD knows every field that the chart writes, and the chart misses none that it requires."""
    (crd,) = [
        yaml.load(path.read_text(), charts.Loader)
        for path in crd_files("gpu-operator")
        if path.name == "nvidia.com_clusterpolicies.yaml"
    ]
    (policy,) = rendered(charts.CHARTS / "gpu-operator")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert list(misfits(policy["spec"], schema, "spec")) == []


def misfits(value: Any, schema: Object, path: str) -> Iterator[str]:
    """Name every field of a value that a structural schema does not know or misses."""
    if not isinstance(value, dict) or "properties" not in schema:
        return
    for key in schema.get("required", ()):
        if key not in value and "default" not in schema["properties"][key]:
            yield f"{path}.{key} is required"
    for key, inner in value.items():
        if key not in schema["properties"]:
            yield f"{path}.{key} is not known"
        else:
            yield from misfits(inner, schema["properties"][key], f"{path}.{key}")


@pytest.mark.parametrize(("setting", "kinds"), [("true", ["ServiceMonitor"]), ("false", [])])
def test_standalone_exporter(setting: str, kinds: list[str]) -> None:
    """The stand-alone exporter offers port ``metrics`` 9400, and a monitor of it unless told otherwise."""
    objects = rendered(charts.CHARTS / "dcgm-exporter", "--set", f"serviceMonitor.enabled={setting}")
    service = named(objects, "Service", "kps-dcgm-exporter")

    assert sorted(thing["kind"] for thing in objects) == sorted(["DaemonSet", "Service", *kinds])
    assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == [("metrics", 9400)]
