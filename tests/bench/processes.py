"""Programs as they run: how long, and how much memory they take at most; and the tables that say so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.cluster.commands import ROOT

_LAUNCHER = """
import os, sys, time
silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
started = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - started, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""
"""Starts a program from a small process: the kernel counts to a program's peak what the one that starts it holds."""


@dataclass(frozen=True)
class Ran:
    """How a process ran."""

    seconds: float
    peak_mib: float


def ran(
    argv: Sequence[str], environment: Mapping[str, str], stdin: bytes = b"", *, good: Collection[int] = (0,)
) -> Ran:
    """Run a program to its end, which must be a *good* one."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *argv],
        input=stdin,
        stdout=subprocess.PIPE,
        env=dict(environment),
        cwd=ROOT,
        check=True,
    )
    seconds, peak_kib, code = done.stdout.split()
    if int(code) not in good:
        raise RuntimeError(f"{argv[0]} {argv[1]} ended with {int(code)}")
    return Ran(float(seconds), int(peak_kib) / 1024)


def best(runs: int, *programs: Callable[[], Ran]) -> list[Ran]:
    """Return the best run of each program, run in turns: a busy moment meets all of them."""
    rounds = [[each() for each in programs] for _ in range(runs)]
    return [min(column, key=lambda one: one.seconds) for column in zip(*rounds, strict=True)]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a Markdown table; all but the first column are numbers."""
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
