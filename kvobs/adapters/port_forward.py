"""A port of a pod through API server and kubelet, as `kubectl port-forward` reaches it, without a port on this machine.

kubernetes has a port-forward of its own (`kubernetes.stream.portforward`), which does not hold what is held here: it
sends no impersonation, connects without a time-out, makes a Ctrl-C an ApiException, is no good for two threads at once
(it patches the client for as long as it connects), takes in whatever comes at whatever pace, drops what has not been
read when the other side ends, and leaves a thread behind that dies of a broken connection with a traceback. So the
protocol is spoken here: one WebSocket for a connection, two channels in it, no thread.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from ..stack.prometheus_pods import PodPort
from .apiserver import ApiServer
from .refusals import Attempt
from .web_socket import WebSocket, open_web_socket

PROTOCOL = "v4.channel.k8s.io"
"""Binary messages, the channel in their first byte. Any kubelet's since 1.6, passed through by the API server."""

_DATA, _ERROR = 0, 1
"""The channels of the first port that is asked for."""

_PORT_BYTES = 2
"""Each channel begins with the number of its port."""

Buffer = bytes | bytearray | memoryview

_PIECE = 64 * 1024
_SAID = 500
"""Characters kept of what a kubelet says: containerd's names network namespace and sandbox before the reason."""


class PodRefused(OSError):
    """The kubelet says that the port cannot be reached, or that it no longer can."""


class Pods:
    """Every pod behind one API server."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def connect(self, to: PodPort, *, timeout_s: float) -> PodSocket:
        """Connect to a port of a pod. What the API server refuses (no right, no such pod) is raised.

        Whether anything listens on the port is told by the first read, which raises `PodRefused` where nothing does.
        """
        path = f"/api/v1/namespaces/{quote(to.namespace, safe='')}/pods/{quote(to.pod, safe='')}/portforward"
        return PodSocket(
            open_web_socket(
                self._server,
                path,
                params=[("ports", str(to.port))],
                protocol=PROTOCOL,
                attempt=Attempt("forward", f"to {to}"),
                timeout_s=timeout_s,
            )
        )


class PodSocket:
    """The connection, as far as http.client and urllib3 ask of a socket. One thread at a time."""

    def __init__(self, messages: WebSocket) -> None:
        self._messages = messages
        self._timeout_s: float | None = None
        self._end_s: float | None = None
        self._channel: int | None = None
        self._heading = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}
        self._unread = b""
        self._closed = False
        self._io_refs = 0  # a socket stays open while a file of it is; urllib3's TLS counts here too

    def fileno(self) -> int:
        """Return what to watch for more to read; an idle connection that has any was ended."""
        return self._messages.fileno()

    def settimeout(self, value: float | None) -> None:
        """Let a later read or write take *value* seconds, pings of the other side included."""
        self._timeout_s = value

    def gettimeout(self) -> float | None:
        """Return how long a read or write may take."""
        return self._timeout_s

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let all reads and writes within take no longer together than else each of them may: a handshake has many."""
        self._end_s = self._deadline()
        try:
            yield
        finally:
            self._end_s = None

    def sendall(self, content: Buffer, flags: int = 0) -> None:
        """Send all of *content*."""
        deadline_s = self._deadline()
        with memoryview(content).cast("B") as whole:
            for start in range(0, len(whole), _PIECE):
                self._messages.send(bytes((_DATA,)) + whole[start : start + _PIECE], deadline_s)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return some bytes, *size* at most; none once the pod has ended the connection."""
        deadline_s = self._deadline()
        while not self._unread:
            piece = self._messages.receive(deadline_s)
            if piece is None:
                return b""
            self._take(*piece)
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken

    def recv_into(self, buffer: Buffer, size: int = 0, flags: int = 0) -> int:
        """Read into *buffer*; how many bytes."""
        with memoryview(buffer).cast("B") as room:
            taken = self.recv(size or len(room))
            room[: len(taken)] = taken
        return len(taken)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return a file to read from (`rb`), which keeps the connection open as that of a socket does."""
        self._io_refs += 1
        return io.BufferedReader(socket.SocketIO(self, "r"))  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the connection, once no file of it is open any more."""
        self._closed = True
        if self._io_refs <= 0:
            self._messages.close()

    def _decref_socketios(self) -> None:
        """Note that a file was closed, as `socket.SocketIO` does."""
        self._io_refs -= 1
        if self._closed:
            self.close()

    def _deadline(self) -> float | None:
        if self._end_s is not None:
            return self._end_s
        return None if self._timeout_s is None else time.monotonic() + self._timeout_s

    def _take(self, piece: bytes, begins: bool) -> None:
        """Take a piece of a message: the channel, where it begins one, then the port, then content."""
        if begins:
            self._channel = None
        if self._channel is None:
            if not piece:  # a message may begin with a frame of no bytes
                return
            self._channel, piece = piece[0], piece[1:]
        heading = self._heading.get(self._channel, 0)
        self._heading[self._channel] = max(0, heading - len(piece))
        piece = piece[heading:]
        if self._channel == _DATA:
            self._unread = piece
        elif piece:
            text = " ".join(piece.decode(errors="replace").split())
            raise PodRefused("".join(char for char in text if char.isprintable())[:_SAID])
