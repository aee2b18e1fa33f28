"""The dashboards that kvobs ships: loadable, readable, and asking only for metrics that exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest

from kvobs.adapters.assets import catalog, shipped_dashboards
from kvobs.dashboard.patch import patch_dashboard

METRIC_NAMES = Path(__file__).parent / "data" / "metric-names"
DASHBOARDS = {name: json.loads(content) for name, content in shipped_dashboards()}
INPUT = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
PANELS = [
    pytest.param(name, panel, id=f"{name}:{panel['title']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    if panel["type"] not in ("row", "text")
]
QUERIES = [
    pytest.param(name, panel, target, id=f"{name}:{panel['title']}:{target['refId']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    for target in panel.get("targets", ())
]
VARIABLES = [
    pytest.param(name, variable, id=f"{name}:{variable['name']}")
    for name, dashboard in DASHBOARDS.items()
    for variable in dashboard["templating"]["list"]
]

each_dashboard = pytest.mark.parametrize("name", DASHBOARDS)
each_panel = pytest.mark.parametrize(("name", "panel"), PANELS)
each_query = pytest.mark.parametrize(("name", "panel", "target"), QUERIES)
each_variable = pytest.mark.parametrize(("name", "variable"), VARIABLES)


def exposed(dashboard: str) -> dict[str, str]:
    """Series name -> type, of what the dashboard's exporter exposes by default."""
    gpu, server = "dcgm-exporter-default.tsv", "vllm-0.32.0.tsv"
    lists = {"dcgm.json": [gpu], "vllm.json": [server], "two-lenses.json": [gpu, server]}
    series = {}
    for line in [line for each in lists[dashboard] for line in (METRIC_NAMES / each).read_text().splitlines()[1:]]:
        name, kind = line.split("\t")
        suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        series |= {name + suffix: kind for suffix in suffixes}
    return series


def parsed(expr: str) -> Any:
    """The syntax tree of a query, Grafana's interval replaced by one that Prometheus can read."""
    return promql.parse(expr.replace("$__rate_interval", "2m"))


def walk(node: Any) -> Iterator[Any]:
    """Every node of a syntax tree, the root first."""
    yield node
    below = [getattr(node, name, None) for name in ("expr", "lhs", "rhs", "vector_selector")]
    for child in [*below, *getattr(node, "args", ())]:
        if child is not None:
            yield from walk(child)


def selectors(expr: str) -> list[Any]:
    """Every series selector of a query."""
    return [node for node in walk(parsed(expr)) if isinstance(node, promql.VectorSelector)]


def kept_labels(node: Any) -> set[str]:
    """Labels that the outermost aggregations of a query keep."""
    if isinstance(node, promql.AggregateExpr):
        return set(node.modifier.labels) if node.modifier is not None else set()
    below = [getattr(node, name, None) for name in ("expr", "lhs", "rhs")]
    return {
        label for child in [*below, *getattr(node, "args", ())] if child is not None for label in kept_labels(child)
    }


def datasources(value: Any) -> Iterator[Any]:
    """Every value of a key named `datasource`, wherever it stands."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "datasource":
            yield child
        elif isinstance(child, dict | list):
            yield from datasources(child)


def test_the_dashboards_are_shipped() -> None:
    """GPUs and vLLM each have a dashboard, and one for both, under the uid that links may rely on."""
    assert {name: dashboard["uid"] for name, dashboard in DASHBOARDS.items()} == {
        "dcgm.json": "kvobs-dcgm",
        "two-lenses.json": "kvobs-two-lenses",
        "vllm.json": "kvobs-vllm",
    }


@each_dashboard
def test_export_form(name: str) -> None:
    """A dashboard is an export: one Prometheus input, what it requires, no id of the Grafana it came from."""
    dashboard = DASHBOARDS[name]

    assert [(i["name"], i["type"], i["pluginId"]) for i in dashboard["__inputs"]] == [
        ("DS_PROMETHEUS", "datasource", "prometheus")
    ]
    required = {entry["id"] for entry in dashboard["__requires"] if entry["type"] == "panel"}
    assert required == {panel["type"] for panel in dashboard["panels"]} - {"row"}
    assert "id" not in dashboard
    assert dashboard["schemaVersion"] in (41, 42)


@each_dashboard
def test_every_datasource_is_the_input(name: str) -> None:
    """Panels, targets and variables all ask the one input; only Grafana's annotations do not."""
    dashboard = DASHBOARDS[name]
    found = list(datasources(dashboard))
    panels = [panel for panel in dashboard["panels"] if panel["type"] not in ("row", "text")]
    targets = [target for panel in panels for target in panel["targets"]]
    needed = len(panels) + len(targets) + len(dashboard["templating"]["list"])

    assert found.count(INPUT) == needed
    assert [reference for reference in found if reference != INPUT] == [{"type": "grafana", "uid": "-- Grafana --"}]


@each_dashboard
def test_patched(name: str) -> None:
    """After patching, no placeholder is left and every query names the UID that was given."""
    patched = patch_dashboard(DASHBOARDS[name], datasources={"prometheus": "the-uid"}).document

    text = json.dumps(patched)
    assert "${DS_" not in text
    assert "__inputs" not in text
    given = [reference for reference in datasources(patched) if reference["uid"] == "the-uid"]
    assert len(given) == json.dumps(DASHBOARDS[name]).count("${DS_PROMETHEUS}")


@each_dashboard
def test_layout(name: str) -> None:
    """Panels lie within 24 columns, none over another, rows across, ids unique."""
    panels = DASHBOARDS[name]["panels"]
    cells: dict[tuple[int, int], str] = {}
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] >= 0
        assert at["x"] + at["w"] <= 24, panel["title"]
        for cell in [(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]:
            assert cell not in cells, f"{panel['title']} lies over {cells[cell]}"
            cells[cell] = panel["title"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert panels[0]["type"] == "row"
    assert {panel["gridPos"]["w"] for panel in panels if panel["type"] == "row"} == {24}


@each_panel
def test_panel_explains_itself(name: str, panel: dict[str, Any]) -> None:
    """A panel has a unit and a description that says what the number means and what an empty panel means."""
    assert panel["type"] in {"timeseries", "stat", "gauge", "bargauge", "heatmap", "table"}
    assert panel["fieldConfig"]["defaults"]["unit"]
    meaning, empty, _ = panel["description"].partition("Empty: ")
    assert len(meaning) > 30
    assert empty


@each_query
def test_query_asks_for_what_is_exposed(name: str, panel: dict[str, Any], target: dict[str, Any]) -> None:
    """A query parses, and every series in it is one that the exporter exposes without extra flags."""
    asked = [selector.name for selector in selectors(target["expr"])]

    assert asked
    assert set(asked) <= set(exposed(name))


@each_query
def test_query_rates(name: str, panel: dict[str, Any], target: dict[str, Any]) -> None:
    """Rates are taken of what counts up, over the window that holds samples at any scrape interval.

    The windows of neighbouring points overlap: a curve of increases would show each event several times.
    """
    assert set(re.findall(r"\[(.*?)\]", target["expr"])) <= {"$__rate_interval"}
    for node in walk(parsed(target["expr"])):
        if isinstance(node, promql.Call) and node.func.name in {"rate", "increase"}:
            (window,) = node.args
            assert exposed(name)[window.vector_selector.name] in {"counter", "histogram"}
            assert node.func.name == "rate" or target["instant"]


@each_query
def test_query_follows_the_variables(name: str, panel: dict[str, Any], target: dict[str, Any]) -> None:
    """Every selector is narrowed by the dashboard's variables."""
    variables = {variable["name"] for variable in DASHBOARDS[name]["templating"]["list"]}
    of_gpus = {"instance", "gpu"}
    for selector in selectors(target["expr"]):
        narrowed = {m.name for m in selector.matchers.matchers if m.value == f"${m.name}"}
        # The one vLLM metric that does not say which model it is about.
        missing = {"model_name"} if selector.name == "vllm:cache_config_info" else set()
        if name == "two-lenses.json":  # each lens has its own
            missing = variables - of_gpus if selector.name.startswith("DCGM_") else of_gpus
        assert narrowed == variables - missing


@each_query
def test_legend_names_what_the_query_keeps(name: str, panel: dict[str, Any], target: dict[str, Any]) -> None:
    """A legend's labels are labels of the result, and tell its series apart."""
    shown = set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
    kept = kept_labels(parsed(target["expr"]))

    assert shown <= kept
    if panel["type"] == "timeseries":
        # The pod or the node stands for the namespace and the address that go with it.
        assert kept - shown <= {"le", "namespace", "instance"}


@each_query
def test_one_moment_or_a_curve(name: str, panel: dict[str, Any], target: dict[str, Any]) -> None:
    """Single values and tables ask for one moment, so that a server that is gone shows nothing old."""
    assert target["instant"] is (panel["type"] in {"stat", "gauge", "table"})
    assert target["range"] is not target["instant"]


@each_variable
def test_variable(name: str, variable: dict[str, Any]) -> None:
    """A variable is scoped to a metric of the dashboard, follows the time range, and offers All."""
    query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])

    assert query is not None
    (selector,) = selectors(query[1])
    assert selector.name in exposed(name)
    assert query[2] == variable["name"]
    assert variable["refresh"] == 2
    assert (variable["multi"], variable["includeAll"]) == (True, True)
    assert variable["current"]["value"] == ["$__all"]


def test_no_clash_with_upstream() -> None:
    """A uid or title that somebody else's dashboard has would freeze Grafana's provisioning of both."""
    theirs = {known.uid for known in catalog()} | {known.title.lower() for known in catalog() if known.title}
    ours = [d["uid"] for d in DASHBOARDS.values()] + [d["title"].lower() for d in DASHBOARDS.values()]

    assert len(set(ours)) == len(ours)
    assert not theirs & set(ours)


def test_two_lenses_say_what_busy_means() -> None:
    """The dashboard of both lenses opens with a text that explains each of its measures in each lens."""
    (text,) = [panel for panel in DASHBOARDS["two-lenses.json"]["panels"] if panel["type"] == "text"]

    for word in ("Utilisation", "Tensor", "DRAM", "Running", "waiting", "Framebuffer", "KV cache", "Power", "Tokens"):
        assert word in text["options"]["content"]


def test_two_lenses_share_a_time_axis() -> None:
    """Each measure of the GPU stands beside the server's own, at the same height and as wide."""
    panels = {panel["title"]: panel["gridPos"] for panel in DASHBOARDS["two-lenses.json"]["panels"]}
    pairs = {
        "Utilisation, tensor and DRAM activity": "Running and waiting requests",
        "Framebuffer used, share": "KV cache usage",
        "Power": "Tokens per second",
    }
    for left, right in pairs.items():
        assert panels[right] == {**panels[left], "x": 12}


def test_linked_to_each_other() -> None:
    """Each dashboard links to the others by the tag that all of them carry."""
    for dashboard in DASHBOARDS.values():
        assert "kvobs" in dashboard["tags"]
        assert [link["tags"] for link in dashboard["links"] if link["type"] == "dashboards"] == [["kvobs"]]
