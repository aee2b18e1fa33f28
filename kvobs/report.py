"""Results as text, JSON and YAML; nobody else formats.

Text is for people and may change. The document is for programs: it carries `kind` and `version`, and only grows
within one version. A `None` is a fact that is not there, an empty list one that was looked for and is empty.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import singledispatch
from typing import Any

from .errors import KvobsError
from .stack.facts import Ref
from .stack.manifests import to_yaml as objects_to_yaml
from .stack.notes import Note
from .stack.objects import hidden
from .use_cases.access import Access
from .use_cases.install import InstallReport
from .use_cases.patch import PatchReport
from .use_cases.render import Rendered
from .use_cases.status import StatusReport
from .use_cases.uninstall import UninstallReport

VERSION = 1


def to_document(report: Any) -> dict[str, Any]:
    """Return *report* as plain values, with its kind, the version of the form, and its exit code."""
    if isinstance(report, Rendered) and not report.files:
        return {"apiVersion": "v1", "kind": "List", "items": [dict(hidden(each)) for each in report.objects]}
    body = _plain(report)
    return {"kind": type(report).__name__, "version": VERSION, "exit_code": report.exit_code, **body}


def error_document(error: KvobsError) -> dict[str, Any]:
    """Return *error* as plain values, in the same form as a report."""
    return {
        "kind": "Error",
        "version": VERSION,
        "exit_code": error.exit_code,
        "error": type(error).__name__,
        "message": str(error),
        "hint": error.hint,
    }


def to_json(document: Mapping[str, Any]) -> str:
    """Return *document* as JSON, indented by two."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def to_yaml(document: Mapping[str, Any]) -> str:
    """Return *document* as YAML; a list of objects as a stream of them, as kubectl takes it."""
    if document.get("kind") == "List":
        return objects_to_yaml(document["items"])
    import yaml

    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Ref):
        return {"kind": value.kind, "namespace": value.namespace, "name": value.name}
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    return value


@singledispatch
def to_text(report: Any, *, verbose: bool = False) -> str:
    """Return *report* as lines for a person; *verbose* adds what stayed as it was."""
    raise TypeError(f"no text for {type(report).__name__}")


@to_text.register
def _(report: InstallReport, *, verbose: bool = False) -> str:
    lines = [
        f"kvobs on Kubernetes {report.server_version}, namespace {report.namespace}",
        *_table(
            [
                ("stack", report.stack),
                ("Prometheus", report.prometheus),
                ("Grafana", report.grafana or "none"),
                ("datasource", report.datasource or "none"),
            ]
        ),
        "",
        "Steps" if report.changed else "Steps (nothing to change)",
        *_table([(step.outcome, step.title, step.detail) for step in report.steps]),
    ]
    if report.dashboards:
        lines += ["", "Dashboards"]
        lines += _table(
            [(each.uid, each.title, each.config_map, f"{each.references} references") for each in report.dashboards]
        )
        if verbose:
            lines += [f"    {each.uid} {change}" for each in report.dashboards for change in each.changes]
        told = [(each.title, why) for each in report.dashboards for why in (*each.unresolved, *each.warnings)]
        lines += [f"  ! {title}: {why}" for title, why in told]
    lines += [f"  ! {source}: {why}" for source, why in report.refused]
    ready = {True: "Everything is ready; data not yet proved.", None: "Not waited for; data not yet proved."}
    return _joined(lines, _notes(report.notes), _access(report.access), [ready.get(report.ready, "Not ready.")])


@to_text.register
def _(report: StatusReport, *, verbose: bool = False) -> str:
    if not report.installed:
        what = f"kvobs is not installed {_here(report.elsewhere)} (Kubernetes {report.server_version})"
        return what if report.elsewhere else f"{what}; to install: kvobs install"
    lines = [
        f"kvobs on Kubernetes {report.server_version}, namespace {report.namespace}",
        *_table(
            [
                ("stack", report.stack or ""),
                *([("release", report.release)] if report.release else []),
                ("Prometheus", report.prometheus or ""),
                ("Grafana", report.grafana or "none"),
                ("datasource", report.datasource or "none"),
                ("ready", "no" if report.unready else "not known" if report.unread else "yes"),
            ]
        ),
        *(f"  ! {each}" for each in report.unready),
        *(f"  ! could not be read: {each}" for each in report.unread),
        "",
        "Objects of kvobs",
        *(f"  {each}" for each in report.members),
    ]
    return _joined(lines, _notes(report.notes), _access(report.access))


@to_text.register
def _(report: UninstallReport, *, verbose: bool = False) -> str:
    if report.namespace is None:
        return f"kvobs is not installed {_here(report.elsewhere)}; nothing to do"
    lines = [f"Removed from namespace {report.namespace}", *(f"  {each}" for each in report.removed)]
    given_back = ["Fields of other objects", *(f"  {each}" for each in report.restored)] if report.restored else []
    left = ["Left"] if report.left else []
    left += _table(
        [(each.what, each.why + (f" (to remove it too: {each.how})" if each.how else "")) for each in report.left]
    )
    return _joined(lines, given_back, left)


@to_text.register
def _(report: PatchReport, *, verbose: bool = False) -> str:
    lines: list[str] = []
    for each in report.files:
        if each.error is not None:
            lines.append(f"! {each.source}: {each.error}" + (f" ({each.hint})" if each.hint else ""))
            continue
        place = f" -> {each.written}" if each.written and each.written != each.source else ""
        counts = Counter(row.outcome for row in each.references)
        told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())) or "no references"
        done = "references" if report.listing else "patched" if each.changed else "nothing to change"
        lines.append(f"{each.source}: {done}: {told}{place}")
        for row in each.references:
            if not (verbose or report.listing or row.outcome == "unresolved"):
                continue
            change = json.dumps(row.was, ensure_ascii=False)
            if row.now != row.was:
                change += f" -> {json.dumps(row.now, ensure_ascii=False)}"
            mark = "!" if row.outcome == "unresolved" else " "
            lines += [f"  {mark} {row.path}  {change}", f"      {row.reference_class}, {row.outcome}: {row.why}"]
        lines += [f"  ! {warning}" for warning in each.warnings]
        if not each.loadable:
            lines.append(f"  ! no sidecar loads it: {each.not_loadable_because}")
    return "\n".join([*lines, *(f"! {warning}" for warning in report.warnings)])


@to_text.register
def _(report: Rendered, *, verbose: bool = False) -> str:
    return "\n".join(report.files) if report.files else objects_to_yaml(report.objects)


def _here(elsewhere: Sequence[str]) -> str:
    return f"there, but in namespace {' and '.join(elsewhere)}" if elsewhere else "on this cluster"


def _access(access: Access | None) -> list[str]:
    if access is None:
        return []
    lines = ["To open Grafana", f"  {access.port_forward}"]
    if access.password:
        lines += [f"  # user by: {access.user_command}"] if access.user_command else []
        lines.append(f"  # {f'user {access.user}, ' if access.user else ''}password by: {access.password}")
    return [
        *lines,
        *(f"  {line}" for line in _table([(url, title) for title, url in access.links], indent=0)),
    ]


def _notes(notes: Sequence[Note]) -> list[str]:
    return ["Notes", *(f"  - {note.text}" for note in notes)] if notes else []


def _table(rows: Sequence[Sequence[str]], *, indent: int = 2) -> list[str]:
    """Align columns; the last one is as wide as it is."""
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = [max((len(row[i]) for row in rows if len(row) > i + 1), default=0) for i in range(columns)]
    return [(" " * indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row))).rstrip() for row in rows]


def _joined(*blocks: Iterable[str]) -> str:
    """Blocks of lines with an empty line between those that hold any."""
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block)
