"""Status says what is recorded and what is live, whatever an install would decide now."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.adapters.discovery import Discovery, Resource
from kvobs.errors import Forbidden, Unanswered
from kvobs.settings import Settings
from kvobs.stack.applyset import PARENT_NAME, PART_OF_LABEL, applyset_id, parent
from kvobs.stack.facts import Object, Ref
from kvobs.stack.objects import kind_of
from kvobs.stack.record import Record, ReleaseRecord
from kvobs.stack.selectors import matches, parse_selector
from kvobs.use_cases.status import StatusReport, status

MONITORS = "monitoring.coreos.com/v1"
PROMETHEUS = "Prometheus.monitoring.coreos.com"
KINDS = (
    "Namespace", "Node", "Service", "Pod", "Secret", "ConfigMap", "Deployment.apps", "StatefulSet.apps",
    "DaemonSet.apps", PROMETHEUS, "Alertmanager.monitoring.coreos.com", "ServiceMonitor.monitoring.coreos.com",
)  # fmt: skip
RELEASE = ReleaseRecord(namespace="mon", name="kps", chart="c", chart_version="1")
TOLD = {"prometheus": "mon/k8s", "grafana": "mon/grafana", "uids": {"prometheus": "uid"}}
REUSED = Record(settings=TOLD)
OURS = Record(release=RELEASE, settings=TOLD)


class Cluster:
    """Answers what a status asks; has nothing by which anything could be changed."""

    server = "https://cluster"

    def __init__(self, *objects: Object, denied: tuple[str, ...] = ()) -> None:
        self.objects = objects
        self.denied = denied

    def server_version(self) -> str:
        """Say which."""
        return "v1.36.3"

    def discover(self) -> Discovery:
        """Say what is served."""
        return Discovery(
            {k: Resource(kind=k, version="v1", plural=k, namespaced=True, verbs=frozenset({"list"})) for k in KINDS}
        )

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
    ) -> list[Object]:
        """List by kind, namespace and labels; refuse what is denied."""
        if kind in self.denied:
            raise Forbidden(f"cannot list {kind}", status=403)
        return [
            each
            for each in self.objects
            if kind_of(each) == kind
            and namespace in (None, each["metadata"].get("namespace"))
            and (labels is None or matches(parse_selector(labels), each["metadata"].get("labels") or {}))
        ]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Find one."""
        return next((each for each in self.list(kind, namespace=namespace) if each["metadata"]["name"] == name), None)

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """Grafana wants a login."""
        return 401, b""


def thing(version: str, kind: str, name: str, namespace: str = "mon", *, release: bool = False, **more: Any) -> Object:
    """Return an object; *release*: one that our release made."""
    made = {"meta.helm.sh/release-namespace": "mon", "meta.helm.sh/release-name": "kps"}
    managed = {"app.kubernetes.io/managed-by": "Helm"}
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": managed if release else {},
        "annotations": made if release else {},
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def prometheus(*, available: bool = True, release: bool = False, **annotations: str) -> Object:
    """Return a Prometheus object."""
    condition = {"type": "Available", "status": str(available), "message": "0 of 1"}
    made = thing(MONITORS, "Prometheus", "k8s", release=release, spec={}, status={"conditions": [condition]})
    made["metadata"]["annotations"].update(annotations)
    return made


def workload(name: str, image: str, *, ready: int = 1, release: bool = False) -> Object:
    """Return a Deployment of one pod."""
    containers = [
        {"name": "main", "image": image, "ports": [{"name": "web", "containerPort": 3000}]},
        {"name": "boards", "image": "quay.io/kiwigrid/k8s-sidecar:2", "env": [{"name": "LABEL", "value": "boards"}]},
    ]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    state = {"readyReplicas": ready, "updatedReplicas": 1}
    return thing("apps/v1", "Deployment", name, release=release, spec=spec, status=state)


def grafana(*, ready: int = 1, release: bool = False) -> tuple[Object, Object]:
    """Return a Grafana with its Service."""
    port = {"port": 80, "targetPort": 3000}
    front = thing("v1", "Service", "grafana", spec={"selector": {"app": "grafana"}, "ports": [port]})
    return workload("grafana", "grafana/grafana:13.2.0", ready=ready, release=release), front


def installed(record: Record, namespace: str = "mon") -> tuple[Object, ...]:
    """Return the parent of an install and its members."""
    labels = {PART_OF_LABEL: applyset_id(PARENT_NAME, namespace), "boards": ""}
    member = {**thing("v1", "ConfigMap", "board", namespace), "data": {"b.json": '{"uid": "b", "title": "B"}'}}
    member["metadata"]["labels"].update(labels)
    secret = thing("v1", "Secret", "s", namespace)
    secret["metadata"]["labels"].update(labels)
    refs = [Ref("ConfigMap", namespace, "board"), Ref("Secret", namespace, "s")]
    return parent(PARENT_NAME, namespace, refs=refs, record=record), member, secret


OPERATOR = workload("operator", "quay.io/prometheus-operator/prometheus-operator:v0.93.1")
HELM_SECRET = thing("v1", "Secret", "sh.helm.release.v1.kps.v2")
HELM_SECRET["metadata"]["labels"].update({"owner": "helm", "name": "kps", "status": "deployed", "version": "2"})
REUSED_STACK = (*installed(REUSED), OPERATOR, prometheus(), *grafana())
OUR_STACK = (*installed(OURS), HELM_SECRET, prometheus(release=True), *grafana(release=True))


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is there, and what is said of it."""

    says: str
    objects: tuple[Object, ...]
    denied: tuple[str, ...] = ()
    code: int = 0
    report: Mapping[str, Any] = field(default_factory=dict)
    unready: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Texts that stand in notes."""
    reached: bool = True
    """Whether it says how to open Grafana."""


CASES = [
    Case(says="a reused stack that is ready", objects=REUSED_STACK, report={"stack": "reused", "release": None}),
    Case(
        says="our own release, beside somebody's operator",
        objects=(*OUR_STACK, OPERATOR),
        report={"stack": "installed by kvobs", "release": "mon/kps, deployed, revision 2"},
    ),
    Case(
        says="a reused stack that Argo CD tracks since",
        objects=(*installed(REUSED), prometheus(**{"argocd.argoproj.io/tracking-id": "a:b/C:d/e"}), *grafana()),
    ),
    Case(
        says="another Prometheus and another Grafana came since",
        objects=(*REUSED_STACK, thing(MONITORS, "Prometheus", "other"), workload("second", "grafana/grafana:13.2.0")),
    ),
    Case(
        says="the reused Prometheus was deleted since",
        objects=(*installed(REUSED), OPERATOR, *grafana()),
        code=1,
        unready=("Prometheus mon/k8s is not there",),
    ),
    Case(
        says="the reused Grafana was deleted since",
        objects=(*installed(REUSED), OPERATOR, prometheus()),
        code=1,
        unready=("Grafana mon/grafana is not there",),
        reached=False,
    ),
    Case(
        says="the CRDs were deleted since, and all else",
        objects=installed(OURS),
        code=1,
        report={"release": "mon/kps, not there"},
        unready=("Prometheus mon/k8s is not there", "Grafana mon/grafana is not there"),
        reached=False,
    ),
    Case(
        says="Grafana switched off by the values: none is shown, and no way to it",
        objects=(*installed(Record(release=RELEASE, settings=TOLD | {"grafana": "none"})), HELM_SECRET,
                 prometheus(release=True)),
        report={"grafana": None},
        reached=False,
    ),
    Case(
        says="our own Prometheus and Grafana, not ready",
        objects=(*installed(OURS), HELM_SECRET, prometheus(available=False, release=True),
                 *grafana(ready=0, release=True)),
        code=1,
        unready=("Deployment grafana: 0 of 1 pods are ready", "Prometheus k8s: Available is False: 0 of 1"),
    ),
    Case(
        says="Secrets may not be listed: said, and all else is told",
        objects=OUR_STACK,
        denied=("Secret",),
        report={"release": "mon/kps, could not be read", "members": ("ConfigMap mon/board",)},
        notes=("Secret could not be read: cannot list Secret",),
    ),
    Case(
        says="a kind of workload may not be listed: whether all is ready is not known",
        objects=OUR_STACK,
        denied=("DaemonSet.apps",),
        code=4,
        unread=("DaemonSet.apps: cannot list DaemonSet.apps",),
    ),
    Case(
        says="Prometheus objects may not be listed: not known is not gone",
        objects=REUSED_STACK,
        denied=(PROMETHEUS,),
        code=4,
        unread=(f"Prometheus mon/k8s: cannot list {PROMETHEUS}",),
        notes=(f"{PROMETHEUS} could not be read",),
    ),
    Case(
        says="an older record, that names nothing",
        objects=(*installed(Record(release=RELEASE)), HELM_SECRET, prometheus(release=True), *grafana(release=True)),
        report={"grafana": None, "datasource": None},
        reached=False,
    ),
]  # fmt: skip


def asked(*objects: Object, denied: tuple[str, ...] = (), **settings: Any) -> StatusReport:
    """Return the status of a cluster."""
    return status(Settings(**settings), cluster=Cluster(*objects, denied=denied))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_status(case: Case) -> None:
    """What is recorded and gone is not there, what may not be read is said, and nothing is decided or foretold."""
    report = asked(*case.objects, denied=case.denied)
    usual = {"namespace": "mon", "prometheus": "mon/k8s", "grafana": "mon/grafana", "datasource": "uid"}

    assert {key: getattr(report, key) for key in usual | dict(case.report)} == usual | dict(case.report)
    assert (report.exit_code, sorted(report.unready), report.unread) == (case.code, sorted(case.unready), case.unread)
    assert "ConfigMap mon/board" in report.members
    texts = [note.text for note in report.notes]
    assert all(any(part in text for text in texts) for part in case.notes), texts
    assert sum("Secret could not be read" in text for text in texts) == ("Secret" in case.denied)
    assert (report.access is not None) is case.reached


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        ((*installed(OURS), *installed(OURS, "b")), "several namespaces: b, mon"),
        (({**installed(OURS)[0], "data": {"record.json": "{"}},), "is damaged"),
    ],
    ids=["two installs", "a damaged record"],
)
def test_no_answer(objects: tuple[Object, ...], says: str) -> None:
    """A question that has no answer ends with 4: a command that only reads neither failed nor was refused."""
    with pytest.raises(Unanswered, match=says) as unanswered:
        asked(*objects)

    assert unanswered.value.exit_code == 4
    assert unanswered.value.hint


def test_not_installed() -> None:
    """Nothing there, or elsewhere: 1, and where it is."""
    nothing, elsewhere = asked(), asked(*REUSED_STACK, namespace="other")

    assert (nothing.installed, nothing.exit_code, nothing.elsewhere) == (False, 1, ())
    assert (elsewhere.installed, elsewhere.exit_code, elsewhere.elsewhere) == (False, 1, ("mon",))


# --- what is missing, and what is not as it was made ---


def test_a_member_that_is_gone_is_missing() -> None:
    """The parent names it; that nobody may look for its kind is no reason to miss it."""
    without = [each for each in REUSED_STACK if each["metadata"]["name"] not in ("board", "s")]

    report = asked(*without)
    assert report.missing == (Ref("ConfigMap", "mon", "board"), Ref("Secret", "mon", "s"))
    assert report.exit_code == 1
    blind = asked(*without, denied=("Secret",))
    assert blind.missing == (Ref("ConfigMap", "mon", "board"),)


def test_a_member_that_somebody_edited_has_drifted() -> None:
    """By the field and who has it now, from the live object alone; what is no longer asked for need only be there."""
    record = Record(settings=TOLD | {"grafana": "none", "stack": "reuse"})
    name, member = "kvobs-vllm", {PART_OF_LABEL: applyset_id(PARENT_NAME, "mon")}
    owned = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:endpoints": {}}}}
    monitor = thing(MONITORS, "ServiceMonitor", name, spec={"endpoints": []})
    monitor["metadata"] |= {"labels": member, "managedFields": [owned]}
    older = thing("v1", "ConfigMap", "older")
    older["metadata"]["labels"] = member
    refs = [Ref(f"ServiceMonitor.{MONITORS.partition('/')[0]}", "mon", name), Ref("ConfigMap", "mon", "older")]
    reads_all = {**prometheus(), "spec": {"serviceMonitorSelector": {}, "podMonitorSelector": {}}}

    report = asked(parent(PARENT_NAME, "mon", refs=refs, record=record), monitor, older, OPERATOR, reads_all)

    (change,) = report.drifted
    assert (change.ref.name, change.verdict, report.exit_code) == (name, "refused", 1)
    assert [(each.path, each.managers) for each in change.theirs] == [("spec.endpoints", ("kubectl-edit",))]


def test_the_objects_of_our_release_are_compared_with_what_helm_keeps() -> None:
    """One that is gone is missing, one that changed has drifted; no secret of the values is shown."""
    manifest = """
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: changed}
data: {url: "http://me:Wren-that-nobody-may-see@host"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
"""
    release = {
        "name": "kps", "namespace": "mon", "version": 2, "info": {"status": "deployed"}, "manifest": manifest,
        "chart": {"metadata": {"version": "1"}}, "config": {"grafana": {"adminPassword": "Wren-that-nobody-may-see"}},
    }  # fmt: skip
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    changed = {**thing("v1", "ConfigMap", "changed", release=True), "data": {"url": "http://host"}}
    others = [each for each in OUR_STACK if each is not HELM_SECRET]

    report = asked(*others, {**HELM_SECRET, "data": {"release": packed}}, changed)

    assert report.missing == (Ref("ConfigMap", "mon", "gone"),)
    (change,) = report.drifted
    assert [(each.path, each.live, each.wanted) for each in change.fields] == [
        ("data.url", "http://host", "http://me:<hidden>@host")
    ]
    assert report.exit_code == 1


def test_what_cannot_be_compared_is_said() -> None:
    """A release whose record is no record of Helm's, an install that would not decide: notes, and no verdict."""
    notes = [note.text for note in asked(*OUR_STACK, OPERATOR).notes]
    assert any("objects of release mon/kps could not be compared" in text for text in notes)

    tracked = asked(*installed(REUSED), prometheus(**{"argocd.argoproj.io/tracking-id": "a:b/C:d/e"}), *grafana())
    assert any("objects of kvobs could not be compared" in note.text for note in tracked.notes)
    assert (tracked.drifted, tracked.missing) == ((), ())
