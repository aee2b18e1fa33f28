"""What a release leaves behind when Helm uninstalls it, under every name that it ever had."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.applyset import PARENT_NAME, parent
from kvobs.stack.chart import names_of
from kvobs.stack.facts import Object, Ref
from kvobs.stack.leftovers import (
    in_use,
    leftovers,
    names_left,
    operator_crds,
    operator_kinds,
    orphans,
    stack_namespaces,
    volume_namespaces,
    volumes,
)
from kvobs.stack.record import Record, ReleaseRecord, read_record

RELEASE = ReleaseRecord(namespace="monitoring", name="kps", chart="c", chart_version="1")


def installed(*values: dict[str, Any], release: str = "kps") -> Record:
    """Return the record, as it is read back, after installs with each of these *values* in turn."""
    record = Record(release=RELEASE)
    for each in values:
        settings = {**record.settings, **names_left(record, names_of(release, "monitoring", each))}
        record = Record(release=RELEASE, settings=settings)
        record = read_record(parent(PARENT_NAME, "monitoring", refs=(), record=record))
    return record


OTHER_NAMES = {
    "fullnameOverride": "f",
    "namespaceOverride": "n",
    "prometheusOperator": {"kubeletService": {"namespace": "k", "name": "s"}},
}
DEFAULTS = {
    ("Service", "kube-system", "kps-kube-prometheus-stack-kubelet"),
    ("Endpoints", "kube-system", "kps-kube-prometheus-stack-kubelet"),
    ("Secret", "monitoring", "kps-kube-prometheus-stack-admission"),
}
OTHERS = {("Service", "k", "s"), ("Endpoints", "k", "s"), ("Secret", "n", "f-admission")}
NEITHER = {"prometheusOperator": {"kubeletService": {"enabled": False}, "admissionWebhooks": {"enabled": False}}}


@pytest.mark.parametrize(
    ("values", "left"),
    [
        ([{}], DEFAULTS),
        ([OTHER_NAMES], OTHERS),
        ([NEITHER], set()),
        ([{"prometheusOperator": {"enabled": False}}], set()),
        ([{}, OTHER_NAMES], DEFAULTS | OTHERS),
        ([{}, NEITHER], DEFAULTS),
        ([], set()),
    ],
    ids=["defaults", "other names", "neither", "no operator", "names that were changed", "switched off since", "none"],
)
def test_leftovers(values: list[dict[str, Any]], left: set[tuple[str, str, str]]) -> None:
    """Exactly what the operator and the hooks of that release make, by each of the names its values ever gave."""
    found = leftovers(installed(*values))

    assert {(each.kind, each.namespace, each.name) for each in found} == left
    assert len(found) == len(left)


def test_names_are_recorded_once() -> None:
    """Another run with the same values writes the same record; the names in force stand last."""
    twice = installed({}, OTHER_NAMES, {}, {})

    assert [each["full_name"] for each in twice.settings["names"]] == ["f", "kps-kube-prometheus-stack"]
    assert installed({}, OTHER_NAMES, {}) == twice


def test_places() -> None:
    """The stack and Grafana are looked for wherever the values put them, now or earlier."""
    record = installed({"grafana": {"namespaceOverride": "g"}}, OTHER_NAMES, {"grafana": {"enabled": False}})

    assert stack_namespaces(record) == ("monitoring", "n")
    assert volume_namespaces(record) == ("g", "monitoring", "n")


def operator_deployment(
    *args: str, going: bool = False, mounts: str | None = None, namespace: str = "monitoring"
) -> Object:
    """Return an operator's Deployment with these arguments."""
    metadata: dict[str, Any] = {"name": "o", "namespace": namespace}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pod = {"containers": [{"args": list(args)}], "volumes": [{"emptyDir": {}}, {"secret": {"secretName": mounts}}]}
    return {"metadata": metadata, "spec": {"template": {"spec": pod}}}


SERVICE = Ref("Service", "kube-system", "full-kubelet")
SECRET = Ref("Secret", "monitoring", "full-admission")


@pytest.mark.parametrize(
    ("leftover", "deployment", "used"),
    [
        (SERVICE, operator_deployment("--kubelet-service=kube-system/full-kubelet"), True),
        (SERVICE, operator_deployment("--kubelet-service=kube-system/full-kubelet", going=True), False),
        (SERVICE, operator_deployment("--kubelet-service=kube-system/full-kubelet-2"), False),
        (SERVICE, operator_deployment(), False),
        (SECRET, operator_deployment(mounts="full-admission"), True),
        (SECRET, operator_deployment(mounts="full-admission", going=True), False),
        (SECRET, operator_deployment(mounts="full-admission", namespace="other"), False),
        (SECRET, operator_deployment("--kubelet-service=monitoring/full-admission"), False),
    ],
    ids=[
        "service used", "service used by one that goes", "another service", "no service",
        "secret mounted", "secret mounted by one that goes", "elsewhere", "secret not mounted",
    ],
)  # fmt: skip
def test_in_use(leftover: Ref, deployment: Object, used: bool) -> None:
    """What an operator that stays keeps or mounts is not left over."""
    assert in_use(leftover, [deployment]) is used


def owner(name: str, uid: str, group: str = "monitoring.coreos.com") -> Object:
    """Return an owner reference."""
    return {"apiVersion": f"{group}/v1", "kind": "Prometheus", "name": name, "uid": uid}


@pytest.mark.parametrize(
    ("owners", "orphaned"),
    [
        ([owner("full-prometheus", "gone")], True),
        ([owner("full", "gone")], True),
        ([owner("full-alertmanager", "gone")], True),
        ([owner("earlier-prometheus", "gone")], True),
        ([owner("full-prometheus", "live")], False),
        ([owner("full-prometheus", "gone"), owner("other", "live")], False),
        ([owner("full-prometheus", "gone"), owner("other", "gone")], True),
        ([owner("other", "gone")], False),
        ([owner("full-prometheus", "gone", group="example.com")], False),
        ([], False),
    ],
    ids=[
        "gone", "clean name", "alertmanager", "an earlier name", "still there", "shared with one that stays",
        "shared with one that went", "another release's", "another group", "nobody's",
    ],
)  # fmt: skip
def test_orphans(owners: list[Object], orphaned: bool) -> None:
    """An object is an orphan of the release when none of its owners is there any more, and one of them was ours."""
    record = installed({"fullnameOverride": "earlier"}, {"fullnameOverride": "full"})
    made = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x", "namespace": "monitoring", "ownerReferences": owners},
    }

    found = orphans(record, [made], [{"metadata": {"uid": "live"}}])

    assert [each.name for each in found] == (["x"] if orphaned else [])


def claim(
    name: str,
    *,
    by: str | None = None,
    instance: str | None = None,
    kind: str = "prometheus",
    release: str | None = None,
    namespace: str = "monitoring",
) -> Object:
    """Return a PersistentVolumeClaim with the operator's labels, or Helm's annotations."""
    labels = {
        "app.kubernetes.io/managed-by": by,
        "app.kubernetes.io/instance": instance,
        "app.kubernetes.io/name": kind,
    }
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "monitoring"}
    metadata = {"name": name, "namespace": namespace, "labels": {k: v for k, v in labels.items() if v}}
    if release:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}


OPERATOR = "prometheus-operator"
GRAFANA = "Grafana's database"
CLAIMS: list[tuple[str, Object, str | None]] = [
    ("Prometheus'", claim("p", by=OPERATOR, instance="full-prometheus"), "metrics"),
    ("Alertmanager's", claim("a", by=OPERATOR, instance="full-alertmanager", kind="alertmanager"), "silences"),
    ("of a clean name", claim("c", by=OPERATOR, instance="full"), "metrics"),
    ("of an earlier name", claim("e", by=OPERATOR, instance="kps-kube-prometheus-stack-prometheus"), "metrics"),
    ("another Prometheus'", claim("o", by=OPERATOR, instance="other-prometheus"), None),
    ("Grafana's", claim("kps-grafana", by="Helm", release="kps", instance="kps"), GRAFANA),
    ("Grafana's of an earlier name", claim("g", by="Helm", release="kps", namespace="faces"), GRAFANA),
    ("kept by the release", claim("extra", by="Helm", release="kps"), "what the release keeps"),
    ("another release's", claim("kps-grafana", by="Helm", release="other"), None),
    ("of Grafana's StatefulSet", claim("storage-kps-grafana-0", instance="kps", kind="grafana"), GRAFANA),
    ("of another StatefulSet", claim("storage-kps-grafana-0", instance="other", kind="grafana"), None),
    ("by its name alone", claim("storage-kps-grafana-0"), None),
    ("of one elsewhere", claim("storage-kps-grafana-0", instance="kps", namespace="other"), None),
    ("nobody's", {**claim("bare"), "metadata": {"name": "bare", "namespace": "monitoring"}}, None),
]


@pytest.mark.parametrize(("each", "holds"), [case[1:] for case in CLAIMS], ids=[case[0] for case in CLAIMS])
def test_volumes(each: Object, holds: str | None) -> None:
    """The volumes of our Prometheus, Alertmanager and Grafana, with what they hold; nobody else's."""
    earlier = {"grafana": {"fullnameOverride": "g", "namespaceOverride": "faces"}}
    record = installed(earlier, {"fullnameOverride": "full"})

    assert volumes(record, [each]) == ([(each, holds)] if holds else [])
    assert volumes(Record(), [each]) == []


def test_crds() -> None:
    """The operator's CRDs and kinds are those of its own group, and of none below it."""
    names = ("prometheuses.monitoring.coreos.com", "x.y.monitoring.coreos.com", "clusterpolicies.nvidia.com")
    definitions = [{"metadata": {"name": name}} for name in names]

    assert [each["metadata"]["name"] for each in operator_crds(definitions)] == [names[0]]
    served = ("Service", "Prometheus.monitoring.coreos.com", "X.y.monitoring.coreos.com", "Alertmanager.example.com")
    assert operator_kinds(served) == ["Prometheus.monitoring.coreos.com"]
