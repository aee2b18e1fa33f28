"""Progress on stderr: one live line on a terminal, plain lines elsewhere, nothing when it is to be quiet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from .use_cases.progress import Progress, Silent


def say(stream: TextIO, text: str) -> None:
    """Write *text* beside the result; where the stream takes no more (its disk is full), the work goes on unheard."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        # Python flushes once more at its end, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Lines:
    """Plain lines: one a step, and one whenever the state of the step is a new one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = ""

    def step(self, title: str) -> None:
        """Write the step's title."""
        self._write(title)

    def state(self, text: str) -> None:
        """Write the state, indented, unless it is what was written last."""
        self._write("  " + text)

    def _write(self, line: str) -> None:
        if line != self._last:
            say(self._stream, line + "\n")
            self._last = line


@contextmanager
def shown(stream: TextIO, *, quiet: bool) -> Iterator[Progress]:
    """Give a progress for *stream*. rich draws the live line, and keeps to NO_COLOR."""
    if quiet:
        yield Silent()
        return
    if not stream.isatty():
        yield Lines(stream)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.status import Status

    console = Console(file=stream)
    if console.is_dumb_terminal:
        # It cannot go back in a line.
        yield Lines(stream)
        return

    class Live:
        """A spinner with the current step and its state; steps that have ended stay above it."""

        title = ""

        def step(self, title: str) -> None:
            self.end("[green]✓[/green]")
            self.title = title
            status.update(escape(title))

        def state(self, text: str) -> None:
            room = max(20, console.width - len(self.title) - 8)
            status.update(f"{escape(self.title)} [dim]{escape(text[:room])}[/dim]")

        def end(self, mark: str) -> None:
            if self.title:
                console.print(f"{mark} {escape(self.title)}")
            self.title = ""

    with Status("", console=console) as status:
        live = Live()
        try:
            yield live
        except BaseException:
            live.end("[red]✗[/red]")
            raise
        live.end("[green]✓[/green]")
