"""What keeps Grafana from loading a dashboard: its text, its size, who looks for it, what it clashes with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kvobs.dashboard.configmap import MAX_BYTES
from kvobs.health.loading import LoadedBoard, Way, checked, may_hold_dashboards, read_board, unseen, with_clashes
from kvobs.stack.facts import Sidecar
from tests.stack.clusters import grafana

CLASSIC = {"uid": "a", "title": "A", "panels": []}
V2 = {"title": "A", "elements": {}, "layout": {}}
WRAPPED = {"dashboard": CLASSIC, "meta": {}}
LARGE = {**CLASSIC, "description": "x" * MAX_BYTES}
EDIT = "kubectl -n mon edit configmap boards"


@pytest.mark.parametrize(
    ("document", "way", "causes"),
    [
        (CLASSIC, "provisioned", []),
        (CLASSIC, "file", []),
        (CLASSIC, "api", []),
        (V2, "provisioned", ["KVO-102"]),
        (V2, "file", ["KVO-102"]),
        (V2, "api", []),
        ({"apiVersion": "dashboard.grafana.app/v2beta1", "kind": "Dashboard", "spec": V2}, "provisioned", ["KVO-102"]),
        (WRAPPED, "provisioned", ["KVO-101"]),
        (WRAPPED, "file", []),
        ({"uid": "a", "panels": []}, "provisioned", ["KVO-101"]),
        ({"uid": "a", "panels": []}, "file", ["KVO-101"]),
        ({"some": "thing"}, "provisioned", ["KVO-101"]),
        ([], "file", ["KVO-101"]),
        (LARGE, "file", ["KVO-103"]),
        (LARGE, "api", []),
    ],
)
def test_form(document: Any, way: Way, causes: list[str]) -> None:
    """What is no dashboard, has a form that provisioning refuses, no title or too many bytes is a fault."""
    board = checked(document, source="mon/boards[a.json]", edit=EDIT, way=way)

    assert [each.cause for each in board.findings] == causes
    assert all("mon/boards[a.json]" in each.said for each in board.findings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"title": "A", "panels": []}}', "line 1, column 29"),
        ('{"title": "A",\n "panels": [],}', "line 2"),
        ("", "empty"),
        ("{{ .Files.Get }}", "not JSON"),
        (b"\xff\xfe\xff", "not text"),
    ],
)
def test_broken_text(text: str | bytes, words: str) -> None:
    """A text that is no JSON is told with the place where it breaks, and the command that opens it."""
    board = read_board(text, source="mon/boards[a.json]", edit=EDIT, way="provisioned")

    assert board.document is None
    assert (board.uid, board.title) == (None, None)
    (finding,) = board.findings
    assert finding.cause == "KVO-101"
    assert words in finding.said
    assert finding.fix == EDIT


def config_map(labels: dict[str, str], namespace: str = "mon", name: str = "boards") -> dict[str, Any]:
    """Return a ConfigMap without content."""
    return {"metadata": {"namespace": namespace, "name": name, "labels": labels}}


@pytest.mark.parametrize(
    ("sidecar", "labels", "namespace", "words", "fix"),
    [
        (
            {},
            {},
            "mon",
            "lacks the label grafana_dashboard=1",
            "kubectl -n mon label configmap boards grafana_dashboard=1",
        ),
        (
            {},
            {"grafana_dashboard": "true"},
            "ml",
            "its label is grafana_dashboard=true and not grafana_dashboard=1",
            "kubectl -n ml label configmap boards grafana_dashboard=1 --overwrite",
        ),
        ({"label_value": None, "label": "dash"}, {}, "ml", "lacks the label dash=1", "label configmap boards dash=1"),
        (
            {"namespaces": ("mon",)},
            {"grafana_dashboard": "1"},
            "ml",
            "it is in namespace ml, and the sidecar looks in namespace mon only",
            "--set grafana.sidecar.dashboards.searchNamespace=ALL in the values of Grafana mon/grafana",
        ),
        (
            {"namespaces": ("mon",)},
            {},
            "ml",
            "lacks the label grafana_dashboard=1, and it is not in namespace mon",
            "searchNamespace=ALL",
        ),
        ({"resource": "secret"}, {"grafana_dashboard": "1"}, "mon", "reads Secrets only", "dashboards.resource=both"),
    ],
)
def test_unseen(sidecar: dict[str, Any], labels: dict[str, str], namespace: str, words: str, fix: str) -> None:
    """What a sidecar passes over is told with what it lacks, and the command that gives it that."""
    told = {"label": "grafana_dashboard", "label_value": "1", "namespaces": None, "folder_annotation": None, **sidecar}

    finding = unseen(config_map(labels, namespace), (grafana(sidecar=Sidecar(**told)),))

    assert finding is not None
    assert finding.cause == "KVO-104"
    assert finding.subject == f"ConfigMap {namespace}/boards"
    assert words in finding.said
    assert fix in finding.fix


def test_seen() -> None:
    """What one sidecar of several reads is seen; without any sidecar nothing is looked for."""
    other = Sidecar(label="other", label_value=None, namespaces=None, folder_annotation=None)
    two = (grafana(), grafana("second", sidecar=other))

    assert unseen(config_map({"other": ""}), two) is None
    assert unseen(config_map({"grafana_dashboard": "1"}), two) is None
    assert unseen(config_map({}), (grafana(sidecar=None),)) is None


@pytest.mark.parametrize(
    ("labels", "name", "expected"),
    [
        ({"grafana_dashboard": "true"}, "x", True),
        ({}, "vllm-dashboards", True),
        ({}, "kube-root-ca.crt", False),
        ({"app": "grafana"}, "grafana-config", False),
    ],
)
def test_looks_like_dashboards(labels: dict[str, str], name: str, expected: bool) -> None:
    """Only ConfigMaps that look by label or name as if they held dashboards are read whole."""
    assert may_hold_dashboards(config_map(labels, name=name), (grafana(),)) is expected


def board(source: str, uid: str | None = None, title: str = "", folder: str | None = "", **more: Any) -> LoadedBoard:
    """Return a board as it was read."""
    document = {"title": title or source, "panels": [], **({"uid": uid} if uid else {})}
    return LoadedBoard(source=source, document=document, folder=folder, **more)


@pytest.mark.parametrize(
    ("boards", "clashes"),
    [
        ([board("a", "u"), board("b", "u")], {"a": ["uid u"], "b": ["uid u"]}),
        ([board("a", "u"), board("b", "U")], {}),
        ([board("a", "u", "T"), board("b", "u", "T")], {"a": ["uid u"], "b": ["uid u"]}),
        ([board("a", "u", "Tok"), board("b", "v", "tok ")], {"a": ["title tok"], "b": ["title tok"]}),
        ([board("a", None, "T"), board("b", None, "T")], {"a": ["title t"], "b": ["title t"]}),
        ([board("a", "u", "T", folder="x"), board("b", "v", "T", folder="y")], {}),
        ([board("a", "u", "T", folder=None), board("b", "v", "T", folder="y")], {"a": ["title t"], "b": ["title t"]}),
        (
            [board("a", "u", file_name="d.json"), board("b", "v", file_name="d.json")],
            {"a": ["file d.json"], "b": ["file d.json"]},
        ),
        ([board("a", "u", folder="x", file_name="d.json"), board("b", "v", file_name="d.json")], {}),
        ([LoadedBoard(source="a", document=None), LoadedBoard(source="b", document=None)], {}),
    ],
)
def test_clashes(boards: list[LoadedBoard], clashes: dict[str, list[str]]) -> None:
    """Each of those that share a uid, a title in a folder or a file has one finding, and all have the same."""
    found = with_clashes(boards)

    told = {each.source: [finding.subject for finding in each.findings] for each in found if each.findings}
    assert told == clashes
    for each in found:
        assert all(finding.cause == "KVO-105" and "a and b" in finding.said for finding in each.findings)


def test_uid_and_title_of_what_is_wrapped() -> None:
    """A dashboard's uid and title are those of the dashboard, whatever paper it came in."""
    read = read_board(json.dumps(WRAPPED), source="x", edit="", way="file")
    assert (read.uid, read.title) == ("a", "A")
