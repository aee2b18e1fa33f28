"""A lean install on an empty cluster: what is compared when a run is interrupted, or is not alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cluster.api import eventually
from tests.cluster.bed import Bed
from tests.cluster.commands import kvobs, stack_arguments
from tests.cluster.snapshots import Key, Snapshot, settled

RELEASE = "kube-prometheus-stack"
HOOK = "*-admission-create-*"
"""The pod of the chart's first hook Job: while it is held, Helm waits and the release is pending."""
PASSING = frozenset(
    {
        "ControllerRevision.apps",
        "EndpointSlice.discovery.k8s.io",
        "IPAddress.networking.k8s.io",
        "Job.batch",
        "Pod",
        "ReplicaSet.apps",
    }
)
"""Kinds whose objects are named by chance, or go by themselves."""


LEAN = [f"{part}.enabled=false" for part in ("alertmanager", "kubeStateMetrics", "nodeExporter", "kubelet")]
INSTALL = ("install", *stack_arguments(), *(word for value in LEAN for word in ("--set", value)))
"""The smallest stack that still has a hook Job, a Prometheus object and a Grafana: it is made many times here."""


@contextmanager
def empty_cluster() -> Iterator[Bed]:
    """Start a cluster with nothing on it but CRDs, which take longest to come and to go."""
    with Bed(gpu=False) as empty:
        empty.apply_crds("prometheus-operator")
        yield empty


def whole_install(bed: Bed) -> tuple[dict[Key, Any], Snapshot]:
    """Return what one whole install makes on an empty cluster, and what was there; it is empty again afterwards."""
    before = lasting(settled(bed.api))
    kvobs(*INSTALL, env=bed.environment())
    whole = made(settled(bed.api), before)
    remove(bed)
    assert made(settled(bed.api), before) == {}
    return whole, before


def remove(bed: Bed) -> None:
    """Uninstall everything, and wait until its namespace is gone."""
    kvobs("uninstall", "--yes", "--delete-namespace", env=bed.environment())
    eventually(lambda: bed.api.find("v1", "Namespace", "monitoring") is None)


def lasting(objects: Snapshot) -> Snapshot:
    """Return the objects that count: those which stay, Helm's own records aside."""
    return {
        key: each
        for key, each in objects.items()
        if key[0] not in PASSING and not key[2].startswith("sh.helm.release.v1.")
    }


def made(objects: Snapshot, before: Snapshot) -> dict[Key, Any]:
    """Return what is there beyond *before*: of kvobs' own objects all that they say, of others that they are there."""
    told: dict[Key, Any] = {}
    for key, each in lasting(objects).items():
        if key in before:
            continue
        labels = each["metadata"].get("labels", {})
        ours = labels.get("app.kubernetes.io/managed-by") == "kvobs" and key[0] != "Secret"
        annotations = each["metadata"].get("annotations") if ours else None
        told[key] = (labels, annotations, each.get("data"), each.get("spec")) if ours else sorted(each.get("data", {}))
    return told


def releases(bed: Bed) -> list[tuple[str, str]]:
    """Return (revision, status) of every revision that Helm knows of our release, oldest first."""
    secrets = bed.api.list("v1", "Secret", "monitoring", labels=f"owner=helm,name={RELEASE}")
    labels = [each["metadata"]["labels"] for each in secrets]
    return sorted((each["version"], each["status"]) for each in labels)


def pending(bed: Bed, status: str) -> bool:
    """Return whether the newest revision of our release has that status."""
    return releases(bed)[-1:] != [] and releases(bed)[-1][1] == status
