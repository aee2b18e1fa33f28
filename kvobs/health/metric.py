"""What is known of one metric: its kind, the versions that have it, what came in its place. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .versions import Version, version

Kind = Literal["counter", "gauge", "histogram"]

SUFFIXES: dict[Kind | None, tuple[str, ...]] = {
    "counter": ("_total", "_created"),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count", "_created"),
    None: ("", "_total", "_bucket", "_sum", "_count", "_created"),
}
"""What a name ends in on the wire, by kind; None: the kind is not known."""


@dataclass(frozen=True, slots=True)
class Change:
    """When something changed: in *by* it had; *after* is the newest version known where it had not.

    Without *after*, it changed in exactly *by*.
    """

    by: Version
    after: Version | None = None

    def state(self, running: Version) -> Literal["before", "after", "uncertain"]:
        """Whether a version is before the change, after it, or one that nobody looked at."""
        if running.reached(self.by):
            return "after"
        if self.after is not None and running.release > self.after.release:
            return "uncertain"
        return "before"

    def __str__(self) -> str:
        return f"{self.by}" if self.after is None else f"{self.by} at the latest (not yet in {self.after})"


def at(text: str) -> Change:
    """Return a change whose version is known exactly."""
    return Change(version(text))


def between(after: str, by: str) -> Change:
    """Return a change that came after one version and by another."""
    return Change(version(by), version(after))


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One metric of vLLM, by the name that its source gives it: a counter without `_total`."""

    name: str
    """With the prefix `vllm:`."""
    kind: Kind | None
    """None: the source was scanned without finding it."""
    since: Change
    """The first version with it."""
    deprecated: Version | None = None
    hidden: Change | None = None
    """Since when it shows behind `--show-hidden-metrics-for-version` only."""
    removed: Change | None = None
    replaced_by: tuple[str, ...] = ()
    """Names (as this one's) of what to ask instead."""
    exact: bool = False
    """Whether the replacement has the same meaning, unit, kind and labels, so that only the name need change."""
    why_not: str = ""
    """Where it is not exact: what is different, or that there is none."""
    engine: Literal["V0", "V1"] | None = None
    """The one of vLLM's two engines that has it; None: both, or of a time with one engine only."""

    @property
    def on_the_wire(self) -> tuple[str, ...]:
        """The names of its series."""
        return tuple(self.name + suffix for suffix in SUFFIXES[self.kind])

    @property
    def main(self) -> str:
        """The one of its names by which it is known on the wire; of a histogram the one with `_count`."""
        return self.name + {"counter": "_total", "histogram": "_count"}.get(self.kind or "", "")
