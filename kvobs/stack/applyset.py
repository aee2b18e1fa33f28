"""The ApplySet (KEP-3659): one ConfigMap that says which objects kvobs made, and what it must give back.

The parent ConfigMap carries the set's ID; every member carries it too, as `applyset.kubernetes.io/part-of`.
`kubectl get configmap -A -l applyset.kubernetes.io/id` finds the parents of every tool that keeps to the KEP.
Beside what the KEP asks for, the parent names each member, so that one that somebody deletes is missed, and holds a
record: the Helm release that kvobs made, and every field of somebody else's object that kvobs set, with the value it
had before.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from ..errors import ActionError
from .facts import Object, Ref
from .objects import MANAGED_BY, OURS, PART_OF, kind_of, ref
from .objects import PART_OF_LABEL as PART_OF_LABEL
from .record import RECORD_FORMAT, RECORD_KEY, Record, record_text

ID_LABEL = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"

PARENT_NAME = "kvobs"
"""The name of the parent ConfigMap, in the namespace of the install."""

MEMBERS_KEY = "members"
"""Each member in a line: `ServiceMonitor.monitoring.coreos.com monitoring/kvobs-vllm`."""


def applyset_id(name: str, namespace: str, kind: str = "ConfigMap", group: str = "") -> str:
    """The ID that belongs to a parent object, as KEP-3659 and kubectl make it; a valid label value.

    >>> applyset_id("my-set", "test", "Secret")  # the example of Kubernetes' own reference
    'applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1'
    """
    digest = hashlib.sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}-v1"


def member_selector(set_id: str) -> str:
    """The label selector that finds the members."""
    return f"{PART_OF_LABEL}={set_id}"


def parent(name: str, namespace: str, *, refs: Iterable[Ref], record: Record) -> dict[str, Any]:
    """The parent ConfigMap of a set with just these members; equal input, equal bytes.

    It is what to apply after the members, and after those that are gone were deleted; before that, `widened`.
    """
    listed = list(refs)
    annotations = {
        TOOLING: f"{OURS}/v{RECORD_FORMAT}",
        GROUP_KINDS: _joined(one.kind for one in listed),
    }
    # The KEP reserves the empty list of namespaces: without any, there is no annotation.
    if others := _joined({one.namespace for one in listed} - {namespace, ""}):
        annotations[NAMESPACES] = others
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {ID_LABEL: applyset_id(name, namespace), MANAGED_BY: OURS, PART_OF: OURS},
            "annotations": annotations,
        },
        "data": {MEMBERS_KEY: _member_lines(listed), RECORD_KEY: record_text(record)},
    }


def widened(new: Object, before: Object | None) -> dict[str, Any]:
    """The parent to apply before the members: it covers what `new` covers, and what the live `before` covers.

    Whatever happens in between, the set can then be listed whole (KEP-3659). `new` itself narrows it again.
    """
    if before is None:
        return dict(new)
    metadata = new["metadata"]
    annotations = dict(metadata["annotations"])
    for key in (GROUP_KINDS, NAMESPACES):
        if both := _joined({*_listed(new, key), *_listed(before, key)}):
            annotations[key] = both
    named = _member_lines([*named_members(new), *named_members(before)])
    return {**new, "metadata": {**metadata, "annotations": annotations}, "data": {**new["data"], MEMBERS_KEY: named}}


def members(parent: Object) -> tuple[str, ...]:
    """The kinds (with their group) of which a set has members, sorted; from its parent, which is checked."""
    check_parent(parent)
    return tuple(sorted(set(_listed(parent, GROUP_KINDS))))


def named_members(parent: Object) -> tuple[Ref, ...]:
    """Every member by its name, sorted; none where an older kvobs wrote the parent. What is no name is passed over."""
    lines = ((parent.get("data") or {}).get(MEMBERS_KEY) or "").splitlines()
    found = [(kind, place.rpartition("/")) for kind, _, place in (line.partition(" ") for line in lines)]
    return tuple(Ref(kind, namespace, name) for kind, (namespace, _, name) in found if kind and name)


def _member_lines(refs: Iterable[Ref]) -> str:
    named = sorted({f"{one.kind} {one.namespace + '/' if one.namespace else ''}{one.name}" for one in refs})
    return "".join(f"{line}\n" for line in named)


def member_namespaces(parent: Object) -> tuple[str, ...]:
    """The namespaces in which a set has members, sorted; the parent's own is always among them."""
    check_parent(parent)
    return tuple(sorted({parent["metadata"]["namespace"], *_listed(parent, NAMESPACES)}))


def is_parent(obj: Object) -> bool:
    """Whether kvobs made this object as the parent of a set."""
    metadata = obj.get("metadata") or {}
    tool = (metadata.get("annotations") or {}).get(TOOLING, "")
    return ID_LABEL in (metadata.get("labels") or {}) and tool.partition("/")[0] == OURS


def check_parent(parent: Object) -> str:
    """The ID of the set.

    ActionError where the parent belongs to another tool, or where its ID is not the one that its name gives:
    such a parent could claim the members of another set (KEP-3659 asks every tool to refuse it).
    """
    metadata = parent["metadata"]
    if not is_parent(parent):
        tool = (metadata.get("annotations") or {}).get(TOOLING)
        raise ActionError(
            f"{ref(parent)} is not an ApplySet of kvobs (annotation {TOOLING}: {tool!r})",
            hint="give kvobs another namespace, or remove that object if nothing needs it",
        )
    own_id = applyset_id(metadata["name"], metadata["namespace"], *_kind_and_group(parent))
    label = metadata["labels"][ID_LABEL]
    if label != own_id:
        raise ActionError(
            f"{ref(parent)} carries the ID of another ApplySet (label {ID_LABEL}: {label})",
            hint=f"it must be {own_id}: correct the label, or delete the copied ConfigMap",
        )
    return own_id


def _kind_and_group(obj: Object) -> tuple[str, str]:
    kind, _, group = kind_of(obj).partition(".")
    return kind, group


def _joined(names: Iterable[str]) -> str:
    return ",".join(sorted(set(names)))


def _listed(obj: Object, annotation: str) -> list[str]:
    text = (obj["metadata"].get("annotations") or {}).get(annotation) or ""
    return [name.strip() for name in text.split(",") if name.strip()]
