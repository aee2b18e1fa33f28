"""What prometheus-api-client sends with, in place of a session of requests.

It puts a question into the query of an address even where it posts, takes any size, retries in silence, knows one
error for all that is not 200, and drops an answer's type and warnings. So questions go out and come in here: bounded,
posted as forms, tried again within a deadline, refusals told apart. What it is given back is an answer read already.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from ..errors import Forbidden
from .prometheus_replies import check, data_of, unreadable
from .prometheus_series import Unreadable, read_document, read_result, result_of
from .prometheus_transport import LONG, Failed, Method, Params, Transport
from .refusals import Reply

MAX_BYTES = 32 * 1024 * 1024
"""Of one answer: 11,000 points for some fifty series."""
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 2.0
_QUERIES = ("/api/v1/query", "/api/v1/query_range")

T = TypeVar("T")
Written = str | Iterable[str]


class Read:
    """A reply as the library takes it: a success whose JSON is read already."""

    status_code = 200

    def __init__(self, data: Any) -> None:
        self._data = data

    def json(self) -> Mapping[str, Any]:
        """The document, as far as the library looks at it."""
        return {"data": self._data}


class Session:
    """The connection to one server. Threads may share it."""

    verify = True
    cert = None

    def __init__(
        self,
        transport: Transport,
        *,
        timeout_s: float,
        patience_s: float,
        max_bytes: int = MAX_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`timeout_s` is for one try, `patience_s` for how long a server that may come back is asked again."""
        self._transport = transport
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._clock = clock
        self._get_only = False
        self.answered = False
        """Whether the server has answered anything yet as Prometheus does."""

    def mount(self, prefix: str, adapter: object) -> None:
        """Take no adapter: the retries that the library mounts know no deadline."""

    def get(self, url: str, params: Mapping[str, Written] | None = None, **_: object) -> Read:
        """As `requests.Session.get`; raises `Declined`, `Failed` or `TooLarge`."""
        return self.request("GET", url, params)

    def request(self, method: Method, url: str, params: Mapping[str, Written] | None = None, **_: object) -> Read:
        """As `requests.Session.request`; raises `Declined`, `Failed` or `TooLarge`."""
        flat = [
            (name, each)
            for name, text in (params or {}).items()
            for each in ([text] if isinstance(text, str) else text)
        ]
        return Read(self.ask(url, flat, _query if url in _QUERIES else data, may_post=method == "POST"))

    def ask(self, path: str, params: Params, read: Callable[[Reply], T], *, may_post: bool = False) -> T:
        """Ask, again and again while that may help; what *read* makes of the reply, which may raise `Unreadable`."""
        begin = self._clock()
        pause_s = FIRST_PAUSE_S
        tries = 0
        while True:
            tries += 1
            reply: Reply | None = None
            try:
                reply = self._send(path, params, may_post)
                return self._read(reply, path, read)
            except Failed as failure:
                wait_s = max(pause_s, _asked_to_wait(reply))
                spent_s = self._clock() - begin
                # A server that nobody has heard of yet is away; one that has answered is restarting.
                hopeless = failure.refused and not self.answered and tries > 1
                if not failure.passing or hopeless or spent_s + wait_s > self._patience_s:
                    raise _counted(failure, tries, spent_s) from failure
                self._sleep(wait_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _read(self, reply: Reply, path: str, read: Callable[[Reply], T]) -> T:
        place = self._transport.place
        check(reply, place, asked=path, credentials_hint=self._transport.credentials_hint)
        try:
            value = read(reply)
        except Unreadable:
            raise unreadable(reply, place, path) from None
        self.answered = True
        return value

    def _send(self, path: str, params: Params, may_post: bool) -> Reply:
        if not may_post or self._get_only or not (self._transport.prefers_post or len(urlencode(params)) > LONG):
            return self._once("GET", path, params)
        try:
            reply = self._once("POST", path, params)
            if reply.status not in (403, 405, 501):
                return reply
        except Failed as failure:
            if not isinstance(failure.__cause__, Forbidden):
                raise
        # A proxy that lets nothing but GET through; the right to create services/proxy, which is not that to get it.
        reply = self._once("GET", path, params)
        self._get_only = self._get_only or reply.ok
        return reply

    def _once(self, method: Method, path: str, params: Params) -> Reply:
        return self._transport.send(method, path, params, max_bytes=self._max_bytes, timeout_s=self._timeout_s)


def data(reply: Reply) -> Any:
    """Read the `data` of an answer that is no query's."""
    return data_of(read_document(reply.body))


def _query(reply: Reply) -> Mapping[str, Any]:
    document, series = read_result(reply.body)
    data_of(document)
    return {"result": result_of(document, series)}


def _asked_to_wait(reply: Reply | None) -> float:
    asked = reply.header("Retry-After") if reply is not None else ""
    return float(asked) if asked.isdecimal() and len(asked) < 6 else 0.0


def _counted(failure: Failed, tries: int, spent_s: float) -> Failed:
    if tries == 1:
        return failure
    said = f"{failure.answer.said} (asked {tries} times in {spent_s:.0f} s)"
    return Failed(
        replace(failure.answer, said=said), passing=failure.passing, missing=failure.missing, refused=failure.refused
    )
