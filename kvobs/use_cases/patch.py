"""Patch dashboards that are files: read each, patch it, write it where asked; one bad file stops no other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..adapters.sources import STDIN, found, read_bytes, write_atomic
from ..dashboard.datasources import Sources, read_datasource
from ..dashboard.jsontext import JsonText, read_json, write_json
from ..dashboard.patch import PatchedDashboard
from ..dashboard.patch import patch as patch_document
from ..dashboard.references import Reference
from ..dashboard.select import check_expression, selection
from ..errors import KvobsError, UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchSettings:
    """What `kvobs patch` is told."""

    sources: tuple[str, ...]
    """Files, folders (every `.json` below them), or `-` for standard input."""
    datasources: tuple[str, ...] = ()
    """TYPE=UID[:NAME] of the sources to use."""
    inputs: tuple[str, ...] = ()
    """NAME=VALUE of single inputs."""
    known: tuple[Mapping[str, Any], ...] | None = None
    """The data sources of the Grafana (`uid`, `name`, `type`, `default`), where they are known."""
    remap_foreign: bool = False
    only: str | None = None
    """A JSONPath: nothing but the references that it selects is touched."""
    list_only: str | None = None
    """A JSONPath: the references that it selects are reported, and nothing is written."""
    in_place: bool = False
    file: str | None = None
    """Where the one result goes."""
    directory: str | None = None
    """Where all results go, each under its path below the folder that it came from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceRow:
    """One reference, as a report shows it."""

    path: str
    reference_class: str
    outcome: str
    was: Any
    now: Any
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchedFile:
    """What became of one source."""

    source: str
    written: str | None = None
    """Where the result went; None for an error, for standard output, and where nothing had to change."""
    references: tuple[ReferenceRow, ...] = ()
    unresolved: int = 0
    changed: bool = False
    """Whether the document differs from what was read."""
    loadable: bool = True
    not_loadable_because: str = ""
    warnings: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None
    error_exit_code: int = field(default=0, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchReport:
    """What `kvobs patch` did."""

    files: tuple[PatchedFile, ...]
    listing: bool = False
    """Only a list of references was asked for."""
    stdout: str | None = field(default=None, repr=False)
    """The patched document, where no place for it was named."""
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0; 1 where a file was bad or a reference is unresolved; 3 where a result could not be written."""
        if any(each.error_exit_code == 3 for each in self.files):
            return 3
        return int(any(each.error is not None or (each.unresolved and not self.listing) for each in self.files))


def patch(settings: PatchSettings) -> PatchReport:
    """Patch every dashboard that the settings name; raise UsageError where they make no sense together."""
    places = _places(settings)
    sources = Sources(
        datasources=dict(map(read_datasource, settings.datasources)),
        inputs=dict(map(_input, settings.inputs)),
        known=settings.known,
        remap_foreign=settings.remap_foreign,
    )
    for expression in (settings.only, settings.list_only):
        if expression is not None:
            check_expression(expression)
    files: list[PatchedFile] = []
    texts: list[str] = []
    names: set[str] = set()
    for source, place in places:
        if isinstance(place, KvobsError):
            files.append(_failed(source, place))
            continue
        try:
            file, text, used = _patched(source, place, settings, sources)
        except KvobsError as error:
            files.append(_failed(source, error))
            continue
        files.append(file)
        texts.append(text)
        names |= used
    to_stdout = settings.list_only is None and not _writes(settings)
    unused = sorted(sources.given_names - names) if texts else []
    return PatchReport(
        files=tuple(files),
        listing=settings.list_only is not None,
        stdout="".join(texts) if to_stdout and texts else None,
        warnings=tuple(f"--input {name} was given, and no dashboard uses it" for name in unused),
    )


def _patched(
    source: str, place: str | None, settings: PatchSettings, sources: Sources
) -> tuple[PatchedFile, str, set[str]]:
    """Patch one source and write it to its place; return the row, the text, and the names that it used."""
    read = read_json(read_bytes(source))
    expression = settings.only if settings.list_only is None else settings.list_only
    only = None if expression is None else selection(expression, read.document)
    patched = patch_document(read.document, sources, only=only)
    changed = patched.document is not read.document
    text, written = "", None
    if settings.list_only is None:
        text = write_json(patched.document, read.layout)
        # A file that is right already keeps its bytes, whatever its layout.
        if place is not None and (changed or not settings.in_place):
            write_atomic(place, text.encode())
            written = place
    used = {reference.name for reference in patched.references if reference.name is not None}
    return _row(source, written, patched, read, changed), text, used


def _row(source: str, written: str | None, patched: PatchedDashboard, read: JsonText, changed: bool) -> PatchedFile:
    return PatchedFile(
        source=source,
        written=written,
        references=tuple(map(_reference_row, patched.references)),
        unresolved=len(patched.unresolved),
        changed=changed,
        loadable=patched.loadable,
        not_loadable_because=patched.not_loadable_because,
        warnings=(*read.warnings, *patched.warnings),
    )


def _reference_row(reference: Reference) -> ReferenceRow:
    return ReferenceRow(
        path=reference.path,
        reference_class=reference.kind.value,
        outcome=reference.outcome.value,
        was=reference.was,
        now=reference.now,
        why=reference.why,
    )


def _failed(source: str, error: KvobsError) -> PatchedFile:
    return PatchedFile(
        source=source, error=str(error), hint=error.hint, loadable=False, error_exit_code=error.exit_code
    )


def _writes(settings: PatchSettings) -> bool:
    return settings.in_place or settings.file is not None or settings.directory is not None


def _places(settings: PatchSettings) -> list[tuple[str, str | KvobsError | None]]:
    """Return each document and where its result goes (None: standard output), or why there is none."""
    if sum((settings.in_place, settings.file is not None, settings.directory is not None)) > 1:
        raise UsageError("--in-place, --file and --dir exclude each other", hint="name one place for the results")
    if settings.list_only is not None and _writes(settings):
        raise UsageError("--list writes nothing", hint="leave out --in-place, --file and --dir, or --list")
    if settings.list_only is not None and settings.only is not None:
        raise UsageError("--list and --only exclude each other", hint="--list JSONPATH lists what --only would touch")
    if settings.sources.count(STDIN) > 1:
        raise UsageError("- stands twice among the sources", hint="standard input can be read once")
    if settings.in_place and STDIN in settings.sources:
        raise UsageError("standard input cannot be patched in place", hint="--file FILE, or a redirection")
    places: list[tuple[str, str | KvobsError | None]] = []
    for source in settings.sources:
        try:
            documents = found(source)
        except KvobsError as error:
            places.append((source, error))
            continue
        places.extend((document, _place(document, source, settings)) for document in documents)
    if not places:
        raise UsageError("no dashboard was named", hint="kvobs patch FILE, a folder, or - for standard input")
    _check_places(places, settings)
    return places


def _place(document: str, source: str, settings: PatchSettings) -> str | None:
    if settings.in_place:
        return document
    if settings.directory is not None:
        if document == STDIN:
            return os.path.join(settings.directory, "stdin.json")
        name = os.path.basename(document) if document == source else os.path.relpath(document, source)
        return os.path.join(settings.directory, name)
    return settings.file


def _check_places(places: Sequence[tuple[str, str | KvobsError | None]], settings: PatchSettings) -> None:
    if len(places) > 1 and settings.list_only is None and not settings.in_place and settings.directory is None:
        raise UsageError(
            f"{len(places)} dashboards cannot go to one place",
            hint="--dir DIR, or --in-place to change the files",
        )
    claimed: dict[str, str] = {}
    for source, place in places:
        if not isinstance(place, str):
            continue
        real = os.path.realpath(place)
        if real in claimed and not (settings.in_place and os.path.realpath(source) == real):
            raise UsageError(
                f"{claimed[real]} and {source} would both be written to {place}", hint="rename one of them"
            )
        claimed[real] = source


def _input(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--input {text!r} is not NAME=VALUE", hint="for example DS_PROMETHEUS=prometheus")
    return name, value
