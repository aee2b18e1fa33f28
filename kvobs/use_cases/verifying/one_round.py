"""One round of asking: every panel of every dashboard, at one moment, each query once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...dashboard.board import Board, PanelQueries, Query, Scope, Target, Unasked, Window
from ...dashboard.boards import board_of
from ...dashboard.declarations import declarations_of
from ...dashboard.document import unwrapped
from ...dashboard.intervals import duration_s
from ...dashboard.queries import panel_queries
from ...dashboard.time_range import window_of, window_of_board
from ...dashboard.variable_queries import Question
from ...errors import DocumentError
from ...health.answers import Answer, NoAnswer, Result
from ...health.causes import found
from ...health.evidence import ServerEvidence, VariableEvidence
from ...health.ladder import judge
from ...health.loading import LoadedBoard
from ...health.panels import panel_verdict, target_verdict, unasked_verdict
from ...health.sources import Sources
from ...health.verdict import BoardVerdict, Finding, TargetVerdict
from ...settings import Verification
from ...stack.notes import Note
from ..progress import Progress
from .asking import Answers
from .gathering import Unlit, gather, server_evidence
from .scene import Scene
from .seam import Asked
from .variables import adhoc_filter, settle

NOT_IN_GRAFANA = frozenset({"KVO-101", "KVO-102", "KVO-103", "KVO-104"})
"""Causes by which a dashboard is not loaded at all, so that no panel of it is there to be lit."""

_PAST_S = 900.0
"""How long ago a range has to have ended, for what is scraped now to say little of it."""

LISTED = 12
"""Names of variables that a note lists."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What one round found."""

    boards: tuple[BoardVerdict, ...]
    windows: frozenset[tuple[float, float]]
    """(start, end) of the time ranges that were asked for."""
    queries: int
    requests: int
    server: ServerEvidence
    denied: bool = False
    """Whether a right is missing to ask at all, which no wait brings."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Drawn:
    """One dashboard as it would be drawn now."""

    loaded: LoadedBoard
    board: Board | None
    window: Window | None = None
    panels: tuple[PanelQueries, ...] = ()
    empty: Mapping[str, VariableEvidence] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    sources: Sources | None = None
    """What its references lead to, by its own inputs."""
    scope: Scope = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def one_round(scene: Scene, verification: Verification, *, now_s: float, progress: Progress) -> Round:
    """Ask all and judge all. Raises UsageError for a time range or a variable that was told wrongly."""
    answers = Answers(scene.asked, in_flight=verification.in_flight)
    progress.step("settle the variables")
    drawn = answers.each(
        lambda each: _drawn(each, scene, verification, answers, now_s),
        scene.boards,
        told=lambda done, of: progress.state(f"{done} of {of} dashboards"),
    )
    wanted = [each for one in drawn for each in _queries(one.panels, scene)]
    progress.step("ask what the panels ask")
    known = answers.queries(wanted, told=lambda done, of: progress.state(f"{done} of {of} queries"))
    progress.step("find the causes")
    server = server_evidence(answers, scene.cluster)
    judging = _Judging(scene, answers, known, server, now_s)
    judged = judging.judge_all(drawn, progress)
    return Round(
        boards=tuple(_verdict(one, number, judging, judged) for number, one in enumerate(drawn)),
        windows=frozenset((one.window.start_s, one.window.end_s) for one in drawn if one.window is not None),
        queries=len(wanted),
        requests=answers.sent,
        server=server,
        denied=answers.stopped is not None and answers.stopped.denied,
        notes=tuple(_given_in_vain(verification, drawn)),
    )


def _given_in_vain(verification: Verification, drawn: Iterable[_Drawn]) -> Iterator[Note]:
    """What was told of a variable that no dashboard has: a slip of the pen, mostly."""
    boards = [one.board for one in drawn if one.board is not None]
    there = list(dict.fromkeys(each.name for board in boards for each in board.variables))
    for name in given_variables(verification.variables):
        if boards and name not in there:
            listed = f"there are {', '.join(there[:LISTED])}" if there else "there is none"
            more = f" and {len(there) - LISTED} more" if len(there) > LISTED else ""
            yield Note("var-unknown", f"--var {name}: no dashboard here has a variable of that name; {listed}{more}")


def given_variables(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values that `NAME=VALUE` texts give; a name that comes again has several."""
    given: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, _, value = text.partition("=")
        given[name] = (*given.get(name, ()), value)
    return given


def _drawn(
    loaded: LoadedBoard,
    scene: Scene,
    verification: Verification,
    answers: Answers,
    now_s: float,
) -> _Drawn:
    if loaded.document is None or any(each.cause in NOT_IN_GRAFANA for each in loaded.findings):
        return _Drawn(loaded=loaded, board=None, findings=loaded.findings)
    try:
        board = board_of(loaded.document)
    except DocumentError as error:
        finding = found("KVO-101", subject=loaded.source, said=f"{loaded.source}: {error}")
        return _Drawn(loaded=loaded, board=None, findings=(*loaded.findings, finding))
    window = _window(board, verification, now_s)
    declared = declarations_of(unwrapped(loaded.document).dashboard)
    sources = replace(
        scene.sources,
        inputs={name: each.plugin for name, each in declared.inputs.items()},
        variables={name: each.plugin for name, each in declared.variables.items() if each.is_datasource},
    )
    intervals = {uid: text for uid, text in sources.time_intervals().items() if text}
    settled = settle(
        board,
        window,
        resolve=sources.resolve,
        asked=lambda uid: _answering(uid, scene, answers),
        offered=sources.for_variable,
        given=given_variables(verification.variables),
        time_intervals=intervals,
    )
    panels = panel_queries(
        board,
        settled.scope,
        window,
        resolve=sources.resolve,
        time_intervals=intervals,
        filtered=adhoc_filter(board, settled.scope, sources.resolve),
    )
    return _Drawn(
        loaded=loaded,
        board=board,
        window=window,
        panels=tuple(panels),
        empty=settled.empty,
        questions=settled.questions,
        sources=sources,
        scope=settled.scope,
        findings=loaded.findings,
    )


def _answering(uid: str, scene: Scene, answers: Answers) -> Asked | NoAnswer:
    """Who answers for a data source; or why nobody does."""
    if uid in scene.unreachable:
        return NoAnswer(said=scene.unreachable[uid].said, hint=scene.unreachable[uid].fix)
    if uid in scene.elsewhere:
        return NoAnswer(said=f"{scene.elsewhere[uid]}, which is not asked")
    return answers


def _window(board: Board, verification: Verification, now_s: float) -> Window:
    if verification.start is None and verification.end is None:
        return window_of_board(board, now_s=now_s)
    start, end = verification.start or board.time_from, verification.end or board.time_to
    return window_of(start, end, now_s=now_s, week_start=board.week_start)


def _queries(panels: Iterable[PanelQueries], scene: Scene) -> Iterator[Query]:
    for panel in panels:
        for _, asked in panel.asked:
            if not isinstance(asked, Unasked):
                yield from (each for each in asked if _is_asked(each, scene))


def _is_asked(query: Query, scene: Scene) -> bool:
    return query.source not in scene.unreachable and query.source not in scene.elsewhere


class _Judging:
    """Names the cause of each dark query, every different one once."""

    def __init__(
        self, scene: Scene, answers: Answers, known: Mapping[Query, Answer], server: ServerEvidence, now_s: float
    ) -> None:
        self._scene = scene
        self._answers = answers
        self._known = known
        self._server = server
        self._now_s = now_s

    def judge_all(self, drawn: Iterable[_Drawn], progress: Progress) -> dict[tuple[int, Query], Finding]:
        """Return (number of the dashboard, query) -> its cause, for the dark ones."""
        unlit: dict[tuple[int, Query], tuple[Unlit, _Drawn]] = {}
        for number, one in enumerate(drawn):
            for panel in one.panels:
                for target, asked in panel.asked:
                    dark = None if isinstance(asked, Unasked) else self._dark(asked)
                    if dark is not None:
                        answer = self._known[dark]
                        seen = Unlit(panel=panel.panel, target=target, query=dark, answer=answer)
                        unlit.setdefault((number, dark), (seen, one))
        causes = self._answers.each(
            lambda each: self._cause(*each),
            unlit.values(),
            told=lambda done, of: progress.state(f"{done} of {of} dark queries"),
        )
        return dict(zip(unlit, causes, strict=True))

    def target(
        self,
        number: int,
        one: _Drawn,
        target: Target,
        asked: tuple[Query, ...] | Unasked,
        judged: Mapping[tuple[int, Query], Finding],
    ) -> TargetVerdict:
        """Return the verdict of one target."""
        if isinstance(asked, Unasked):
            return unasked_verdict(
                target, asked, one.sources.finding(target.source, one.scope) if one.sources else None
            )
        first = asked[0]
        if first.source in self._scene.unreachable:
            return target_verdict(target, first.expr, (), self._scene.unreachable[first.source])
        if first.source in self._scene.elsewhere:
            return unasked_verdict(target, Unasked(f"{self._scene.elsewhere[first.source]}, which is not asked"))
        dark = self._dark(asked)
        answers = [self._known[each] for each in asked]
        return target_verdict(target, first.expr, answers, judged[number, dark] if dark is not None else None)

    def _dark(self, asked: tuple[Query, ...]) -> Query | None:
        """The query of a target to look into, where none of its queries has a number."""
        known = [each for each in asked if each in self._known]
        if not known or any(_has_numbers(self._known[each]) for each in known):
            return None
        return known[0]

    def _cause(self, unlit: Unlit, one: _Drawn) -> Finding:
        interval = self._scene.sources.time_intervals().get(unlit.query.source)
        server = replace(
            self._server,
            datasource_interval_s=duration_s(interval) if interval else None,
            past=unlit.query.end_s < self._now_s - _PAST_S,
        )
        dark = gather(
            unlit, self._answers, server, cluster=self._scene.cluster, empty=one.empty, questions=one.questions
        )
        return judge(dark)


def _has_numbers(answer: Answer) -> bool:
    return isinstance(answer, Result) and answer.numbers > 0


def _verdict(one: _Drawn, number: int, judging: _Judging, judged: Mapping[tuple[int, Query], Finding]) -> BoardVerdict:
    return BoardVerdict(
        uid=one.loaded.uid,
        title=one.loaded.title or one.loaded.source,
        source=one.loaded.source,
        panels=tuple(
            panel_verdict(
                each.panel,
                each.title,
                [judging.target(number, one, target, asked, judged) for target, asked in each.asked],
            )
            for each in one.panels
        ),
        findings=one.findings,
    )
