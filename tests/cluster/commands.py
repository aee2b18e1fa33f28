"""kvobs as a user runs it: `python -m kvobs` as a process of its own, with the bed's environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.cluster.charts import chart_under_test

ROOT = Path(__file__).parents[2]
KVOBS = (sys.executable, "-m", "kvobs")
LIMIT_S = 600
"""How long a command may take before it counts as hanging: an install waits minutes for pods, and then for data."""


def kvobs(
    *arguments: str | Path, env: Mapping[str, str], code: int | None = 0, limit_s: float = LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal, see that it exits with *code* and shows no traceback; return how it ended."""
    done = subprocess.run(
        [*KVOBS, *map(str, arguments)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=dict(env),
        cwd=ROOT,
        timeout=limit_s,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert code in (None, done.returncode), f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def stack_arguments() -> list[str]:
    """Return the arguments by which install takes the chart under test from its folder, and does not wait."""
    return ["--chart", str(chart_under_test()), "--no-wait"]


class Running:
    """A kvobs that runs, and what it says on stderr, line by line."""

    def __init__(self, *arguments: str | Path, env: Mapping[str, str]) -> None:
        self.arguments = [*KVOBS, *map(str, arguments)]
        self.process = subprocess.Popen(
            self.arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(env),
            cwd=ROOT,
        )
        self.said: list[str] = []

    def until(self, line: str) -> None:
        """Return as soon as a line begins with *line*; AssertionError when kvobs ends without it."""
        assert self.says(line), f"{line!r} was never said: {self.said}"

    def says(self, line: str) -> bool:
        """Return whether a line begins with *line*, as soon as one does, or when kvobs ends."""
        assert self.process.stderr is not None
        for each in self.process.stderr:
            self.said.append(each)
            if each.startswith(line):
                return True
        return False

    def descendants(self) -> list[int]:
        """Return the processes that kvobs has started, and theirs."""
        return list(_below(self.process.pid))

    def threads(self) -> int:
        """Return how many threads kvobs has."""
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def kill(self) -> None:
        """Kill kvobs, as a power cut would; what it started finds out by itself."""
        self.process.kill()
        self.process.communicate(timeout=LIMIT_S)

    def cut_power(self) -> None:
        """Kill kvobs and everything that it has started, so that nobody can clean up."""
        self.process.send_signal(signal.SIGSTOP)
        for pid in self.descendants():
            os.kill(pid, signal.SIGKILL)
        self.kill()

    def end(self) -> int:
        """Wait for its end; return the exit code."""
        _, rest = self.process.communicate(timeout=LIMIT_S)
        self.said.append(rest)
        return self.process.returncode


def _below(parent: int) -> Iterator[int]:
    for task in _children(f"/proc/{parent}/task"):
        for child in map(int, task.split()):
            yield child
            yield from _below(child)


def _children(tasks: str) -> list[str]:
    """Return which children each thread of a process has; none where it has ended meanwhile."""
    try:
        return [(task / "children").read_text() for task in Path(tasks).iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def alive(pid: int) -> bool:
    """Return whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
