"""The end of an install: every panel of the dashboards that it loaded is asked for, until data arrives."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from ..adapters.cluster import Cluster
from ..dashboard.board import Query
from ..errors import KvobsError
from ..health.answers import NoAnswer
from ..health.verdict import Finding
from ..settings import Reach, Settings, Verification
from ..stack.facts import Object, Prometheus
from ..stack.notes import Note
from ..stack.target import Target
from .one_look import OneLook
from .progress import Progress
from .verify_report import VerifyReport
from .verifying.seam import Asked

DATA_LIMIT_S = 180.0
"""How long data may take: the operator writes the configuration, Prometheus reads it, and scrapes twice; the sidecar
and the kubelet's copy of a ConfigMap may take a minute each."""

PATIENCE_S = 5.0
"""How long a Prometheus that has only just become Available is asked again."""

BY_HAND = "kvobs verify dcgm vllm two-lenses"
"""Asks what the shipped dashboards ask, whether or not a Grafana has them."""


class Verify(Protocol):
    """`verify`, as far as it is used here."""

    def __call__(
        self,
        settings: Settings,
        verification: Verification,
        *,
        cluster: Cluster,
        seen: OneLook | None,
        progress: Progress,
        own: bool,
    ) -> VerifyReport: ...


def prove(
    cluster: Cluster,
    target: Target,
    settings: Settings,
    *,
    progress: Progress,
    seen: OneLook | None = None,
    parent: Object | None = None,
    ask: Verify | None = None,
    asked: Asked | None = None,
    clock: Callable[[], float] = time.time,
) -> tuple[VerifyReport | None, tuple[Note, ...]]:
    """Return what verify says of the dashboards that kvobs loaded; or None, and a note why it could not look.

    *seen* is the look of a run that changed nothing, *parent* the ApplySet parent in it. Data is waited for as long as
    it may take since the last change, that of an earlier run included, which may have been interrupted meanwhile.
    What was installed stays installed, whatever is said here. *ask*: what verifies, else `verify`. *asked*: the
    Prometheus, else that of *target*.
    """
    if target.grafana is None:
        said = "No Grafana has kvobs' dashboards, so that no panel was asked whether data arrives"
        return None, (_unproved(f"{said}; to ask what they would show: {BY_HAND}"),)
    meant = replace(
        settings,
        # A further install loads no dashboards: those of the first one show what it scrapes.
        namespace=target.beside or target.namespace,
        prometheus=f"{target.prometheus.namespace}/{target.prometheus.name}",
        grafana=f"{target.grafana.namespace}/{target.grafana.name}",
    )
    wait_s = DATA_LIMIT_S if seen is None else _left_s(parent, clock())
    told = Verification(wait_s=wait_s, reach=Reach(patience_s=PATIENCE_S))
    if ask is None:
        # Loaded by those who verify, and by nobody else.
        from .verify import verify

        ask = verify
    progress.step("prove that data arrives")
    try:
        closed = _closed(asked, told.reach, cluster, target.prometheus, clock())
        if closed is not None:
            return None, (_unproved(_unasked(closed.said, closed.hint)),)
        report = ask(meant, told, cluster=cluster, seen=seen, progress=progress, own=True)
    except KvobsError as error:
        return None, (_unproved(_unasked(str(error), error.hint)),)
    if not report.boards:
        said = "Grafana loads no dashboard of kvobs, so that no panel was asked whether data arrives"
        return None, (_unproved(f"{said}; to ask what they would show: {BY_HAND}"),)
    unheard = _unheard(report)
    if unheard is not None:
        return None, (_unproved(_unasked(unheard.said, unheard.fix)),)
    return report, ()


def _closed(
    asked: Asked | None, reach: Reach, cluster: Cluster, prometheus: Prometheus, now_s: float
) -> NoAnswer | None:
    """Why no question arrives at all; None where one does. A way that is closed is not waited for."""
    from .verifying.connect_prometheus import connect_prometheus

    question = Query(expr="vector(1)", instant=True, start_s=now_s, end_s=now_s, step_s=0.0, source="")
    with ExitStack() as opened:
        if asked is None:
            asked = opened.enter_context(closing(connect_prometheus(reach, {}, cluster=cluster, prometheus=prometheus)))
        answer = asked.query(question)
    return answer if isinstance(answer, NoAnswer) else None


def _unproved(text: str) -> Note:
    return Note("not-verified", text)


def _unasked(why: str, hint: str | None) -> str:
    return f"Whether data arrives could not be asked: {why}{f'; {hint}' if hint else ''}"


def _unheard(report: VerifyReport) -> Finding | None:
    """Why nothing is known of any panel that asks a Prometheus; None where something is known of one."""
    asked = [panel for _, panel in report.panels if panel.state != "not checked"]
    if any(panel.state != "unknown" for panel in asked):
        return None
    return next((panel.finding for panel in asked if panel.finding is not None), None)


def _left_s(parent: Object | None, now_s: float) -> float:
    """How long data may still take since *parent* was written last, as an install does that makes something new.

    The two clocks may differ: a time that lies ahead counts as now, and one that is far from now in either direction
    as long ago.
    """
    metadata: dict[str, Any] = (parent or {}).get("metadata") or {}
    times = [each.get("time") for each in metadata.get("managedFields") or ()]
    written = [datetime.fromisoformat(each).timestamp() for each in times if each]
    if not written or abs(now_s - max(written)) >= DATA_LIMIT_S:
        return 0.0
    return min(DATA_LIMIT_S, DATA_LIMIT_S - (now_s - max(written)))
