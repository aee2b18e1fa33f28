"""The drift guard: which panels of a dashboard go dark on a version of vLLM, told from the history alone. Pure.

Only what a history can say is judged: nothing is asked, so that a panel that is lit here may be dark for want of a
target, of traffic, or of a label's value.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from ..dashboard.board import Board, Panel, Target, Variable
from ..dashboard.datasources import PROMETHEUS_TYPES
from ..dashboard.interpolation import names_in
from ..dashboard.promql_tokens import metric_names
from .causes import found
from .emptiness import emptied
from .features import Feature, feature_of
from .renames import meant, standing
from .spellings import of_vllm
from .verdict import ORDER, BoardVerdict, Finding, PanelVerdict, TargetVerdict
from .versions import Version
from .vllm_history import NEWEST


def static_verdict(board: Board, vllm_version: Version, *, source: str = "") -> BoardVerdict:
    """Say of each panel whether a server of that version has what it asks for, and if not, why."""
    guard = _Guard(board, vllm_version, source)
    return BoardVerdict(
        uid=board.uid,
        title=board.title,
        source=source,
        panels=tuple(guard.panel(each) for each in board.panels),
    )


def missing_in(name: str, running: Version, *, source: str = "FILE") -> Finding | None:
    """Return why a version of vLLM has no series of a name; None where it has, or the name is not vLLM's.

    One of which it is not known whether that version has it is found too, as unknown.
    """
    told = standing(name, running)
    if told is None:
        return _unheard_of(name)
    subject = name.removesuffix(told.named.suffix)
    if told.state == "uncertain":
        cause = "KVO-505" if told.named.metric.since.state(running) == "uncertain" else "KVO-504"
        return replace(found(cause, subject, told.said, fix=told.fix(source)), severity="unknown")
    if told.cause is not None:
        return found(told.cause, subject, told.said, fix=told.fix(source))
    feature = feature_of(name)
    return None if feature is None or feature.at_zero else _only_with(name, feature)


def _unheard_of(name: str) -> Finding | None:
    names = meant(name)
    if names:
        said = f"no series is called {name}: those of the metric are {' and '.join(names)}"
        return found("KVO-510", name, said, fix=f"Ask {' or '.join(names)} in the query")
    feature = feature_of(name)
    if feature is not None:
        return _only_with(name, feature)
    if not name.startswith("vllm:"):
        return None  # In any other spelling the name may be somebody else's.
    return found("KVO-510", name, f"no version of vLLM up to {NEWEST} has {name}")


def _only_with(name: str, feature: Feature) -> Finding:
    fix = f"Only if it is wanted: start vLLM with {feature.flag}" if feature.flag else ""
    return found("KVO-506", feature.title, f"{name} is there only with {feature.in_words}", fix=fix)


@dataclass(slots=True)
class _Asked:
    """What a query's metrics are, as far as the guard goes."""

    ours: bool
    """Whether any of them is vLLM's."""
    open: bool
    """Whether any has a variable in its name."""


class _Guard:
    """One dashboard against one version."""

    def __init__(self, board: Board, running: Version, source: str) -> None:
        self._running = running
        self._source = shlex.quote(source) if source else "FILE"
        self._cache: dict[str, Finding | None] = {}
        self._empty = self._empty_variables(board)

    def panel(self, panel: Panel) -> PanelVerdict:
        targets = tuple(self._target(each) for each in panel.targets)
        dark = [each for each in targets if each.finding is not None]
        lit = any(each.state == "lit" for each in targets)
        worst = min(dark, key=lambda each: ORDER.index(_finding(each).severity), default=None)
        finding = None if lit or worst is None else worst.finding
        why = "" if targets else "it asks nothing"
        return PanelVerdict(
            id=panel.id,
            title=panel.title,
            type=panel.type,
            row=panel.row,
            grid=panel.grid,
            state="lit" if lit else "not checked" if finding is None else finding.severity,
            finding=finding,
            targets=targets,
            why=why if lit or finding is not None or not targets else targets[0].why,
        )

    def _target(self, target: Target) -> TargetVerdict:
        expr = target.expr or ""
        why = self._unasked(target)
        if why:
            return TargetVerdict(ref_id=target.ref_id, state="not checked", expr=expr, why=why)
        finding = self._by_variable(expr) or emptied(expr, self._missing)
        state = "lit" if finding is None else finding.severity
        return TargetVerdict(ref_id=target.ref_id, state=state, expr=expr, finding=finding)

    def _unasked(self, target: Target) -> str:
        if target.hidden:
            return "hidden"
        plugin = target.source.plugin
        if target.expr is None:
            return "not PromQL"
        if plugin is not None and not plugin.startswith("$") and plugin not in (*PROMETHEUS_TYPES, "datasource"):
            return f"goes to a source of type {plugin}"
        asked = self._asked(target.expr)
        if asked.ours:
            return ""
        return "the name of its metric has a variable in it" if asked.open else "asks nothing of vLLM"

    def _asked(self, expr: str) -> _Asked:
        names = metric_names(expr)
        return _Asked(
            ours=any(each.how != "partial" and of_vllm(each.name) for each in names),
            open=any(each.how == "partial" for each in names),
        )

    def _missing(self, name: str) -> Finding | None:
        if name not in self._cache:
            self._cache[name] = missing_in(name, self._running, source=self._source)
        return self._cache[name]

    def _empty_variables(self, board: Board) -> dict[str, Finding]:
        """Return the variables that have no value on this version, with the reason; one may empty another."""
        empty: dict[str, Finding] = {}
        waiting = [each for each in board.variables if each.type == "query" and each.all_value is None]
        more = True
        while more:
            more = False
            for each in waiting:
                finding = None if each.name in empty else self._emptied_variable(each, empty)
                if finding is not None:
                    empty[each.name] = finding
                    more = True
        return empty

    def _emptied_variable(self, variable: Variable, empty: dict[str, Finding]) -> Finding | None:
        names = [each.name for each in metric_names(variable.query) if each.how != "partial"]
        finding = next((missed for each in names if (missed := self._missing(each)) is not None), None)
        by = next((empty[each] for each in names_in(variable.query) if each in empty), None)
        if by is not None:
            return by
        if finding is None:
            return None
        said = f"the variable {variable.name} has no value: {finding.said}"
        return found(finding.cause, finding.subject, said, fix=finding.fix, evidence=finding.evidence)

    def _by_variable(self, expr: str) -> Finding | None:
        return next((self._empty[each] for each in names_in(expr) if each in self._empty), None)


def _finding(target: TargetVerdict) -> Finding:
    assert target.finding is not None
    return target.finding
