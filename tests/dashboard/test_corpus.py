"""The patch on real dashboards: its classes against COUNTS.tsv, its output against a recount of its own."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from kvobs.dashboard.jsontext import read_json
from kvobs.dashboard.patch import Kind, Outcome, patch_dashboard
from kvobs.errors import DocumentError

from .oracle import BUILTINS, compared, inner, names_of, recount

CORPUS = Path(__file__).parents[3] / "shared" / "dashboards"
BROKEN = "confluentinc__jmx-monitoring-stacks__jmx-malformed.json"
GIVEN = {"prometheus": "kvobs-prom", "loki": "kvobs-loki"}
KNOWN = [{"uid": "kvobs-prom", "name": "Prometheus", "type": "prometheus", "default": True}]
FILES = sorted(path.name for path in CORPUS.glob("*.json") if path.name != BROKEN)

pytestmark = pytest.mark.skipif(not FILES, reason="the corpus ../shared/dashboards is not beside this checkout")


def document_of(name):
    """Return a dashboard of the corpus."""
    return json.loads((CORPUS / name).read_text(encoding="utf-8"))


def rows():
    """Return the rows of COUNTS.tsv by file."""
    with (CORPUS / "COUNTS.tsv").open(encoding="utf-8", newline="") as stream:
        return {row["file"]: row for row in csv.DictReader(stream, delimiter="\t")}


def column_of(reference):
    """Return the column of COUNTS.tsv that counts a reference."""
    prometheus = reference.plugin == "prometheus"
    return {
        Kind.INPUT: "prom_input_refs" if prometheus else "other_input_refs",
        Kind.EXPRESSION: "other_input_refs",
        Kind.SHADOWED: "prom_input_refs_shadowed_by_variable" if prometheus else "other_input_refs",
        Kind.CONSTANT: "const_input_refs",
        Kind.VARIABLE: "ds_variable_refs",
        Kind.UNDECLARED: "undeclared_refs",
        Kind.LITERAL: "literal_prometheus_or_untyped"
        if reference.plugin in (None, "prometheus")
        else "literal_other_type",
        Kind.BUILTIN: "builtin_refs",
        Kind.NULL: "null_datasource",
        Kind.WITHOUT_UID: "datasource_without_uid",
    }[reference.kind]


def counted(references):
    """Count references by column."""
    found = Counter()
    for reference in references:
        if reference.kind is Kind.CURRENT:
            continue
        found[column_of(reference)] += 1
        found["refs_inside_longer_strings"] += reference.embedded
        if column_of(reference) == "other_input_refs":
            found[f"other {reference.plugin}"] += 1
    return found


@pytest.mark.parametrize("name", FILES)
def test_counts(name):
    """Every class of references counts as many as COUNTS.tsv says."""
    want = rows()[name]

    found = counted(patch_dashboard(document_of(name)).references)

    others = "0" if want["other_input_refs"] == "0" else dict.fromkeys(want["other_input_refs"].split(","))
    spelled = {f"{key[6:]}:{value}": None for key, value in found.items() if key.startswith("other ")}
    assert spelled == ({} if others == "0" else others)
    columns = set(want) - {"file", "other_input_refs", "nested_panels"}
    assert {column: found[column] for column in columns} == {column: int(want[column]) for column in columns}


def test_every_file_is_counted():
    """The corpus and its counts name the same files."""
    assert set(FILES) == set(rows()) - {BROKEN}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_left(name):
    """With a source for each type in the file, the output holds no declared input and no dangling reference."""
    board = inner(document_of(name))
    inputs, variables, sources = names_of(board)
    plugins = {entry["pluginId"] for entry in board.get("__inputs", []) if entry.get("pluginId")}
    given = {plugin: f"kvobs-{plugin}" for plugin in {*plugins, "prometheus"}}
    given |= {plugin: f"kvobs-{plugin}" for plugin in ("loki", "jaeger", "grafana-opensearch-datasource")}

    patched = patch_dashboard(document_of(name), datasources=given, known=[], remap_foreign=True)

    output = inner(patched.document)
    assert not patched.unresolved
    assert not {"__inputs", "__requires", "__elements"} & output.keys()
    assert not [found for found in recount(output, inputs) if not found[1]]
    for text, in_place in recount(output, sources):
        named = re.fullmatch(r"\$\{?(\w+).*|\[\[(\w+).*", text or "")
        if in_place:
            fine = {*BUILTINS, *given.values()}
            assert text in fine or (named and (named[1] or named[2]) in variables), text


@pytest.mark.parametrize("name", FILES)
def test_the_rest_is_untouched(name):
    """Where no reference was reported as changed, output and input agree, value by value and key by key."""
    document = document_of(name)
    before = json.dumps(document)

    patched = patch_dashboard(document, datasources=GIVEN, known=KNOWN, remap_foreign=True)

    assert json.dumps(document) == before
    changed = {reference.keys for reference in patched.references if reference.changed}
    start, output = document, patched.document
    if "apiVersion" not in document:
        start = inner(document)
    compared(start, output, (), changed)


@pytest.mark.parametrize("name", FILES)
def test_twice(name):
    """Patching the output again changes nothing, whatever is known of the cluster."""
    for arguments in (
        {"datasources": GIVEN, "known": KNOWN, "remap_foreign": True},
        {"datasources": {"prometheus": "kvobs-prom"}},
    ):
        once = patch_dashboard(document_of(name), **arguments).document
        assert json.dumps(patch_dashboard(once, **arguments).document) == json.dumps(once)


@pytest.mark.parametrize("name", FILES)
def test_paths_lead_to_what_they_say(name):
    """A reference's path selects, in the patched document, what the reference says stands there."""
    patched = patch_dashboard(document_of(name), datasources=GIVEN, known=KNOWN, remap_foreign=True)

    for reference in patched.references:
        found = patched.document
        for key in reference.keys:
            found = found[key]
        assert found == reference.now
        assert reference.outcome in Outcome


def test_the_broken_file():
    """The file with a brace too many is refused with line and column."""
    with pytest.raises(DocumentError, match=r"after the end of the document \(line 8356, column 2\)"):
        read_json((CORPUS / BROKEN).read_bytes())
