"""Whatever goes wrong on the way to the API server, a run ends well or says what to do, and the next one finishes it.

So it is when kvobs is stopped. Seeded samples; `make faults` runs every fault at every request, every signal in every
step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.cluster.faults import crew, kills, sweep, table, worlds
from tests.cluster.faults.kills import SIGNALS, Stop
from tests.cluster.faults.kinds import Call, Fault, Kind
from tests.cluster.faults.sweep import Course, Result, Wrong
from tests.cluster.faults.worlds import ACTIONS, Action, World

SEED = 88
ON_EMPTY = 2
"""Cases of each action on an empty cluster: a namespace that goes takes longest of all."""
OF_HELM = 6
"""Cases of each action at any of Helm's requests, beyond one at each verb and kind."""

MOMENTS = 4
"""How often each action is stopped at a moment that nothing marks."""
LONGEST_S = 1.5
"""A moment comes no later than this after the first word of a run: most of them end sooner."""

Tell = Callable[[str], None]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A cluster with somebody's stack."""
    with worlds.reused(tmp_path_factory.mktemp("stack")) as world:
        yield world


@pytest.fixture(scope="module")
def stack_course(stack: World) -> Course:
    """What happens there when nothing goes wrong."""
    return sweep.course(stack)


def run(world: World, whole: Course, cases: Mapping[Action, Sequence[Fault]], tell: Tell) -> list[Result]:
    """Run the cases, all of which must end as they should; say how many of how many they are."""
    every = sum(len(sweep.every(whole, action)) for action in ACTIONS)
    return right(sweep.run(world, whole, cases), f"faults at kvobs' requests on {world.name}", every, tell)


def right(ended: Iterable[Result | Wrong], what: str, every: int, tell: Tell) -> list[Result]:
    """Return the results, all of which must be right; say how many of how many they are."""
    results = list(ended)
    wrong = [str(each) for each in results if isinstance(each, Wrong)]
    tell(f"{what}: {len(results)} of {every}, {len(wrong)} of them wrong")
    assert wrong == []
    return [each for each in results if isinstance(each, Result)]


def calls(whole: Course) -> set[tuple[Action, Call]]:
    """Return each verb and kind that is asked for, by action."""
    return {(action, place.call) for action in ACTIONS for place in whole.places[action]}


def test_kvobs_beside_somebodys_stack(stack: World, stack_course: Course, tell: Tell) -> None:
    """Each verb and kind that kvobs asks for meets a fault; each kind of fault comes in an install and an uninstall."""
    cases = {action: sweep.covering(stack_course, action, seed=SEED) for action in ACTIONS}
    results = run(stack, stack_course, cases, tell)
    assert {(each.action, each.fault.kind) for each in results} == {(action, k) for action in ACTIONS for k in Kind}
    assert {(each.action, each.fault.place.call) for each in results} == calls(stack_course)
    assert table.untold("stack", {table.named(each.action, each.step) for each in results}) is None


def test_the_readme_tells_of_every_fault_and_signal() -> None:
    """The tables in the README have a column for each kind of fault, and for each signal."""
    block = table.README.read_text().partition(table.BEGIN)[2].partition(table.END)[0]
    for first, columns in (("step", [kind.value for kind in Kind]), ("stopped in", [each.name for each in SIGNALS])):
        assert f"| {' | '.join([first, *columns])} |" in block, "make faults FAULTS_ARGS=--write"


def test_stopped_in_every_step(stack: World, stack_course: Course, tell: Tell) -> None:
    """Each step is stopped by one of the signals, each signal comes in both actions."""
    every = kills.in_every_step(stack)
    named = {table.named(each.action, each.step or "") for some in every.values() for each in some}
    assert table.untold("kills", named) is None
    # By threes, since that is how many signals there are: another one in each step.
    chosen = {action: [some[at + at // 3 % 3] for at in range(0, len(some), 3)] for action, some in every.items()}
    stop_all(stack, stack_course, chosen, tell, of=sum(map(len, every.values())))


def test_stopped_at_any_moment(stack: World, stack_course: Course, tell: Tell) -> None:
    """A signal that comes at a moment that nothing marks meets no part of kvobs that is not ready for it."""
    chance = random.Random(SEED)
    stops = {
        action: [
            Stop(
                action=action,
                number=chance.choice(SIGNALS),
                step="look at the cluster",
                after_s=chance.uniform(0, LONGEST_S),
            )
            for _ in range(MOMENTS)
        ]
        for action in ACTIONS
    }
    stop_all(stack, stack_course, stops, tell)


def stop_all(
    world: World, whole: Course, stops: Mapping[Action, Sequence[Stop]], tell: Tell, *, of: int | None = None
) -> None:
    """Stop the runs, all of which must be finished by the next; say how many of how many they are."""
    ended = list(kills.run(world, whole, stops))
    wrong = [str(each) for each in ended if isinstance(each, Wrong)]
    tell(
        f"stops on {world.name}: {len(ended)}{f' of {of}' if of else ' at random moments'}, {len(wrong)} of them wrong"
    )
    assert wrong == []


def test_kvobs_on_an_empty_cluster(tmp_path: Path, stack_course: Course, tell: Tell) -> None:
    """So do some requests for what it makes only where there was nothing: a namespace, a password, a release."""
    with worlds.fresh(tmp_path) as empty:
        whole = sweep.course(empty)
        chance = random.Random(SEED)
        cases: dict[Action, list[Fault]] = {}
        for action in ACTIONS:
            known = {place.call for place in stack_course.places[action]}
            new = [place for place in sweep.firsts(whole.places[action]) if place.call not in known]
            kinds = chance.sample(list(Kind), ON_EMPTY)
            cases[action] = [Fault(*pair) for pair in zip(kinds, chance.sample(new, ON_EMPTY), strict=True)]
        run(empty, whole, cases, tell)


def test_helm_on_an_empty_cluster(tmp_path: Path, tell: Tell) -> None:
    """And so does each verb and kind that Helm asks for: what it makes of it is a plain error, or nothing at all."""
    with crew.of_helm(tmp_path) as helm:
        cases = {action: helm.cases(action, seed=SEED, more=OF_HELM) for action in ACTIONS}
        every = sum(len(sweep.every(helm.whole, action, sweep.as_served)) for action in ACTIONS)
        results = right(helm.run(cases), "faults at Helm's requests on an empty cluster", every, tell)
    met = {(each.action, each.fault.place.call) for each in results}
    # What Helm asks for now and then only is counted too, though no case can wait for it.
    asked = set().union(*(calls(whole) for _, whole in helm.worlds))
    tell(f"verbs and kinds of Helm's requests that met a fault: {len(met)} of {len(asked)}")
    assert met == calls(helm.whole)
    assert {each.fault.kind for each in results} == set(Kind)
