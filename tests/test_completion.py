"""Completion of the command line in the shells that people use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str, **more: str) -> str:
    """Run a command, see that it succeeds, and return what it prints."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("_KVOBS", "COMP_"))}
    done = subprocess.run(command, capture_output=True, text=True, env=env | more, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell: str) -> None:
    """Each shell gets a script that completes the command `kvobs`."""
    script = run(sys.executable, "-m", "kvobs", _KVOBS_COMPLETE=f"source_{shell}")
    assert "kvobs" in script
    assert f"_KVOBS_COMPLETE=complete_{shell}" in script


def test_the_flags_find_the_shell_by_themselves(tmp_path: Path) -> None:
    """`--show-completion` prints the script for the shell it is typed in, `--install-completion` puts it in place."""
    command = f"{sys.executable} -m kvobs"
    assert "complete -o default -F _kvobs_completion kvobs" in run("bash", "-c", f"{command} --show-completion; true")
    run("bash", "-c", f"{command} --install-completion; true", HOME=str(tmp_path))
    assert "_kvobs_completion" in (tmp_path / ".bash_completions" / "kvobs.sh").read_text()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("kvobs un", ["uninstall"]),
        ("kvobs install --dcgm op", ["operator"]),
        ("kvobs install --chart-v", ["--chart-version"]),
    ],
)
def test_what_is_offered(typed: str, offered: list[str]) -> None:
    """Commands, options and the words that an option takes are completed."""
    more = {"_KVOBS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    assert run(sys.executable, "-m", "kvobs", **more).split() == offered
