"""The faults, and the requests at which they come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from urllib.parse import parse_qs, urlsplit

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Kind(Enum):
    """What happens to a request, in words for a table."""

    CONFLICT = "409"
    GONE = "410"
    TOO_MANY = "429"
    INTERNAL = "500"
    UNAVAILABLE = "503"
    RESET_BEFORE = "reset before"
    """The connection breaks, and the server has never seen the request."""
    RESET_AFTER = "reset after"
    """The connection breaks, and the server has done what was asked."""
    CUT = "cut"
    """The server has done what was asked, and half of its reply arrives."""
    SILENCE = "silence"
    """The server has never seen the request, and nobody says anything."""

    @property
    def answer(self) -> Answer | None:
        """What is answered in the server's place; None where nothing is."""
        return ANSWERS.get(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal as the API server writes it."""

    status: int
    reason: str
    message: str
    retry_after_s: int | None = None

    @property
    def body(self) -> bytes:
        """A `Status` object."""
        details = {"retryAfterSeconds": self.retry_after_s} if self.retry_after_s else {}
        document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.status}
        return json.dumps(document | {"reason": self.reason, "message": self.message, "details": details}).encode()


ANSWERS = {
    Kind.CONFLICT: Answer(409, "Conflict", "the object has been modified; apply your changes to the latest version"),
    Kind.GONE: Answer(410, "Expired", "The provided continue parameter is too old"),
    Kind.TOO_MANY: Answer(429, "TooManyRequests", "too many requests, please try again later", retry_after_s=1),
    Kind.INTERNAL: Answer(500, "InternalError", "Internal error occurred: etcdserver: leader changed"),
    Kind.UNAVAILABLE: Answer(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
}


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """A request as RBAC names it: verb and resource with its group; a path where it is for no resource."""

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One request of a run: the n-th of its kind, which stays the same when others come or go."""

    call: Call
    nth: int

    def __str__(self) -> str:
        return f"{self.call} #{self.nth}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault at one place; *lasting*: there and at every later request of the same verb and resource."""

    kind: Kind
    place: Place
    lasting: bool = False

    def __str__(self) -> str:
        return f"{self.kind.value} at {self.place}{' and after' if self.lasting else ''}"


def call_of(method: str, target: str) -> Call:
    """Return what a request asks.

    >>> str(call_of("GET", "/apis/apps/v1/namespaces/a/deployments?limit=500"))
    'list deployments.apps'
    >>> str(call_of("PATCH", "/api/v1/namespaces/a")), str(call_of("GET", "/api/v1/namespaces/a/services/g:80/proxy/x"))
    ('patch namespaces', 'get services/proxy')
    >>> str(call_of("GET", "/apis?timeout=32s")), str(call_of("GET", "/openapi/v3/apis/apps/v1"))
    ('get /apis', 'get /openapi/v3/apis/apps/v1')
    """
    url = urlsplit(target)
    root, *parts = url.path.strip("/").split("/")
    group = parts[0] if root == "apis" and parts else ""
    rest = parts[2:] if root == "apis" else parts[1:]
    if root not in ("api", "apis") or not rest:
        return Call("get", url.path)
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    named = len(rest) > 1
    resource = rest[0] + (f".{group}" if group else "") + (f"/{rest[2]}" if len(rest) > 2 else "")
    watched = parse_qs(url.query).get("watch", ["false"])[0] in ("true", "1")
    if method == "GET":
        return Call("watch" if watched else "get" if named else "list", resource)
    return Call(VERBS[method], resource)


def places(calls: Iterable[Call]) -> list[Place]:
    """Return the place of each request of a run, in order."""
    counted: dict[Call, int] = {}
    found = []
    for each in calls:
        counted[each] = counted.get(each, 0) + 1
        found.append(Place(each, counted[each]))
    return found
