"""The patch by example: each folder under tests/data/patch is one case, and its case.json says what must hold."""

import json
from pathlib import Path

import pytest

from kvobs.dashboard.jsontext import read_json
from kvobs.dashboard.patch import Datasource, Outcome, patch_dashboard
from kvobs.errors import DocumentError

CASES = sorted((Path(__file__).parent.parent / "data" / "patch").iterdir())
GOOD = [case for case in CASES if (case / "output.json").exists()]
BAD = [case for case in CASES if case not in GOOD]


def loaded(path):
    """Return a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def plain(reference):
    """Return a reference as report.json holds it."""
    return {
        "path": reference.path,
        "class": reference.kind.value,
        "outcome": reference.outcome.value,
        "was": reference.was,
        "now": reference.now,
        "why": reference.why,
    }


def arguments_of(case):
    """Return the arguments of a case as patch_dashboard takes them."""
    arguments = loaded(case / "case.json")["arguments"]
    given = arguments.get("datasources", {})
    datasources = {kind: uid if isinstance(uid, str) else Datasource(*uid) for kind, uid in given.items()}
    return {**arguments, "datasources": datasources}


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_document(case):
    """The patched document is what output.json says, key order included."""
    patched = patch_dashboard(loaded(case / "input.json"), **arguments_of(case))

    assert json.dumps(patched.document, indent=2) == json.dumps(loaded(case / "output.json"), indent=2)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_report(case):
    """The account of every reference is what report.json says, in order."""
    patched = patch_dashboard(loaded(case / "input.json"), **arguments_of(case))

    assert {
        "references": [plain(reference) for reference in patched.references],
        "warnings": list(patched.warnings),
        "not_loadable_because": patched.not_loadable_because,
    } == loaded(case / "report.json")
    assert patched.loadable is (not patched.not_loadable_because)
    assert all(each.outcome is Outcome.UNRESOLVED for each in patched.unresolved)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_twice(case):
    """Patching the result again changes nothing."""
    once = patch_dashboard(loaded(case / "input.json"), **arguments_of(case)).document

    again = patch_dashboard(once, **arguments_of(case)).document

    assert json.dumps(again) == json.dumps(once)


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_refused(case):
    """What is no dashboard is refused in the words of case.json."""
    (given,) = case.glob("input.*")

    with pytest.raises(DocumentError) as error:
        patch_dashboard(read_json(given.read_bytes()).document, **arguments_of(case))

    assert str(error.value) == loaded(case / "case.json")["error"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_says_what_must_hold(case):
    """Each case holds one sentence, and the files that a case of its kind has."""
    sentence = loaded(case / "case.json")["sentence"]

    assert sentence.endswith(".")
    assert {file.name for file in case.iterdir()} in (
        {"case.json", "input.json", "output.json", "report.json"},
        {"case.json", "input.json"},
        {"case.json", "input.txt"},
    )
