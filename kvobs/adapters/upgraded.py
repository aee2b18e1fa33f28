"""A connection that an HTTP server has handed over to another protocol (101 Switching Protocols)."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

SWITCHED = 101

_PIECE = 16 * 1024


class Upgraded:
    """The bytes of the connection, both ways; TLS and proxies of the request stay as they are."""

    def __init__(self, answer: Any) -> None:
        """Take the connection out of *answer* (urllib3's, 101, its body not read); its pool never gets it back."""
        self.headers: Mapping[str, str] = answer.headers
        self._answer = answer
        # What came right behind the headers is in the buffer that they were read through. Nothing public of urllib3
        # leads to it; docker's client takes it the same way.
        self._buffered = answer._fp.fp
        self._socket: socket.socket = answer.connection.sock

    def fileno(self) -> int:
        """Return what to watch for more to read, or for its end."""
        return self._socket.fileno()

    def read(self, size: int, deadline_s: float | None) -> bytes:
        """Return some bytes, *size* at most; none once the other side has ended.

        TimeoutError past *deadline_s* (of `time.monotonic`), OSError for a connection that broke.
        """
        with self._until(deadline_s):
            piece: bytes = self._buffered.read1(min(size, _PIECE))
        return piece

    def write(self, content: bytes, deadline_s: float | None) -> None:
        """Send all of *content*; raises as `read` does."""
        with self._until(deadline_s):
            self._socket.sendall(content)

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        self._answer.close()

    @contextmanager
    def _until(self, deadline_s: float | None) -> Iterator[None]:
        left_s = None if deadline_s is None else deadline_s - time.monotonic()
        if left_s is not None and left_s <= 0:
            raise TimeoutError("the time is over")
        self._socket.settimeout(left_s)
        try:
            yield
        except ssl.SSLError as error:
            # Not as it is: what goes through the connection may be TLS as well, and fail of its own.
            raise ConnectionAbortedError("TLS of the connection broke") from error
