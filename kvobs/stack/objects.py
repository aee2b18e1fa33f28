"""Kubernetes objects as plain dicts: what they are, in which order they go, who owns them.

Nothing here changes its input; what did not change is shared with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from typing import Any

from .facts import Object, Ref

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
COMPONENT = "app.kubernetes.io/component"
PART_OF_LABEL = "applyset.kubernetes.io/part-of"
"""The label of KEP-3659 that makes an object a member of an ApplySet."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

OURS = "kvobs"
"""The value of `MANAGED_BY` on everything that kvobs makes, and its field manager."""

HIDDEN = "<hidden>"
"""Stands where a secret value stood; no base64, so that an API server refuses a Secret that holds it."""

APPLY_ORDER = (
    "Namespace",
    "CustomResourceDefinition.apiextensions.k8s.io",
    "PriorityClass.scheduling.k8s.io",
    "StorageClass.storage.k8s.io",
    "ServiceAccount",
    "ClusterRole.rbac.authorization.k8s.io",
    "ClusterRoleBinding.rbac.authorization.k8s.io",
    "Role.rbac.authorization.k8s.io",
    "RoleBinding.rbac.authorization.k8s.io",
    "ConfigMap",
    "Secret",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "Pod",
    "DaemonSet.apps",
    "StatefulSet.apps",
    "Deployment.apps",
    "Job.batch",
    "CronJob.batch",
    "Ingress.networking.k8s.io",
)
"""What others need goes first; kinds that are not named here, custom resources at the end, go last."""

_RANK = {kind: rank for rank, kind in enumerate(APPLY_ORDER)}


def kind_of(obj: Object) -> str:
    """The kind with its group.

    >>> kind_of({"apiVersion": "apps/v1", "kind": "Deployment"})
    'Deployment.apps'
    >>> kind_of({"apiVersion": "v1", "kind": "Secret"})
    'Secret'
    """
    group, slash, _ = str(obj["apiVersion"]).partition("/")
    return f"{obj['kind']}.{group}" if slash else str(obj["kind"])


def ref(obj: Object) -> Ref:
    """Which object this is; the namespace is "" where the object names none."""
    metadata = obj["metadata"]
    return Ref(kind_of(obj), metadata.get("namespace") or "", metadata["name"])


def apply_order(objects: Iterable[Object]) -> list[Object]:
    """Objects in the order in which to apply them: what others need first, then by their names."""
    return sorted(objects, key=lambda each: (_rank((at := ref(each)).kind), at.kind, at.namespace, at.name))


def delete_order(refs: Iterable[Ref]) -> list[Ref]:
    """References in the order in which to delete what they name: dependents first, then by their names."""
    return sorted(refs, key=lambda one: (-_rank(one.kind), one.kind, one.namespace, one.name))


def _rank(kind: str) -> int:
    known = _RANK.get(kind)
    if known is not None:
        return known
    # An unknown built-in goes between the known ones and the custom resources.
    return len(APPLY_ORDER) + (0 if is_built_in(kind) else 1)


def is_built_in(kind: str) -> bool:
    """Whether Kubernetes itself serves the kind; its groups are bare words or end in .k8s.io."""
    group = kind.partition(".")[2]
    return "." not in group or group.endswith(".k8s.io")


def owned(obj: Object, *, applyset_id: str, part: str | None = None) -> dict[str, Any]:
    """The object with the labels that say kvobs made it and that it belongs to the ApplySet.

    `part` says what it is for (`dashboard`, `vllm`), as `app.kubernetes.io/component`. An object that is
    already a member of another set is a ValueError: it must not be taken over silently (KEP-3659).
    """
    metadata = obj["metadata"]
    labels = dict(metadata.get("labels") or {})
    if labels.get(PART_OF_LABEL, applyset_id) != applyset_id:
        raise ValueError(f"{ref(obj)} already belongs to the ApplySet {labels[PART_OF_LABEL]}")
    # Some Prometheuses select monitors by part-of (vLLM's production stack does): a value that is set stays.
    labels = {PART_OF: OURS, **labels, MANAGED_BY: OURS, PART_OF_LABEL: applyset_id}
    if part is not None:
        labels[COMPONENT] = part
    return {**obj, "metadata": {**metadata, "labels": labels}}


def is_ours(obj: Object, sets: Collection[str]) -> bool:
    """Whether the object is a member of one of the ApplySets with these IDs.

    `MANAGED_BY` does not decide it: objects of `kvobs render` that others apply, or of another install, are theirs.
    """
    return ((obj.get("metadata") or {}).get("labels") or {}).get(PART_OF_LABEL) in sets


def hidden(obj: Object) -> Object:
    """The object as it may be shown: a Secret keeps its keys and loses its values."""
    if kind_of(obj) != "Secret":
        return obj
    shown = {key: value for key, value in obj.items() if key != "stringData"}
    keys = [*(obj.get("data") or {}), *(obj.get("stringData") or {})]
    if keys:
        shown["data"] = dict.fromkeys(keys, HIDDEN)
    metadata = obj["metadata"]
    if LAST_APPLIED in (metadata.get("annotations") or {}):
        shown["metadata"] = {**metadata, "annotations": {**metadata["annotations"], LAST_APPLIED: HIDDEN}}
    return shown


def dns_name(text: str, *, limit: int = 63) -> str:
    """A name that Kubernetes takes (RFC 1123 label), made from any text.

    Different texts give different names: where a text is no such name by itself, a short hash of it is added.

    >>> dns_name("vllm"), dns_name("vLLM (main)")
    ('vllm', 'vllm-main-fe4e6641')
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if name == text and 0 < len(name) <= limit:
        return name
    suffix = "-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return (name[: limit - len(suffix)].rstrip("-") or "unnamed") + suffix
