"""The rule of tests/conftest.py: where nothing may be skipped, a skip fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest

SKIPPING = "import pytest\n\ndef test_a():\n    pytest.skip('no such thing here')\n"
PASSING = "def test_a():\n    assert True\n"


@pytest.mark.parametrize(
    ("test", "variable", "code"),
    [
        (SKIPPING, None, 0),
        *((SKIPPING, variable, 1) for variable in conftest.STRICT),
        *((PASSING, variable, 0) for variable in conftest.STRICT),
    ],
)
def test_a_skip_fails_a_strict_run(tmp_path: Path, test: str, variable: str | None, code: int) -> None:
    """A run exits 1 for a skipped test alone, and names it with its reason, only where that was asked for."""
    (tmp_path / "conftest.py").write_text(Path(conftest.__file__).read_text())
    (tmp_path / "test_a.py").write_text(test)
    environment = {name: value for name, value in os.environ.items() if name not in conftest.STRICT}
    if variable is not None:
        environment[variable] = "true"

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert run.returncode == code, run.stdout
    named = "a skipped test is a failure here" in run.stdout and "no such thing here" in run.stdout
    assert named == bool(code)
