"""Dark panels that a file accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvobs.errors import UsageError
from kvobs.health.verdict import BoardVerdict
from kvobs.use_cases.expectations import Expectation, accepted, load_expectations, parse_expectations
from tests.verify_reports import FEATURE_OFF, NO_TARGET, UNASKED, panel, unchecked

BOARD = BoardVerdict(
    uid="gpu-1",
    title="GPUs [all]",
    source="gpus.json",
    panels=(
        panel("Power [W]", NO_TARGET, id=7),
        panel("Drafts", FEATURE_OFF, id=8),
        panel("Away", UNASKED, id=9),
        panel("Lit", id=10),
        unchecked("Text", id=11),
    ),
)
OTHER = BoardVerdict(uid=None, title="Other", source="other.json", panels=(panel("Power [W]", NO_TARGET, id=1),))


def entry(dashboard: str, panel: str, cause: str | None = None, reason: str = "so it is") -> Expectation:
    """Give one entry."""
    return Expectation(dashboard=dashboard, panel=panel, cause=cause, reason=reason, where="e.yaml, entry 1")


MATCHES: list[tuple[Expectation, list[str]]] = [
    (entry("gpu-1", "Power [W]"), ["Power [W]"]),
    (entry("GPUs [all]", "7"), ["Power [W]"]),
    (entry("GPU*", "Dr?fts"), ["Drafts"]),
    (entry("gpu-[0-9]", "*"), ["Power [W]", "Drafts", "Away"]),
    (entry("*", "Power*"), ["Power [W]", "Power [W]"]),
    (entry("GPU*", "*", "KVO-506"), ["Drafts"]),
]


@pytest.mark.parametrize(("expected", "titles"), MATCHES, ids=str)
def test_what_an_entry_accepts(expected: Expectation, titles: list[str]) -> None:
    """A dashboard by uid, title or pattern, a panel by title, id or pattern; only what is dark, by that cause."""
    boards, unmet = accepted((BOARD, OTHER), [expected])
    assert [each.title for board in boards for each in board.panels if each.accepted == "so it is"] == titles
    assert unmet == ()


IDLE = [
    (entry("gpus", "Drafts"), "e.yaml, entry 1: no dashboard has the uid or title 'gpus'"),
    (entry("GPU*", "drafts"), "e.yaml, entry 1: no panel of 'GPU*' has the title or id 'drafts'"),
    (entry("GPU*", "Lit"), "e.yaml, entry 1: 'Lit' is lit; the entry can go"),
    (entry("GPU*", "Text"), "e.yaml, entry 1: 'Text' is not checked; the entry can go"),
    (entry("GPU*", "Drafts", "KVO-405"), "e.yaml, entry 1: 'Drafts' is dark by KVO-506, not by KVO-405"),
    (entry("*", "*", "KVO-101"), "e.yaml, entry 1: '*' is dark by KVO-405 and KVO-506 and KVO-901, not by KVO-101"),
]


@pytest.mark.parametrize(("expected", "said"), IDLE, ids=str)
def test_an_entry_that_nothing_answers_to_is_said(expected: Expectation, said: str) -> None:
    """It names the entry and how far it led; no panel is changed."""
    assert accepted((BOARD, OTHER), [expected]) == ((BOARD, OTHER), (said,))


def test_the_first_of_several_entries_holds() -> None:
    """Its reason is the panel's, and the others are not idle."""
    boards, unmet = accepted((BOARD,), [entry("*", "Drafts", reason="one"), entry("*", "8", reason="two")])
    assert boards[0].panels[1].accepted == "one"
    assert unmet == ()


def test_a_file(tmp_path: Path) -> None:
    """Numbers are ids, causes may be written short, and each entry knows where it stands."""
    path = tmp_path / "expect.yaml"
    path.write_text(
        "- {dashboard: gpu-1, panel: 7, reason: no meter}\n"
        "- dashboard: GPU*\n  panel: Drafts\n  cause: kvo-506\n  reason: >\n    we draft\n    nothing\n"
    )
    assert load_expectations(str(path)) == (
        Expectation(dashboard="gpu-1", panel="7", reason="no meter", where=f"{path}, entry 1"),
        Expectation(
            dashboard="GPU*", panel="Drafts", cause="KVO-506", reason="we draft nothing", where=f"{path}, entry 2"
        ),
    )
    path.write_text("# nothing yet\n")
    assert load_expectations(str(path)) == ()


ENTRY = "- {dashboard: a, panel: b, reason: c}\n"
REFUSED = [
    ("a: [", "e.yaml, line 1, column 5: this is not YAML"),
    ("a: b", "e.yaml: this is no list"),
    (f"{ENTRY}- text", "e.yaml, entry 2: this is no map"),
    ("- {dashboard: a, panel: b}", "e.yaml, entry 1: reason is missing"),
    (f"{ENTRY}- {{dashboard: a, panel: b, reason: ' '}}", "e.yaml, entry 2: reason is not a text"),
    ("- {dashboard: [a], panel: b, reason: c}", "e.yaml, entry 1: dashboard is not a text"),
    ("- {dashboard: a, panel: true, reason: c}", "e.yaml, entry 1: panel is not a text"),
    ("- {dashboard: a, panel: b, reason: c, title: d}", "e.yaml, entry 1: there is no title"),
    (
        f"{ENTRY}- {{dashboard: a, panel: b, cause: KVO-999, reason: c}}",
        "e.yaml, entry 2, cause: 'KVO-999' is no cause",
    ),
    ("- &a [*a]", "e.yaml, entry 1: this is no map"),
    ("- 2026-13-45", "e.yaml"),
    ("[" * 5000, "e.yaml"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=lambda value: value[:40])
def test_a_file_that_is_wrong_is_refused_with_the_place(text: str, said: str) -> None:
    """The error names file and entry, and shows the form."""
    with pytest.raises(UsageError) as refused:
        parse_expectations(text, where="e.yaml")
    assert said in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize(("content", "said"), [(None, "does not exist"), (b"\xff\xfe", "is not UTF-8 text")])
def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path, content: bytes | None, said: str) -> None:
    """The option and the path are named."""
    path = tmp_path / "expect.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=f"--expect:? {path}.* ?{said}"):
        load_expectations(str(path))


def test_the_entry_that_the_readme_shows() -> None:
    """It is one, as it stands there."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    section = readme.partition("### Every panel is lit")[2].partition("\n### ")[0]
    (entry,) = parse_expectations(section.partition("```yaml\n")[2].partition("```")[0], where="README.md")
    assert (entry.dashboard, entry.panel, entry.cause) == ("vLLM serving", "Speculative*", "KVO-506")
