"""Interrupted before there is a command line, kvobs says so in one line all the same."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

LOADING = """
import os, sys

class Signalled:
    "Sends a signal while the command line is loaded."

    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), int(sys.argv[1]))

sys.meta_path.insert(0, Signalled())
from kvobs.__main__ import main
main()
"""


STUCK = """
import os, signal, sys, threading, types
import kvobs.__main__ as program

def run():
    "Waits for a lock that nobody gives back, on its way out of an interruption."
    lock = threading.Lock()
    lock.acquire()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    finally:
        lock.acquire()

sys.modules["kvobs.cli"] = types.SimpleNamespace(main=run)
program.PUT_IN_ORDER_S = 1
program.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupted_while_it_loads(number: signal.Signals) -> None:
    """Ctrl-C at once, or a supervisor's SIGTERM, is exit 130 and no traceback of an import."""
    done = subprocess.run(
        [sys.executable, "-c", LOADING, str(number.value)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == ("kvobs: interrupted; what was done stands, and running the same command again finishes it\n")


def test_a_signal_that_is_ignored() -> None:
    """In a shell's background, where Ctrl-C is not for it, it goes on."""
    quiet = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{LOADING}"
    argv = [sys.executable, "-c", quiet, str(signal.SIGINT.value), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "interrupted" not in done.stderr
    assert done.returncode != 130


def test_interrupted_and_stuck_on_the_way_out() -> None:
    """What an interruption left locked keeps nobody for ever: kvobs ends all the same, with the same word and code."""
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, check=False, timeout=300)

    assert done.returncode == 130
    assert done.stderr == "kvobs: interrupted; what was done stands, and running the same command again finishes it\n"
