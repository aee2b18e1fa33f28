"""What in a namespace is somebody else's."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.applyset import applyset_id, parent
from kvobs.stack.facts import Object
from kvobs.stack.objects import owned
from kvobs.stack.occupants import goes_by_itself, occupants
from kvobs.stack.record import Record, ReleaseRecord

APPLYSET = applyset_id("kvobs", "monitoring")
RELEASE = ReleaseRecord(namespace="monitoring", name="kps", chart="c", chart_version="1")
HOOK = {"helm.sh/hook": "pre-install"}


def thing(kind: str, name: str = "x", api_version: str = "v1", **metadata: Any) -> Object:
    """Return an object's identity and metadata, as a list without content has it."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "monitoring", **metadata}}


def owner(uid: str) -> Object:
    """Return a reference to an owner."""
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": uid}


TOKEN = {"kubernetes.io/service-account.name": "default"}
GOING = "2026-01-01T00:00:00Z"
CASES: list[tuple[str, Object, bool]] = [
    ("a Secret", thing("Secret", "precious"), True),
    ("a Deployment", thing("Deployment", "theirs", "apps/v1"), True),
    (
        "a claim, whoever made it",
        thing("PersistentVolumeClaim", annotations={"meta.helm.sh/release-name": "kps"}),
        True,
    ),
    ("somebody's monitor", thing("ServiceMonitor", api_version="monitoring.coreos.com/v1"), True),
    ("another Helm release", thing("Secret", "sh.helm.release.v1.y.v1", labels={"owner": "helm"}), True),
    ("going", thing("Secret", deletionTimestamp=GOING), False),
    ("Kubernetes' certificate", thing("ConfigMap", "kube-root-ca.crt"), False),
    ("a Secret of that name", thing("Secret", "kube-root-ca.crt"), True),
    ("Kubernetes' account", thing("ServiceAccount", "default"), False),
    ("somebody's account", thing("ServiceAccount", "theirs"), True),
    ("an account's token", thing("Secret", annotations=TOKEN), False),
    ("a ConfigMap that says it is a token", thing("ConfigMap", annotations=TOKEN), True),
    ("our parent", parent("kvobs", "monitoring", refs=(), record=Record()), False),
    ("another install's parent", parent("kvobs", "other", refs=(), record=Record()), True),
    ("one of ours", owned(thing("Secret", "admin"), applyset_id=APPLYSET), False),
    ("our release's hook", thing("Job", annotations=HOOK, labels={"app.kubernetes.io/instance": "kps"}), False),
    ("another's hook", thing("Job", annotations=HOOK, labels={"app.kubernetes.io/instance": "other"}), True),
    ("no hook", thing("Job", labels={"app.kubernetes.io/instance": "kps"}), True),
    ("owned by what is here", thing("Pod", ownerReferences=[owner("here")]), False),
    ("owned by what is gone", thing("Pod", ownerReferences=[owner("gone")]), True),
]


@pytest.mark.parametrize(("each", "stays"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_occupants(each: Object, stays: bool) -> None:
    """Everything is somebody's, but what Kubernetes, kvobs or our release put there, and what has its owner there."""
    here = thing("ReplicaSet", api_version="apps/v1", uid="here")

    assert occupants([each, here], applyset=APPLYSET, release=RELEASE) == ([each, here] if stays else [here])


def test_without_a_release_no_hook_is_ours() -> None:
    """Where kvobs reuses a stack, its hooks are somebody else's."""
    hook = thing("Job", annotations=HOOK, labels={"app.kubernetes.io/instance": "kps"})

    assert occupants([hook], applyset=APPLYSET, release=None) == [hook]


def test_goes_by_itself() -> None:
    """The garbage collector comes for what had an owner; what never had one stays until somebody deletes it."""
    assert goes_by_itself(thing("Pod", ownerReferences=[owner("gone")]))
    assert not goes_by_itself(thing("Pod"))
