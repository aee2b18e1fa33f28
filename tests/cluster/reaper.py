"""The parent of a bed's processes: when the test run goes, in whatever way, they go too.

It runs as a process of its own. One JSON line on stdin is one request, answered by one JSON line on stdout. The
end of stdin means that the test run is over, killed or not: every process is killed and the bed's folder removed.
Only the standard library, and nothing of ours: it is started by path, with an isolated interpreter.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to kill this process when the reaper dies itself; elsewhere the reaper's own care must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(request: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start the requested program in a process group of its own, its output going to its log."""
    with open(request["log"], "ab") as log:
        return subprocess.Popen(
            request["argv"],
            env=request["env"],
            cwd=request["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its children at once: asked politely, an API server drains for up to a minute."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def answer(request: dict[str, Any], processes: dict[str, subprocess.Popen[bytes]]) -> object:
    """Carry out one request: start a process (its pid), stop one (null), or ask for its exit code."""
    name = request["name"]
    match request["do"]:
        case "start":
            processes[name] = start(request)
            return processes[name].pid
        case "stop":
            if name in processes:
                kill(processes.pop(name))
            return None
        case "exit code":
            return processes[name].poll() if name in processes else None
        case unknown:
            raise ValueError(unknown)


def main() -> None:
    """Serve requests until stdin ends, then clean up; argv[1] is the folder to remove."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for line in sys.stdin:
            try:
                reply: object = {"value": answer(json.loads(line), processes)}
            except OSError as error:
                reply = {"error": str(error)}
            print(json.dumps(reply), flush=True)
    finally:
        for process in processes.values():
            kill(process)
        shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
