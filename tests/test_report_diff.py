"""How differences read: an object in a line, its fields below it, long texts by what is different in them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kvobs.report import to_document, to_text
from kvobs.report.values import change_lines
from kvobs.stack.changes import FieldChange, ObjectChange, TheirField
from kvobs.stack.facts import Ref
from kvobs.stack.notes import Note
from kvobs.use_cases.diff import DiffReport
from kvobs.use_cases.dry_run import DryRunReport
from kvobs.use_cases.preview import StepPreview

BOARD = {"title": "a", "panels": [{"id": 1, "title": "b" * 100}], "uid": "u"}


def at(name: str, kind: str = "ConfigMap") -> Ref:
    """Return which object."""
    return Ref(kind, "ns", name)


OBJECTS = (
    ObjectChange(ref=at("new"), verdict="create", unvalidated="arrives with step 1"),
    ObjectChange(
        ref=at("changed"),
        verdict="change",
        fields=(FieldChange(path="data.a", live=None, wanted="1"), FieldChange(path="data.b", live=[1], wanted=None)),
    ),
    ObjectChange(
        ref=at("scaled", "Deployment.apps"),
        verdict="theirs",
        theirs=(TheirField(path="spec.replicas", managers=("hpa", "x"), live=3, wanted=1),),
    ),
    ObjectChange(ref=at("old"), verdict="delete", reason="kvobs makes it no more"),
    ObjectChange(ref=at("no"), verdict="refused", reason="a policy", hint="ask for it"),
    ObjectChange(ref=at("same"), verdict="unchanged"),
)
STEP = StepPreview(number=2, id="release", title="Helm release r", detail="upgrade revision 1", objects=OBJECTS)
DIFF = DiffReport(
    server_version="v1.36.3",
    namespace="ns",
    steps=(replace(STEP, objects=OBJECTS[:-1]),),
    refused=(("b.json", "no uid"),),
    notes=(Note("n", "A note."),),
)
DRY_RUN = DryRunReport(
    server_version="v1.36.3",
    namespace="ns",
    stack="installed by kvobs",
    prometheus="ns/p",
    grafana=None,
    steps=(STEP,),
    refused=(),
    stopped=("a check failed", "mend it"),
    notes=(Note("n", "A note."),),
)

LINES = """\
Step 2: Helm release r: upgrade revision 1
  + ConfigMap ns/new (not validated: arrives with step 1)
  ~ ConfigMap ns/changed
      data.a: (not set) -> "1"
      data.b: [1] -> (not set)
  ! Deployment ns/scaled
      ! spec.replicas (of hpa and x): 3 -> 1
  - ConfigMap ns/old (kvobs makes it no more)
  x ConfigMap ns/no (refused: a policy)
      what to do: ask for it
"""


def test_a_diff_reads() -> None:
    """Object by object; what stays is not named, notes only with --verbose."""
    assert to_text(DIFF) == (
        f"{LINES}! dashboard b.json: no uid\n"
        "\n"
        "1 to create, 1 to change, 1 to delete, 1 refused, 1 left as somebody else has it."
    )
    assert to_text(DIFF, verbose=True).endswith("Notes\n  - A note.")


def test_a_dry_run_reads() -> None:
    """With what stays, counted, and the check that would stop an install."""
    text = to_text(DRY_RUN)

    assert text.startswith("kvobs on Kubernetes v1.36.3, namespace ns: nothing was changed\n")
    assert f"{LINES}  = 1 object as before\n" in text
    assert "x install would stop before its first change: a check failed\n    what to do: mend it\n" in text
    assert "= ConfigMap ns/same" in to_text(DRY_RUN, verbose=True)


def test_no_difference_reads() -> None:
    """One line; a field that is somebody else's is shown all the same, and no difference."""
    nothing = replace(DIFF, steps=(), refused=())
    left = replace(nothing, steps=(replace(STEP, objects=(OBJECTS[2],)),))

    assert (to_text(nothing), nothing.exit_code) == ("No differences.", 0)
    assert to_text(left).startswith("No differences.\nStep 2: ")
    assert left.exit_code == 0


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (DIFF, 1),
        (replace(DIFF, steps=()), 1),
        (DRY_RUN, 3),
        (replace(DRY_RUN, stopped=None), 3),
        (replace(DRY_RUN, stopped=None, steps=(replace(STEP, objects=OBJECTS[:3]),)), 0),
        (replace(DRY_RUN, stopped=None, steps=(), refused=(("b.json", "no uid"),)), 1),
    ],
    ids=[
        "differences",
        "a refused dashboard only",
        "a check",
        "an object",
        "a plan that can be carried out",
        "dashboard",
    ],
)
def test_the_exit_code_and_the_document_agree(report: DiffReport | DryRunReport, code: int) -> None:
    """1 for a difference that was found, 3 for an install that would be refused."""
    document = to_document(report)

    assert (report.exit_code, document["exit_code"], document["version"]) == (code, code, 1)
    assert json.loads(json.dumps(document)) == document


def test_a_long_document_is_told_by_what_is_different_in_it() -> None:
    """A dashboard is not dumped: a few values, with their place; all of it with --verbose, as lines."""
    now = {**BOARD, "title": "c", "panels": [{"id": 1, "title": "b" * 100}, {"id": 2}]}
    live, wanted = json.dumps(BOARD), json.dumps(now)

    lines = list(change_lines("data.x", live, wanted))

    assert lines[:2] == ["data.x: JSON, 2 changed values", '  title: "a" -> "c"']
    assert lines[2].startswith("  panels: [{")
    assert len(lines) == 3
    verbose = list(change_lines("data.x", live, wanted, verbose=True))
    assert '  -  "title": "a",' in verbose
    assert '  +  "title": "c",' in verbose


def test_many_differences_are_counted() -> None:
    """The first few stand for the others."""
    live, wanted = (json.dumps({str(number): f"{word}{'x' * 20}" for number in range(9)}) for word in ("a", "b"))

    lines = list(change_lines("data.x", live, wanted))

    assert len(lines) == 7
    assert lines[-1] == "  and 4 more; -v shows all"


def test_a_long_text_is_told_by_its_lines() -> None:
    """What is no JSON is compared line by line."""
    text = "".join(f"line {number}\n" for number in range(40))

    lines = list(change_lines("data.x", text, text.replace("line 7\n", "line seven\n")))

    assert lines == ["data.x: text, 2 changed lines", "  -line 7", "  +line seven"]
