"""Run a program to its end without a shell, in a process group that never outlives us."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

GRACE_S = 10.0
"""How long a program may take to end after SIGTERM: Helm then records its release as failed."""

# Waits on a pipe that only we hold. A line says that all is done; its end without one says that we were
# killed, and then the program's group goes too. Unlike a parent-death signal this works wherever sh does.
_GUARD = """
read -r _ && exit 0
kill -s TERM -- "-$1" || exit 0
for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -s 0 -- "-$1" || exit 0; done
kill -s KILL -- "-$1"
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


async def run_to_end(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: bytes | None = None,
    timeout_s: float | None = None,
    on_error_line: Callable[[str], None] | None = None,
) -> Ended:
    """Run *argv* and return how it ended; its lines on stderr also go to *on_error_line* as they come.

    Cancelled or timed out (TimeoutError), it is sent SIGTERM, and after `GRACE_S` SIGKILL, with everything it
    started; the same happens when our own process dies. Raises OSError when it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        # A session of its own: Ctrl-C reaches us alone, and we decide how it ends.
        start_new_session=True,
    )
    guard: asyncio.subprocess.Process | None = None
    try:
        guard = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GUARD, "guard", str(process.pid)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        async with asyncio.timeout(timeout_s):
            _, stdout, stderr = await asyncio.gather(
                _feed(process.stdin, stdin), _read(process.stdout), _read(process.stderr, on_error_line)
            )
            return Ended(await process.wait(), stdout, stderr)
    finally:
        try:
            await _end_group(process)
        finally:
            if guard is not None:
                # Nothing is left for it to end.
                await _feed(guard.stdin, b"done\n")
                await guard.wait()


async def _feed(pipe: asyncio.StreamWriter | None, content: bytes | None) -> None:
    if pipe is None or content is None:
        return
    # A program that ends without reading its input says why by its exit status and on stderr.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(content)
        await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


async def _read(pipe: asyncio.StreamReader | None, on_line: Callable[[str], None] | None = None) -> bytes:
    read = bytearray()
    told = 0
    while pipe is not None and (chunk := await pipe.read(65536)):
        read += chunk
        while on_line and (end := read.find(b"\n", told)) >= 0:
            on_line(read[told:end].decode(errors="replace"))
            told = end + 1
    if on_line and told < len(read):
        on_line(read[told:].decode(errors="replace"))
    return bytes(read)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Stop what is left of the process and its group; nothing is left after an ordinary end."""
    try:
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await process.wait()
    finally:
        _signal(process.pid, signal.SIGKILL)
        await process.wait()
        # What was not read any more has to be, for the pipes to be closed before the loop is.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.gather(_read(process.stdout), _read(process.stderr))


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
