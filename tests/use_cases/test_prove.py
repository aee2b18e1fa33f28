"""The end of an install: what is asked, for how long, and what is said where data cannot be proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.dashboard.board import Query
from kvobs.errors import Forbidden, KvobsError, Unanswered
from kvobs.health.answers import NoAnswer, Refused, Result
from kvobs.health.verdict import BoardVerdict, PanelVerdict
from kvobs.settings import Settings, Verification
from kvobs.stack.facts import Object
from kvobs.stack.notes import Note
from kvobs.stack.record import Record
from kvobs.stack.target import Target
from kvobs.use_cases.install import InstallReport
from kvobs.use_cases.one_look import OneLook
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.prove import DATA_LIMIT_S, prove
from kvobs.use_cases.verify_report import VerifyReport
from tests.stack.clusters import grafana, prometheus
from tests.stack.listed import BUILT_IN, Listed
from tests.verify_reports import NO_TARGET, NO_TRAFFIC, UNASKED, panel, unchecked

NOW_S = 1_800_000_000.0
NOBODY = cast("Cluster", object())
"""Nothing here asks a cluster; what would ask it is a fake."""
SEEN = OneLook(Listed((), frozenset(BUILT_IN)))
TARGET = Target(
    namespace="kvobs",
    prometheus=prometheus(),
    grafana=grafana(),
    sidecar=None,
    datasources={},
    known=None,
    release=None,
    admin_secret=None,
    live=True,
    record=Record(),
)


def report(*panels: PanelVerdict, **more: Any) -> VerifyReport:
    """Return what verify says of one dashboard with these panels."""
    board = BoardVerdict(uid="u", title="Serving", source="kvobs/serving[serving.json]", panels=panels)
    return VerifyReport(prometheus="Service mon/prometheus-k8s", boards=(board,), **more)


LIT = report(panel("Requests"), unchecked("About"))


@dataclass
class Verifying:
    """Stands for verify: remembers what it was told, and answers as it was made to."""

    answer: VerifyReport | KvobsError = LIT
    told: list[tuple[Settings, Verification, OneLook | None, bool]] = field(default_factory=list)

    def __call__(
        self,
        settings: Settings,
        verification: Verification,
        *,
        cluster: Cluster,
        seen: OneLook | None,
        progress: object,
        own: bool,
    ) -> VerifyReport:
        """Answer."""
        assert cluster is NOBODY
        self.told.append((settings, verification, seen, own))
        if isinstance(self.answer, KvobsError):
            raise self.answer
        return self.answer


@dataclass
class OneAnswer:
    """A Prometheus that answers everything alike."""

    answer: Result | Refused | NoAnswer = field(default_factory=lambda: Result(type="vector"))
    asked: list[str] = field(default_factory=list)

    def query(self, query: Query) -> Result | Refused | NoAnswer:
        """Answer."""
        self.asked.append(query.expr)
        return self.answer


def parent(*ages_s: float) -> Object:
    """Return an ApplySet parent that was written so long ago."""
    times = [datetime.fromtimestamp(NOW_S - age_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for age_s in ages_s]
    return {"metadata": {"name": "kvobs", "managedFields": [{"manager": "kvobs", "time": each} for each in times]}}


def proved(verifying: Verifying, target: Target = TARGET, **how: Any) -> tuple[VerifyReport | None, tuple[Note, ...]]:
    """Return what is proved at the end of an install."""
    settings = Settings(context="there", kubeconfig="k.yaml")
    how = {"asked": OneAnswer(), "ask": verifying} | how
    return prove(NOBODY, target, settings, progress=Silent(), clock=lambda: NOW_S, **how)


def test_what_is_verified() -> None:
    """Kvobs' own dashboards, by the Prometheus and the Grafana of the install, with its credentials."""
    verifying = Verifying()
    assert proved(verifying) == (LIT, ())
    ((settings, _, seen, own),) = verifying.told
    assert (settings.namespace, settings.prometheus, settings.grafana) == ("kvobs", "mon/k8s", "mon/grafana")
    assert (settings.context, settings.kubeconfig) == ("there", "k.yaml")
    assert (seen, own) == (None, True)


def test_beside_another_install() -> None:
    """A further install loads no dashboards: those of the one that it keeps to show what it scrapes."""
    verifying = Verifying()
    proved(verifying, replace(TARGET, namespace="team-b", beside="kvobs"))
    assert verifying.told[0][0].namespace == "kvobs"


@pytest.mark.parametrize(
    ("how", "wait_s"),
    [
        ({}, DATA_LIMIT_S),
        ({"seen": SEEN, "parent": parent(3600)}, 0),
        ({"seen": SEEN, "parent": parent(3600, 30)}, DATA_LIMIT_S - 30),
        ({"seen": SEEN, "parent": parent(-30)}, DATA_LIMIT_S),
        ({"seen": SEEN, "parent": parent(-3600)}, 0),
        ({"seen": SEEN, "parent": {"metadata": {"name": "kvobs"}}}, 0),
        ({"seen": SEEN}, 0),
    ],
    ids=["changed", "long ago", "a moment ago", "clocks apart", "clocks far apart", "no times", "no parent"],
)
def test_how_long_data_is_waited_for(how: dict[str, Any], wait_s: float) -> None:
    """As long as it may take since the last change, that of a run which was interrupted meanwhile included."""
    verifying = Verifying()
    proved(verifying, **how)
    ((_, verification, seen, _),) = verifying.told
    assert verification.wait_s == wait_s
    assert seen is how.get("seen")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (LIT, 0),
        (report(panel("Requests", NO_TRAFFIC)), 0),
        (report(panel("Requests", UNASKED), panel("KV cache")), 4),
        (report(panel("Requests", NO_TARGET), panel("KV cache", UNASKED)), 1),
    ],
    ids=["lit", "dark", "partly unknown", "broken"],
)
def test_what_is_known_of_a_panel_is_the_report(answer: VerifyReport, code: int) -> None:
    """Where anything is known of any panel, that is what the install ends with."""
    found, notes = proved(Verifying(answer))
    assert found is answer
    assert (answer.exit_code, notes) == (code, ())


@dataclass(frozen=True)
class Unproved:
    """Where nothing can be proved: the target, what verify does, and what is said."""

    name: str
    says: tuple[str, ...]
    answer: VerifyReport | KvobsError = LIT
    target: Callable[[Target], Target] = lambda target: target
    asked: bool = True
    """Whether verify is asked."""
    reached: NoAnswer | None = None
    """Why Prometheus is not."""


UNPROVED = [
    Unproved(
        "no Grafana",
        ("No Grafana has kvobs' dashboards", "kvobs verify dcgm vllm two-lenses"),
        target=lambda target: replace(target, grafana=None),
        asked=False,
    ),
    Unproved(
        "no way to it",
        ("could not be asked: eve may not get services/proxy; an administrator can give it",),
        asked=False,
        reached=NoAnswer(said="eve may not get services/proxy", hint="an administrator can give it", denied=True),
    ),
    Unproved(
        "nothing loaded",
        ("Grafana loads no dashboard of kvobs", "kvobs verify dcgm vllm two-lenses"),
        answer=VerifyReport(prometheus="x"),
    ),
    Unproved(
        "no answer at all",
        ("could not be asked: Prometheus does not answer; curl http://p:9090/-/ready",),
        answer=report(panel("Requests", UNASKED), panel("KV cache", UNASKED), unchecked("About")),
    ),
    Unproved(
        "cannot look",
        ("could not be asked: Prometheus mon/k8s has no Service to be asked through; kubectl port-forward",),
        answer=Unanswered("Prometheus mon/k8s has no Service to be asked through", hint="kubectl port-forward"),
    ),
    Unproved(
        "refused",
        ("could not be asked: eve may not list Pod",),
        answer=Forbidden("eve may not list Pod", status=403),
    ),
]


@pytest.mark.parametrize("case", UNPROVED, ids=lambda case: case.name)
def test_where_data_cannot_be_proved(case: Unproved) -> None:
    """It is a note with what next, no failure: what was installed stands."""
    verifying = Verifying(case.answer)
    prometheus = OneAnswer(case.reached or Result(type="vector"))
    found, (note,) = proved(verifying, case.target(TARGET), asked=prometheus)
    assert (found, note.id) == (None, "not-verified")
    for words in case.says:
        assert words in note.text
    assert bool(verifying.told) is case.asked
    assert len(prometheus.asked) <= 1


@pytest.mark.parametrize(
    ("verified", "code"),
    [
        (None, 0),
        (LIT, 0),
        (report(panel("Requests", NO_TRAFFIC)), 0),
        (report(panel("Requests", UNASKED), panel("KV cache")), 0),
        (report(panel("Requests", NO_TARGET)), 1),
    ],
    ids=["not verified", "lit", "dark", "partly unknown", "broken"],
)
def test_how_an_install_ends(verified: VerifyReport | None, code: int) -> None:
    """A broken panel is exit 1; what is only not known, or has no data yet, is none."""
    installed = InstallReport(
        server_version="v1.36.3",
        namespace="kvobs",
        stack="reused",
        prometheus="mon/k8s",
        grafana="mon/grafana",
        datasource="prom-uid",
        steps=(),
        dashboards=(),
        refused=(),
        notes=(),
        access=None,
        ready=True,
        verified=verified,
    )
    assert installed.exit_code == code
