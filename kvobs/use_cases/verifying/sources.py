"""Which dashboards verify looks at: those that are named, those of a Grafana, or those that the cluster loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ...adapters.assets import shipped_dashboards
from ...dashboard.elements import missing_models
from ...dashboard.origins import Local, Remote
from ...errors import DocumentError, KvobsError, Unanswered
from ...health import causes
from ...health.loading import LoadedBoard, checked, read_board, with_clashes
from ...settings import Settings
from ...stack.facts import Facts
from ...stack.provisioned import Found
from ..look import ReadCluster
from ..named import Named, named_dashboards
from ..progress import Progress, Silent
from .cluster_boards import boards_of_cluster


class FoundDashboard(Protocol):
    """One dashboard that a search in Grafana found."""

    @property
    def uid(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def folder(self) -> str | None: ...


class AsksGrafana(Protocol):
    """What this needs of Grafana's API."""

    @property
    def url(self) -> str: ...

    def search(self) -> Iterator[FoundDashboard]: ...

    def dashboard(self, uid: str) -> dict[str, Any] | None: ...

    def library_panel(self, uid: str) -> dict[str, Any] | None: ...


def boards_to_verify(
    settings: Settings,
    *,
    named: Sequence[str] = (),
    api: AsksGrafana | None = None,
    cluster: ReadCluster | None = None,
    facts: Facts | None = None,
    own: bool = False,
    unread: Found | None = None,
    progress: Progress | None = None,
) -> list[LoadedBoard]:
    """Return the dashboards to verify, each with what keeps Grafana from loading it.

    Those that are *named* (files, folders, addresses, names of the catalogue); else all of the Grafana that *api*
    asks; else those that the cluster's Grafanas load (with *own* those of kvobs' install); else the shipped ones.
    Raises UsageError for a name that can name no dashboard, and `Unanswered` where Grafana cannot be asked at all; a
    dashboard that cannot be had is a finding. *unread* takes what may not be looked for, and why.
    """
    progress = progress or Silent()
    if named:
        return with_clashes(_distinct(_named(named, settings, progress)))
    if api is not None:
        return list(_of_api(api, progress))
    if cluster is not None and facts is not None:
        return boards_of_cluster(cluster, facts, own=own, unread=unread)
    return with_clashes(list(_shipped()))


# --- named ones ---


def _named(named: Sequence[str], settings: Settings, progress: Progress) -> Iterator[LoadedBoard]:
    for each in named_dashboards(
        named, offline=settings.offline, ca_file=settings.ca_file, progress=progress, must_exist=True
    ):
        if isinstance(each.content, KvobsError):
            yield _unread(each.place, each.content)
        else:
            yield read_board(each.content, source=each.place, edit=_edit(each), way="file")


def _edit(named: Named) -> str:
    """Where a person mends it."""
    if isinstance(named.origin, Remote):
        return f"look at {named.origin.place}"
    return f"mend {named.place} at that place" if isinstance(named.origin, Local) else ""


def _shipped() -> Iterator[LoadedBoard]:
    for file_name, content in shipped_dashboards():
        yield read_board(content, source=file_name, edit="", way="file")


def _unread(source: str, error: KvobsError) -> LoadedBoard:
    """A dashboard that could not be had: nothing is known of it, which is no word against it."""
    finding = causes.found("KVO-901", subject=source, said=str(error), fix=error.hint or "")
    return LoadedBoard(source=source, document=None, findings=(finding,))


def _distinct(boards: Iterator[LoadedBoard]) -> list[LoadedBoard]:
    """*boards* without those that were named twice, by their folder too, say."""
    seen: list[LoadedBoard] = []
    named: dict[tuple[str | None, str | None], list[dict[str, Any]]] = {}
    for board in boards:
        # Those that are alike have one name: comparing each with each would take long where there are hundreds.
        alike = named.setdefault((board.uid, board.title), [])
        if board.document is None or board.document not in alike:
            seen.append(board)
            alike.extend([board.document] if board.document is not None else ())
    return seen


# --- Grafana's own ---


def _of_api(api: AsksGrafana, progress: Progress) -> Iterator[LoadedBoard]:
    for each in api.search():
        progress.state(f"dashboard {each.title or each.uid}")
        source = f"{api.url}/d/{each.uid}"
        try:
            document = api.dashboard(each.uid)
        except Unanswered as error:
            yield _unread(source, error)
            continue
        if document is None:
            continue  # deleted since the search
        document = _with_library_panels(document, api)
        board = checked(document, source=source, edit=f"look at {source}", way="api")
        yield LoadedBoard(source=source, document=board.document, findings=board.findings, folder=each.folder)


def _with_library_panels(document: dict[str, Any], api: AsksGrafana) -> dict[str, Any]:
    """Return a classic dashboard with the models of its library panels beside it, as an export has them.

    One that this user may not read stays out: its panel is told as one whose model is not there.
    """
    try:
        wanted = missing_models(document)
    except DocumentError:  # what is wrong with it is told by whoever reads it
        return document
    elements: dict[str, Any] = {}
    for uid in wanted:
        try:
            model = api.library_panel(uid)
        except Unanswered:
            continue
        if model is not None:
            elements[uid] = {"uid": uid, "model": model}
    return {**document, "__elements": elements} if elements else document
