"""Which dashboards verify looks at: from files, from Grafana's API, and as a cluster really loads them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.dashboard.boards import board_of
from kvobs.errors import Unanswered, UsageError
from kvobs.health.loading import LoadedBoard
from kvobs.settings import Settings
from kvobs.stack.applyset import ID_LABEL, PART_OF_LABEL, parent
from kvobs.stack.facts import Object
from kvobs.stack.grafana_operator import DASHBOARD_KIND
from kvobs.stack.objects import kind_of
from kvobs.stack.record import Record
from kvobs.use_cases.look import look
from kvobs.use_cases.verifying.sources import boards_to_verify
from tests.stack.cases import PARTS
from tests.stack.listed import BUILT_IN, Listed


def dashboard(uid: str, title: str = "") -> dict[str, Any]:
    """Return a small dashboard."""
    return {"uid": uid, "title": title or uid, "panels": []}


def config_map(name: str, files: dict[str, Any], *, namespace: str = "mon", labels: Any = None) -> Object:
    """Return a ConfigMap whose values are JSON, or texts as they are."""
    data = {key: value if isinstance(value, str) else json.dumps(value) for key, value in files.items()}
    labels = {"grafana_dashboard": "1"} if labels is None else labels
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def boards_on(
    *objects: Object, parts: tuple[str, ...] = ("grafana",), denied: tuple[str, ...] = (), own: bool = False
) -> list[LoadedBoard]:
    """Return what verify looks at on a cluster with these objects and parts."""
    there = [each for part in parts for each in yaml.safe_load_all((PARTS / f"{part}.yaml").read_text()) if each]
    there += objects
    cluster = Listed(there, frozenset({*BUILT_IN, *map(kind_of, there), DASHBOARD_KIND}), frozenset(denied))
    return boards_to_verify(Settings(), cluster=cluster, facts=look(cluster, Settings()), own=own)


def causes(boards: list[LoadedBoard]) -> dict[str, list[str]]:
    """Return what is said against each board."""
    return {each.source: [finding.cause for finding in each.findings] for each in boards}


def test_what_the_sidecar_loads() -> None:
    """Every dashboard that the sidecar reads is looked at, a broken one too; other files are not."""
    found = boards_on(
        config_map("a", {"a.json": dashboard("a"), "notes.txt": "hello"}),
        config_map("b", {"b.json": '{"title": "B",}', "c.json": {"title": "C", "elements": {}}}, namespace="ml"),
    )

    assert causes(found) == {"mon/a[a.json]": [], "ml/b[b.json]": ["KVO-101"], "ml/b[c.json]": ["KVO-102"]}
    assert found[0].document == dashboard("a")


def test_what_the_sidecar_does_not_see() -> None:
    """A ConfigMap with dashboards and without the sidecar's label is told; one without dashboards is not."""
    found = boards_on(
        config_map("seen", {"a.json": dashboard("a")}),
        config_map("vllm-dashboard", {"b.json": dashboard("b")}, labels={}),
        config_map("other", {"c.json": dashboard("c")}, labels={"grafana_dashboard": "yes"}),
        config_map("dashboard-settings", {"x.json": {"theme": "dark"}, "y.yaml": "a: 1"}, labels={}),
        config_map("unrelated", {"d.json": dashboard("d")}, labels={}),
    )

    assert causes(found) == {
        "mon/seen[a.json]": [],
        "mon/vllm-dashboard[b.json]": ["KVO-104"],
        "mon/other[c.json]": ["KVO-104"],
    }
    assert "kubectl -n mon label configmap vllm-dashboard grafana_dashboard=1" in found[1].findings[0].fix


def test_kvobs_own() -> None:
    """Kvobs' own alone are those that its install loaded; that another one has their uid is still told."""
    record = parent("kvobs", "mon", refs=(), record=Record())
    mine = config_map("mine", {"m.json": dashboard("m")})
    labels = {**mine["metadata"]["labels"], PART_OF_LABEL: record["metadata"]["labels"][ID_LABEL]}
    mine = {**mine, "metadata": {**mine["metadata"], "labels": labels}}
    twin, unseen = config_map("twin", {"t.json": dashboard("m")}), config_map("dashboards", {"u.json": {}}, labels={})

    assert causes(boards_on(record, mine, twin, unseen, own=True)) == {"mon/mine[m.json]": ["KVO-105"]}


def test_two_that_meet() -> None:
    """Two ConfigMaps with one key are one file of the sidecar's; two with one uid cost the provider its rights."""
    found = boards_on(
        config_map("a", {"same.json": dashboard("a")}),
        config_map("b", {"same.json": dashboard("b")}, namespace="ml"),
        config_map("c", {"c.json": dashboard("a", "other")}),
    )

    assert causes(found) == {
        "mon/a[same.json]": ["KVO-105", "KVO-105"],
        "ml/b[same.json]": ["KVO-105"],
        "mon/c[c.json]": ["KVO-105"],
    }


def test_mounted_dashboards() -> None:
    """What a Grafana mounts from ConfigMaps, as kube-prometheus has it, is loaded without any label."""
    parts = list(yaml.safe_load_all((PARTS / "kube-prometheus.yaml").read_text()))
    deployment = next(each for each in parts if each and each["kind"] == "Deployment" and "grafana" in str(each))
    spec = deployment["spec"]["template"]["spec"]
    path = "/grafana-dashboard-definitions/0/pods"
    server = next(each for each in spec["containers"] if each["name"] == "grafana")
    server.setdefault("volumeMounts", []).append({"name": "pods", "mountPath": path})
    spec.setdefault("volumes", []).append({"name": "pods", "configMap": {"name": "grafana-dashboard-pods"}})
    namespace = deployment["metadata"]["namespace"]

    found = boards_on(
        deployment,
        config_map("grafana-dashboard-pods", {"pods.json": dashboard("pods")}, namespace=namespace, labels={}),
        parts=(),
    )

    assert causes(found) == {f"{namespace}/grafana-dashboard-pods[pods.json]": []}


def test_config_maps_that_may_not_be_listed() -> None:
    """Who may list no ConfigMaps sees no dashboard, and is told nothing against one."""
    assert boards_on(config_map("a", {"a.json": dashboard("a")}), denied=("ConfigMap",)) == []


def operated(name: str, spec: dict[str, Any]) -> Object:
    """Return a GrafanaDashboard for every Grafana of its namespace with label `dashboards`."""
    spec = {"instanceSelector": {"matchLabels": {"dashboards": "grafana"}}, **spec}
    return {
        "apiVersion": "grafana.integreatly.org/v1beta1",
        "kind": "GrafanaDashboard",
        "metadata": {"name": name, "namespace": "mon"},
        "spec": spec,
    }


INSTANCE: Object = {
    "apiVersion": "grafana.integreatly.org/v1beta1",
    "kind": "Grafana",
    "metadata": {"name": "g", "namespace": "mon", "labels": {"dashboards": "grafana"}},
}
INPUT = {**dashboard("i"), "panels": [{"datasource": "${DS_PROM}"}]}


@pytest.mark.parametrize(
    ("spec", "expected", "document"),
    [
        ({"json": json.dumps(dashboard("a")), "folder": "f"}, [], dashboard("a")),
        (
            {"gzipJson": base64.b64encode(gzip.compress(json.dumps(dashboard("z")).encode())).decode()},
            [],
            dashboard("z"),
        ),
        ({"gzipJson": "no base64"}, ["KVO-101"], None),
        ({"json": "{"}, ["KVO-101"], None),
        ({"json": json.dumps({"title": "v2", "elements": {}})}, [], {"title": "v2", "elements": {}}),
        ({"configMapRef": {"name": "held", "key": "h.json"}}, [], dashboard("h")),
        (
            {"json": json.dumps(INPUT), "datasources": [{"inputName": "DS_PROM", "datasourceName": "Prom"}]},
            [],
            {**INPUT, "panels": [{"datasource": "Prom"}]},
        ),
        ({"url": "https://example.com/d.json"}, ["KVO-901"], None),
        ({"json": json.dumps(dashboard("a")), "instanceSelector": {"matchLabels": {"x": "y"}}}, ["KVO-104"], ...),
    ],
)
def test_objects_of_the_grafana_operator(spec: dict[str, Any], expected: list[str], document: Any) -> None:
    """A GrafanaDashboard is read wherever it holds its text; one for no Grafana here is told, and one not read too."""
    held = config_map("held", {"h.json": dashboard("h")}, labels={})

    (found,) = boards_on(INSTANCE, held, operated("d", spec), parts=())

    assert [each.cause for each in found.findings] == expected
    assert found.source == "GrafanaDashboard mon/d"
    if document is not ...:
        assert found.document == document


# --- files and names ---


def test_files_and_folders(tmp_path: Path) -> None:
    """Files of a folder are read each once; a broken one stops no other."""
    (tmp_path / "a.json").write_text(json.dumps(dashboard("a")))
    (tmp_path / "b.json").write_text('{"title": 1')
    (tmp_path / "empty").mkdir()
    named = [str(tmp_path / "a.json"), str(tmp_path), str(tmp_path / "empty")]

    found = boards_to_verify(Settings(), named=named)

    assert causes(found) == {
        str(tmp_path / "a.json"): [],
        str(tmp_path / "b.json"): ["KVO-101"],
        str(tmp_path / "empty"): ["KVO-901"],
    }


def test_a_name_that_is_none(tmp_path: Path) -> None:
    """A file that is not there is a slip of the command line, not a dashboard."""
    with pytest.raises(UsageError, match="does not exist"):
        boards_to_verify(Settings(), named=[str(tmp_path / "gone.json")])


def test_shipped_ones() -> None:
    """A shipped dashboard has a name; without any name, cluster or Grafana all of them are meant."""
    (one,) = boards_to_verify(Settings(), named=["vllm"])
    everyone = boards_to_verify(Settings())

    assert one.source == "vllm.json"
    assert {"vllm.json", "dcgm.json"} <= {each.source for each in everyone}
    assert all(not each.findings for each in everyone)


def test_a_download_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dashboard that cannot be had is told as not asked, which is no word against it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    (found,) = boards_to_verify(Settings(offline=True), named=["https://user:hunter2@example.com/d.json"])

    assert [each.cause for each in found.findings] == ["KVO-901"]
    assert "hunter2" not in str(found)


# --- Grafana's API ---


@dataclass(frozen=True)
class Row:
    """One row of a search."""

    uid: str
    title: str
    folder: str | None = "General"


class Api:
    """A Grafana that has some dashboards, one of which it does not give and one that is gone."""

    url = "https://grafana.example.com"

    def search(self) -> Iterator[Row]:
        """Three dashboards."""
        yield from (Row("a", "A"), Row("b", "B"), Row("c", "C", "Team"), Row("gone", "G"))

    def dashboard(self, uid: str) -> dict[str, Any] | None:
        """The dashboard."""
        if uid == "b":
            raise Unanswered("not for you", hint="ask for the right")
        v2 = {"apiVersion": "dashboard.grafana.app/v2beta1", "spec": {"title": "C", "elements": {}}}
        return {"a": dashboard("a"), "c": v2}.get(uid)

    def library_panel(self, uid: str) -> dict[str, Any] | None:
        """None of the others; see below."""
        raise AssertionError(uid)


def test_dashboards_of_a_grafana() -> None:
    """All that the search finds is looked at, v2 too; what is gone since is not, and what is refused is told."""
    found = boards_to_verify(Settings(), api=Api())

    assert causes(found) == {
        "https://grafana.example.com/d/a": [],
        "https://grafana.example.com/d/b": ["KVO-901"],
        "https://grafana.example.com/d/c": [],
    }
    assert [each.folder for each in found] == ["General", None, "Team"]
    assert found[1].findings[0].fix == "ask for the right"


class WithLibrary(Api):
    """A Grafana with one dashboard of library panels: one that is there, one that is gone, one not to be read."""

    def search(self) -> Iterator[Row]:
        """The dashboard."""
        yield Row("l", "L")

    def dashboard(self, uid: str) -> dict[str, Any] | None:
        """The dashboard."""
        stubs = [{"id": n, "libraryPanel": {"uid": name, "name": name}} for n, name in enumerate(("up", "gone", "no"))]
        return {**dashboard(uid), "panels": stubs}

    def library_panel(self, uid: str) -> dict[str, Any] | None:
        """Its model."""
        if uid == "no":
            raise Unanswered("not for you", hint="ask for the right")
        return {"up": {"title": "Up", "targets": [{"expr": "up"}]}}.get(uid)


def test_library_panels_of_a_grafana() -> None:
    """A library panel is what Grafana itself keeps under its name, where that can be read."""
    (found,) = boards_to_verify(Settings(), api=WithLibrary())

    assert found.document is not None
    panels = board_of(found.document).panels
    assert [(each.title, [target.expr for target in each.targets], each.library) for each in panels] == [
        ("Up", ["up"], None),
        ("gone", [], "gone"),
        ("no", [], "no"),
    ]
