"""The whole stack as files: the same from either Helm, taken by kustomize, and enough for a stack that comes up."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.adapters.helm_manifests import manifest_objects
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.build import binary
from tests.cluster.charts import Loader, chart_under_test
from tests.cluster.commands import kvobs
from tests.cluster.lean import LEAN, RELEASE

TOKEN = "planted-token-8f3a"
STACK = ("render", "--with-stack", "--chart", str(chart_under_test()))

Key = tuple[str, str, str]


def key(each: Object) -> Key:
    """Return what tells one object from another."""
    return each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]


def objects(text: str) -> dict[Key, Object]:
    """Return the objects of a YAML stream; none of them is there twice."""
    found = [each for each in yaml.load_all(text, Loader) if each]
    by_key = {key(each): each for each in found}
    assert len(by_key) == len(found)
    return by_key


@pytest.fixture(scope="module")
def render() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Render the stack without a cluster in sight, with the Helm that is named."""

    def run(*arguments: str | Path, helm: str = "helm4") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "KUBECONFIG": "/nowhere"}
        return kvobs(*STACK, "--helm", str(binary(helm)), *arguments, env=environment)

    return run


@pytest.fixture(scope="module")
def streamed(render: Callable[..., subprocess.CompletedProcess[str]]) -> str:
    """Return what a render with Helm 4 prints."""
    return render().stdout


def test_the_same_bytes(render: Callable[..., subprocess.CompletedProcess[str]], streamed: str) -> None:
    """Two renders are equal byte for byte, and so are those of Helm 3 and Helm 4."""
    assert {render(helm=helm).stdout for helm in ("helm4", "helm3")} == {streamed}
    assert {kind for kind, _, _ in objects(streamed)} >= {
        "Namespace",
        "CustomResourceDefinition",
        "Prometheus",
        "Job",
    }


def test_no_secret_of_the_users(render: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """A token in the values for Grafana and Alertmanager is on neither stream and in no file; its Secrets are named."""
    values = {
        "grafana": {"adminPassword": TOKEN},
        "alertmanager": {"config": {"global": {"slack_api_url": f"https://hooks.example.com/{TOKEN}"}}},
    }
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = render("-f", tmp_path / "values.yaml", "--dir", tmp_path / "out", "--split")
    written = "".join(each.read_text() for each in (tmp_path / "out").iterdir())

    assert TOKEN not in done.stdout + done.stderr + written
    assert f"Secret monitoring/{RELEASE}-grafana is left out" in done.stderr
    assert "kind: Deployment" in written


def test_kustomize_takes_the_folder(
    render: Callable[..., subprocess.CompletedProcess[str]], streamed: str, tmp_path: Path
) -> None:
    """Every object of the stream is in a file of its own, and comes back from kustomize as it is."""
    render("--dir", tmp_path / "out", "--split")
    files = sorted(each for each in (tmp_path / "out").iterdir() if each.name != "kustomization.yaml")
    listed = yaml.safe_load((tmp_path / "out" / "kustomization.yaml").read_text())["resources"]
    first = {name: yaml.load((tmp_path / "out" / name).read_text(), Loader)["kind"] for name in listed}

    assert len(files) == len(objects(streamed))
    assert sorted(listed) == [each.name for each in files]
    assert list(dict.fromkeys(first.values()))[:2] == ["Namespace", "CustomResourceDefinition"]
    built = subprocess.run(
        [binary("kubectl"), "kustomize", tmp_path / "out"], capture_output=True, text=True, check=True
    )
    # Its own writer leaves a `=` without quotes, which PyYAML alone takes for something else than text.
    whole = {at: _said(each) for at, each in objects(streamed).items()}
    assert {key(each): _said(each) for each in manifest_objects(built.stdout)} == whole


def _said(each: Object) -> Object:
    """Return an object without what says nothing in its metadata; kustomize drops `annotations: {}` and `null`."""
    return {**each, "metadata": {name: value for name, value in each["metadata"].items() if value}}


# --- on a cluster ---


@pytest.fixture
def bare() -> Iterator[Bed]:
    """A cluster with nothing on it, where the operator and Prometheus really run."""
    with Bed(gpu=False, monitoring=True) as bed:
        yield bed


def test_it_comes_up(bare: Bed, render: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Applied in the order in which it is printed, with the Secret that it asks for, the stack comes up."""
    done = render(*(word for value in LEAN for word in ("--set", value)))
    rendered = list(objects(done.stdout).values())
    definitions = [each for each in rendered if each["kind"] in ("Namespace", "CustomResourceDefinition")]
    rest = [each for each in rendered if each not in definitions]
    assert f"create secret generic {RELEASE}-grafana-admin" in done.stderr

    bare.apply_crds("prometheus-operator")
    bare.api.apply(*definitions, admin_secret())
    bare.api.apply(*rest)
    prometheus = f"{RELEASE}-prometheus"
    bare.api.until("monitoring.coreos.com/v1", "Prometheus", prometheus, "monitoring", holds=is_available)
    eventually(lambda: all(is_ready(each) for each in bare.api.list("apps/v1", "Deployment", "monitoring")))


def admin_secret() -> Object:
    """Return the Secret that the printed command makes."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{RELEASE}-grafana-admin", "namespace": "monitoring"},
        "stringData": {"admin-user": "admin", "admin-password": "x"},
    }


def is_available(prometheus: Object) -> bool:
    """Whether the operator says that Prometheus' pods are up."""
    conditions: list[dict[str, Any]] = prometheus.get("status", {}).get("conditions", [])
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)


def is_ready(deployment: Object) -> bool:
    """Whether every pod of a Deployment is ready."""
    return bool(deployment.get("status", {}).get("readyReplicas", 0) == deployment["spec"]["replicas"])
