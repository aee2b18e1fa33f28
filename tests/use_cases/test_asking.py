"""Many questions to one Prometheus: equal ones once, bounded, and none more once it is known to be away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from kvobs.dashboard.board import Query
from kvobs.health.answers import Answer, Exposed, Names, NoAnswer, Refused, Relabelings, Result, ScrapeTarget, Server
from kvobs.use_cases.verifying.asking import Answers

AWAY = NoAnswer(said="prom refuses connections", hint="start it", lasting=True)
SLOW = NoAnswer(said="prom did not answer within 30 s", hint="wait")
REFUSED = Refused(kind="bad query", said="parse error")


def query(expr: str, **more: object) -> Query:
    """A range query."""
    given = {"instant": False, "start_s": 0.0, "end_s": 60.0, "step_s": 15.0, "source": "a", **more}
    return Query(expr=expr, **given)  # type: ignore[arg-type]


@dataclass
class Fake:
    """An `Asked` that remembers what it was asked, and how many asked at once."""

    answer: Callable[[str], Answer] = lambda expr: Result(type="vector")
    pause_s: float = 0.0
    together: threading.Barrier | None = None
    """Where queries wait until so many are asked at once."""
    asked: list[object] = field(default_factory=list)
    most: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def query(self, query: Query) -> Answer:
        """Answer by the query's text."""
        with self._lock:
            self.asked.append(query)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            if self.together is not None:
                self.together.wait()
            time.sleep(self.pause_s)
            return self.answer(query.expr)
        finally:
            with self._lock:
                self._now -= 1

    def _names(self, *key: object) -> Names | Refused | NoAnswer:
        self.asked.append(key)
        answer = self.answer(str(key[0]))
        return answer if isinstance(answer, Refused | NoAnswer) else Names(values=frozenset({"a"}))

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """As the seam."""
        return self._names("metric names", start_s, end_s)

    def label_names(
        self, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """As the seam."""
        return self._names("label names", *matches)

    def label_values(
        self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """As the seam."""
        return self._names("label values", label, *matches)

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]] | Refused | NoAnswer:
        """As the seam."""
        self.asked.append("targets")
        answer = self.answer("targets")
        return answer if isinstance(answer, NoAnswer) else ((), ())

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """As the seam."""
        return self._names("scrape pools")

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """As the seam."""
        self.asked.append("relabelings")
        answer = self.answer("relabelings")
        return answer if isinstance(answer, NoAnswer) else {}

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """As the seam."""
        self.asked.append(("exposed", metric))
        return ()

    def server(self) -> Server | NoAnswer:
        """As the seam."""
        self.asked.append("server")
        answer = self.answer("server")
        return answer if isinstance(answer, NoAnswer) else Server(version="3")


def test_equal_queries_are_asked_once() -> None:
    """However many panels ask it, and whichever data source's name they ask it by; every one gets the answer."""
    fake = Fake()
    answers = Answers(fake)
    several = [query("a"), query("a"), query("a", source="b"), query("b"), query("a", step_s=30.0)]
    found = answers.queries(several)
    assert set(found) == set(several)
    # Several are asked at a time, in whatever order.
    assert sorted(each.expr for each in fake.asked) == ["a", "a", "b"]  # type: ignore[attr-defined]
    assert answers.query(query("a")) == Result(type="vector")
    assert answers.sent == len(fake.asked) == 3


def test_an_instant_query_is_its_time() -> None:
    """Start and step of an instant query make no other question of it; a range at that end is another one."""
    fake = Fake()
    one = query("a", instant=True)
    Answers(fake).queries([one, replace(one, start_s=7.0, step_s=1.0), replace(one, end_s=61.0), query("a")])
    assert len(fake.asked) == 3


def test_so_many_at_a_time() -> None:
    """No more than the bound are in flight, and as many as that are."""
    fake = Fake(pause_s=0.05, together=threading.Barrier(3, timeout=60))
    Answers(fake, in_flight=3).queries([query(str(number)) for number in range(12)])
    assert fake.most == 3


def test_the_bound_holds_for_whoever_asks() -> None:
    """Also where gatherers ask from threads of their own."""
    fake = Fake(pause_s=0.05, together=threading.Barrier(2, timeout=60))
    answers = Answers(fake, in_flight=2)
    threads = [threading.Thread(target=answers.query, args=(query(str(number)),)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert fake.most == 2


def test_equal_ones_at_one_moment_are_asked_once() -> None:
    """The second waits for the answer to the first."""
    fake = Fake(pause_s=0.1)
    answers = Answers(fake)
    found = answers.each(lambda _: answers.query(query("a")), range(8))
    assert found == [Result(type="vector")] * 8
    assert len(fake.asked) == 1


def test_progress_is_told_where_it_was_asked() -> None:
    """How many of how many are done, in the caller's own thread."""
    told: list[tuple[int, int, bool]] = []
    main = threading.current_thread()
    Answers(Fake()).queries(
        [query("a"), query("b"), query("b")],
        told=lambda done, of: told.append((done, of, threading.current_thread() is main)),
    )
    assert told == [(1, 2, True), (2, 2, True)]


def test_nothing_asked_is_nothing_told() -> None:
    """No query, no thread, no progress."""
    assert Answers(Fake()).queries([], told=lambda *_: pytest.fail("told")) == {}


def test_each_keeps_the_order() -> None:
    """Results stand in the order of the items, however long each takes; a failure is raised."""
    answers = Answers(Fake())
    slowest_first = answers.each(lambda number: (time.sleep(0.05 / (number + 1)), number)[1], range(6))
    assert slowest_first == list(range(6))
    with pytest.raises(ZeroDivisionError):
        answers.each(lambda number: 1 // number, [1, 0])


def test_a_server_that_is_away_is_asked_no_more() -> None:
    """One lasting lack of an answer ends the asking; every further question is answered so."""
    fake = Fake(answer=lambda _: AWAY)
    answers = Answers(fake, in_flight=2)
    found = answers.queries([query(str(number)) for number in range(100)])
    assert set(found.values()) == {AWAY}
    assert len(fake.asked) <= 2
    assert answers.stopped == AWAY
    assert answers.label_names(["a"], None, None) == AWAY
    assert answers.targets() == AWAY


def test_one_slow_query_does_not_end_the_asking() -> None:
    """A query that alone is not answered says nothing about the others."""
    fake = Fake(answer=lambda expr: SLOW if expr == "7" else Result(type="vector"))
    answers = Answers(fake, in_flight=2)
    found = answers.queries([query(str(number)) for number in range(100)])
    assert [each.expr for each, answer in found.items() if answer == SLOW] == ["7"]
    assert answers.stopped is None


def test_many_in_a_row_do() -> None:
    """Where nothing at all is answered, nobody waits for a thousand time-outs."""
    fake = Fake(answer=lambda _: SLOW)
    answers = Answers(fake, in_flight=2)
    found = answers.queries([query(str(number)) for number in range(100)])
    assert all(isinstance(each, NoAnswer) for each in found.values())
    assert len(fake.asked) <= 6
    assert answers.stopped is not None
    assert "in a row" in answers.stopped.said
    assert answers.stopped.hint == "wait"


def test_a_refusal_is_an_answer() -> None:
    """However many queries are refused, the server is there."""
    fake = Fake(answer=lambda _: REFUSED)
    answers = Answers(fake, in_flight=2)
    answers.queries([query(str(number)) for number in range(50)])
    assert len(fake.asked) == 50
    assert answers.stopped is None


@pytest.mark.parametrize("page", ["targets", "server", "label names", "label values", "metric names", "relabelings"])
def test_a_page_that_is_kept_back_says_nothing_about_queries(page: str) -> None:
    """A gateway that answers queries may keep the other pages to itself."""
    fake = Fake(answer=lambda expr: AWAY if expr == page else Result(type="vector"))
    answers = Answers(fake)
    answers.query(query("a"))
    pages = {
        "targets": answers.targets,
        "server": answers.server,
        "label names": lambda: answers.label_names((), None, None),
        "label values": lambda: answers.label_values("a", (), None, None),
        "metric names": lambda: answers.metric_names(None, None),
        "relabelings": answers.relabelings,
    }
    assert pages[page]() == AWAY
    assert isinstance(answers.query(query("b")), Result)


def test_variables_end_the_asking_where_nothing_was_answered_yet() -> None:
    """They come first: a server that is away is found out by them."""
    fake = Fake(answer=lambda _: AWAY)
    answers = Answers(fake)
    assert answers.label_values("a", (), None, None) == AWAY
    assert answers.query(query("a")) == AWAY
    assert len(fake.asked) == 1


def test_names_and_pages_are_asked_once() -> None:
    """What is known of them is not asked again; other ranges and selectors are other questions."""
    fake = Fake()
    answers = Answers(fake)
    for _ in range(2):
        answers.metric_names(0.0, 1.0)
        answers.metric_names(None, None)
        answers.label_names(["a"], 0.0, 1.0)
        answers.label_values("l", ["a"], 0.0, 1.0)
        answers.label_values("l", ["a", "b"], 0.0, 1.0)
        answers.targets()
        answers.server()
        answers.relabelings()
        answers.exposed("a")
        answers.exposed("b")
    assert len(fake.asked) == 10


def test_a_fault_of_ours_is_raised_and_not_remembered() -> None:
    """An exception is nobody's answer: it comes out, in every thread, and the next try asks anew."""
    faults = [ZeroDivisionError()]

    def answer(_: str) -> Answer:
        if faults:
            raise faults.pop()
        return Result(type="vector")

    answers = Answers(Fake(answer=answer))
    with pytest.raises(ZeroDivisionError):
        answers.query(query("a"))
    assert answers.query(query("a")) == Result(type="vector")
