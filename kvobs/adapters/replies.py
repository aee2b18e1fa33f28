"""What a server of dashboards answered: its body within limits, and what its refusals mean."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape

import httpx

from ..errors import DownloadError

_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|body|\?xml|!--|script)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>(.{0,400}?)</title", re.IGNORECASE | re.DOTALL)
_REFUSED = {
    401: ("asks for a login", "user and password for its host in ~/.netrc, or download it yourself and give the FILE"),
    403: ("is not given to this user", "look whether it needs a login; ~/.netrc can hold it"),
    404: ("is not there", "look whether the address is right; a private one may need a login in ~/.netrc"),
    407: ("is behind a proxy that asks for a login", "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
    410: ("is no longer there", "look for where it has moved"),
}


class Interrupted(Exception):
    """An attempt failed for a reason that may pass; `wait_s` is how long the server wants to be left alone."""

    def __init__(self, message: str, *, wait_s: float | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.hint = hint


def not_there(place: str, status: int) -> DownloadError:
    """Return the error for an answer that trying again would not better."""
    what, hint = _REFUSED.get(status, ("was refused", "look at it in a browser, or give a FILE"))
    return DownloadError(f"{place} {what} (HTTP {status})", hint=hint)


def waiting_time(retry_after: str | None, *, now: datetime | None = None) -> float | None:
    """Return how long a `Retry-After` header asks to wait, in seconds; None for none that can be read.

    >>> waiting_time("7"), waiting_time("soon"), waiting_time(None)
    (7.0, None, None)
    >>> waiting_time("Wed, 21 Oct 2015 07:28:00 GMT", now=datetime(2015, 10, 21, 7, 27, 30, tzinfo=UTC))
    30.0
    """
    if retry_after is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", retry_after.strip()):
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def body(response: httpx.Response, place: str, *, landed: str, max_bytes: int, limit_s: float) -> bytes:
    """Return the body of an answer, unpacked, if it is no web page and no larger than *max_bytes*.

    *place* is the address that was asked for, *landed* the one that answered. Raise DownloadError for what the
    server means, `Interrupted` for what broke off.
    """
    too_large = DownloadError(
        f"{place} has more than {max_bytes:,} bytes",
        hint="a dashboard is far smaller; is this the address of the JSON file?",
    )
    declared = response.headers.get("Content-Length", "")
    if re.fullmatch(r"[0-9]{1,18}", declared) and int(declared) > max_bytes:
        raise too_large
    content = bytearray()
    for piece in _unpacked(_timely(response.iter_raw(), limit_s), response.headers.get("Content-Encoding", ""), place):
        content += piece
        if len(content) > max_bytes:
            raise too_large
    # A server that calls everything HTML may still send JSON.
    is_html = response.headers.get("Content-Type", "").lower().startswith("text/html")
    if _HTML.match(content) or (is_html and not content.lstrip().startswith(b"{")):
        raise _web_page(bytes(content[:100_000]), place, landed)
    return bytes(content)


def _timely(pieces: Iterator[bytes], limit_s: float) -> Iterator[bytes]:
    """Yield what comes, for so long: a server that sends a byte at a time never runs into a time-out."""
    end = time.monotonic() + limit_s
    for piece in pieces:
        yield piece
        if time.monotonic() > end:
            raise Interrupted("it came too slowly", hint="try again later, or download it yourself and give the FILE")


def _unpacked(pieces: Iterator[bytes], encoding: str, place: str) -> Iterator[bytes]:
    """Yield a body's bytes without their encoding, a little at a time, however much a piece unpacks to."""
    if encoding.strip().lower() in ("", "identity"):
        yield from pieces
        return
    if encoding.strip().lower() not in ("gzip", "x-gzip"):
        raise DownloadError(
            f"{place} comes encoded as {encoding[:40]!r}, which nobody asked for",
            hint="download it yourself and give the FILE",
        )
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        for piece in pieces:
            while piece:
                yield unpacker.decompress(piece, 64 * 1024)
                piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise Interrupted("what came is not gzip, though it says so") from error
    yield unpacker.flush()
    if not unpacker.eof:
        raise Interrupted("the reply ended too early")


def _web_page(content: bytes, place: str, landed: str) -> DownloadError:
    match = _TITLE.search(content)
    title = " ".join(unescape(match[1].decode("utf-8", "replace")).split())[:80] if match else ""
    title = "".join(each for each in title if each.isprintable())
    at = f" from {landed}" if landed != place else ""
    return DownloadError(
        f"{place} gave a web page{at}{f' ({title!r})' if title else ''} in place of a dashboard's JSON",
        hint="a sign-in page, or the page about the file: give the address of the raw file, a login for its host in"
        " ~/.netrc, or the FILE",
    )
