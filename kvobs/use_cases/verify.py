"""`kvobs verify`: every panel is lit, or has one named cause and what mends it. Reads only."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack

from ..adapters.cluster import Cluster
from ..dashboard.time_range import time_of
from ..errors import ClusterUnreachable
from ..health.verdict import BoardVerdict, PanelVerdict
from ..settings import Settings, Verification
from .expectations import accepted, load_expectations
from .one_look import OneLook
from .progress import Progress, Silent
from .verify_report import VerifyReport
from .verifying.one_round import Round, one_round
from .verifying.scene import Scene, look_at_scene

AGAIN_S = 5.0
"""Between two rounds of a wait: shorter than any usual scrape interval."""

OUTSIDE_S = 75.0
"""How long data that is said to lie outside of the range is waited for: a graph ends at its last whole step, so that a
sample is not in it before the next one, and the usual step is that of a scrape."""

Clock = Callable[[], float]


def verify(
    settings: Settings | None = None,
    verification: Verification | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cluster: Cluster | None = None,
    seen: OneLook | None = None,
    progress: Progress | None = None,
    own: bool = False,
    on_round: Callable[[VerifyReport], None] | None = None,
    find: Callable[..., Scene] = look_at_scene,
    clock: Clock = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> VerifyReport:
    """Ask for every panel what it would ask, and say for each dark one why.

    Credentials come from *environ* (`GRAFANA_TOKEN`, and those of `connect_prometheus`). With `wait_s` it asks again
    until nothing is left that is waited for, or the time is over; *on_round* gets each round's report. *seen*: a look
    at *cluster*, where nothing was changed since it was taken. *own*: of the dashboards on the cluster, only those that
    kvobs' install loaded. *find*: who finds out what is to be asked, and for which dashboards.
    Raises `Unanswered` where it cannot look at all, and UsageError; what cannot be asked later on is a verdict.
    """
    settings, verification = settings or Settings(), verification or Verification()
    progress = progress or Silent()
    expected = load_expectations(verification.expect) if verification.expect is not None else ()

    def look(opened: ExitStack, seen: OneLook | None = None) -> Scene:
        return find(
            settings,
            verification,
            environ=environ or {},
            opened=opened,
            progress=progress,
            cluster=cluster,
            seen=seen,
            own=own,
        )

    def again(opened: ExitStack, deadline_s: float) -> Scene:
        """Look anew; an API server that is away for a moment ends no wait."""
        while True:
            opened.close()
            try:
                return look(opened)
            except ClusterUnreachable:
                if clock() >= deadline_s:
                    raise
                sleep(min(AGAIN_S, max(0.0, deadline_s - clock())))

    with ExitStack() as opened:
        scene = look(opened, seen)
        deadline_s = clock() + verification.wait_s
        since: dict[Hashable, float] = {}
        while True:
            began_s = clock()
            now_s = time_of(verification.at, now_s=began_s) if verification.at is not None else began_s
            found = one_round(scene, verification, now_s=now_s, progress=progress)
            boards, unmet = accepted(found.boards, expected)
            report = _report(scene, verification, found, boards, unmet)
            if on_round is not None:
                on_round(report)
            since = {each: since.get(each, began_s) for each in _outside(boards)}
            new = any(began_s - first_s < OUTSIDE_S for first_s in since.values())
            waits = not found.denied and (_may_change(boards, until_lit=verification.until_lit) or new)
            if not waits or clock() >= deadline_s:
                return report
            progress.step("wait for data")
            sleep(min(AGAIN_S, max(0.0, deadline_s - clock())))
            if scene.cluster is not None:
                # What is mended meanwhile, a label say, is on the cluster.
                scene = again(opened, deadline_s)


def _may_change(boards: tuple[BoardVerdict, ...], *, until_lit: bool) -> bool:
    """Whether anything is dark that is waited for."""
    return any(_waits(panel, until_lit=until_lit) for board in boards for panel in board.panels)


def _outside(boards: tuple[BoardVerdict, ...]) -> frozenset[Hashable]:
    """The panels whose data is said to lie outside of the range: it may be that it has just begun to come."""
    return frozenset(
        (board.source, number)
        for board in boards
        for number, panel in enumerate(board.panels)
        if panel.accepted is None and panel.finding is not None and panel.finding.cause == "KVO-705"
    )


def _waits(panel: PanelVerdict, *, until_lit: bool) -> bool:
    if panel.accepted is not None or panel.state in ("lit", "expected", "not checked"):
        return False
    return until_lit or panel.state != "dark" or (panel.finding is not None and panel.finding.passing)


def _report(
    scene: Scene,
    verification: Verification,
    found: Round,
    boards: tuple[BoardVerdict, ...],
    unmet: tuple[str, ...],
) -> VerifyReport:
    server = found.server.server
    start_s, end_s = next(iter(found.windows)) if len(found.windows) == 1 else (None, None)
    return VerifyReport(
        prometheus=scene.way() if scene.way is not None else scene.prometheus,
        server=f"{server.kind} {server.version}" if server.version else None,
        start_s=start_s,
        end_s=end_s,
        boards=boards,
        queries=found.queries,
        requests=found.requests,
        notes=(*scene.notes, *found.notes),
        min_severity=verification.min_severity,
        fail_on=verification.fail_on,
        unmet=unmet,
    )
