"""How a use case tells what it is doing while it does it; the command line shows it, a script may ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told about each step as it goes; returns nothing and decides nothing."""

    def step(self, title: str) -> None:
        """Begin a step; the one before it has ended."""

    def state(self, text: str) -> None:
        """Say how the current step stands; replaces what was said before."""


class Silent:
    """The progress of a library call: says nothing."""

    def step(self, title: str) -> None:
        """Ignore it."""

    def state(self, text: str) -> None:
        """Ignore it."""
