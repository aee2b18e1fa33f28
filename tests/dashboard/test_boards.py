"""The model of a dashboard, from every shape that one comes in, and over the corpus."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvobs.dashboard.board import Board, Grid, SourceRef
from kvobs.dashboard.boards import board_of
from kvobs.dashboard.document import MAX_DEPTH, Shape, panels_of, unwrapped
from kvobs.dashboard.elements import inlined
from kvobs.dashboard.jsontext import read_json
from kvobs.errors import DocumentError

from .test_properties import dashboards, scalars

CORPUS = Path(__file__).parents[3] / "shared" / "dashboards"
BROKEN = "confluentinc__jmx-monitoring-stacks__jmx-malformed.json"
FILES = sorted(path.name for path in CORPUS.glob("*.json"))

with_corpus = pytest.mark.skipif(not FILES, reason="the corpus ../shared/dashboards is not beside this checkout")


def placed(document, keys):
    """Return what stands at a place of a document."""
    for key in keys:
        document = document[key]
    return document


def classic(*panels, **rest):
    """Return a dashboard with some panels."""
    return {"title": "Case", "panels": list(panels), **rest}


def v2(layout, elements, **rest):
    """Return a v2 dashboard."""
    return {"title": "Case", "elements": elements, "layout": layout, **rest}


def element(title, *queries):
    """Return a panel of a v2 dashboard."""
    listed = [{"kind": "PanelQuery", "spec": query} for query in queries]
    return {
        "kind": "Panel",
        "spec": {
            "id": 4,
            "title": title,
            "vizConfig": {"kind": "VizConfig", "group": "stat", "spec": {}},
            "data": {
                "kind": "QueryGroup",
                "spec": {
                    "queries": listed,
                    "queryOptions": {"interval": "1m", "maxDataPoints": 50, "timeFrom": "2h", "timeShift": "1d"},
                },
            },
        },
    }


def item(name, **rest):
    """Return a place on a v2 grid."""
    where = {"x": 0, "y": 0, "width": 8, "height": 6, "element": {"kind": "ElementReference", "name": name}}
    return {"kind": "GridLayoutItem", "spec": {**where, **rest}}


def grid(*items):
    """Return a v2 grid."""
    return {"kind": "GridLayout", "spec": {"items": list(items)}}


@with_corpus
@pytest.mark.parametrize("name", FILES)
def test_corpus(name):
    """Every panel and every query of a real dashboard is in its model, at the place that the model names."""
    if name == BROKEN:
        with pytest.raises(DocumentError):
            read_json((CORPUS / name).read_bytes())
        return
    document = read_json((CORPUS / name).read_bytes()).document
    found = unwrapped(document)

    board = board_of(document)

    assert board.shape is found.shape
    if found.shape is Shape.V2:
        assert len(board.panels) == len(found.dashboard["elements"])
    else:
        drawn = [panel for panel in panels_of(found.dashboard) if panel.get("type") != "row"]
        assert {panel.id for panel in board.panels} == {panel.get("id") for panel in drawn}
        assert len(board.panels) == len(drawn)
        assert sum(len(panel.targets) for panel in board.panels) == sum(len(p.get("targets") or []) for p in drawn)
    for panel in board.panels:
        entry = placed(found.document, panel.keys)
        assert (entry.get("spec", entry).get("title") or "") == panel.title
        for target in panel.targets:
            assert placed(found.document, target.keys).get("expr") in (target.expr, "", None) or (
                target.source.plugin not in (None, "prometheus")
            )
    for variable in board.variables:
        entry = placed(found.document, variable.keys)
        assert entry.get("spec", entry)["name"] == variable.name


@with_corpus
def test_corpus_in_figures():
    """Rows, old and new, name their panels, and repeats are seen on panels, on open rows and on collapsed ones."""
    boards = {name: board_of(read_json((CORPUS / name).read_bytes()).document) for name in FILES if name != BROKEN}

    def repeated(name, key):
        return {getattr(panel, key) for panel in boards[name].panels} - {None}

    assert len(boards) == 90
    assert repeated("cloudnative-pg__grafana-dashboards__cnpg.json", "repeat") == {"instances"}
    assert repeated("NVIDIA__deepops__gpu-dashboard.json", "repeat_row") == {"hostname"}
    assert "ispn_local_cache" in repeated(
        "keycloak__keycloak-grafana-dashboard__keycloak-troubleshooting.json", "repeat_row"
    )
    old = boards["rfmoz__grafana-dashboards__node-exporter-full-old-rows.json"]
    assert old.panels[0].row == "Basic CPU / Mem / Disk Gauge"
    assert old.panels[0].grid == Grid(0, 0, 4, 4)
    assert boards["grafana__mcp-grafana__v2-sample.json"].panels[0].targets[0].source == SourceRef(
        "prometheus", "prometheus"
    )
    bare = boards["grafana__terraform-provider-grafana__v2-bare-spec.json"].panels[0]
    assert (bare.type, bare.targets[0].source) == ("timeseries", SourceRef("edprtf91hz01se", "prometheus"))


P = {"type": "prometheus", "uid": "p"}


@pytest.mark.parametrize(
    ("of_panel", "of_target", "want"),
    [
        (P, None, SourceRef("p", "prometheus")),
        (P, {"type": "prometheus", "uid": "of the author's Grafana"}, SourceRef("p", "prometheus")),
        (P, {"type": "loki", "uid": "l"}, SourceRef("p", "prometheus")),
        (None, {"type": "loki", "uid": "l"}, SourceRef("l", "loki")),
        ("$datasource", {}, SourceRef("$datasource")),
        (None, None, SourceRef(None)),
        (None, "Prometheus", SourceRef("Prometheus")),
        ({"type": "prometheus"}, None, SourceRef(None, "prometheus")),
        (P, {"type": "prometheus"}, SourceRef("p", "prometheus")),
        (None, {"type": "prometheus"}, SourceRef(None, "prometheus")),
        (P, {"type": "__expr__"}, SourceRef(None, "__expr__")),
        ("-- Mixed --", None, SourceRef(None)),
        ({"type": "datasource", "uid": "-- Mixed --"}, P, SourceRef("p", "prometheus")),
        (P, {"type": "__expr__", "uid": "__expr__"}, SourceRef("__expr__", "__expr__")),
        (["junk"], 7, SourceRef(None)),
    ],
)
def test_source(of_panel, of_target, want):
    """A target asks its own source, else its panel's."""
    board = board_of(classic({"datasource": of_panel, "targets": [{"expr": "up", "datasource": of_target}]}))

    assert board.panels[0].targets[0].source == want


@pytest.mark.parametrize(
    ("written", "instant", "ranged"),
    [
        ({}, False, True),
        ({"instant": True}, True, False),
        ({"range": True}, False, True),
        ({"instant": True, "range": True}, True, True),
        ({"instant": False, "range": False}, False, True),
    ],
)
def test_kind_of_query(written, instant, ranged):
    """A target asks for an instant, for a range, or for both; what says neither asks for a range."""
    (target,) = board_of(classic({"targets": [{"expr": "up", **written}]})).panels[0].targets

    assert (target.instant, target.range) == (instant, ranged)


def test_target():
    """A target keeps what its query needs, and has no PromQL where its source speaks another language."""
    panel = {
        "targets": [
            {"refId": "X", "expr": "up", "hide": True, "interval": "$step", "intervalFactor": 2},
            {"expr": '{app="x"}', "datasource": {"type": "loki", "uid": "l"}},
            {"expr": "", "intervalFactor": 0},
            "junk",
        ]
    }

    first, second, third = board_of(classic(panel)).panels[0].targets

    assert (first.ref_id, first.hidden, first.min_step, first.interval_factor) == ("X", True, "$step", 2)
    assert (second.ref_id, second.expr) == ("B", None)
    assert (third.ref_id, third.expr, third.interval_factor) == ("C", None, 1)


def test_rows():
    """An open row takes the panels after it, a collapsed one those inside; panels come in the order of the grid."""
    board = board_of(
        classic(
            {"title": "last", "gridPos": {"x": 0, "y": 9, "w": 12, "h": 4}},
            {"type": "row", "title": "Open", "repeat": "host", "gridPos": {"x": 0, "y": 1, "w": 24, "h": 1}},
            {"title": "first", "gridPos": {"x": 0, "y": 0, "w": 99, "h": 4}},
            {"title": "second", "repeat": "gpu", "gridPos": {"x": 0, "y": 2, "w": 12, "h": 4}},
            {"title": "clone", "repeatPanelId": 3, "gridPos": {"x": 12, "y": 2, "w": 12, "h": 4}},
            {
                "type": "row",
                "title": "Shut",
                "collapsed": True,
                "gridPos": {"x": 0, "y": 7, "w": 24, "h": 1},
                "panels": [{"title": "inside"}],
            },
        )
    )

    found = [(panel.title, panel.row, panel.repeat, panel.repeat_row) for panel in board.panels]
    assert found == [
        ("first", None, None, None),
        ("second", "Open", "gpu", "host"),
        ("inside", "Shut", None, None),
        ("last", "Shut", None, None),
    ]
    assert board.panels[0].grid == Grid(0, 0, 24, 4)


def test_old_rows():
    """Panels of before 2017 flow from left to right by their span, and are as high as they or their row say."""
    row = {"title": "R", "repeat": "host", "height": "150px", "panels": [{"span": 8}, {"span": 6}, {"height": 400}]}

    board = board_of({"rows": [row, {"panels": [{"span": 12, "height": "tall"}]}]})

    assert [panel.grid for panel in board.panels] == [
        Grid(0, 0, 16, 4),
        Grid(0, 4, 12, 4),
        Grid(12, 4, 8, 11),
        Grid(0, 15, 24, 7),
    ]
    assert [panel.repeat_row for panel in board.panels] == ["host", "host", "host", None]


def test_library_panel():
    """A library panel is read through where its model is in the file, and named where it is not."""
    stub = {"id": 3, "libraryPanel": {"uid": "lib", "name": "Load of a GPU"}}
    model = {"type": "stat", "title": "Load", "targets": [{"expr": "up"}]}

    there = board_of(classic(stub, __elements={"lib": {"model": model}})).panels[0]
    missing = board_of(classic(stub)).panels[0]

    assert (there.id, there.title, there.targets[0].expr, there.library) == (3, "Load", "up", None)
    assert (missing.title, missing.targets, missing.library) == ("Load of a GPU", (), "Load of a GPU")


def test_v2():
    """Rows, tabs and their repeats give the places of a v2 dashboard; an element that none draws is no panel."""
    query = {
        "refId": "Q",
        "hidden": True,
        "query": {"kind": "DataQuery", "group": "prometheus", "datasource": {"name": "p"}, "spec": {"expr": "up"}},
    }
    tab = {"kind": "RowsLayout", "spec": {"rows": [
        {"kind": "RowsLayoutRow", "spec": {"title": "Row", "repeat": {"mode": "variable", "value": "host"}, "layout":
            grid(item("a", x=8, repeat={"mode": "variable", "value": "gpu"}))}},
        {"kind": "RowsLayoutRow", "spec": {"layout": {"kind": "AutoGridLayout", "spec": {"maxColumnCount": 2, "items": [
            {"kind": "AutoGridLayoutItem", "spec": {"element": {"name": "b"}}},
            {"kind": "AutoGridLayoutItem", "spec": {"element": {"name": "nowhere"}}},
            {"kind": "AutoGridLayoutItem", "spec": {"element": {"name": "c"}}},
        ]}}}},
    ]}}  # fmt: skip
    layout = {
        "kind": "TabsLayout",
        "spec": {"tabs": [{"kind": "TabsLayoutTab", "spec": {"title": "Tab", "layout": tab}}]},
    }
    elements = {"a": element("A", query), "b": element("B"), "c": element("C"), "unseen": element("D")}

    board = board_of(
        {
            "apiVersion": "dashboard.grafana.app/v2",
            "metadata": {"name": "uid-1"},
            "spec": v2(
                layout, elements, timeSettings={"from": "now-1h", "to": "now", "timezone": "utc", "weekStart": "monday"}
            ),
        }
    )

    assert [(panel.title, panel.row, panel.repeat, panel.repeat_row) for panel in board.panels] == [
        ("A", "Row", "gpu", "host"),
        ("B", "Tab", None, None),
        ("C", "Tab", None, None),
    ]
    assert [panel.grid for panel in board.panels] == [Grid(8, 0, 8, 6), Grid(0, 0, 12, 9), Grid(0, 9, 12, 9)]
    first = board.panels[0]
    assert (first.id, first.type, first.max_data_points, first.min_interval) == (4, "stat", 50, "1m")
    assert (first.time_from, first.time_shift) == ("2h", "1d")
    (target,) = first.targets
    assert (target.ref_id, target.hidden, target.expr, target.source) == ("Q", True, "up", SourceRef("p", "prometheus"))
    assert (board.uid, board.time_from, board.timezone, board.week_start) == ("uid-1", "now-1h", "utc", "monday")


def test_v2_without_a_layout():
    """A v2 dashboard whose layout names nothing shows all of its elements, a library panel by its name."""
    library = {"kind": "LibraryPanel", "spec": {"id": 2, "title": "L", "libraryPanel": {"uid": "u", "name": "Shared"}}}

    board = board_of(v2({"kind": "FreeLayout"}, {"a": element("A"), "b": library, "c": 3}))

    assert [(panel.title, panel.library) for panel in board.panels] == [("A", None), ("L", "Shared")]


@pytest.mark.parametrize(
    ("entry", "want"),
    [
        ({"type": "query", "query": "label_values(job)"}, {"query": "label_values(job)", "query_kind": None}),
        (
            {"type": "query", "query": {"qryType": 1, "query": "label_values(up, job)"}, "refresh": 2, "sort": 5},
            {"query": "label_values(up, job)", "query_kind": 1, "refresh": 2, "sort": 5},
        ),
        ({"type": "query", "query": {}, "definition": "metrics(x)"}, {"query": "metrics(x)"}),
        ({"type": "datasource", "query": "prometheus", "regex": "/P/"}, {"query": "prometheus", "regex": "/P/"}),
        (
            {"type": "custom", "multi": True, "includeAll": True, "allValue": ".*",
             "current": {"value": ["$__all"], "text": "All"}},
            {"multi": True, "include_all": True, "all_value": ".*", "current": ("$__all",), "current_text": ("All",)},
        ),
        ({"type": "custom", "allValue": "", "current": {}}, {"all_value": None, "current": (), "current_text": ()}),
        ({"type": "custom", "current": {"value": 5, "text": True}}, {"current": ("5",), "current_text": ("true",)}),
        (
            {"type": "custom", "options": [{"text": "One", "value": "1"}, {"value": 2}, None]},
            {"options": (("One", "1"), ("2", "2"))},
        ),
        (
            {"type": "interval", "auto": True, "auto_count": 10, "auto_min": "1m"},
            {"auto": True, "auto_count": 10, "auto_min": "1m"},
        ),
        ({"type": "interval"}, {"auto": False, "auto_count": 30, "auto_min": "10s"}),
        (
            {"type": "adhoc", "datasource": {"uid": "p", "type": "prometheus"},
             "filters": [{"key": "a", "operator": "!=", "value": "b"}, {"key": ""}]},
            {"filters": (("a", "!=", "b"),), "source": SourceRef("p", "prometheus")},
        ),
        (
            {"kind": "QueryVariable", "spec": {
                "name": "v", "refresh": "onTimeRangeChanged", "sort": "naturalAsc", "hide": "hideVariable",
                "query": {"kind": "DataQuery", "group": "prometheus", "datasource": {"name": "${ds}"},
                          "spec": {"qryType": 1, "query": "q"}}}},
            {"type": "query", "query": "q", "query_kind": 1, "refresh": 2, "sort": 7, "hide": 2,
             "source": SourceRef("${ds}", "prometheus")},
        ),
        (
            {"kind": "DatasourceVariable", "spec": {"name": "v", "pluginId": "prometheus"}},
            {"type": "datasource", "query": "prometheus"},
        ),
        (
            {"kind": "SwitchVariable",
             "spec": {"name": "v", "current": "on", "enabledValue": "on", "disabledValue": "off"}},
            {"type": "switch", "current": ("on",), "options": (("on", "on"), ("off", "off"))},
        ),
    ],
)  # fmt: skip
def test_variable(entry, want):
    """A variable is read from the classic shape and from v2, with Grafana's defaults for what it does not say."""
    key = "variables" if "kind" in entry else "templating"
    entries = [{"name": "v", **entry} if key == "templating" else entry, {"type": "query"}, 3]

    (variable,) = board_of(classic(**{key: entries if key == "variables" else {"list": entries}})).variables

    assert variable.name == "v"
    assert {name: getattr(variable, name) for name in want} == want


def test_time_and_wrappings():
    """The time range is the dashboard's, else Grafana's; an answer of Grafana's API is read through."""
    assert (board_of(classic()).time_from, board_of(classic()).time_to) == ("now-6h", "now")
    board = board_of(
        {"meta": {}, "dashboard": classic(uid="u", time={"from": 1700000000000, "to": "now/d"}, timezone="utc")}
    )
    assert (board.uid, board.time_from, board.time_to, board.timezone) == ("u", "1700000000000", "now/d", "utc")


def test_nesting_without_end():
    """A dashboard that nests without end is refused, whatever its shape."""
    panel = {"type": "row"}
    layout = grid()
    for _ in range(MAX_DEPTH):
        panel = {"type": "row", "panels": [panel]}
        layout = {"kind": "RowsLayout", "spec": {"rows": [{"spec": {"layout": layout}}]}}

    for document in (classic(panel), v2(layout, {})):
        with pytest.raises(DocumentError, match="nested deeper than"):
            board_of(document)


often = settings(max_examples=60, deadline=None)


@often
@given(dashboards)
def test_any_dashboard(document):
    """Every generated dashboard has a model, whose places lead into what is loaded; the document stays as it was."""
    before = json.dumps(document)

    board = board_of(document)

    found = unwrapped(document).document
    found = found if board.shape is Shape.V2 else inlined(found)[0]
    assert json.dumps(document) == before
    for panel in board.panels:
        assert isinstance(placed(found, panel.keys), dict)


@often
@given(st.recursive(scalars, lambda children: st.one_of(st.lists(children), st.dictionaries(st.text(), children))))
def test_any_json(junk):
    """Whatever JSON stands in a key that the model reads, the answer is a model or one plain error."""
    entry = dict.fromkeys(
        ("id", "title", "type", "gridPos", "targets", "maxDataPoints", "interval", "repeat", "libraryPanel", "panels",
         "datasource", "expr", "current", "options", "query", "filters", "sort", "height", "span", "spec", "kind"),
        junk,
    )  # fmt: skip
    named = {**entry, "name": "x"}
    for document in (
        {"panels": junk, "templating": junk, "time": junk, "uid": junk, "title": junk},
        {"panels": [{**entry, "panels": [], "targets": [entry]}], "templating": {"list": [named]}, "rows": [entry]},
        {"rows": [{"panels": [entry], "height": junk}], "variables": [{"kind": junk, "spec": named}]},
        {"elements": {"a": junk, "b": {"spec": entry}}, "layout": junk, "variables": junk},
        {
            "elements": {"a": {"spec": {**entry, "data": junk, "vizConfig": junk}}},
            "layout": {"kind": junk, "spec": entry},
        },
        {"elements": {"a": {}}, "layout": {"spec": {"items": [entry], "rows": [{"spec": entry}], "tabs": junk}}},
        {"apiVersion": "v2", "spec": junk},
        junk,
    ):
        with suppress(DocumentError):
            assert isinstance(board_of(document), Board)
