"""Progress on stderr: one live line on a terminal, plain lines elsewhere, nothing when it is to be quiet."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
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


def _plain(text: str) -> str:
    """Return a text on one line, without what would move the cursor: a dashboard's title may come from anybody."""
    return "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))


_COUNT = re.compile(r"(\d+) of (\d+) ")


class Lines:
    """Plain lines: one a step, and one whenever the state of the step is a new one; of a long count, its quarters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = ""
        self._quarter: tuple[int, int] | None = None

    def step(self, title: str) -> None:
        """Write the step's title."""
        self._quarter = None
        self._write(title)

    def state(self, text: str) -> None:
        """Write the state, indented, unless it is what was written last."""
        count = _COUNT.match(text)
        if count is not None:
            done, whole = map(int, count.groups())
            quarter = (4 * done // max(1, whole), whole)
            if quarter == self._quarter:
                return
            self._quarter = quarter
        self._write("  " + _plain(text))

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
            status.update(f"{escape(self.title)} [dim]{escape(_plain(text[:room]))}[/dim]")

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


@contextmanager
def redrawn(stream: TextIO, *, quiet: bool) -> Iterator[tuple[Progress, Callable[[str], None] | None]]:
    """Give a progress for *stream*, and what draws a text in the place of the one before.

    Where nothing can be drawn over there is None in place of the latter, and the progress says nothing: it would say
    the same at each look. When it ends, nothing of it is left on the screen.
    """
    if quiet or not stream.isatty():
        yield Silent(), None
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    console = Console(file=stream)
    if console.is_dumb_terminal:
        yield Silent(), None
        return

    class Screen:
        """The text, and below it a spinner with the current step."""

        drawn = ""
        title = ""
        spinner = Spinner("dots")

        def step(self, title: str) -> None:
            self.title = title
            self.state("")

        def state(self, text: str) -> None:
            line = f"{self.title} {_plain(text)}".strip()
            self.spinner.update(text=Text(line[: max(20, console.width - 4)]))
            self.refresh()

        def draw(self, text: str) -> None:
            self.drawn = text
            self.refresh()

        def refresh(self) -> None:
            # What does not fit is cut at its end: the causes stand first.
            room = max(1, console.height - 3)
            lines = [line[: console.width - 1] for line in self.drawn.splitlines()]
            cut = lines if len(lines) <= room else [*lines[: room - 1], f"... {len(lines) - room + 1} more lines"]
            live.update(Group(*(Text(line) for line in [*cut, ""] if cut), self.spinner))

    with Live(console=console, transient=True, refresh_per_second=4) as live:
        screen = Screen()
        yield screen, screen.draw
