"""Several empty clusters at once, for Helm's requests: most of a case is waiting, and two cores have time for more."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.faults import sweep, worlds
from tests.cluster.faults.kinds import Fault
from tests.cluster.faults.sweep import Course, Result, Wrong
from tests.cluster.faults.worlds import Action, World

BEDS = 3
COURSES = 2
"""How often each world shows what Helm asks for: what comes each time on all of them is what it always asks for."""


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Worlds that are alike, each with its own course."""

    worlds: Sequence[tuple[World, Course]]
    whole: Course
    """What is the same for all of them."""

    def cases(self, action: Action, *, seed: int, more: int) -> list[Fault]:
        """Return a seeded sample: each verb and kind once, and *more* requests at random."""
        cover = sweep.covering(self.whole, action, seed=seed, may_meet=sweep.as_served)
        return [*cover, *sweep.scattered(self.whole, action, count=more, seed=seed, may_meet=sweep.as_served)]

    def run(self, cases: Mapping[Action, Sequence[Fault]]) -> Iterator[Result | Wrong]:
        """Share the cases out, each to the world that is free first; give the results as they come."""
        left = {action: deque(faults) for action, faults in cases.items()}
        said: queue.SimpleQueue[Result | Wrong | None] = queue.SimpleQueue()

        def work(world: World, course: Course) -> None:
            try:
                for each in sweep.work_off(world, course, left):
                    said.put(each)
            finally:  # all done; or what went wrong here is no result, and stops the others too
                _drop(left)
                said.put(None)

        with ThreadPoolExecutor(len(self.worlds)) as pool:
            working = [pool.submit(work, *each) for each in self.worlds]
            try:
                for _ in working:
                    yield from iter(said.get, None)
            finally:  # who no longer listens wants no more
                _drop(left)
            for each in working:
                each.result()


def _drop(left: Mapping[Action, deque[Fault]]) -> None:
    for some in left.values():
        some.clear()


@contextmanager
def of_helm(folder: Path) -> Iterator[Crew]:
    """Give empty clusters for Helm's requests."""

    def begin(number: int) -> tuple[World, list[Course]]:
        own = folder / f"cluster-{number}"
        own.mkdir()
        world = worlds.helms(stack.enter_context(worlds.fresh(own)))
        return world, [sweep.course(world) for _ in range(COURSES)]

    with ExitStack() as stack:
        with ThreadPoolExecutor(BEDS) as pool:
            begun = list(pool.map(begin, range(BEDS)))
        yield Crew(
            worlds=[(world, courses[-1]) for world, courses in begun],
            whole=sweep.common([course for _, courses in begun for course in courses]),
        )
