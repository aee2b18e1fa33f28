"""Whether Grafana loads a dashboard at all: its text, its size, who looks for it, what it clashes with. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..dashboard.configmap import MAX_BYTES
from ..dashboard.document import Shape, Unwrapped, title_of, unwrapped
from ..dashboard.jsontext import read_json, write_json
from ..errors import DocumentError
from ..stack.facts import Grafana, Object, Sidecar
from ..stack.grafana import reads
from ..stack.workloads import labels_of, name_of, namespace_of
from .causes import found
from .verdict import Finding

_MOST_LONGER = 12
"""Bytes that a character of a text becomes at most, when its document is written anew: two escapes of UTF-16."""
_NAMESPACES = "grafana.sidecar.dashboards.searchNamespace"


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedBoard:
    """One dashboard that is to be verified, as far as it could be read, and what keeps Grafana from loading it."""

    source: str
    """Where it was read from, for people: a file, an address, `namespace/configmap[key]`, `Secret namespace/name[key]`.
    """
    document: dict[str, Any] | None = field(repr=False)
    """As it was read, paper and all; None: it could not be read. May come out of a Secret, hence in no repr."""
    findings: tuple[Finding, ...] = ()
    folder: str | None = None
    """The folder of Grafana that it goes into; None: not known."""
    file_name: str | None = None
    """The file that a sidecar writes it to; None: it is not written by one."""
    ours: bool = False
    """Whether kvobs applied it."""

    @property
    def uid(self) -> str | None:
        """Its uid, where it says one."""
        uid = self._model.get("uid")
        return uid if isinstance(uid, str) and uid else None

    @property
    def title(self) -> str | None:
        """Its title, where it has one."""
        return title_of(self._model) or None

    @property
    def _model(self) -> Mapping[str, Any]:
        try:
            return unwrapped(self.document).dashboard
        except DocumentError:
            return {}


Way = Literal["provisioned", "file", "api"]
"""How a dashboard comes to Grafana: as it stands, by a sidecar or a mount; as a file that `kvobs install` could bring,
which takes off its paper; by Grafana's API, which takes every form."""


def read_board(text: str | bytes, *, source: str, edit: str, way: Way) -> LoadedBoard:
    """Read one dashboard's text; what Grafana would refuse of it becomes a finding. *edit* is what mends it."""
    try:
        document = read_json(text).document
    except DocumentError as error:
        said = f"{source} is not JSON that Grafana could load: {error}"
        return LoadedBoard(source=source, document=None, findings=(_finding("KVO-101", source, said, edit),))
    return checked(document, source=source, edit=edit, way=way, small=len(text) < MAX_BYTES // _MOST_LONGER)


def checked(document: Any, *, source: str, edit: str, way: Way, small: bool = False) -> LoadedBoard:
    """Return a document that was read, with what Grafana would refuse of it; *small*: it surely has room."""
    try:
        seen = unwrapped(document)
    except DocumentError as error:
        said = f"{source} is JSON, and Grafana loads no dashboard from it: {error}"
        return LoadedBoard(source=source, document=None, findings=(_finding("KVO-101", source, said, edit),))
    findings = () if way == "api" else tuple(_refusals(document, seen, source, edit, way, small))
    return LoadedBoard(source=source, document=document, findings=findings)


def _refusals(document: Any, seen: Unwrapped, source: str, edit: str, way: Way, small: bool) -> Iterator[Finding]:
    if seen.shape is Shape.V2:
        said = f"{source} is in Grafana's v2 form, which provisioning from files and ConfigMaps refuses"
        yield _finding("KVO-102", source, said, None)
        return
    if way == "provisioned" and seen.wrapping and not title_of(document):
        said = f"{source} is {' in '.join(seen.wrapping)}, which Grafana refuses: Dashboard title cannot be empty"
        yield _finding("KVO-101", source, said, f"load what stands inside it: kvobs patch FILE --in-place\n{edit}")
    elif not title_of(seen.dashboard):
        said = f"{source} has no title, and Grafana refuses it: Dashboard title cannot be empty"
        yield _finding("KVO-101", source, said, edit)
    size = 0 if small else _size(document)
    if size > MAX_BYTES:
        said = f"{source} has {size:,} bytes as compact JSON, and a ConfigMap holds {MAX_BYTES:,} at most"
        yield _finding("KVO-103", source, said, "split it into several, or load it through Grafana's API")


def _size(document: Any) -> int:
    try:
        return len(write_json(document).encode())
    except DocumentError:  # it was read, so that only its depth can keep it from being written
        return 0


def _finding(cause: str, subject: str, said: str, fix: str | None) -> Finding:
    return found(cause, subject=subject, said=said, fix=fix)


# --- who looks for it ---


def unseen(each: Object, grafanas: Sequence[Grafana]) -> Finding | None:
    """Return why no dashboard sidecar of *grafanas* reads a ConfigMap; None where one does, or none has a sidecar."""
    having = [(grafana, grafana.sidecar) for grafana in grafanas if grafana.sidecar is not None]
    if not having or any(sidecar.looks_into("ConfigMap") and reads(sidecar, each) for _, sidecar in having):
        return None
    grafana, sidecar = having[0]
    name = f"ConfigMap {namespace_of(each)}/{name_of(each)}"
    why, fix = _why_unseen(each, grafana, sidecar)
    return found(
        "KVO-104",
        subject=name,
        said=f"the dashboard sidecar of Grafana {grafana.namespace}/{grafana.name} does not see {name}: {why}",
        fix=fix,
        evidence=(
            f"the sidecar looks for {_wanted(sidecar)} in {_places(sidecar)}",
            f"labels of the ConfigMap: {', '.join(f'{k}={v}' for k, v in sorted(labels_of(each).items())) or 'none'}",
        ),
    )


def _why_unseen(each: Object, grafana: Grafana, sidecar: Sidecar) -> tuple[str, str]:
    labels, namespace, name = labels_of(each), namespace_of(each), name_of(each)
    if sidecar.resource == "secret":
        value = "grafana.sidecar.dashboards.resource=both"
        return "it reads Secrets only", _by_values(grafana, value)
    has = labels.get(sidecar.label)
    if has is None or (sidecar.label_value is not None and has != sidecar.label_value):
        pair = f"{sidecar.label}={sidecar.label_value or '1'}"
        why = f"it lacks the label {pair}" if has is None else f"its label is {sidecar.label}={has} and not {pair}"
        over = " --overwrite" if has is not None else ""
        fix = f"kubectl -n {namespace} label configmap {name} {pair}{over}"
        if sidecar.namespaces is not None and namespace not in sidecar.namespaces:
            why += f", and it is not in {_places(sidecar)}"
            fix += f"\n{_by_values(grafana, f'{_NAMESPACES}=ALL')}"
        return why, fix
    why = f"it is in namespace {namespace}, and the sidecar looks in {_places(sidecar)} only"
    return why, _by_values(grafana, f"{_NAMESPACES}=ALL")


def _by_values(grafana: Grafana, value: str) -> str:
    whose = f"release {'/'.join(grafana.release)}" if grafana.release else f"Grafana {grafana.namespace}/{grafana.name}"
    return f"--set {value} in the values of {whose}"


def _wanted(sidecar: Sidecar) -> str:
    return f"the label {sidecar.label}" + (f"={sidecar.label_value}" if sidecar.label_value is not None else "")


def _places(sidecar: Sidecar) -> str:
    if sidecar.namespaces is None:
        return "all namespaces"
    return f"namespace {' and '.join(sidecar.namespaces)}"


def may_hold_dashboards(each: Object, grafanas: Sequence[Grafana]) -> bool:
    """Whether a ConfigMap that no sidecar reads looks by its metadata as if somebody had meant one to."""
    keys = {"grafana_dashboard", *(grafana.sidecar.label for grafana in grafanas if grafana.sidecar)}
    noted = {*labels_of(each), *(each["metadata"].get("annotations") or {})}
    return bool(keys & noted) or "dashboard" in name_of(each).lower() or "grafana_folder" in noted


# --- what it clashes with ---


def with_clashes(boards: Sequence[LoadedBoard]) -> list[LoadedBoard]:
    """Return *boards*, all of one Grafana, with a finding on each that shares its uid, title or file with another.

    A uid is told apart by its letters' case, a title is not, as in Grafana. Folders that are not known may be one.
    """
    clashes: dict[int, list[Finding]] = defaultdict(list)
    told: set[frozenset[int]] = set()
    for what, groups in (("uid", _by_uid(boards)), ("file", _by_file(boards)), ("title", _by_title(boards))):
        for value, numbers in groups:
            those = [each for each in numbers if _meets_any(boards, each, numbers, what)]
            if len(those) < 2 or frozenset(those) in told:
                continue
            told.add(frozenset(those))
            finding = _clash(what, value, [boards[each].source for each in those])
            for each in those:
                clashes[each].append(finding)
    return [replace(each, findings=(*each.findings, *clashes[number])) for number, each in enumerate(boards)]


def _by_uid(boards: Sequence[LoadedBoard]) -> Iterable[tuple[str, list[int]]]:
    return _grouped(each.uid for each in boards)


def _by_file(boards: Sequence[LoadedBoard]) -> Iterable[tuple[str, list[int]]]:
    return _grouped(each.file_name for each in boards)


def _by_title(boards: Sequence[LoadedBoard]) -> Iterable[tuple[str, list[int]]]:
    return _grouped(each.title.strip().casefold() if each.title else None for each in boards)


def _grouped(keys: Iterable[str | None]) -> list[tuple[str, list[int]]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        if key:
            groups[key].append(number)
    return [(key, numbers) for key, numbers in groups.items() if len(numbers) > 1]


def _meets_any(boards: Sequence[LoadedBoard], number: int, numbers: Sequence[int], what: str) -> bool:
    return any(other != number and _meet(boards[number], boards[other], what) for other in numbers)


def _meet(one: LoadedBoard, other: LoadedBoard, what: str) -> bool:
    if what == "title":
        differ = one.uid is None or one.uid != other.uid  # else told already, by that
        return differ and (one.folder is None or other.folder is None or one.folder == other.folder)
    return what == "uid" or one.folder == other.folder


def _clash(what: str, value: str, sources: Sequence[str]) -> Finding:
    listed = ", ".join(sources[:-1]) + f" and {sources[-1]}"
    if what == "file":
        said = f"{listed} are written to one file, {value}, so that one takes the other's place"
        fix = "give one of the two keys another name, or set UNIQUE_FILENAMES of the sidecar to true"
    else:
        said = (
            f"{listed} have one {what}, {value!r}: Grafana keeps one of them, and saves nothing more of their provider"
        )
        fix = f"leave one of them out, or give it another {what}"
    return found("KVO-105", subject=f"{what} {value}", said=said, fix=fix)
