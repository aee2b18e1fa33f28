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
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from ..errors import ActionError
from .facts import Object, Ref
from .objects import MANAGED_BY, OURS, PART_OF, kind_of, ref
from .objects import PART_OF_LABEL as PART_OF_LABEL

ID_LABEL = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"

PARENT_NAME = "kvobs"
"""The name of the parent ConfigMap, in the namespace of the install."""

RECORD_KEY = "record.json"
MEMBERS_KEY = "members"
"""Each member in a line: `ServiceMonitor.monitoring.coreos.com monitoring/kvobs-vllm`."""
RECORD_FORMAT = 1
"""The shape of set and record; raised when an older kvobs would misread it.

It is the version in the tooling annotation too (as in `helm/v3`): a new kvobs alone changes no parent.
"""


class Absent(Enum):
    """The type of `ABSENT`: no JSON value can stand for a field that is not there."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseRecord:
    """The Helm release that kvobs made."""

    namespace: str
    name: str
    chart: str
    chart_version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignField:
    """A field of an object that is not ours, which kvobs set."""

    ref: Ref
    path: tuple[str, ...]
    """The keys from the top of the object to the field."""
    before: Any
    """Its JSON value before, or `ABSENT`."""
    after: Any
    """The JSON value that kvobs gave it, or `ABSENT`."""
    owner: str | None
    """The field manager that had it before, if any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What uninstall and a later run must know, and cannot see on the cluster."""

    release: ReleaseRecord | None = None
    foreign_fields: tuple[ForeignField, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that a later run takes over when it is told nothing else; JSON values."""


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
        "data": {MEMBERS_KEY: _member_lines(listed), RECORD_KEY: _record_text(record)},
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


# --- the record ---


def _record_text(record: Record) -> str:
    release = record.release
    document = {
        "format": RECORD_FORMAT,
        "release": release
        and {
            "namespace": release.namespace,
            "name": release.name,
            "chart": release.chart,
            "chart_version": release.chart_version,
        },
        "foreign_fields": [
            {
                "kind": one.ref.kind,
                "namespace": one.ref.namespace,
                "name": one.ref.name,
                "path": list(one.path),
                "before": _boxed(one.before),
                "after": _boxed(one.after),
                "owner": one.owner,
            }
            for one in record.foreign_fields
        ],
        "settings": dict(record.settings),
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _boxed(value: Any) -> dict[str, Any]:
    """A value in a box that can be empty, since every JSON value may be a field's value."""
    return {} if value is ABSENT else {"value": value}


def read_record(parent: Object) -> Record:
    """What the parent's record says; ActionError, with the place, where it cannot be understood."""
    reader = _Reader(f"{ref(parent)}, {RECORD_KEY}")
    text = (parent.get("data") or {}).get(RECORD_KEY)
    if text is None:
        raise reader.damaged("it is missing")
    try:
        document = json.loads(text)
    except ValueError as exc:
        raise reader.damaged(f"it is not JSON: {exc}") from exc
    written_as = reader.of_type(document, dict, "the record").get("format", RECORD_FORMAT)
    if written_as != RECORD_FORMAT:
        raise ActionError(
            f"{reader.where} has the format {written_as!r}; this kvobs reads {RECORD_FORMAT}",
            hint="use the kvobs that wrote it, or a newer one",
        )
    top = reader.table(document, "the record", {"format", "release", "foreign_fields", "settings"})
    fields = reader.of_type(top["foreign_fields"], list, "foreign_fields")
    return Record(
        release=None if top["release"] is None else reader.release(top["release"]),
        foreign_fields=tuple(reader.foreign_field(one, f"foreign_fields[{index}]") for index, one in enumerate(fields)),
        settings=reader.of_type(top["settings"], dict, "settings"),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a record strictly: what it does not expect is damage, for uninstall acts on what it reads."""

    where: str

    def damaged(self, what: str) -> ActionError:
        return ActionError(
            f"{self.where} is damaged: {what}",
            hint="restore it from a backup; or delete this ConfigMap: kvobs then forgets which Helm release"
            " it made and which foreign fields it set, and the next install writes a new record",
        )

    def of_type(self, value: Any, kind: type, place: str) -> Any:
        if type(value) is not kind:
            raise self.damaged(f"{place} is {type(value).__name__}, not {kind.__name__}")
        return value

    def table(self, value: Any, place: str, keys: set[str]) -> dict[str, Any]:
        table: dict[str, Any] = self.of_type(value, dict, place)
        if table.keys() != keys:
            odd = ", ".join(sorted(table.keys() ^ keys))
            raise self.damaged(f"{place} lacks or has too much: {odd}")
        return table

    def release(self, value: Any) -> ReleaseRecord:
        table = self.table(value, "release", {"namespace", "name", "chart", "chart_version"})
        return ReleaseRecord(**{key: self.of_type(table[key], str, f"release.{key}") for key in table})

    def foreign_field(self, value: Any, place: str) -> ForeignField:
        table = self.table(value, place, {"kind", "namespace", "name", "path", "before", "after", "owner"})
        path = self.of_type(table["path"], list, f"{place}.path")
        if not path:
            raise self.damaged(f"{place}.path is empty")
        owner = table["owner"]
        names = (self.of_type(table[key], str, f"{place}.{key}") for key in ("kind", "namespace", "name"))
        return ForeignField(
            ref=Ref(*names),
            path=tuple(self.of_type(key, str, f"{place}.path") for key in path),
            before=self.unboxed(table["before"], f"{place}.before"),
            after=self.unboxed(table["after"], f"{place}.after"),
            owner=owner if owner is None else self.of_type(owner, str, f"{place}.owner"),
        )

    def unboxed(self, value: Any, place: str) -> Any:
        box = self.of_type(value, dict, place)
        if not box.keys() <= {"value"}:
            raise self.damaged(f"{place} has too much: {', '.join(sorted(box.keys() - {'value'}))}")
        return box.get("value", ABSENT)
