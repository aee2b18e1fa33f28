"""Runs the cases: one fault in one run, then a run without; and judges how both end.

A run that a fault meets ends well, or in an error of kvobs that says what to do, in bounded time and without the token
in it; where the error says that nothing was changed, nothing was; and the next run ends as if there had been no fault.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kvobs.errors import KvobsError, Unanswered
from tests.cluster.faults.kinds import Call, Fault, Kind, Place, places
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


MayMeet = Callable[[Kind, Call], bool]
"""Says whether a kind of fault is worth trying at a request."""


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


def case(world: World, action: Action, fault: Fault, whole: Course, *, tries: int = 3) -> Result:
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
    if not heard.hits and tries > 1:
        # How often Helm asks for the same depends on how fast the cluster is; a Lease that the run before could not
        # give back is taken over, not made; and where silence is to be short, a slow answer may be given up before it.
        world.let_the_process_end()
        world.run("uninstall" if action == "install" else "install")
        if action == "install":
            world.emptied()
        again = replace(fault, place=replace(fault.place, nth=1)) if world.client == "Helm" else fault
        return case(world, action, again, whole, tries=tries - 1)
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


def common(courses: Sequence[Course]) -> Course:
    """Return the first of *courses* with those requests only that come in each: a case cannot count on the others.

    What Helm asks for once in a while depends on what it has kept of the API's schema, and on how fast a cluster is.
    """
    first, *others = courses
    places = {
        action: [place for place in some if all(place in each.places[action] for each in others)]
        for action, some in first.places.items()
    }
    return replace(first, places=places)


def anything(kind: Kind, call: Call) -> bool:
    """Let kvobs' own requests meet every kind of fault, also what no API server would answer."""
    return True


def as_served(kind: Kind, call: Call) -> bool:
    """Let requests meet what an API server does send: a conflict who writes, an expired place who lists or watches.

    Helm takes a conflict on a read for something that it need not delete.

    >>> [as_served(Kind.CONFLICT, Call(verb, "pods")) for verb in ("list", "patch")]
    [False, True]
    >>> [as_served(Kind.GONE, Call(verb, "pods")) for verb in ("list", "get", "patch")]
    [True, False, False]
    """
    if kind is Kind.CONFLICT:
        return call.verb not in ("get", "list", "watch")
    return kind is not Kind.GONE or call.verb in ("list", "watch")


def every(whole: Course, action: Action, may_meet: MayMeet = anything) -> list[Fault]:
    """Return each kind of fault at each request once, and at each verb and kind for good."""
    once = [Fault(kind, place) for place in whole.places[action] for kind in Kind]
    lasting = [Fault(kind, place, lasting=True) for place in firsts(whole.places[action]) for kind in Kind]
    return [each for each in once + lasting if may_meet(each.kind, each.place.call)]


def firsts(found: Iterable[Place]) -> list[Place]:
    """Return the first request of each verb and kind."""
    return [place for place in found if place.nth == 1]


def covering(whole: Course, action: Action, *, seed: int, may_meet: MayMeet = anything) -> list[Fault]:
    """Return a seeded sample: each verb and kind once, at any of its requests, with the kinds of fault in turn."""
    chance = random.Random(seed)
    of_call: dict[object, list[Place]] = {}
    for place in whole.places[action]:
        of_call.setdefault(place.call, []).append(place)
    chosen = [chance.choice(some) for some in of_call.values()]
    return [replace(each, lasting=chance.random() < 0.3) for each in _in_turn(chosen, chance, may_meet)]


def scattered(whole: Course, action: Action, *, count: int, seed: int, may_meet: MayMeet = anything) -> list[Fault]:
    """Return a seeded sample of *count* requests, with the kinds of fault in turn."""
    chance = random.Random(seed)
    chosen = chance.sample(whole.places[action], min(count, len(whole.places[action])))
    return list(_in_turn(chosen, chance, may_meet))


def _in_turn(chosen: Iterable[Place], chance: random.Random, may_meet: MayMeet) -> Iterator[Fault]:
    """Deal the kinds of fault like cards; those that a request may not meet wait for one that may."""
    deck: list[Kind] = []
    for place in chosen:
        if not any(may_meet(kind, place.call) for kind in deck):
            deck += chance.sample(list(Kind), len(Kind))
        kind = next(kind for kind in deck if may_meet(kind, place.call))
        deck.remove(kind)
        yield Fault(kind, place)


# --- running them ---


def run(world: World, whole: Course, cases: Mapping[Action, Sequence[Fault]]) -> Iterator[Result | Wrong]:
    """Run the cases, an install and an uninstall in turn, since each begins where the other ends.

    What has gone wrong is one result among others; the world is then put in order for the next.
    """
    yield from work_off(world, whole, {action: deque(faults) for action, faults in cases.items()})


def work_off(world: World, whole: Course, left: Mapping[Action, deque[Fault]]) -> Iterator[Result | Wrong]:
    """Run what is *left*, as `run` does, and take it from there; other worlds may take from it at the same time."""
    while any(left.values()):
        for action in ACTIONS:
            try:
                fault = left[action].popleft() if left[action] else None
            except IndexError:  # another world was faster
                fault = None
            try:
                if fault is not None:
                    yield case(world, action, fault, whole)
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
