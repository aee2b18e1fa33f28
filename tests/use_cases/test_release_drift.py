"""What of a release is missing or changed is found with one list a kind, and only what is nobody else's is mended."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from kvobs.adapters.discovery import Discovery, Resource
from kvobs.adapters.helm_release import HelmRelease
from kvobs.errors import ApiError, Forbidden
from kvobs.stack.objects import kind_of, ref
from kvobs.use_cases.one_look import OneLook
from kvobs.use_cases.release_drift import mend, release_drift

KINDS = {
    "Service": ("services", True),
    "Secret": ("secrets", True),
    "ClusterRole.rbac.authorization.k8s.io": ("clusterroles", False),
    "Job.batch": ("jobs", True),
    "ServiceMonitor.monitoring.coreos.com": ("servicemonitors", True),
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {"a": "1"}}, "spec": {"port": 80}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k"}, "stringData": {"x": "correct-horse"}}
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": []}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}}
MONITOR = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "ServiceMonitor",
    "metadata": {"name": "n", "namespace": "elsewhere"},
    "spec": {"endpoints": [{"port": "http"}]},
}
MANIFEST = (SERVICE, SECRET, ROLE, JOB, MONITOR)


def made(obj: dict[str, Any], **managers: dict[str, Any]) -> dict[str, Any]:
    """Return *obj* as Helm has made it in its place; *managers*: what others say is theirs."""
    live = copy.deepcopy(obj)
    live.pop("stringData", None)
    metadata = live["metadata"]
    if KINDS[kind_of(obj)][1]:
        metadata.setdefault("namespace", "m")
    metadata.setdefault("labels", {})["app.kubernetes.io/managed-by"] = "Helm"
    metadata["annotations"] = {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "m"}
    helm = {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}}
    metadata["managedFields"] = [
        {"manager": manager, "operation": "Update", "fieldsV1": fields}
        for manager, fields in {"helm": helm, **managers}.items()
    ]
    return live


@dataclass
class Server:
    """A cluster with these objects."""

    objects: list[dict[str, Any]]
    forbidden: str = ""
    adds: dict[str, Any] = field(default_factory=dict)
    """What the server itself makes of a spec that is applied."""
    refuses: bool = False
    listed: list[tuple[str, str | None]] = field(default_factory=list)
    applied: list[tuple[str, str, bool, bool]] = field(default_factory=list)

    def discover(self) -> Discovery:
        """Say which kinds are served."""
        return Discovery(
            {
                kind: Resource(kind=kind, version="v1", plural=plural, namespaced=namespaced, verbs=frozenset())
                for kind, (plural, namespaced) in KINDS.items()
            }
        )

    def list(self, kind: str, *, namespace: str | None = None, labels: str | None = None, **more: Any) -> list[Any]:
        """Give those of the kind, in the namespace."""
        self.listed.append((kind, namespace))
        if kind == self.forbidden:
            raise Forbidden("no", status=403)
        assert kind != "Secret" or more["metadata_only"]
        return [each for each in self.objects if kind_of(each) == kind and ref(each).namespace == (namespace or "")]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Any:
        """Fail: no object is read by itself."""
        raise AssertionError(kind)

    def apply(
        self, obj: Any, *, dry_run: bool = False, force: bool = False, field_manager: str = "", **how: Any
    ) -> Any:
        """Say what would be, or make it so."""
        assert how == {"strict": False}
        self.applied.append((str(ref(obj)), field_manager, force, dry_run))
        if self.refuses:
            raise ApiError("no", status=422, reason="Invalid")
        live = next(each for each in self.objects if ref(each) == ref(obj)) if dry_run else made(obj)
        spec = {**live.get("spec", {}), **obj.get("spec", {}), **self.adds}
        metadata = {**live["metadata"], "labels": {**live["metadata"]["labels"], **obj["metadata"]["labels"]}}
        return {**live, "metadata": metadata, "spec": spec}


def release() -> HelmRelease:
    """Return the release."""
    return HelmRelease(
        name="r",
        namespace="m",
        revision=1,
        status="deployed",
        chart_version="1",
        values={},
        manifest_text=yaml.safe_dump_all(MANIFEST),
    )


STANDING = [made(each) for each in MANIFEST]


def test_as_helm_left_it() -> None:
    """Nothing differs, nothing is tried, and each kind is listed once in each of its namespaces; Jobs may be gone."""
    server = Server([each for each in STANDING if each["kind"] != "Job"])

    drift = release_drift(server, OneLook(server), release())  # type: ignore[arg-type]

    assert (drift.missing, drift.changed, drift.theirs, drift.mending, drift.notes) == ((), (), (), (), ())
    assert server.applied == []
    assert sorted(server.listed, key=str) == [
        ("ClusterRole.rbac.authorization.k8s.io", None),
        ("Secret", "m"),
        ("Service", "m"),
        ("ServiceMonitor.monitoring.coreos.com", "elsewhere"),
    ]


def test_missing() -> None:
    """What is missing is applied as Helm applies it, in its place and with Helm's own marks."""
    server = Server([])

    drift = release_drift(server, OneLook(server), release())  # type: ignore[arg-type]
    mend(server, drift)  # type: ignore[arg-type]

    assert [str(each) for each in drift.missing] == [
        "Service m/s",
        "Secret m/k",
        "ClusterRole r",
        "ServiceMonitor elsewhere/n",
    ]
    assert drift.mended == "4 missing objects"
    assert server.applied == [(str(each), "helm", True, False) for each in drift.missing]
    metadata = drift.mending[0].wanted["metadata"]
    assert metadata == {
        "name": "s",
        "namespace": "m",
        "labels": {"a": "1", "app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "m"},
    }


def with_label(value: str | None, **managers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects with another label on the Service, or none."""
    service = made(SERVICE, **managers)
    if value is None:
        del service["metadata"]["labels"]["a"]
    else:
        service["metadata"]["labels"]["a"] = value
    return [service, *(each for each in STANDING if each["kind"] != "Service")]


def test_changed() -> None:
    """A field that nobody has is put back, under the name that Helm goes by, once the server says that it differs."""
    server = Server(with_label(None))

    drift = release_drift(server, OneLook(server), release())  # type: ignore[arg-type]

    assert [str(each.ref) for each in drift.changed] == ["Service m/s"]
    assert drift.mended == "1 changed object"
    assert server.applied == [("Service m/s", "helm", True, True)]


def test_theirs() -> None:
    """A field that somebody has set is left to them, and named with who they are."""
    server = Server(with_label("2", kubectl={"f:metadata": {"f:labels": {"f:a": {}}}}))

    drift = release_drift(server, OneLook(server), release())  # type: ignore[arg-type]

    assert (drift.mending, drift.changed, server.applied) == ((), (), [])
    (note,) = drift.notes
    assert "Service m/s metadata.labels.a (kubectl)" in note.text


def test_the_server_makes_no_difference_of_it() -> None:
    """What the server defaults or converts to what is there is no change."""
    objects = copy.deepcopy(STANDING)
    objects[0]["spec"]["port"] = 8080
    server = Server(objects, adds={"port": 8080})

    drift = release_drift(server, OneLook(server), release())  # type: ignore[arg-type]

    assert (drift.changed, drift.mending) == ((), ())
    assert len(server.applied) == 1


def test_the_server_does_not_say() -> None:
    """What it refuses to be asked about is a change, as it is for a status, and mending it ends in that refusal."""
    server = Server(with_label(None), refuses=True)

    drift = release_drift(server, OneLook(server), release())  # type: ignore[arg-type]

    assert [str(each.ref) for each in drift.changed] == ["Service m/s"]
    with pytest.raises(ApiError):
        mend(server, drift)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["Service", "Secret"])
def test_what_may_not_be_read(kind: str) -> None:
    """Objects that may not be read are taken to be there."""
    server = Server([each for each in STANDING if kind_of(each) != kind], forbidden=kind)

    assert release_drift(server, OneLook(server), release()).missing == ()  # type: ignore[arg-type]


def test_a_manifest_that_cannot_be_read() -> None:
    """A record that is none is said, and stops nothing; it is not quoted."""
    broken = HelmRelease(
        name="r",
        namespace="m",
        revision=1,
        status="deployed",
        chart_version="1",
        values={},
        manifest_text="password: correct-horse: {",
    )
    server = Server([])

    (note,) = release_drift(server, OneLook(server), broken).notes  # type: ignore[arg-type]

    assert "its manifest cannot be read" in note.text
    assert "correct-horse" not in note.text
