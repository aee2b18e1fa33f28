"""From a whole cluster to the plan: each folder of `tests/data/clusters` is a case, see the README there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs import errors
from kvobs.errors import KvobsError
from kvobs.settings import Settings
from kvobs.stack.applyset import PARENT_NAME, parent

from .cases import PARTS, Case, after, folders, in_short, load

CASES = [load(folder) for folder in folders()]
PLANS = [case for case in CASES if case.plan is not None]
ERRORS = [case for case in CASES if case.error is not None]


def as_text(value: Any) -> str:
    """Return *value* as YAML, with the keys in order."""
    return yaml.safe_dump(value, sort_keys=True)


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case.name)
def test_plan(case: Case) -> None:
    """What is planned is what the case says: the target, every object with the labels that decide, every note."""
    expected = case.plan
    assert expected is not None
    short = in_short(case.planned())

    # As text, so that a failure shows the lines that differ.
    assert as_text({"steps": short.steps, "notes": sorted(short.notes)}) == as_text(
        {
            "steps": {step: {k: v or {} for k, v in objects.items()} for step, objects in expected["steps"].items()},
            "notes": sorted(expected["notes"]),
        }
    )
    assert list(short.order) == list(expected["steps"])
    head = {"release": None, **{key: expected[key] for key in short.head if key in expected}}
    assert {key: short.head[key] for key in head} == head
    for note, words in expected["notes"].items():
        for each in [words] if isinstance(words, str) else words or ():
            assert each in short.notes[note]
    refused = expected.get("refused", ())
    assert bool(short.refused) == bool(refused)
    assert all(each in short.refused for each in refused)


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.name)
def test_error(case: Case) -> None:
    """What is not decided, or cannot be asked, ends in one sentence with its hint and its exit code."""
    expected = case.error
    assert expected is not None

    with pytest.raises(KvobsError) as raised:
        case.planned()

    sentence, hint = str(raised.value), raised.value.hint or ""
    assert type(raised.value) is getattr(errors, expected["class"]), sentence
    assert raised.value.exit_code == expected["exit_code"]
    assert "\n" not in sentence
    assert [each for each in expected["message"] if each not in sentence] == [], sentence
    assert [each for each in expected["hint"] if each not in hint] == [], hint


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case.name)
def test_second_run_plans_the_same(case: Case) -> None:
    """What a run leaves on the cluster changes no decision, told the same again or nothing at all."""
    first = case.planned()
    made = parent(PARENT_NAME, first.target.namespace, refs=first.refs, record=first.final_record)
    again = after(case, first, made)
    wanted = in_short(first)
    steps = {name: objects for name, objects in wanted.steps.items() if name != "namespace"}
    values = replace(Settings(), values=case.settings.values, set_values=case.settings.set_values)
    if first.target.beside:  # of several installs it is not the one that is meant without a word
        values = replace(values, namespace=first.target.namespace)

    for settings in (case.settings, values):
        short = in_short(again.planned(settings))
        assert (short.head, short.steps) == (wanted.head, steps)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_says_why(case: Case) -> None:
    """Each case says in one sentence what must hold."""
    assert case.why.endswith(".")
    assert case.why.count(". ") == 0


def test_every_part_is_used() -> None:
    """A part that no case names would test nothing."""
    used = {part for folder in folders() for part in _parts(folder)}

    assert used == {path.stem for path in PARTS.iterdir()}


def _parts(folder: Path) -> list[str]:
    cluster = folder / "cluster.yaml"
    return list((yaml.safe_load(cluster.read_text()) or {}).get("parts", ())) if cluster.exists() else []
