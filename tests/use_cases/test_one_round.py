"""One round of asking over many dashboards, hostile ones among them, and which Grafana's data sources are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kvobs.dashboard.board import Query
from kvobs.health.answers import (
    Answer,
    Names,
    Result,
    ScrapeTarget,
    Series,
)
from kvobs.health.sources import Sources
from kvobs.settings import Reach, Settings, Verification
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.verifying.one_round import Round, one_round
from kvobs.use_cases.verifying.scene import Scene, look_at_scene
from kvobs.use_cases.verifying.sources import boards_to_verify
from tests.adapters.site import Site, ok

from .without_pages import WithoutPages

NOW_S = 1_700_000_000.0


class Full(WithoutPages):
    """A Prometheus that has a series for every query that can be sent, and refuses nothing."""

    def query(self, query: Query) -> Answer:
        """One series."""
        query.expr.encode()
        series = Series(labels={"__name__": "up", "job": "x"}, samples=1, numbers=1, nonzero=1, last=1.0)
        return Result(type="vector" if query.instant else "matrix", series=(series,))

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names:
        """One name."""
        return Names(values=("up",))

    def label_names(self, matches: Sequence[str], start_s: float | None, end_s: float | None) -> Names:
        """One name."""
        return Names(values=("job",))

    def label_values(self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None) -> Names:
        """One that a regex may take for ever on."""
        "".join((label, *matches)).encode()
        return Names(values=("a" * 60 + "!",))

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]]:
        """None."""
        return (), ()


def round_of(folder: Path, **documents: str | dict[str, Any]) -> Round:
    """Ask what these dashboards ask."""
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(document if isinstance(document, str) else json.dumps(document))
    boards = boards_to_verify(Settings(), named=[str(folder)])
    scene = Scene(asked=Full(), prometheus="p", boards=tuple(boards), sources=Sources(known=None))
    return one_round(scene, Verification(), now_s=NOW_S, progress=Silent())


def test_dashboards_come_in_their_order(tmp_path: Path) -> None:
    """Many dashboards that are settled at once are told in the order that they were named in."""
    names = [f"b{number:02}" for number in range(30)]

    found = round_of(tmp_path, **{name: {"title": name, "panels": [{"targets": [{"expr": name}]}]} for name in names})

    assert [each.title for each in found.boards] == names
    assert {panel.state for board in found.boards for panel in board.panels} == {"lit"}


def test_a_variable_for_another_kind_of_source(tmp_path: Path) -> None:
    """A panel that asks Loki through a variable is not checked, whether its reference says so or the variable alone."""
    variables = [{"name": "logs", "type": "datasource", "query": "loki"}]
    panels = [
        {"title": "new", "targets": [{"expr": "x", "datasource": {"type": "loki", "uid": "${logs}"}}]},
        {"title": "old", "datasource": "$logs", "targets": [{"expr": "x"}]},
        {"title": "ours", "targets": [{"expr": "up"}]},
    ]

    (board,) = round_of(tmp_path, b={"title": "B", "templating": {"list": variables}, "panels": panels}).boards

    assert [each.state for each in board.panels] == ["not checked", "not checked", "lit"]
    assert all("loki" in each.why for each in board.panels[:2])


def variable(name: str, query: Any, **rest: Any) -> dict[str, Any]:
    """Return a query variable."""
    return {"name": name, "type": "query", "query": query, **rest}


NONSENSE = [
    None,
    5,
    {"expr": 5, "refId": [], "interval": {"a": 1}, "intervalFactor": 1e300},
    {"expr": "up", "interval": "-5s"},
    {"expr": "up", "intervalFactor": 10**14},
    {"expr": "up", "interval": "999999999999y"},
]
HOSTILE: dict[str, str | dict[str, Any]] = {
    "halves": '{"title":"S\\ud800","uid":"s\\ud800",'
    '"panels":[{"title":"P\\udfff","targets":[{"expr":"up{a=\\"\\ud800\\"}"}]}],'
    '"templating":{"list":[{"name":"x\\ud800","type":"query","query":"label_values(up, \\ud800)"}]}}',
    "shapes": {"title": 5, "uid": [], "panels": {"a": 1}, "time": "x", "templating": 7, "rows": "r"},
    "types": {
        "title": "T",
        "time": {"from": "now-99999999y", "to": "now"},
        "templating": {
            "list": [
                None,
                {"name": "i", "type": "interval", "auto": True, "auto_count": 0, "current": {"value": "$__auto"}},
                variable("q", {"query": {"a": 1}, "refId": 5}, regex={"a": 1}),
                variable("n", "label_values(up,instance)", regex="/(?P<x>/", sort="x", refresh=1e99),
            ]
        },
        "panels": [
            {"title": {"a": 1}, "type": [], "gridPos": {"x": "a", "y": 1e308, "w": -5}, "targets": NONSENSE},
            {"title": "t", "timeFrom": "999999999y", "timeShift": "999999999y", "repeat": {"a": 1}, "libraryPanel": []},
        ],
    },
    "circle": {
        "title": "C",
        "templating": {
            "list": [
                variable("a", "label_values(up{b='$b'},a)"),
                variable("b", "label_values(up{a='$a'},b)"),
                variable("c", "label_values(up{c='$c'},c)", includeAll=True, allValue="$c$c$c$c"),
            ]
        },
        "panels": [{"title": "$c", "repeat": "c", "targets": [{"expr": "up{c=~'$c'}"}]}],
    },
    "regex": {
        "title": "R",
        "templating": {"list": [variable("v", "label_values(up, job)", regex="/^((a+)+)+$/")]},
        "panels": [{"title": "$v", "targets": [{"expr": "up"}]}],
    },
    "deep": {"title": "D", "panels": [{"targets": [{"expr": "-" * 100_000 + "up"}, {"expr": "up" + "+up" * 20_000}]}]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_dashboard_that_was_made_to_do_harm(tmp_path: Path, name: str) -> None:
    """Whatever a dashboard holds, it has a verdict, soon; and so has the one beside it."""
    good = {"title": "good", "panels": [{"title": "up", "targets": [{"expr": "up"}]}]}

    boards = round_of(tmp_path, **{"a-good": good, name: HOSTILE[name]}).boards

    assert len(boards) == 2
    assert [panel.state for panel in boards[0].panels] == ["lit"]
    assert boards[1].panels or boards[1].findings


# --- which Grafana, which data sources ---


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A Grafana with one dashboard and two data sources, asked past any proxy."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    sources = [
        {"uid": "here", "name": "Here", "type": "prometheus", "url": "http://Prom.example:9090/", "isDefault": True},
        {"uid": "there", "name": "There", "type": "prometheus", "url": "http://me:hunter2@other.example"},
    ]
    panels = [{"title": uid, "targets": [{"expr": "up", "datasource": {"uid": uid}}]} for uid in ("here", "there")]
    answers = {
        "search": [{"uid": "a", "title": "A"}],
        "dashboards/uid/a": {"dashboard": {"title": "A", "uid": "a", "panels": panels}},
        "datasources": sources,
    }
    with Site(tmp_path) as served:
        for path, answer in answers.items():
            served.play(ok(json.dumps(answer).encode(), Content_Type="application/json"), at=f"/api/{path}")
        yield served


def scene_of(site: Site, prometheus: str, *sources: str) -> Scene:
    """Look at that Grafana and at a Prometheus; the latter is not asked."""
    reach = Reach(url=prometheus, ca_file=str(site.ca_file))
    told = Verification(sources=sources, reach=reach, grafana_url=site.url(""))
    with ExitStack() as opened:
        environ = {"GRAFANA_TOKEN": "glsa_Heron7"}
        return look_at_scene(Settings(), told, environ=environ, opened=opened, progress=Silent())


def test_a_source_that_leads_to_another_prometheus(site: Site) -> None:
    """Where one of Grafana's sources is the Prometheus that is asked, what goes to another one is not asked of it."""
    scene = scene_of(site, "http://prom.example:9090")
    found = one_round(
        Scene(asked=Full(), prometheus="p", boards=scene.boards, sources=scene.sources, elsewhere=scene.elsewhere),
        Verification(),
        now_s=NOW_S,
        progress=Silent(),
    )

    assert scene.notes == ()
    assert [(each.title, each.state) for each in found.boards[0].panels] == [("here", "lit"), ("there", "not checked")]
    assert "leads to http://***@other.example, which is not asked" in found.boards[0].panels[1].why
    assert "hunter2" not in f"{scene} {found}"
    assert "Heron7" not in f"{scene} {found}"


def test_a_prometheus_that_stands_for_all(site: Site) -> None:
    """Where none of them is, it is asked in place of all, which is said."""
    scene = scene_of(site, "http://localhost:9090")

    assert scene.elsewhere == {}
    (note,) = scene.notes
    assert (
        "it is asked in place of all of them: Here (http://prom.example:9090/), There (http://***@other.example)"
        in (note.text)
    )


def test_files_beside_a_grafana(site: Site) -> None:
    """Of files that are verified beside a Grafana it is said that its data sources do not count; else there is none."""
    assert [each.id for each in scene_of(site, "http://prom.example:9090", "vllm").notes] == ["files-meant"]
    with ExitStack() as opened:
        told = Verification(sources=("vllm",), reach=Reach(url="http://prom.example:9090"))
        scene = look_at_scene(Settings(), told, environ={}, opened=opened, progress=Silent())
    assert scene.notes == ()
