"""The lock that the tests run from, and the audit of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.audit import KNOWN_BAD, LOCK, Report, verdict

PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


def pins() -> dict[str, str]:
    """Return each pinned distribution and its version."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", LOCK.read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    "wanted",
    [*PYPROJECT["project"]["dependencies"], *PYPROJECT["project"]["optional-dependencies"]["test"]],
    ids=lambda text: Requirement(text).name,
)
def test_the_lock_pins_what_the_project_asks_for(wanted: str) -> None:
    """Each dependency is pinned at a version that pyproject.toml allows; else: make lock."""
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_every_pin_has_its_hashes() -> None:
    """pip takes from the lock what was locked, byte for byte."""
    entries = re.split(r"^(?=[a-z0-9._-]+==)", LOCK.read_text(), flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins())
    assert all("--hash=sha256:" in entry for entry in entries)


def report(*dependencies: dict[str, Any]) -> Report:
    """Return a report as pip-audit prints it."""
    return {"dependencies": list(dependencies), "fixes": []}


BAD_FOUND = report({"name": "urllib3", "version": "1.26.4", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.26.5"]}]})
BAD_UNKNOWN = report({"name": "urllib3", "skip_reason": "not found"})
GOOD = report({"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "not found"})
AUDITS = {
    "finds the bad pin, and nothing else": (BAD_FOUND, GOOD, 0, "none in 1 pins; not asked about: b"),
    "finds the bad pin, and a fault": (BAD_FOUND, BAD_FOUND, 1, "urllib3 1.26.4: PYSEC-1 (mended in 1.26.5)"),
    "knows nothing of the bad pin": (
        BAD_UNKNOWN,
        GOOD,
        0,
        f"could not look: the advisory database knows nothing of {KNOWN_BAD}",
    ),
    "gives no answer": (None, None, 0, "could not look: pip-audit gave no answer"),
    "gives no answer about the lock": (BAD_FOUND, None, 0, "could not look: no answer about lock"),
}


@pytest.mark.parametrize("case", AUDITS)
def test_the_audit_passes_only_where_it_can_find(case: str, tmp_path: Path) -> None:
    """An auditor that misses a well-known fault has not looked."""
    about_bad, about_lock, code, words = AUDITS[case]
    lock = tmp_path / "lock"

    def ask(requirements: Path) -> Report:
        if requirements == lock:
            return about_lock
        assert requirements.read_text() == f"{KNOWN_BAD}\n"
        return about_bad

    exit_code, said = verdict(ask, lock)
    assert exit_code == code
    assert words in said
