"""The test run's side of the reaper: start, stop and watch the bed's processes."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path


class ProcessError(Exception):
    """A process of the bed did not start or ended too early; the text holds the end of its log."""


class Processes:
    """The processes of one bed. All end when `close` is called or when this process ends, killed or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._started: set[str] = set()
        self._reaper = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("reaper.py")), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the test run; the reaper hears of its end through the pipe
        )

    def start(self, name: str, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> int:
        """Start *argv* as *name* and return its pid; its output is appended to `log(name)`."""
        self._started.add(name)
        log = self.log(name)
        pid = self._ask(do="start", name=name, argv=list(argv), env=dict(env or {}), cwd=str(self.folder), log=str(log))
        assert isinstance(pid, int)
        return pid

    def stop(self, name: str) -> None:
        """Kill the process *name*, and wait for its end; one that is not there is fine."""
        self._started.discard(name)
        self._ask(do="stop", name=name)

    def exit_code(self, name: str) -> int | None:
        """Return the exit code of *name*, None while it runs."""
        code = self._ask(do="exit code", name=name)
        assert code is None or isinstance(code, int)
        return code

    def running(self) -> set[str]:
        """Return the names of the processes that were started and have neither ended nor been stopped."""
        # A copy: the kubelets' thread starts and stops others meanwhile.
        return {name for name in list(self._started) if self.exit_code(name) is None}

    def check(self, name: str) -> None:
        """Raise ProcessError if *name* has ended."""
        code = self.exit_code(name)
        if code is not None:
            raise ProcessError(f"{name} ended with exit code {code}; its last words:\n{self.tail(name)}")

    def log(self, name: str) -> Path:
        """Return the file that holds the output of *name*."""
        return self.folder / f"{name}.log"

    def tail(self, name: str, lines: int = 15) -> str:
        """Return the last *lines* of the output of *name*."""
        return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:])

    def close(self) -> None:
        """End every process and remove the folder."""
        assert self._reaper.stdin is not None
        assert self._reaper.stdout is not None
        self._reaper.stdin.close()
        self._reaper.wait()
        self._reaper.stdout.close()

    def _ask(self, **request: object) -> object:
        assert self._reaper.stdin is not None
        assert self._reaper.stdout is not None
        with self._lock:
            self._reaper.stdin.write(json.dumps(request) + "\n")
            self._reaper.stdin.flush()
            reply: dict[str, object] = json.loads(self._reaper.stdout.readline())
        if "error" in reply:
            raise ProcessError(f"{request['name']}: {reply['error']}")
        return reply["value"]


def free_port() -> int:
    """Return a loopback port that nobody listens on.

    It lies below the range from which systems take ports for outgoing connections, and is drawn at random: two
    beds that start at one moment hardly ever draw the same, and a start that finds its port taken is tried again.
    """
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as attempt:
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
