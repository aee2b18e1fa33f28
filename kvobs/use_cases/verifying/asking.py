"""Many questions to one Prometheus: equal ones once, so many at a time, and none more once it is known to be away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from typing import TypeVar, cast

from ...dashboard.board import Query
from ...health.answers import Answer, Exposed, Names, NoAnswer, Refused, Relabelings, ScrapeTarget, Server
from .seam import Asked

IN_FLIGHT = 8
"""Questions at a time. A Prometheus works at 20 queries at once, and others ask it too."""

Told = Callable[[int, int], None]
"""Is told how many of how many are done, in the thread that asked."""
Targets = tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]] | Refused | NoAnswer
T = TypeVar("T")
R = TypeVar("R")


class Answers:
    """What one Prometheus answered in one run; itself an `Asked`, so that whoever asks again is told from memory.

    Once it turns out to be away, or to let nobody in, every further question is answered so without being sent. So
    it is, too, when none of many in a row was answered.
    """

    def __init__(self, asked: Asked, *, in_flight: int = IN_FLIGHT) -> None:
        self._asked = asked
        self._in_flight = in_flight
        self._free = threading.BoundedSemaphore(in_flight)
        self._lock = threading.Lock()
        self._known: dict[Hashable, Future[object]] = {}
        self._stopped: NoAnswer | None = None
        self._answered = False
        self._unanswered = 0
        self._sent = 0

    @property
    def sent(self) -> int:
        """Questions that were passed on."""
        return self._sent

    @property
    def stopped(self) -> NoAnswer | None:
        """Why no further question is passed on; None while they are."""
        return self._stopped

    # --- many at once ---

    def queries(self, queries: Iterable[Query], *, told: Told | None = None) -> dict[Query, Answer]:
        """Answer every query, `in_flight` at a time."""
        wanted = list(dict.fromkeys(queries))
        distinct = list({_key(each): each for each in wanted}.values())
        self.each(self.query, distinct, told=told)
        return {each: self.query(each) for each in wanted}

    def each(self, do: Callable[[T], R], items: Iterable[T], *, told: Told | None = None) -> list[R]:
        """Return what *do*, which may ask, makes of each item, several at a time.

        An interruption does not wait for what is under way.
        """
        todo = list(items)
        done: dict[int, R] = {}
        if not todo:
            return []
        with ThreadPool(min(self._in_flight, len(todo))) as pool:
            for number, made in pool.imap_unordered(lambda one: (one[0], do(one[1])), enumerate(todo)):
                done[number] = made
                if told is not None:
                    told(len(done), len(todo))
        return [done[number] for number in range(len(todo))]

    # --- one, as `Asked` ---

    def query(self, query: Query) -> Answer:
        """Answer a query, asked once however often."""
        return self._once(("query", *_key(query)), lambda: self._asked.query(query), telling=True)

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """As `Asked.metric_names`, once for each range."""
        key = ("metric names", start_s, end_s)
        return self._once(key, lambda: self._asked.metric_names(start_s, end_s), telling=not self._answered)

    def label_names(
        self, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """As `Asked.label_names`, equal ones once."""
        key = ("label names", tuple(matches), start_s, end_s)
        return self._once(key, lambda: self._asked.label_names(matches, start_s, end_s), telling=not self._answered)

    def label_values(
        self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """As `Asked.label_values`, equal ones once."""
        key = ("label values", label, tuple(matches), start_s, end_s)
        return self._once(
            key, lambda: self._asked.label_values(label, matches, start_s, end_s), telling=not self._answered
        )

    def targets(self) -> Targets:
        """As `Asked.targets`, once."""
        # A gateway may keep the status pages to itself and answer queries: it says nothing about these.
        return self._once(("targets",), self._asked.targets, telling=False)

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """As `Asked.scrape_pools`, once."""
        return self._once(("scrape pools",), self._asked.scrape_pools, telling=False)

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """As `Asked.relabelings`, once."""
        return self._once(("relabelings",), self._asked.relabelings, telling=False)

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """As `Asked.exposed`, equal ones once."""
        return self._once(("exposed", metric), lambda: self._asked.exposed(metric), telling=False)

    def server(self) -> Server | NoAnswer:
        """As `Asked.server`, once."""
        return self._once(("server",), self._asked.server, telling=False)

    # --- within ---

    def _once(self, key: Hashable, ask: Callable[[], R], *, telling: bool) -> R | NoAnswer:
        with self._lock:
            known = self._known.get(key)
            mine: Future[object] | None = None
            if known is None:
                mine = known = self._known[key] = Future()
        if mine is not None:
            try:
                mine.set_result(self._pass_on(ask, telling))
            except BaseException as error:
                with self._lock:
                    del self._known[key]
                mine.set_exception(error)
                raise
        return cast("R | NoAnswer", known.result())

    def _pass_on(self, ask: Callable[[], R], telling: bool) -> R | NoAnswer:
        with self._free:
            if self._stopped is not None:
                return self._stopped
            with self._lock:
                self._sent += 1
            answer = ask()
        with self._lock:
            self._note(answer, telling)
        return answer

    def _note(self, answer: object, telling: bool) -> None:
        if not isinstance(answer, NoAnswer):
            self._answered = True
            self._unanswered = 0
            return
        if not telling or self._stopped is not None:
            return
        self._unanswered += 1
        if answer.lasting:
            self._stopped = answer
        elif self._unanswered >= 2 * self._in_flight:
            self._stopped = replace(
                answer, said=f"{answer.said}; so it was with {self._unanswered} questions in a row", lasting=True
            )


def _key(query: Query) -> tuple[Hashable, ...]:
    """What makes two queries to one server equal; of an instant one, only when it is asked for."""
    if query.instant:
        return (query.expr, query.end_s)
    return (query.expr, query.start_s, query.end_s, query.step_s)
