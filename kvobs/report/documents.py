"""Reports as documents for programs: they carry `kind` and `version`, and only grow within one version.

A `None` is a fact that is not there, an empty list one that was looked for and is empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ..errors import KvobsError
from ..health.verdict import Finding
from ..stack.facts import Ref
from ..stack.manifests import as_they_are, shown
from ..use_cases.render import Rendered
from ..use_cases.verify_report import VerifyReport

VERSION = 1

TOLD: Mapping[type, tuple[str, ...]] = {VerifyReport: ("counts", "causes"), Finding: ("commands",)}
"""What a report works out of its fields, and a program need not work out again."""


def to_document(report: Any, *, failed: KvobsError | None = None) -> dict[str, Any]:
    """Return *report* as plain values, with its kind, the version of the form, and its exit code.

    Where something *failed* after it was made, the exit code is that of the failure, which is told beside it.
    """
    if isinstance(report, Rendered) and not report.files:
        items = shown(report.objects, public=report.public)
        return {"apiVersion": "v1", "kind": "List", "items": [dict(each) for each in items]}
    body = _plain(report)
    document = {"kind": type(report).__name__, "version": VERSION, "exit_code": report.exit_code, **body}
    return document if failed is None else {**document, "exit_code": failed.exit_code, "failed": _told(failed)}


def error_document(error: KvobsError) -> dict[str, Any]:
    """Return *error* as plain values, in the same form as a report."""
    return {"kind": "Error", "version": VERSION, "exit_code": error.exit_code, **_told(error)}


def _told(error: KvobsError) -> dict[str, Any]:
    return {"error": type(error).__name__, "message": str(error), "hint": error.hint}


def to_json(document: Mapping[str, Any]) -> str:
    """Return *document* as JSON, indented by two."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def to_yaml(document: Mapping[str, Any]) -> str:
    """Return *document* as YAML; a list of objects as a stream of them, as kubectl takes it."""
    if document.get("kind") == "List":
        return as_they_are(document["items"])
    import yaml

    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Ref):
        return {"kind": value.kind, "namespace": value.namespace, "name": value.name}
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        names = (*(each.name for each in fields(value) if each.repr), *TOLD.get(type(value), ()))
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    return value
