"""kvobs on a terminal: it asks, draws a live line, keeps to NO_COLOR and TERM, and stdout holds the report alone."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from tests.cluster.bed import Bed
from tests.cluster.charts import small_chart
from tests.cluster.commands import KVOBS, ROOT, kvobs
from tests.cluster.workloads import helm_run

REUSE = ("install", "--no-wait")
ESCAPE = "\x1b["
GREEN = "\x1b[32m"
SILENCE_S = 120
"""After this long without a word a command counts as hanging."""


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A cluster with somebody's own stack, which kvobs reuses: quick to install beside."""
    with Bed(gpu=False) as cluster:
        parts = ("alertmanager", "kubeStateMetrics", "nodeExporter")
        lean = [word for part in parts for word in ("--set", f"{part}.enabled=false")]
        helm_run(cluster, "install", "theirs", str(small_chart()), "-n", "theirs", "--create-namespace", *lean)
        yield cluster


@dataclass(frozen=True)
class Session:
    """How a command on a terminal ended: what the terminal showed, what stdout held, the exit code."""

    screen: str
    stdout: str
    code: int


def session(*arguments: str, typed: str = "", env: Mapping[str, str]) -> Session:
    """Run kvobs on a terminal of its own, stdout to a pipe; *typed* is typed when it asks."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*KVOBS, *arguments],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        env=dict(env),
        cwd=ROOT,
        start_new_session=True,
        # Without a session whose terminal it is, Ctrl-C would be a character like any other.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    screen = bytearray()
    try:
        # Linux ends a terminal that nobody holds any more with EIO.
        with contextlib.suppress(OSError):
            while select.select([ours], [], [], SILENCE_S)[0] and (chunk := os.read(ours, 4096)):
                screen += chunk
                if typed and b"[y/N]" in screen:
                    os.write(ours, typed.encode())
                    typed = ""
        out, _ = process.communicate(timeout=SILENCE_S)
    finally:
        os.close(ours)
        process.kill()
        process.wait()
    assert "Traceback" not in screen.decode()
    return Session(screen.decode(), out.decode(), process.returncode)


def terminal(bed: Bed, **more: str) -> dict[str, str]:
    """Return the environment of somebody at a terminal that can do everything."""
    kept = {key: value for key, value in bed.environment().items() if key not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    return kept | {"TERM": "xterm-256color", "COLUMNS": "120"} | more


@pytest.mark.parametrize("answer", ["n\n", "\n", "no way\n", "\x04"], ids=["n", "nothing", "else", "end of input"])
@pytest.mark.parametrize("command", [REUSE, ("uninstall",)], ids=["install", "uninstall"])
def test_a_no_changes_nothing(command: Sequence[str], answer: str, bed: Bed) -> None:
    """It asks with the cluster's address and `[y/N]`; anything but a yes changes nothing and is exit 0."""
    ended = session(*command, typed=answer, env=terminal(bed))
    assert "[y/N]" in ended.screen
    assert "https://127.0.0.1:" in ended.screen
    assert "nothing was changed" in ended.screen
    assert (ended.code, ended.stdout) == (0, "")
    assert bed.api.find("v1", "ConfigMap", "kvobs", "theirs") is None


def test_a_question_that_is_interrupted(bed: Bed) -> None:
    """Ctrl-C at the question is exit 130."""
    ended = session("install", typed="\x03", env=terminal(bed))
    assert ended.code == 130
    assert "interrupted" in ended.screen


def test_a_yes_draws_a_live_line_and_prints_the_report(bed: Bed) -> None:
    """A yes goes on: steps are drawn as they end, in colour, on the terminal; stdout holds the report and no more."""
    ended = session(*REUSE, "-o", "json", typed="y\n", env=terminal(bed))
    assert ended.code == 0
    assert json.loads(ended.stdout)["kind"] == "InstallReport"
    assert GREEN in ended.screen
    assert "✓" in ended.screen
    assert "dashboards" in ended.screen
    session("uninstall", "--yes", env=terminal(bed))


def test_yes_is_not_asked(bed: Bed) -> None:
    """With --yes nobody is asked."""
    assert "[y/N]" not in session(*REUSE, "--yes", env=terminal(bed)).screen
    assert "[y/N]" not in session("uninstall", "--yes", env=terminal(bed)).screen


def test_no_color(bed: Bed) -> None:
    """NO_COLOR takes the colours, and leaves the marks."""
    ended = session(*REUSE, "--yes", env=terminal(bed, NO_COLOR="1"))
    assert GREEN not in ended.screen
    assert "✓" in ended.screen


def test_a_dumb_terminal(bed: Bed) -> None:
    """A terminal that cannot go back in a line gets plain lines, without a single escape."""
    ended = session(*REUSE, "--yes", env=terminal(bed, TERM="dumb"))
    assert ESCAPE not in ended.screen
    assert ended.screen.splitlines()[0] == "look at the cluster"


def test_quiet(bed: Bed) -> None:
    """-q says nothing but the result, on a terminal and elsewhere; an error is said all the same."""
    ended = session(*REUSE, "--yes", "-q", env=terminal(bed))
    assert (ended.code, ended.screen) == (0, "")
    assert "kvobs on Kubernetes" in ended.stdout
    assert kvobs(*REUSE, "-q", env=bed.environment()).stderr == ""
    assert "no context" in kvobs(*REUSE, "-q", "--context", "x", env=bed.environment(), code=4).stderr


def test_a_failure_marks_its_step(bed: Bed) -> None:
    """The step that failed is marked as such, and the error follows on a line of its own."""
    ended = session(*REUSE, "--yes", "--context", "x", env=terminal(bed))
    assert ended.code == 4
    assert "✗" in ended.screen
    assert "kvobs: kubeconfig" in ended.screen


def test_nobody_reads_stdout(bed: Bed) -> None:
    """A reader that goes away (`| head -0`) changes nothing of what is done, and is not shown a traceback."""
    there, back = os.pipe()
    os.close(there)
    done = subprocess.run(
        [*KVOBS, "status"], stdout=back, stderr=subprocess.PIPE, env=bed.environment(), cwd=ROOT, text=True
    )
    os.close(back)
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*KVOBS, "status"], stdout=full, stderr=subprocess.PIPE, env=bed.environment(), cwd=ROOT, text=True
        )
    assert "Traceback" not in done.stderr
    assert "cannot be written to stdout" in done.stderr
    assert done.returncode == 3
