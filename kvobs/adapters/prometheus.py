"""Prometheus, or what speaks its API (Thanos, Mimir, VictoriaMetrics): questions in, answers out, no exception.

prometheus-api-client knows the API; what it sends with is ours (`prometheus_session`). It brings requests, which
takes long to load, and is loaded when a server is connected.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from ..dashboard.board import Query
from ..health.answers import Answer, Exposed, Names, NoAnswer, Refused, Relabelings, Result, ScrapeTarget, Server
from .prometheus_about import exposed_of, oldest_of, relabelings_of, server_of, targets_of
from .prometheus_replies import Declined
from .prometheus_series import Unreadable
from .prometheus_session import MAX_BYTES, Session, data
from .prometheus_transport import Address as Address
from .prometheus_transport import Failed, OverHttp, TooLarge, Transport
from .refusals import Reply

if TYPE_CHECKING:
    from prometheus_api_client import PrometheusConnect

IN_FLIGHT = 8
"""Connections kept: as many questions as are asked at once."""
_ANY_TIME = datetime.fromtimestamp(0, UTC)
"""The library rounds a range to whole seconds; the exact one goes in its parameters, which win."""
_LEGACY_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
T = TypeVar("T")


class Prometheus:
    """One server, as the seam `Asked` wants it. Threads may share it."""

    def __init__(
        self,
        transport: Transport,
        *,
        timeout_s: float = 30.0,
        patience_s: float = 20.0,
        max_bytes: int = MAX_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`timeout_s` is for one try, `patience_s` for how long a server that may come back is asked again."""
        from prometheus_api_client import PrometheusConnect

        limits = {"timeout_s": timeout_s, "patience_s": patience_s}
        self._session = Session(transport, **limits, max_bytes=max_bytes, sleep=sleep, clock=clock)
        self._transport = transport
        self._max_bytes = max_bytes
        # Given to the server too, so that it stops working at what nobody waits for, and says so itself.
        self._server_timeout = f"{max(1, int(timeout_s) - 1)}s"
        self._api: PrometheusConnect = PrometheusConnect(url="", session=self._session, method="POST")

    @classmethod
    def at(cls, address: Address, **limits: Any) -> Self:
        """The server at an address; nothing is asked yet. UsageError says what is wrong with the address."""
        return cls(OverHttp(address, connections=IN_FLIGHT), **limits)

    def __repr__(self) -> str:
        return f"Prometheus({self.place!r})"

    @property
    def place(self) -> str:
        """The server as messages name it, by the way that leads there: of several, the one that was found open."""
        return self._transport.place

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    # --- the seam ---

    def query(self, query: Query) -> Answer:
        """Answer an instant or a range query."""
        if query.instant:
            params = {"time": _seconds(query.end_s), "timeout": self._server_timeout}
            return self._answer(lambda: _result(self._api.custom_query(query.expr, params=params)))
        params = {
            "start": _seconds(query.start_s),
            "end": _seconds(query.end_s),
            "step": _seconds(query.step_s),
            "timeout": self._server_timeout,
        }
        return self._answer(
            lambda: _result(self._api.custom_query_range(query.expr, _ANY_TIME, _ANY_TIME, params["step"], params))
        )

    def metric_names(self, start_s: float | None, end_s: float | None) -> Names | Refused | NoAnswer:
        """Names of the metrics in a time range; of all it holds without one.

        A server looks into the blocks that overlap the range, so that a name may have its samples just outside.
        """
        return self.label_values("__name__", (), start_s, end_s)

    def label_names(
        self, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """Names of the labels of the series that any selector of *matches* fits; of all without one."""
        return self._names("/api/v1/labels", lambda: self._api.get_label_names(_matching(matches, start_s, end_s)))

    def label_values(
        self, label: str, matches: Sequence[str], start_s: float | None, end_s: float | None
    ) -> Names | Refused | NoAnswer:
        """Values of a label in the series that any selector of *matches* fits; in all without one."""
        name = quote(_escaped(label), safe="")
        return self._names(
            f"/api/v1/label/{name}/values",
            lambda: self._api.get_label_values(name, _matching(matches, start_s, end_s)),
        )

    def targets(self) -> tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]] | Refused | NoAnswer:
        """(active, dropped) targets."""
        return self._answer(lambda: targets_of(self._api.get_targets()), "/api/v1/targets")

    def scrape_pools(self) -> Names | Refused | NoAnswer:
        """Names of the scrape configs that it reads. Since Prometheus 2.42; before 3.0 those that ever had a target."""
        # The library's own is made from the active targets: a pool without one is what is wanted here.
        path = "/api/v1/scrape_pools"
        return self._names(path, lambda: self._session.ask(path, (), _pools))

    def relabelings(self) -> Relabelings | Refused | NoAnswer:
        """What each scrape config that it has loaded does to the metrics that it scraped, where it does anything."""
        path = "/api/v1/status/config"
        return self._answer(lambda: self._session.ask(path, (), lambda reply: relabelings_of(data(reply))), path)

    def exposed(self, metric: str) -> tuple[Exposed, ...] | Refused | NoAnswer:
        """Which targets expose a metric, be it stored or not, by its name as `# TYPE` has it."""
        # The library's own asks one target at a time.
        path, asked = "/api/v1/targets/metadata", (("metric", metric),)
        return self._answer(lambda: self._session.ask(path, asked, lambda reply: exposed_of(data(reply))), path)

    def server(self) -> Server | NoAnswer:
        """What it says of itself: version, retention, oldest sample, as far as it does."""
        about = self._answer(self._about)
        return Server() if isinstance(about, Refused) else about

    # --- within ---

    def _about(self) -> Server:
        def build(reply: Reply) -> tuple[Any, bool]:
            return data(reply), bool(reply.header("X-Server-Hostname"))

        # The first question: whoever is not there or lets nobody in says so here.
        built, victoria = self._page("buildinfo", build) or (None, False)
        flags, runtime = self._page("flags", data), self._page("runtimeinfo", data)
        oldest_s: float | None = None
        if not victoria:
            try:
                oldest_s = self._session.ask("/metrics", (), lambda reply: oldest_of(reply.body))
            except (Failed, Declined, TooLarge):
                oldest_s = None  # the API may be given to us, and the page of metrics not
        return server_of(
            built if isinstance(built, Mapping) else None,
            flags if isinstance(flags, Mapping) else None,
            runtime if isinstance(runtime, Mapping) else None,
            victoria=victoria,
            oldest_s=oldest_s,
        )

    def _page(self, name: str, read: Callable[[Reply], T]) -> T | None:
        """A page under /api/v1/status; None where the server has none such."""
        try:
            return self._session.ask(f"/api/v1/status/{name}", (), read)
        except Declined:
            return None
        except Failed as failure:
            if failure.missing and self._session.answered:
                return None
            raise

    def _names(self, path: str, ask: Callable[[], Any]) -> Names | Refused | NoAnswer:
        return self._answer(lambda: _texts(ask()), path)

    def _answer(self, ask: Callable[[], T], path: str | None = None) -> T | Refused | NoAnswer:
        try:
            return ask()
        except Declined as declined:
            return declined.answer
        except TooLarge as large:
            mib = large.max_bytes // 2**20
            return Refused(
                kind="too expensive",
                said=f"{self.place} answers with more than {mib} MiB, of which no more was read: fewer series or a"
                " longer step would make it smaller",
            )
        except Unreadable:
            said = f"{self.place} answers {path or 'a query'}, but not as Prometheus does"
            return NoAnswer(said=said, hint="a proxy may stand in between")
        except Failed as failure:
            if failure.missing and path and self._session.answered:
                return Refused(kind="unsupported", said=f"{self.place} has no {path}")
            return failure.answer


def _result(found: Any) -> Result:
    assert isinstance(found, Result)  # our session read it
    return found


def _texts(found: Any) -> Names:
    if found is None:  # an empty list, as Go may write it
        return Names(values=frozenset())
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise Unreadable("no list of names")
    return Names(values=frozenset(found))


def _pools(reply: Reply) -> Any:
    try:
        return data(reply)["scrapePools"]
    except (TypeError, KeyError) as error:
        raise Unreadable("no list of scrape pools") from error


def _matching(matches: Sequence[str], start_s: float | None, end_s: float | None) -> dict[str, Any]:
    params: dict[str, Any] = {"match[]": list(matches)} if matches else {}
    if start_s is not None:
        params["start"] = _seconds(start_s)
    if end_s is not None:
        params["end"] = _seconds(end_s)
    return params


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _escaped(label: str) -> str:
    """A label's name as a path of the API takes it: any UTF-8 since Prometheus 3, `/` included.

    >>> _escaped("pod"), _escaped("k8s.pod/name")
    ('pod', 'U__k8s_2e_pod_2f_name')
    """
    if _LEGACY_NAME.fullmatch(label):
        return label
    kept = (
        each if each.isascii() and each.isalnum() else "__" if each == "_" else f"_{ord(each):x}_" for each in label
    )
    return "U__" + "".join(kept)
