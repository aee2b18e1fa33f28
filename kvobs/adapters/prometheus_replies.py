"""What a reply means: the document of a success, a refusal in Prometheus' own words, or no answer at all. Pure.

A refusal is believed where it is JSON as Prometheus writes it. Whatever else comes back (a proxy's page, a login)
is named, not quoted.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

from ..dashboard.origins import shown
from ..health.answers import NoAnswer, Refused
from .prometheus_series import Unreadable, read_document
from .prometheus_transport import Failed
from .refusals import Reply

_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|body|\?xml|!--|script)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>(.{0,400}?)</title", re.IGNORECASE | re.DOTALL)
_KEPT = 500
"""Characters kept of what a server says."""

_EXPENSIVE = re.compile(
    r"too many samples|maximum resolution|timed out|time-?out|too long|deadline exceeded|too expensive"
    r"|exceed\w* (\w+ ){0,3}(max|limit)|(max|limit)\w* .{0,80}exceed|cannot (process|select|load) more than"
    r"|too many (points|series|chunks|time ?series|data ?points|unique)|err-mimir-max|-search\.max",
    re.IGNORECASE,
)
"""How Prometheus, Thanos, Mimir and VictoriaMetrics say that a question is beyond a limit."""


class Declined(Exception):
    """Prometheus said no."""

    def __init__(self, answer: Refused) -> None:
        super().__init__(answer.said)
        self.answer = answer


def check(reply: Reply, place: str, *, asked: str, credentials_hint: str) -> None:
    """Return where the reply is a success in JSON, to be read; raise `Declined` or `Failed` for what it means else.

    *place* is the server and *asked* the path, as messages name them.
    """
    if reply.ok:
        _check_content(reply, place, asked)
        return
    if 300 <= reply.status < 400:
        raise _led_away(reply, place, asked)
    said = _said(reply)
    if reply.status == 401:
        raise _lasting(f"{place} does not accept the credentials, or wants some (HTTP 401)", credentials_hint)
    if said is None:
        raise _not_from_prometheus(reply, place, asked, credentials_hint)
    error_type, text = said
    raise _refusal(reply.status, error_type, text, place)


def unreadable(reply: Reply, place: str, asked: str) -> Failed:
    """The failure for a success whose content is not what Prometheus sends."""
    return _lasting(
        f"{place} answers {asked} with HTTP {reply.status}, but not as Prometheus does",
        "is the address that of a Prometheus? a proxy may stand in between",
    )


def _check_content(reply: Reply, place: str, asked: str) -> None:
    body = reply.body
    # A server that calls everything HTML may still send JSON.
    is_html = reply.header("Content-Type").lower().startswith("text/html") and not body.lstrip().startswith(b"{")
    if _HTML.match(body) or is_html:
        raise _lasting(
            f"{place} answers {asked} with a web page{_title(body)} in place of data",
            "a login page, or Prometheus' pages without its API: give the address in front of /api/v1, and what lets"
            " you in: KVOBS_PROMETHEUS_TOKEN, or --token-file FILE",
        )
    if not body.strip():
        raise Failed(NoAnswer(said=f"{place} answers {asked} with nothing", hint=_WHAT_RUNS), passing=True)


_WHAT_RUNS = "look at what the server logs, and at the proxies in front of it"


def _led_away(reply: Reply, place: str, asked: str) -> Failed:
    try:
        to = shown(urljoin(place, reply.header("Location")))
    except ValueError:
        to = ""
    leads = f"leads to {to}" if to else "leads elsewhere"
    return _lasting(
        f"{place} {leads} in place of an answer to {asked} (HTTP {reply.status})",
        "a login page: give a bearer token in KVOBS_PROMETHEUS_TOKEN or a --token-file; where the server has moved,"
        " give its new address",
    )


def _said(reply: Reply) -> tuple[str, str] | None:
    """(type, text) of a failure in Prometheus' own words."""
    try:
        document = read_document(reply.body)
    except Unreadable:
        return None
    if document.get("status") != "error" or not isinstance(document.get("error"), str):
        return None
    return str(document.get("errorType") or ""), _plain(document["error"])


def _refusal(status: int, error_type: str, text: str, place: str) -> Declined | Failed:
    if error_type == "unavailable" or (status == 503 and error_type not in ("timeout", "canceled")):
        return Failed(
            NoAnswer(said=f"{place} is not ready: {text}", hint="wait until it is, then ask again", lasting=True),
            passing=True,
        )
    if status == 429 or error_type == "too_many_requests":
        return Failed(
            NoAnswer(said=f"{place} has too much to do: {text}", hint="ask again later"),
            passing=True,
        )
    if error_type == "timeout":
        return Declined(Refused(kind="too expensive", said=text))
    if error_type == "canceled":
        return Failed(NoAnswer(said=f"{place} broke the query off: {text}", hint=_WHAT_RUNS), passing=True)
    if status in (400, 413, 414, 422):
        # A parse error quotes the query, and there may be anything in it.
        expensive = _EXPENSIVE.search(text) and "parse error" not in text
        return Declined(Refused(kind="too expensive" if expensive else "bad query", said=text))
    if status in (404, 405, 501):
        return Declined(Refused(kind="unsupported", said=text))
    if status == 403:
        return _lasting(f"{place} does not let this user ask: {text}", "ask whoever runs it for the right to query")
    if status in (502, 504):
        return Failed(NoAnswer(said=f"{place}: {text} (HTTP {status})", hint=_WHAT_RUNS, lasting=True), passing=True)
    # Inside Prometheus: a limit that a storage behind it (Thanos, Mimir) ran into comes so, too.
    if _EXPENSIVE.search(text):
        return Declined(Refused(kind="too expensive", said=text))
    return Failed(NoAnswer(said=f"{place} failed: {text} (HTTP {status})", hint=_WHAT_RUNS), passing=status == 500)


def _not_from_prometheus(reply: Reply, place: str, asked: str, credentials_hint: str) -> Failed | Declined:
    status = reply.status
    page = f"a web page{_title(reply.body)}" if _HTML.match(reply.body) else "no word of Prometheus"
    what = f"{place} answers {asked} with HTTP {status} and {page}"
    if status == 403:
        return _lasting(what, f"something in front of it forbids it; {credentials_hint}")
    if status in (404, 405, 501):
        return Failed(
            NoAnswer(
                said=what,
                hint="is there a path in front of /api/v1? /prometheus for Mimir and for a route prefix,"
                " /select/0/prometheus for a VictoriaMetrics cluster",
                lasting=True,
            ),
            passing=False,
            missing=True,
        )
    if status in (413, 414, 431):
        return Failed(
            NoAnswer(said=what, hint="a proxy in front of it takes no question as long as this"), passing=False
        )
    passing = status in (408, 425, 429, 500, 502, 503, 504)
    hint = "it may be starting, or overloaded: wait until it is ready, then ask again" if passing else _WHAT_RUNS
    return Failed(NoAnswer(said=what, hint=hint, lasting=True), passing=passing)


def _lasting(said: str, hint: str) -> Failed:
    return Failed(NoAnswer(said=said, hint=hint, lasting=True), passing=False)


def _title(body: bytes) -> str:
    match = _TITLE.search(body[:100_000])
    title = _plain(unescape(match[1].decode("utf-8", "replace")))[:80] if match else ""
    return f" ({title!r})" if title else ""


def _plain(text: str) -> str:
    """One line, without what would move a terminal's cursor."""
    kept = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return kept if len(kept) <= _KEPT else kept[: _KEPT - 1] + "…"


def data_of(document: dict[str, Any]) -> Any:
    """The `data` of a success; raise `Unreadable` where the document is none."""
    if document.get("status") != "success" or "data" not in document:
        raise Unreadable("no answer of Prometheus")
    return document["data"]
