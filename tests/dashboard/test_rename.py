"""New names of metrics in a dashboard's queries, and in nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kvobs.dashboard.rename import Choice, rename_in, rename_metrics
from kvobs.errors import DocumentError


def decide(name: str) -> Choice | None:
    """old_… becomes new_…, gone stays for a reason, nothing else is anybody's concern."""
    if name.startswith("old"):
        return Choice("new" + name.removeprefix("old"), "renamed")
    return Choice(None, "nothing comes instead") if name == "gone" else None


@pytest.mark.parametrize(
    ("query", "now"),
    [
        ("old", "new"),
        ("old{old='old'}", "new{old='old'}"),
        ("sum by (old) (rate(old_total[$__rate_interval]))", "sum by (old) (rate(new_total[$__rate_interval]))"),
        ("old / on(old) group_left(old) older", "new / on(old) group_left(old) newer"),
        ("my_old + old:x + old_ + xold", "my_old + new:x + new_ + xold"),
        ("old_$x + ${old}_a + $old + [[old]]", "old_$x + ${old}_a + $old + [[old]]"),
        ("old(a) # old\n+ old", "old(a) # old\n+ new"),
        ('{__name__="old", a="old"}', '{__name__="new", a="old"}'),
        ('{__name__=~"old|b|old_c"}', '{__name__=~"new|b|new_c"}'),
        ('{__name__=~"old.*"}', '{__name__=~"old.*"}'),
        ('{"old", a="b"}', '{"new", a="b"}'),
        ("old or new", "old or new"),
        ("label_values(old{a='$b'}, old)", "label_values(new{a='$b'}, old)"),
        ("label_values(old)", "label_values(old)"),
        ("metrics(old)", "metrics(old)"),
        ("gone", "gone"),
        ("", ""),
    ],
)
def test_a_query(query: str, now: str) -> None:
    """A name is changed where it stands as a metric; labels, texts, comments, variables and longer names stay."""
    assert rename_in(query, decide)[0] == now


def test_an_unchanged_query_is_the_same_object() -> None:
    """A query without an old name comes back as it is."""
    query = "rate(a[5m])"
    assert rename_in(query, decide)[0] is query


DOCUMENT: dict[str, Any] = {
    "title": "old",
    "panels": [
        {
            "title": "old",
            "description": "shows old",
            "targets": [{"refId": "A", "expr": "rate(old[5m])", "legendFormat": "old"}, {"refId": "B", "expr": "gone"}],
            "fieldConfig": {"overrides": [{"matcher": {"id": "byName", "options": "old"}}]},
        },
        {"type": "row", "panels": [{"targets": [{"expr": "old"}]}]},
        {"datasource": {"type": "loki", "uid": "x"}, "targets": [{"expr": "old"}]},
        {"datasource": {"type": "loki"}, "targets": [{"datasource": {"type": "prometheus"}, "expr": "old"}]},
        {"targets": [{"expr": "kept"}]},
    ],
    "templating": {
        "list": [
            {"name": "a", "type": "query", "query": "label_values(old, x)", "definition": "label_values(old, x)"},
            {"name": "b", "type": "query", "query": {"query": "query_result(old)", "refId": "r"}},
            {"name": "c", "type": "custom", "query": "old,older"},
            {"name": "d", "type": "query", "datasource": {"type": "loki"}, "query": "label_values(old, x)"},
        ]
    },
    "annotations": {"list": [{"name": "old", "expr": "changes(old[1m]) > 0"}]},
}


def test_a_classic_dashboard() -> None:
    """Targets, nested ones too, variables of type query and annotations follow; other sources and texts do not."""
    before = copy.deepcopy(DOCUMENT)
    result = rename_metrics(DOCUMENT, decide)
    assert before == DOCUMENT
    assert [each.path for each in result.renamed] == [
        "$.panels[0].targets[0].expr",
        "$.panels[1].panels[0].targets[0].expr",
        "$.panels[3].targets[0].expr",
        "$.templating.list[0].query",
        "$.templating.list[0].definition",
        "$.templating.list[1].query.query",
        "$.annotations.list[0].expr",
    ]
    expected = json.loads(json.dumps(DOCUMENT))
    for each in result.renamed:
        holder = expected
        for key in each.keys[:-1]:
            holder = holder[key]
        holder[each.keys[-1]] = holder[each.keys[-1]].replace("old", "new")
    assert result.document == expected
    assert list(result.document) == list(DOCUMENT)


def test_what_did_not_change_is_shared() -> None:
    """The new document is a copy only on the way down to a change."""
    result = rename_metrics(DOCUMENT, decide)
    assert result.document["panels"][4] is DOCUMENT["panels"][4]
    assert result.document["panels"][0]["fieldConfig"] is DOCUMENT["panels"][0]["fieldConfig"]


def test_a_document_without_old_names_comes_back_itself() -> None:
    """Nothing to do is nothing done."""
    document = {"title": "old", "panels": [{"targets": [{"expr": "rate(a[5m])"}]}]}
    result = rename_metrics(document, decide)
    assert result.document is document
    assert result.renamed == result.left == ()


def test_what_stays_says_why() -> None:
    """Names without an exact heir, and texts that are a renamed name, are told with the reason."""
    left = {each.path: each for each in rename_metrics(DOCUMENT, decide).left}
    assert left["$.panels[0].targets[1].expr"].why == "nothing comes instead"
    assert "no query" in left["$.panels[0].fieldConfig.overrides[0].matcher.options"].why
    assert all(each.now is None for each in left.values())


def test_a_new_name_beside_the_old_one_stays() -> None:
    """A query that asks for both already is left as it is."""
    result = rename_metrics({"panels": [{"targets": [{"expr": "new or old"}]}]}, decide)
    assert result.renamed == ()
    assert "as well" in result.left[0].why


def test_a_dashboard_of_schema_v2() -> None:
    """Queries and variables of a v2 dashboard follow too."""
    query = {"kind": "DataQuery", "group": "prometheus", "spec": {"expr": "old"}}
    loki = {"kind": "DataQuery", "group": "loki", "spec": {"expr": "old"}}
    variable = {
        "kind": "QueryVariable",
        "spec": {
            "name": "a",
            "query": {"kind": "DataQuery", "group": "prometheus", "spec": {"query": "label_values(old, x)"}},
            "definition": "label_values(old, x)",
        },
    }
    queries = [{"kind": "PanelQuery", "spec": {"query": each}} for each in (query, loki)]
    panel = {"kind": "Panel", "spec": {"data": {"spec": {"queries": queries}}}}
    result = rename_metrics({"elements": {"a": panel}, "variables": [variable]}, decide)
    assert [each.path for each in result.renamed] == [
        "$.elements.a.spec.data.spec.queries[0].spec.query.spec.expr",
        "$.variables[0].spec.query.spec.query",
        "$.variables[0].spec.definition",
    ]


def test_endless_nesting_is_refused() -> None:
    """A document that nests without end is an error, no crash."""
    document: dict[str, Any] = {}
    for _ in range(5000):
        document = {"panels": [document]}
    with pytest.raises(DocumentError, match="nested deeper"):
        rename_metrics(document, decide)
