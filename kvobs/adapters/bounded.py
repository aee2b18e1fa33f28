"""A reply's body, no more of it than is taken, and for no longer than is waited."""

from __future__ import annotations

import time
from collections.abc import Callable

from urllib3 import BaseHTTPResponse
from urllib3 import exceptions as http

_PIECE = 64 * 1024


class TooLarge(Exception):
    """A reply has more than `max_bytes`; the rest of it is not read."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"more than {max_bytes} bytes")
        self.max_bytes = max_bytes


def read_body(
    answer: BaseHTTPResponse, max_bytes: int, limit_s: float, clock: Callable[[], float] = time.monotonic
) -> bytes:
    """Return the whole body, unpacked; raise TooLarge, or urllib3's TimeoutError for what comes too slowly.

    The connection of a reply that is left is closed: what is still on its way would answer the next request.
    """
    end = clock() + limit_s
    declared = answer.headers.get("Content-Length", "")
    content = bytearray()
    whole = False
    try:
        if declared.isdecimal() and int(declared[:18]) > max_bytes:
            raise TooLarge(max_bytes)
        # What has come by now: `stream` would wait until a whole piece is there.
        while piece := answer.read1(_PIECE, decode_content=True):
            content += piece
            if len(content) > max_bytes:
                raise TooLarge(max_bytes)
            if clock() > end:
                # A server that sends a byte at a time never runs into the time-out of a silence.
                raise http.TimeoutError("too slow")
        whole = True
    finally:
        if whole:
            answer.release_conn()
        else:
            answer.close()
    return bytes(content)
