"""What is in a namespace that kvobs did not put there, and that would go with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .applyset import ID_LABEL
from .facts import Object
from .objects import PART_OF_LABEL, kind_of
from .record import ReleaseRecord
from .workloads import annotations_of, labels_of

PASSING = frozenset(
    {
        "Event",
        "Event.events.k8s.io",
        "Endpoints",
        "EndpointSlice.discovery.k8s.io",
        "Lease.coordination.k8s.io",
        "ControllerRevision.apps",
    }
)
"""Kinds that come and go by themselves with what they are about."""

_OWN_OF_KUBERNETES = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
"""What Kubernetes puts into every namespace."""


def occupants(objects: Iterable[Object], *, applyset: str, release: ReleaseRecord | None) -> list[Object]:
    """Return those of a namespace's *objects* that stay when kvobs and its *release* are gone.

    What has an owner among them is not named beside it. What is being deleted is as good as gone.
    """
    listed = list(objects)
    uids = {each["metadata"].get("uid") for each in listed}
    return [
        each
        for each in listed
        if not each["metadata"].get("deletionTimestamp")
        and not _is_of_kubernetes(each)
        and applyset not in (labels_of(each).get(PART_OF_LABEL), labels_of(each).get(ID_LABEL))
        and not _is_hook_of(each, release)
        and not any(owner["uid"] in uids for owner in each["metadata"].get("ownerReferences") or ())
    ]


def goes_by_itself(each: Object) -> bool:
    """Whether the garbage collector will come for an object whose owner is not in its namespace any more."""
    return bool(each["metadata"].get("ownerReferences"))


def _is_of_kubernetes(each: Object) -> bool:
    token = kind_of(each) == "Secret" and "kubernetes.io/service-account.name" in annotations_of(each)
    return token or (kind_of(each), each["metadata"]["name"]) in _OWN_OF_KUBERNETES


def _is_hook_of(each: Object, release: ReleaseRecord | None) -> bool:
    """Whether an interrupted run of Helm left it: a hook is no object of its release, and bears no annotation of it."""
    if release is None or "helm.sh/hook" not in annotations_of(each):
        return False
    return labels_of(each).get("app.kubernetes.io/instance") == release.name
