"""From the verdicts of its queries to a panel's. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..dashboard.board import Panel, Target, Unasked
from .answers import Answer, Result
from .causes import found
from .verdict import ORDER, Finding, PanelVerdict, State, TargetVerdict

GONE = {
    "grafana-singlestat-old-panel": "stat",
    "natel-plotly-panel": "xychart",
    "mtanda-histogram-panel": "histogram",
    "savantly-heatmap-panel": "heatmap",
    "petrslavotinek-carpetplot-panel": "heatmap",
    "digrich-bubblechart-panel": "xychart",
    "vonage-status-panel": "stat",
    "btplc-status-dot-panel": "stat",
    "btplc-alarm-box-panel": "stat",
    "blackmirror1-singlestat-math-panel": "stat",
    "farski-blendstat-panel": "stat",
    "michaeldmoore-annunciator-panel": "gauge",
    "briangann-gauge-panel": "gauge",
    "corpglory-progresslist-panel": "bargauge",
    "snuids-trafficlights-panel": "stat",
    "smartmakers-trafficlight-panel": "stat",
    "citilogics-geoloop-panel": "geomap",
    "zuburqan-parity-report-panel": "table",
}
"""Panels that were written for Angular, which Grafana 12 has no more, and that it does not turn into others by itself;
and what shows the same."""


def panel_type_gone(panel: Panel) -> Finding | None:
    """Return that Grafana has the panel's type no more, where it is so."""
    instead = GONE.get(panel.type)
    if instead is None:
        return None
    return found(
        "KVO-106",
        subject=panel.type,
        said=f"the panel's type {panel.type} needs Angular, which Grafana has no more since version 12",
        fix=f"In Grafana: edit the panel, choose the visualisation {instead}, save",
    )


def library_panel(panel: Panel) -> Finding | None:
    """Return that the panel is a stub of a library panel whose model is not at hand, where it is so."""
    if panel.library is None or panel.targets:
        return None
    return found(
        "KVO-107",
        subject=panel.library,
        said=f'the panel stands for the library panel "{panel.library}", whose model is not in the document',
    )


def target_verdict(target: Target, expr: str, answers: Sequence[Answer], finding: Finding | None) -> TargetVerdict:
    """Return the verdict of a query that was asked, in one way or in two: lit where any answer has a number."""
    results = [each for each in answers if isinstance(each, Result)]
    if any(each.numbers for each in results):
        return TargetVerdict(
            ref_id=target.ref_id,
            state="lit",
            expr=expr,
            series=max(len(each.series) for each in results),
            zero=not any(each.nonzero for each in results),
        )
    state: State = "unknown" if finding is None else finding.severity
    return TargetVerdict(ref_id=target.ref_id, state=state, expr=expr, finding=finding)


def unasked_verdict(target: Target, unasked: Unasked, finding: Finding | None = None) -> TargetVerdict:
    """Return the verdict of a target that is not asked; *finding* is what is wrong with its data source."""
    expr = target.expr or ""
    if unasked.cause is None:
        return TargetVerdict(ref_id=target.ref_id, state="not checked", expr=expr, why=unasked.why)
    subject = target.source.written or "the default data source"
    finding = finding or found(unasked.cause, subject=subject, said=unasked.why)
    return TargetVerdict(ref_id=target.ref_id, state=finding.severity, expr=expr, finding=finding)


def panel_verdict(panel: Panel, title: str, targets: Sequence[TargetVerdict]) -> PanelVerdict:
    """Return a panel's verdict: lit where any of its queries is, else the worst of their causes.

    A panel that Grafana cannot draw is broken, whatever its queries have.
    """
    whole = panel_type_gone(panel) or library_panel(panel)
    state, finding, why = _state(targets) if whole is None else (whole.severity, whole, "")
    return PanelVerdict(
        id=panel.id,
        title=title,
        type=panel.type,
        row=panel.row,
        grid=panel.grid,
        state=state,
        finding=finding,
        targets=tuple(targets),
        why=why,
    )


def _state(targets: Sequence[TargetVerdict]) -> tuple[State, Finding | None, str]:
    asked = [each for each in targets if each.state != "not checked"]
    if not asked:
        reasons = dict.fromkeys(each.why for each in targets if each.why)
        return "not checked", None, "; ".join(reasons) or "it asks nothing"
    if any(each.state == "lit" for each in asked):
        return "lit", None, ""
    worst = min(asked, key=lambda each: _badness(each.state))
    return worst.state, worst.finding, ""


def _badness(state: State) -> int:
    return ORDER.index(state) if state in ORDER else len(ORDER)
