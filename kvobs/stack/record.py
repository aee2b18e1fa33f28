"""What uninstall and a later run must know and cannot see on the cluster, and the text that it is kept as.

It stands in the ApplySet's parent: the Helm release that kvobs made, every field of somebody else's object that kvobs
set, with the value it had before, and what the user chose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from ..errors import ActionError
from .facts import Object, Ref
from .objects import ref

RECORD_KEY = "record.json"
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


def record_text(record: Record) -> str:
    """Return a record as `read_record` reads it."""
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
