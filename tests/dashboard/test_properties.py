"""What holds for every dashboard: generated ones, in all shapes, with names and values that invite mistakes."""

import copy
import json
import re
from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonpath_ng.ext import parse

from kvobs.dashboard.datasources import Sources
from kvobs.dashboard.patch import Datasource, Kind, Outcome, patch, patch_dashboard
from kvobs.dashboard.select import selection
from kvobs.errors import DocumentError

from .oracle import compared, inner, recount

NAMES = ("DS_PROM", "DS_PROM_2", "DS-LOKI", "VAR_X", "VAR_Y", "ds", "datasource", "job")
PLUGINS = ("prometheus", "loki", "tempo", "__expr__", "grafana")
UIDS = ("prom-1", "loki-1", "Prometheus", "foreign", "", "default", "grafana", "-- Mixed --", "-- Grafana --", "-100")

names = st.sampled_from(NAMES)
plugins = st.sampled_from(PLUGINS)
forms = st.sampled_from(("${%s}", "$%s", "[[%s]]", "${%s:raw}", "${%s:percentencode}", "[[%s:regex]]", "${%s.x}"))
placeholders = st.builds(lambda form, name: form % name, forms, names)
pieces = st.one_of(
    placeholders, st.sampled_from(("up", " ", "$__rate_interval", "${__field.labels.x}", "{{pod}}", "$", "[[", "}"))
)
texts = st.lists(pieces, max_size=4).map("".join)
# Whole placeholders only: halves of one, put together by a constant, are nobody's reference.
values = st.lists(st.one_of(placeholders, st.sampled_from(("up", " ", "$job "))), max_size=2).map("".join)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False), texts
)
named = st.one_of(placeholders, st.sampled_from(UIDS), texts)
objects = st.fixed_dictionaries(
    {},
    optional={
        "type": plugins,
        "uid": st.one_of(st.none(), named),
        "name": named,
        "default": st.booleans(),
        "$$hashKey": texts,
    },
)
references = st.one_of(st.none(), named, objects)
junk = st.recursive(
    scalars,
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.dictionaries(st.sampled_from(("a", "datasource", "url", "x.y", "spec")), children, max_size=3),
    ),
    max_leaves=8,
)
targets = st.fixed_dictionaries({"refId": st.just("A")}, optional={"datasource": references, "expr": texts})
panels = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(("timeseries", "stat"))},
        optional={
            "datasource": references,
            "targets": st.lists(targets, max_size=3),
            "links": st.lists(st.fixed_dictionaries({"url": texts}), max_size=2),
            "fieldConfig": junk,
            "libraryPanel": st.fixed_dictionaries({"uid": st.sampled_from(("lib-1", "lib-2"))}),
            "id": st.integers(0, 9),
        },
    ),
    lambda children: st.fixed_dictionaries({"type": st.just("row"), "panels": st.lists(children, max_size=3)}),
    max_leaves=5,
)
inputs = st.one_of(
    st.fixed_dictionaries({"name": names, "type": st.just("datasource"), "pluginId": plugins}),
    st.fixed_dictionaries(
        {"name": names, "type": st.just("constant")}, optional={"value": st.one_of(values, st.integers())}
    ),
    junk,
)
current = st.fixed_dictionaries(
    {}, optional={"text": texts, "value": st.one_of(texts, st.lists(texts, max_size=1)), "selected": st.booleans()}
)
variables = st.one_of(
    st.fixed_dictionaries(
        {"name": names, "type": st.just("datasource"), "query": plugins},
        optional={"current": st.one_of(current, junk), "regex": st.one_of(texts, st.just("/^P/")), "options": junk},
    ),
    st.fixed_dictionaries(
        {"name": names, "type": st.sampled_from(("query", "custom", "constant", "adhoc"))},
        optional={"datasource": references, "current": current, "query": st.one_of(texts, junk), "options": junk},
    ),
    junk,
)
annotations = st.fixed_dictionaries(
    {"name": texts}, optional={"datasource": references, "builtIn": st.sampled_from((0, 1))}
)
elements = st.dictionaries(
    st.sampled_from(("lib-1", "lib-2")),
    st.fixed_dictionaries({"model": panels, "uid": st.sampled_from(("lib-1", "lib-2"))}),
    max_size=2,
)
classic = st.fixed_dictionaries(
    {"title": st.just("Case"), "panels": st.lists(panels, max_size=4)},
    optional={
        "__inputs": st.lists(inputs, max_size=4),
        "__requires": st.just([]),
        "__elements": elements,
        "templating": st.fixed_dictionaries({"list": st.lists(variables, max_size=4)}),
        "annotations": st.fixed_dictionaries({"list": st.lists(annotations, max_size=3)}),
        "links": st.lists(st.fixed_dictionaries({"url": texts}), max_size=2),
        "rows": st.lists(st.fixed_dictionaries({"panels": st.lists(panels, max_size=2)}), max_size=2),
        "id": st.integers(1, 9),
        "extra": junk,
    },
)
v2_queries = st.fixed_dictionaries(
    {"kind": st.just("DataQuery"), "group": plugins}, optional={"datasource": objects, "spec": junk}
)
v2_variables = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("DatasourceVariable"),
            "spec": st.fixed_dictionaries(
                {"name": names, "pluginId": plugins}, optional={"current": current, "regex": texts}
            ),
        }
    ),
    st.fixed_dictionaries(
        {"kind": st.just("QueryVariable"), "spec": st.fixed_dictionaries({"name": names, "query": v2_queries})}
    ),
)
v2 = st.fixed_dictionaries(
    {
        "title": st.just("Case"),
        "elements": st.dictionaries(
            st.sampled_from(("panel-1", "panel-2")),
            st.fixed_dictionaries({"spec": st.fixed_dictionaries({"queries": st.lists(v2_queries, max_size=2)})}),
        ),
        "layout": junk,
    },
    optional={
        "variables": st.lists(v2_variables, max_size=3),
        "annotations": st.lists(
            st.fixed_dictionaries(
                {"spec": st.fixed_dictionaries({"query": v2_queries}, optional={"builtIn": st.booleans()})}
            ),
            max_size=2,
        ),
        "__inputs": st.lists(inputs, max_size=2),
    },
)
dashboards = st.one_of(
    classic,
    v2,
    classic.map(lambda board: {"meta": {}, "dashboard": board}),
    classic.map(lambda board: {"apiVersion": "dashboard.grafana.app/v1", "metadata": {"name": "uid-1"}, "spec": board}),
    v2.map(lambda board: {"apiVersion": "dashboard.grafana.app/v2", "metadata": {"name": "uid-1"}, "spec": board}),
)
known = st.one_of(
    st.none(),
    st.lists(
        st.sampled_from(
            (
                {"uid": "prom-1", "name": "Prometheus", "type": "prometheus", "default": True},
                {"uid": "prom-1", "name": "Prometheus", "type": "prometheus", "default": False},
                {"uid": "loki-1", "name": "Loki", "type": "loki", "default": True},
            )
        ),
        max_size=2,
    ),
)
arguments = st.fixed_dictionaries(
    {
        "datasources": st.dictionaries(
            st.sampled_from(("prometheus", "loki")), st.sampled_from(("prom-1", Datasource("uid-2", "Two"))), max_size=2
        ),
        "inputs": st.dictionaries(names, st.sampled_from(("value-1", "prom-1")), max_size=2),
        "known": known,
        "remap_foreign": st.booleans(),
    }
)
often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@often
@given(dashboards, arguments)
def test_never_mutates(document, given_arguments):
    """The input is the same after the patch as before."""
    before = copy.deepcopy(document)

    patch_dashboard(document, **given_arguments)

    assert document == before
    assert json.dumps(document) == json.dumps(before)


@often
@given(dashboards, arguments)
def test_twice_is_once(document, given_arguments):
    """Patching the result again with the same arguments changes nothing, and says so by giving it back."""
    once = patch_dashboard(document, **given_arguments).document

    again = patch_dashboard(once, **given_arguments).document

    assert json.dumps(again) == json.dumps(once)
    assert again is once


@often
@given(dashboards, arguments)
def test_the_rest_is_untouched(document, given_arguments):
    """What was not reported as changed comes back equal, with its keys in order."""
    patched = patch_dashboard(document, **given_arguments)

    start = document if patched.document.get("apiVersion") else inner(document)
    changed = {reference.keys for reference in patched.references if reference.changed}
    if "__elements" not in start:
        output = {key: value for key, value in patched.document.items() if key in start or key != "uid"}
        compared(start, output, (), changed)


@often
@given(dashboards, arguments)
def test_untouched_parts_are_shared(document, given_arguments):
    """Panels without a change are the very objects of the input."""
    patched = patch_dashboard(document, **given_arguments)

    changed = {reference.keys for reference in patched.references if reference.changed}
    before, after = inner(document), inner(patched.document)
    for index, panel in enumerate(before.get("panels", [])):
        if "libraryPanel" not in json.dumps(panel) and not any(keys[:2] == ("panels", index) for keys in changed):
            assert after["panels"][index] is panel


@often
@given(dashboards, arguments)
def test_paths_and_outcomes(document, given_arguments):
    """A path selects one place, which holds what the reference says, and the account is consistent in itself."""
    patched = patch_dashboard(document, **given_arguments)

    for reference in patched.references:
        found = patched.document
        for key in reference.keys:
            found = found[key]
        assert found == reference.now
        assert reference.why
        if reference.outcome is not Outcome.RESOLVED and not isinstance(reference.was, dict):
            assert not reference.changed or reference.kind not in (Kind.NULL, Kind.LITERAL, Kind.BUILTIN)
    for reference in patched.references[:3]:
        (match,) = parse(reference.path).find(patched.document)
        assert match.value == reference.now


@often
@given(dashboards, arguments)
def test_no_resolvable_input_is_left(document, given_arguments):
    """A declared input that a value was given for stands nowhere any more, unless a variable has its name."""
    patched = patch_dashboard(document, **given_arguments)

    left = {reference.name for reference in patched.unresolved}
    board = inner(patched.document)
    for entry in inner(document).get("__inputs", []):
        if not isinstance(entry, dict) or entry.get("type") != "datasource" or not isinstance(entry.get("name"), str):
            continue
        references = [each for each in patched.references if each.name == entry["name"]]
        if all(each.kind is Kind.INPUT for each in references) and entry["name"] not in left and references:
            forms = re.compile(r"\$\{{{0}\}}|\${0}(?!\w)|\[\[{0}\]\]".format(re.escape(entry["name"])))
            assert not [text for text, _ in recount(board, {entry["name"]}) if forms.search(str(text))]


@often
@given(dashboards, arguments, st.sampled_from(("$..datasource", "$.panels[0]", "$.templating", "$..uid", "$.nowhere")))
def test_only_what_is_selected(document, given_arguments, expression):
    """With a selection nothing else is looked at, and two halves make a whole."""
    sources = Sources(**given_arguments)
    chosen = selection(expression, document)

    patched = patch(document, sources, only=chosen)

    assert all(chosen(reference.keys) for reference in patched.references)
    rest = patch(patched.document, sources)
    assert json.dumps(patch(rest.document, sources).document) == json.dumps(rest.document)


@given(st.recursive(scalars, lambda children: st.one_of(st.lists(children), st.dictionaries(st.text(), children))))
@settings(max_examples=60, deadline=None)
def test_any_json_is_patched_or_refused(document):
    """Whatever JSON comes, the answer is a dashboard or one plain error."""
    for shaped in (
        {"panels": document, "templating": document, "__inputs": document, "__elements": document},
        {"elements": {}, "variables": document, "annotations": document, "datasource": document},
        {"apiVersion": "v2", "spec": document},
        document,
    ):
        with suppress(DocumentError):
            patched = patch_dashboard(shaped)
            assert patch_dashboard(patched.document).document is patched.document
