"""Runs the cases: one fault in one run, then a run without; and judges how both end.

A run that a fault meets ends well, or in an error of kvobs that says what to do, in bounded time and without the token
in it; where the error says that nothing was changed, nothing was; and the next run ends as if there had been no fault.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kvobs.errors import KvobsError, Unanswered
from tests.cluster.faults.kinds import Fault, Kind, Place, places
from tests.cluster.faults.worlds import ACTIONS, Action, State, Steps, World

LIMIT_S = 240.0
"""How long a run may take that a fault met, on a machine that has other things to do."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended that a fault met."""

    fault: Fault
    action: Action
    step: str
    """What the run was doing."""
    error: str | None
    """What it said; None: it ended well."""

    def __str__(self) -> str:
        return f"{self.action}: {self.fault} [{self.step}] -> {self.error or 'ended well'}"


@dataclass(frozen=True, kw_only=True)
class Course:
    """What happens in a world when nothing goes wrong: what every case is held against."""

    installed: State
    removed: State
    places: dict[Action, list[Place]]


class Wrong(AssertionError):
    """A case that did not end as it must."""


def course(world: World) -> Course:
    """Install and uninstall once, and return what that asked of the API server and how it ended."""
    requests: dict[Action, list[Place]] = {}
    states: dict[Action, State] = {}
    for action in ACTIONS:
        with world.proxy.listen() as heard:
            world.run(action, faulty=True)
        requests[action] = places(heard.calls)
        if action == "uninstall":
            world.emptied()
        states[action] = world.settled()
    assert states["uninstall"] == ({}, {}), states["uninstall"]
    return Course(installed=states["install"], removed=states["uninstall"], places=requests)


def case(world: World, action: Action, fault: Fault, whole: Course) -> Result:
    """Let one fault meet one run, then run again; raise `Wrong` unless both end as they must."""
    wanted, otherwise = (whole.installed, whole.removed) if action == "install" else (whole.removed, whole.installed)
    what = f"{action} on {world.name}, {world.client}'s {fault}"
    steps = Steps()
    error: KvobsError | None = None
    begin = time.monotonic()
    with world.proxy.listen(fault, step=lambda: steps.now) as heard:
        try:
            world.run(action, faulty=True, silent=fault.kind is Kind.SILENCE, steps=steps)
        except KvobsError as raised:
            error = raised
    took_s = time.monotonic() - begin
    if not heard.hits and error is None and world.client == "Helm" and fault.place.nth > 1:
        # How often Helm asks for the same depends on how fast the cluster is.
        world.run("uninstall" if action == "install" else "install")
        return case(world, action, replace(fault, place=replace(fault.place, nth=1)), whole)
    if not heard.hits:
        raise Wrong(f"{what}: never came; {error}")
    if took_s > LIMIT_S:
        raise Wrong(f"{what}: took {took_s:.0f} s")
    if error is not None:
        _judge(error, what, world)
        if isinstance(error, Unanswered) and (now := world.until(otherwise)) != otherwise:
            raise Wrong(f"{what}: {error!r} says that nothing was changed: {difference(now, otherwise)}")
    world.let_the_process_end()
    try:
        world.run(action)
    except KvobsError as raised:
        raise Wrong(f"{what}: {error}; and the next run: {raised}") from raised
    if (now := world.until(wanted)) != wanted:
        raise Wrong(f"{what}: {error}; and after the next run: {difference(now, wanted)}")
    return Result(fault=fault, action=action, step=heard.hits[0], error=str(error) if error else None)


def _judge(error: KvobsError, what: str, world: World) -> None:
    text = f"{error} {error.hint}"
    if error.exit_code not in (3, 4):
        raise Wrong(f"{what}: exit code {error.exit_code} for {error!r}")
    if not error.hint:
        raise Wrong(f"{what}: no hint what to do: {error!r}")
    if world.proxy.token in text:
        raise Wrong(f"{what}: the token is in {error!r}")
    if "\n" in str(error).strip() and world.client == "kvobs":
        raise Wrong(f"{what}: more than a line: {error!r}")


def difference(now: State, wanted: State) -> str:
    """Say where two states differ."""
    told = []
    for here, there in zip(now, wanted, strict=True):
        for key in sorted({*here, *there}):
            if here.get(key) != there.get(key):
                told.append(f"{'/'.join(key)} is {here.get(key)!r} and not {there.get(key)!r}"[:300])
    return "; ".join(told)


# --- which cases ---


def every(whole: Course, action: Action) -> list[Fault]:
    """Return each kind of fault at each request once, and at each verb and kind for good."""
    once = [Fault(kind, place) for place in whole.places[action] for kind in Kind]
    return once + [Fault(kind, place, lasting=True) for place in firsts(whole.places[action]) for kind in Kind]


def firsts(found: Iterable[Place]) -> list[Place]:
    """Return the first request of each verb and kind."""
    return [place for place in found if place.nth == 1]


def covering(whole: Course, action: Action, *, seed: int) -> list[Fault]:
    """Return a seeded sample: each verb and kind once, at any of its requests, with the kinds of fault in turn."""
    chance = random.Random(seed)
    of_call: dict[object, list[Place]] = {}
    for place in whole.places[action]:
        of_call.setdefault(place.call, []).append(place)
    chosen = [chance.choice(some) for some in of_call.values()]
    return [replace(each, lasting=chance.random() < 0.3) for each in _in_turn(chosen, chance)]


def scattered(whole: Course, action: Action, *, count: int, seed: int) -> list[Fault]:
    """Return a seeded sample of *count* requests, with the kinds of fault in turn."""
    chance = random.Random(seed)
    chosen = chance.sample(whole.places[action], min(count, len(whole.places[action])))
    return list(_in_turn(chosen, chance))


def sent(faults: Iterable[Fault]) -> list[Fault]:
    """Return those that an API server does send: a conflict to who writes, an expired place to who lists or watches.

    kvobs' own requests meet the others too. Helm takes a conflict on a read for something that it need not delete.
    """
    reads = ("get", "list", "watch")
    return [
        each
        for each in faults
        if not (each.kind is Kind.CONFLICT and each.place.call.verb in reads)
        and not (each.kind is Kind.GONE and each.place.call.verb not in reads[1:])
    ]


def _in_turn(chosen: Iterable[Place], chance: random.Random) -> Iterator[Fault]:
    kinds: list[Kind] = []
    for place in chosen:
        kinds = kinds or chance.sample(list(Kind), len(Kind))
        yield Fault(kinds.pop(), place)


def run(world: World, whole: Course, cases: Mapping[Action, Sequence[Fault]]) -> Iterator[Result | Wrong]:
    """Run the cases, an install and an uninstall in turn, since each begins where the other ends.

    What has gone wrong is one result among others; the world is then put in order for the next.
    """
    left = {action: list(faults) for action, faults in cases.items()}
    while any(left.values()):
        for action in ACTIONS:
            try:
                if left[action]:
                    yield case(world, action, left[action].pop(0), whole)
                else:
                    world.run(action)
            except Wrong as wrong:
                yield wrong
                world.let_the_process_end()
                world.run(action)
                if action == "uninstall":
                    world.emptied(by_force=True)
            if action == "uninstall":
                world.emptied()
