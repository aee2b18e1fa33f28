"""Stops kvobs, as a command, in every step and at any moment; judges what is left, and what the next run makes of it.

Nothing that was started runs on; Ctrl-C and a supervisor's SIGTERM are exit 130 and a plain line; and the next run ends
as if there had been only that one.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.cluster.api import eventually
from tests.cluster.commands import Running, alive, kvobs
from tests.cluster.faults.sweep import Course, Wrong, difference
from tests.cluster.faults.worlds import ACTIONS, Action, World

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One run that is stopped."""

    action: Action
    number: signal.Signals
    step: str | None = None
    """As soon as it begins this step; None: at a moment."""
    after_s: float = 0.0
    """So long after that, or after its start."""

    def __str__(self) -> str:
        later = f"{self.after_s:.2f} s into" if self.after_s else "in"
        moment = f"{self.after_s:.2f} s after its start" if self.step is None else f"{later} step {self.step!r}"
        return f"{self.action} stopped by {self.number.name} {moment}"


def steps(world: World, action: Action) -> list[str]:
    """Do it to the end, and return the steps that it names."""
    said = kvobs(*world.arguments(action), env=world.bed.environment()).stderr
    return list(dict.fromkeys(line for line in said.splitlines() if line and not line.startswith(" ")))


def in_every_step(world: World) -> dict[Action, list[Stop]]:
    """Return a stop by each signal in each step that an install and an uninstall name; the world is then as before."""
    stops: dict[Action, list[Stop]] = {}
    for action in ACTIONS:
        stops[action] = [
            Stop(action=action, number=number, step=step) for step in steps(world, action) for number in SIGNALS
        ]
    world.emptied()
    return stops


def stopped(world: World, stop: Stop, whole: Course) -> None:
    """Stop one run, then run again; raise `Wrong` unless both end as they must."""
    wanted = whole.installed if stop.action == "install" else whole.removed
    what = f"{stop} on {world.name}"
    running = Running(*world.arguments(stop.action), env=world.bed.environment())
    if stop.step is not None:
        running.until(stop.step)
    time.sleep(stop.after_s)
    helpers = running.descendants()
    running.process.send_signal(stop.number)
    code = running.end()
    said = "".join(running.said)
    if "Traceback" in said:
        raise Wrong(f"{what}: {said}")
    # A run that had nothing more to do when the signal came has ended well.
    if code not in (0, -signal.SIGKILL if stop.number is signal.SIGKILL else INTERRUPTED):
        raise Wrong(f"{what}: exit code {code}: {said}")
    if code == INTERRUPTED and "kvobs: interrupted" not in said:
        raise Wrong(f"{what}: not a word of it: {said}")
    eventually(lambda: not any(map(alive, helpers)))
    kvobs(*world.arguments(stop.action), env=world.bed.environment())
    if (now := world.until(wanted)) != wanted:
        raise Wrong(f"{what}: after the next run: {difference(now, wanted)}")


def run(world: World, whole: Course, stops: Mapping[Action, Sequence[Stop]]) -> Iterator[Stop | Wrong]:
    """Stop an install and an uninstall in turn, since each begins where the other ends."""
    left = {action: list(some) for action, some in stops.items()}
    while any(left.values()):
        for action in ACTIONS:
            try:
                if left[action]:
                    stop = left[action].pop(0)
                    stopped(world, stop, whole)
                    yield stop
                else:
                    world.run(action)
            except (Wrong, AssertionError) as wrong:
                yield Wrong(str(wrong))
                world.run(action)
            if action == "uninstall":
                world.emptied()
