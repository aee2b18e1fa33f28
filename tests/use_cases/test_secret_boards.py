"""Dashboards in Secrets: which Secrets are asked for, what is said of their dashboards, and what is not."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.errors import ApiError, Forbidden
from kvobs.health.loading import LoadedBoard
from kvobs.health.remedy import steps
from kvobs.settings import Reach, Settings, Verification
from kvobs.stack.applyset import ID_LABEL, PART_OF_LABEL, parent
from kvobs.stack.facts import Object
from kvobs.stack.objects import kind_of
from kvobs.stack.record import Record
from kvobs.use_cases.look import look
from kvobs.use_cases.one_look import OneLook
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.verifying.cluster_boards import boards_of_cluster
from kvobs.use_cases.verifying.scene import look_at_scene
from tests.stack.listed import BUILT_IN, Listed

SEEN = {"grafana_dashboard": "1"}
PLANTED = "hunter2-of-the-secret"


def dashboard(uid: str, title: str = "", **more: Any) -> dict[str, Any]:
    """Return a small dashboard."""
    return {"uid": uid, "title": title or uid, "panels": [], **more}


def secret(name: str, files: Mapping[str, Any], *, namespace: str = "mon", **metadata: Any) -> Object:
    """Return a Secret as it is stored; its values are JSON, or texts as they are."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in files.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": SEEN, **metadata},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }


def config_map(name: str, files: Mapping[str, Any], *, namespace: str = "mon", **metadata: Any) -> Object:
    """Return a ConfigMap; its values are JSON."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": SEEN, **metadata},
        "data": {key: json.dumps(value) for key, value in files.items()},
    }


def grafana(name: str = "grafana", **environment: str) -> Object:
    """Return a Grafana of namespace mon whose sidecar looks for dashboards as its *environment* says."""
    told = {"LABEL": "grafana_dashboard", "LABEL_VALUE": "1", "NAMESPACE": "ALL", "RESOURCE": "both", **environment}
    env = [{"name": key, "value": value} for key, value in told.items() if value]
    containers = [
        {"name": "grafana-sc-dashboard", "image": "quay.io/kiwigrid/k8s-sidecar:2", "env": env},
        {"name": "grafana", "image": "grafana/grafana:13"},
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "mon"},
        "spec": {"template": {"metadata": {}, "spec": {"containers": containers}}},
    }


@dataclass(frozen=True)
class Asked(Listed):
    """An API server that notes for which Secrets it was asked; it may refuse them, in some namespaces or in all."""

    refused: Sequence[str | None] = ()
    secrets: list[tuple[str | None, str | None]] = field(default_factory=list)
    """Namespace and label of each question for Secrets with their content."""

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
    ) -> list[Object]:
        """Answer, or refuse."""
        if kind == "Secret" and namespace in self.refused:
            raise Forbidden(f"cannot list Secret: may not list secrets in {namespace or 'any namespace'}", status=403)
        if kind == "Secret" and not metadata_only:
            self.secrets.append((namespace, labels))
        return super().list(kind, namespace=namespace, labels=labels, metadata_only=metadata_only)


def asked(*objects: Object, refused: Sequence[str | None] = ()) -> Asked:
    """Return an API server with these objects."""
    return Asked(objects, frozenset({*BUILT_IN, *map(kind_of, objects)}), refused=refused)


def boards_on(*objects: Object, own: bool = False) -> list[LoadedBoard]:
    """Return what verify looks at on a cluster of these objects."""
    cluster = asked(*objects)
    return boards_of_cluster(cluster, look(cluster, Settings()), own=own)


def causes(boards: Sequence[LoadedBoard]) -> dict[str, list[str]]:
    """Return what is said against each board."""
    return {each.source: [finding.cause for finding in each.findings] for each in boards}


@pytest.mark.parametrize(
    ("sidecars", "questions"),
    [
        ((grafana(),), [(None, "grafana_dashboard=1")]),
        ((grafana(RESOURCE="secret"),), [(None, "grafana_dashboard=1")]),
        ((grafana(RESOURCE="configmap"),), []),
        ((grafana(RESOURCE=""),), []),
        ((grafana(LABEL_VALUE=""),), [(None, "grafana_dashboard")]),
        ((grafana(NAMESPACE=""),), [("mon", "grafana_dashboard=1")]),
        ((grafana(NAMESPACE="ml, mon"),), [("ml", "grafana_dashboard=1"), ("mon", "grafana_dashboard=1")]),
        ((grafana(NAMESPACE="ml"), grafana("other")), [(None, "grafana_dashboard=1")]),
        (
            (grafana(), grafana("other", LABEL="boards", LABEL_VALUE="")),
            [(None, "grafana_dashboard=1"), (None, "boards")],
        ),
        ((grafana(), grafana("twin")), [(None, "grafana_dashboard=1")]),
    ],
    ids=[
        *("both", "secrets only", "config maps only", "by default", "any value", "its own namespace", "two namespaces"),
        *("one within the other", "two labels", "twice the same"),
    ],
)
def test_which_secrets_are_asked_for(
    sidecars: tuple[Object, ...], questions: list[tuple[str | None, str | None]]
) -> None:
    """The API server is asked for what a sidecar reads, by its label and in its namespaces, once, and for no more."""
    cluster = asked(*sidecars, secret("a", {"a.json": dashboard("a")}))

    boards_of_cluster(cluster, look(cluster, Settings()))

    assert cluster.secrets == questions


def test_what_stands_in_secrets() -> None:
    """Each `.json` of a Secret that a sidecar sees is a dashboard, named by its Secret; another Secret's is none."""
    found = boards_on(
        grafana(NAMESPACE="mon"),
        secret("a", {"a.json": dashboard("a"), "password": PLANTED, "b.json": '{"title": "B",}'}),
        secret("unlabelled-dashboard", {"c.json": dashboard("c")}, labels={}),
        secret("elsewhere", {"d.json": dashboard("d")}, namespace="ml"),
    )

    assert causes(found) == {"Secret mon/a[a.json]": [], "Secret mon/a[b.json]": ["KVO-101"]}
    assert found[0].document == dashboard("a")


def test_its_folder() -> None:
    """The folder's annotation counts as on a ConfigMap: two of one title in two folders do not meet."""
    same, annotation = "T", {"annotations": {"folder": "gpus"}}
    with_folders = grafana(FOLDER_ANNOTATION="folder")
    boards = (
        secret("a", {"a.json": dashboard("a", same)}, **annotation),
        config_map("b", {"b.json": dashboard("b", same)}),
    )

    assert {each.source: each.folder for each in boards_on(with_folders, *boards)} == {
        "Secret mon/a[a.json]": "gpus",
        "mon/b[b.json]": "",
    }
    assert causes(boards_on(with_folders, *boards)) == {"Secret mon/a[a.json]": [], "mon/b[b.json]": []}
    assert causes(boards_on(grafana(), *boards)) == {"Secret mon/a[a.json]": ["KVO-105"], "mon/b[b.json]": ["KVO-105"]}


@pytest.mark.parametrize(
    ("in_secret", "in_config_map", "subject"),
    [
        ({"a.json": dashboard("u", "A")}, {"b.json": dashboard("u", "B")}, "uid u"),
        ({"a.json": dashboard("a", "T")}, {"b.json": dashboard("b", "t")}, "title t"),
        ({"same.json": dashboard("a")}, {"same.json": dashboard("b")}, "file same.json"),
    ],
)
def test_what_meets_over_both_kinds(in_secret: dict[str, Any], in_config_map: dict[str, Any], subject: str) -> None:
    """A dashboard of a Secret and one of a ConfigMap of the same name meet as two ConfigMaps do."""
    found = boards_on(grafana(), secret("same", in_secret), config_map("same", in_config_map))

    assert [[finding.subject for finding in each.findings] for each in found] == [[subject], [subject]]
    (finding,) = found[0].findings
    assert finding.said.startswith(
        f"mon/same[{next(iter(in_config_map))}] and Secret mon/same[{next(iter(in_secret))}] "
    )


def test_two_sidecars_for_two_kinds() -> None:
    """A ConfigMap has the folder that the sidecar for ConfigMaps gives it, a Secret that of the one for Secrets."""
    annotations = {"annotations": {"of-maps": "maps", "of-secrets": "secrets"}}
    found = boards_on(
        grafana("one", RESOURCE="secret", FOLDER_ANNOTATION="of-secrets"),
        grafana("two", RESOURCE="configmap", FOLDER_ANNOTATION="of-maps"),
        config_map("a", {"a.json": dashboard("a")}, **annotations),
        secret("b", {"b.json": dashboard("b")}, **annotations),
    )

    assert {each.source: each.folder for each in found} == {"mon/a[a.json]": "maps", "Secret mon/b[b.json]": "secrets"}


def test_none_of_them_is_ours() -> None:
    """What kvobs brings stands in ConfigMaps: a Secret's dashboard is none of kvobs' own, though it may meet one."""
    record = parent("kvobs", "mon", refs=(), record=Record())
    labels = {**SEEN, PART_OF_LABEL: record["metadata"]["labels"][ID_LABEL]}
    mine = config_map("mine", {"m.json": dashboard("m")}, labels=labels)
    twin = secret("twin", {"t.json": dashboard("m")}, labels=labels)

    assert causes(boards_on(grafana(), record, mine, twin, own=True)) == {"mon/mine[m.json]": ["KVO-105"]}


def test_how_it_is_mended() -> None:
    """What mends a dashboard in a Secret is two commands: one takes the file out, one puts it back."""
    (board,) = boards_on(grafana(), secret("boards", {"gpu.v2.json": "{"}))

    (finding,) = board.findings
    out, back = steps(finding.fix)
    assert (out.command, out.remark) == (True, "then mend gpu.v2.json")
    assert out.text.startswith(r"kubectl -n mon get secret boards -o jsonpath='{.data.gpu\.v2\.json}' | base64 -d")
    assert back.command
    assert "kubectl -n mon patch secret boards" in back.text


def test_its_content_is_in_no_repr() -> None:
    """Neither a board nor what is said of it quotes what else stands in the Secret, or in a document that is none."""
    boards = boards_on(
        grafana(),
        secret("a", {"a.json": dashboard("a", password=PLANTED), "token": PLANTED}),
        secret("b", {"b.json": {"password": PLANTED}, "c.json": f'{{"password": "{PLANTED}",}}', "d.json": [PLANTED]}),
    )

    assert [len(each.findings) for each in boards] == [0, 1, 1, 1]
    assert PLANTED not in repr(boards)


# --- without the right ---


def notes_on(cluster: Listed) -> list[str]:
    """Return what verify says that it could not read."""
    told = Verification(reach=Reach(url="http://127.0.0.1:9"))
    with ExitStack() as opened:
        scene = look_at_scene(
            Settings(),
            told,
            environ={},
            opened=opened,
            progress=Silent(),
            cluster=cast(Cluster, cluster),
            seen=OneLook(cluster),
        )
    assert [each.source for each in scene.boards] == ["mon/a[a.json]"]
    return [note.text for note in scene.notes if note.id == "not-asked"]


NOT_LOOKED_AT = "dashboards in Secrets, if there are any, were not looked at"


@pytest.mark.parametrize(
    ("sidecar", "refused", "told"),
    [
        ({}, [None], [f"Secret could not be read: {{any}}; {NOT_LOOKED_AT}"]),
        ({"RESOURCE": "configmap"}, [None], ["Secret could not be read: {any}"]),
        ({"NAMESPACE": "mon"}, [None], ["Secret could not be read: {any}"]),
        (
            {"NAMESPACE": "ml,mon"},
            ["ml"],
            [
                "Secret in namespace ml could not be read: cannot list Secret: may not list secrets in ml;"
                f" {NOT_LOOKED_AT}"
            ],
        ),
        ({}, [], []),
    ],
    ids=["none", "none is needed", "those of its namespace", "all but one namespace", "all"],
)
def test_without_the_right_to_list_secrets(sidecar: dict[str, str], refused: list[str | None], told: list[str]) -> None:
    """ConfigMaps are looked at as ever; that Secrets are not is one note, with why, and only where it matters."""
    anywhere = "cannot list Secret: may not list secrets in any namespace"
    there = (grafana(**sidecar), config_map("a", {"a.json": dashboard("a")}))

    assert notes_on(asked(*there, refused=refused)) == [each.format(any=anywhere) for each in told]


def test_a_server_that_fails_over_secrets() -> None:
    """Any other refusal is told as a missing right is, and ends nothing."""

    class Failing(Asked):
        def list(
            self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
        ) -> list[Object]:
            if kind == "Secret" and labels == "grafana_dashboard=1":
                raise ApiError("cannot list Secret: etcd is away", status=500)
            return super().list(kind, namespace=namespace, labels=labels, metadata_only=metadata_only)

    there = (grafana(), config_map("a", {"a.json": dashboard("a")}))
    cluster = Failing(there, frozenset({*BUILT_IN, *map(kind_of, there)}))

    assert notes_on(cluster) == [f"Secret could not be read: cannot list Secret: etcd is away; {NOT_LOOKED_AT}"]


def test_who_does_not_verify_reads_none() -> None:
    """A look, with which every command begins, asks for no Secret with a dashboard."""
    cluster = asked(grafana(), secret("a", {"a.json": dashboard("a")}))

    assert look(cluster, Settings()).dashboards == ()
    assert cluster.secrets == []
