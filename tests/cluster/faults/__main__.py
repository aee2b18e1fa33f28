"""Every fault at every request, and every stop in every step: `python -m tests.cluster.faults [--write] [--only PART]`.

Prints each case as it ends, then the tables; `--write` puts those of the parts that were run into the README, and
leaves the others there as they are. Exit 1 where a case went wrong: its part is not written. All of it takes more than
an hour on two cores; `--at-most N` runs a seeded sample, and its table says so.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.cluster.faults import crew, kills, sweep, table, worlds
from tests.cluster.faults.kills import Stop
from tests.cluster.faults.kinds import Fault
from tests.cluster.faults.sweep import Course, Result, Wrong
from tests.cluster.faults.worlds import ACTIONS, Action, World

SEED = 4
SCATTERED = 20
"""Requests of Helm's beyond one of each verb and kind, for each action."""

T = TypeVar("T")


@dataclass(kw_only=True)
class Sweep:
    """What is asked for, and what has gone wrong so far."""

    folder: Path
    at_most: int | None
    """Cases of a part and an action; None: all that the part is for."""
    wrong: list[str] = field(default_factory=list)

    def sample(self, cases: Mapping[Action, list[T]]) -> dict[Action, list[T]]:
        """Return as many of the *cases* as are asked for."""
        chance = random.Random(SEED)
        return {
            action: some if self.at_most is None else chance.sample(some, min(self.at_most, len(some)))
            for action, some in cases.items()
        }

    def kept(self, total: int, ended: Iterable[T | Wrong]) -> list[T]:
        """Return those that ended as they must; say each as it ends."""
        good: list[T] = []
        for number, each in enumerate(ended, start=1):
            if isinstance(each, Wrong):
                self.wrong.append(str(each))
            else:
                good.append(each)
            print(f"{number}/{total} {'WRONG ' if isinstance(each, Wrong) else ''}{each}", flush=True)
        return good

    def met(self, world: World, whole: Course, cases: Mapping[Action, list[Fault]]) -> list[Result]:
        """Run the *cases*, or a sample of them."""
        chosen = self.sample(cases)
        return self.kept(_total(chosen), sweep.run(world, whole, chosen))


def beside_a_stack(asked: Sweep) -> str:
    """Every fault at every request of kvobs' own beside somebody's stack."""
    with worlds.reused(asked.folder) as world:
        whole = sweep.course(world)
        cases = {action: sweep.every(whole, action) for action in ACTIONS}
        results = asked.met(world, whole, cases)
    said = f"kvobs' own requests beside somebody's stack, {_of(len(results), _total(cases))} cases"
    return table.part(said, table.fault_table(results))


def on_an_empty_cluster(asked: Sweep) -> str:
    """The same on an empty cluster, at requests of the verbs and kinds that are not asked for beside a stack."""
    with worlds.reused(asked.folder) as world:
        whole = sweep.course(world)
        known = {(action, place.call) for action in ACTIONS for place in whole.places[action]}
    with worlds.fresh(asked.folder) as world:
        whole = sweep.course(world)
        cases = {
            action: [fault for fault in sweep.every(whole, action) if (action, fault.place.call) not in known]
            for action in ACTIONS
        }
        results = asked.met(world, whole, cases)
    said = (
        "kvobs' own requests on an empty cluster, of the verbs and kinds that it does not ask for beside a stack,"
        f" {_of(len(results), _total(cases))} cases"
    )
    return table.part(said, table.fault_table(results))


def helms(asked: Sweep) -> str:
    """Helm's requests: one of each verb and kind, and some more."""
    with crew.of_helm(asked.folder) as helm:
        chosen = asked.sample({action: helm.cases(action, seed=SEED, more=SCATTERED) for action in ACTIONS})
        results = asked.kept(_total(chosen), helm.run(chosen))
        requests = sum(len(helm.whole.places[action]) for action in ACTIONS)
        met = len({(each.action, each.fault.place) for each in results})
    said = f"Helm's requests on an empty cluster, a sample: {len(results)} cases, at {met} of {requests} requests"
    return table.part(said, table.fault_table(results))


def stopped_beside_a_stack(asked: Sweep) -> str:
    """Every signal in every step of a run beside somebody's stack."""
    with worlds.reused(asked.folder) as world:
        return _stopped(asked, world)


def stopped_on_an_empty_cluster(asked: Sweep) -> str:
    """Every signal in every step of a run on an empty cluster, Helm's included."""
    with worlds.fresh(asked.folder) as world:
        return _stopped(asked, world)


def _stopped(asked: Sweep, world: World) -> str:
    whole = sweep.course(world)
    every = kills.in_every_step(world)
    chosen = asked.sample(every)
    stops: list[Stop] = asked.kept(_total(chosen), kills.run(world, whole, chosen))
    where = "on an empty cluster" if world.delete_namespace else "beside somebody's stack"
    said = f"Stopped by a signal {where}, each run ended by the next one, {_of(len(stops), _total(every))} cases"
    return table.part(said, table.kill_table(stops))


PARTS: Mapping[str, Callable[[Sweep], str]] = {
    "stack": beside_a_stack,
    "empty": on_an_empty_cluster,
    "helm": helms,
    "kills": stopped_beside_a_stack,
    "kills-empty": stopped_on_an_empty_cluster,
}


def main(arguments: Sequence[str]) -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.faults")
    parser.add_argument("--write", action="store_true", help="put the tables into the README")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone, any number of times")
    parser.add_argument("--at-most", type=int, metavar="N", help="a seeded sample of N cases, for each part and action")
    told = parser.parse_args(arguments)
    wrong: list[str] = []
    for name in told.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="kvobs-faults-") as folder:
            asked = Sweep(folder=Path(folder), at_most=told.at_most)
            text = PARTS[name](asked)
        print(f"\n{text}\n", flush=True)
        wrong += asked.wrong
        if told.write and not asked.wrong:
            table.README.write_text(table.written(table.README.read_text(), name, text, order=list(PARTS)))
    print("\n".join(wrong or ["every case ended as it must"]))
    return 1 if wrong else 0


def _total(cases: Mapping[Action, Sequence[object]]) -> int:
    return sum(map(len, cases.values()))


def _of(some: int, all_of_them: int) -> str:
    return f"all {some}" if some == all_of_them else f"a seeded sample: {some} of {all_of_them}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
