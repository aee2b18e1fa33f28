"""The drift guard: which panels of some dashboards go dark on a version of vLLM, and its new names put in on request.

Nothing is asked of any server; what a version has is told from its history.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..adapters.sources import STDIN, inside, write_atomic
from ..dashboard.boards import board_of
from ..dashboard.jsontext import JsonText, read_json, write_json
from ..dashboard.origins import Local, Remote
from ..dashboard.rename import Renamed, Renaming, rename_metrics
from ..errors import ActionError, DocumentError, DownloadError, KvobsError, UsageError
from ..health.causes import found
from ..health.renaming import new_names
from ..health.static import static_verdict
from ..health.verdict import BoardVerdict, Severity
from ..health.versions import Version, read_version, version
from ..health.vllm_history import NEWEST
from ..stack.notes import Note
from .expectations import accepted, load_expectations
from .named import named_dashboards
from .progress import Progress, Silent
from .verify_report import VerifyReport


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticSettings:
    """What the drift guard is told."""

    sources: tuple[str, ...]
    """Files, folders, `-`, addresses, or names of the catalogue."""
    vllm_version: str
    rewrite: bool = False
    """Put new names for old ones where they are exactly the same."""
    directory: str | None = None
    """Where rewritten dashboards go; None: into the files that they came from."""
    offline: bool = False
    ca_file: str | None = None
    expect: str | None = None
    """Path of a file that accepts named dark panels, each with its reason."""
    min_severity: Severity = "expected"
    fail_on: Severity = "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """What a rewrite made of one dashboard."""

    source: str
    written: str | None
    """Where it went; None where nothing had to change, and for an error."""
    renamed: tuple[Renaming, ...] = ()
    left: tuple[Renaming, ...] = ()
    """Names that stay, each with the reason."""
    error: str | None = None
    """Why it could not be written."""
    hint: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticReport:
    """What the drift guard says, of the dashboards as they are after a rewrite."""

    vllm_version: str
    verdicts: VerifyReport
    rewritten: tuple[Rewritten, ...] = ()

    @property
    def exit_code(self) -> int:
        """As of a run of verify; 3 where a rewritten dashboard could not be written."""
        failed = any(each.error is not None for each in self.rewritten)
        return ActionError.exit_code if failed else self.verdicts.exit_code


@dataclass(frozen=True, slots=True)
class _Read:
    """One dashboard's text, and whether it is a file here."""

    source: str
    text: JsonText
    local: bool


def static(settings: StaticSettings, *, progress: Progress | None = None) -> StaticReport:
    """Judge every dashboard that is named; one that cannot be read, or written, stops no other.

    Raise UsageError for a version or a source that makes no sense, ActionError for a name that no file can have.
    """
    running = read_version(settings.vllm_version)
    if running is None:
        raise UsageError(
            f"--vllm-version {settings.vllm_version!r} names no version", hint=f"for example --vllm-version {NEWEST}"
        )
    if not settings.sources:
        raise UsageError("no dashboard was named", hint="kvobs verify --static FILE --vllm-version VERSION")
    expected = load_expectations(settings.expect) if settings.expect is not None else ()
    boards: list[BoardVerdict] = []
    rewrites: list[tuple[_Read, Renamed]] = []
    for source, read in _documents(settings, progress or Silent()):
        try:
            if isinstance(read, KvobsError):
                raise read
            document = read.text.document
            if settings.rewrite:
                rewrites.append((read, renamed := rename_metrics(document, new_names(running))))
                document = renamed.document
            boards.append(static_verdict(board_of(document), running, source=source))
        except DocumentError as error:
            boards.append(_unread(source, error))
    judged, unmet = accepted(boards, expected)
    verdicts = VerifyReport(
        prometheus=f"nothing: told from the history of vLLM {running}",
        boards=judged,
        notes=_notes(running),
        min_severity=settings.min_severity,
        fail_on=settings.fail_on,
        unmet=unmet,
    )
    return StaticReport(
        vllm_version=str(running), verdicts=verdicts, rewritten=tuple(_written(rewrites, settings.directory))
    )


def _documents(settings: StaticSettings, progress: Progress) -> Iterator[tuple[str, _Read | KvobsError]]:
    for named in named_dashboards(
        settings.sources,
        offline=settings.offline,
        ca_file=settings.ca_file,
        progress=progress,
        must_exist=True,
    ):
        try:
            if isinstance(named.content, KvobsError):
                raise named.content
            text = read_json(named.content)
        except KvobsError as error:
            yield named.place, error
        else:
            source = named.origin.file_name if isinstance(named.origin, Remote) else named.place
            local = isinstance(named.origin, Local) and named.place != STDIN
            yield named.place, _Read(source, text, local=local)


def _written(rewrites: list[tuple[_Read, Renamed]], directory: str | None) -> list[Rewritten]:
    """Write what was renamed to its place; raise UsageError, before anything is written, where a place makes no sense.

    A dashboard in which nothing was renamed keeps its bytes.
    """
    places: dict[str, str] = {}
    for read, renamed in rewrites:
        if renamed.renamed:
            place = _place(read, directory)
            other = places.setdefault(os.path.realpath(place), read.source)
            if other != read.source:
                raise UsageError(f"{other} and {read.source} would both go to {place}", hint="rename one of them")
    results: list[Rewritten] = []
    for read, renamed in rewrites:
        result = Rewritten(source=read.source, written=None, renamed=renamed.renamed, left=renamed.left)
        if renamed.renamed:
            place = _place(read, directory)
            try:
                write_atomic(place, write_json(renamed.document, read.text.layout).encode())
                result = replace(result, written=place)
            except ActionError as error:
                result = replace(result, error=str(error), hint=error.hint)
        results.append(result)
    return results


def _place(read: _Read, directory: str | None) -> str:
    if directory is not None:
        return inside(directory, "stdin.json" if read.source == STDIN else os.path.basename(read.source))
    if not read.local:
        raise UsageError(
            f"{read.source} is no file that could be rewritten", hint="name a folder for the results: --dir DIR"
        )
    return read.source


def _unread(source: str, error: DocumentError) -> BoardVerdict:
    cause = "KVO-901" if isinstance(error, DownloadError) else "KVO-101"
    finding = found(cause, source, str(error), fix=error.hint or f"mend {source}, or leave it out")
    return BoardVerdict(uid=None, title="", source=source, findings=(finding,))


def _notes(running: Version) -> tuple[Note, ...]:
    if running.release <= version(NEWEST).release:
        return ()
    return (
        Note(
            "vllm-newer",
            f"vLLM {running} is newer than {NEWEST}, the newest whose metrics this kvobs knows; it is judged as if it"
            " were that one. A newer kvobs may know it: pip install --upgrade kvobs",
        ),
    )
