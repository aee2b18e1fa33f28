"""The far end of a port-forward over a WebSocket: leads to a real server on loopback, or plays one of its faults."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from websocket import ABNF, frame_buffer

PROTOCOL = "v4.channel.k8s.io"
HEADINGS = (b"\x00\x82\x23", b"\x01\x82\x23")
"""The first message of each channel: its number, and port 9090 in two bytes, the smaller first."""

Cut = Callable[[bytes], Iterator[bytes]]


def frame(content: bytes, opcode: int = ABNF.OPCODE_BINARY, *, fin: int = 1) -> bytes:
    """Return a frame as a server sends it, without a mask."""
    made = ABNF(fin, 0, 0, 0, opcode, 0, content)
    return bytes(made.format())


def whole(message: bytes) -> Iterator[bytes]:
    """A message in one frame."""
    yield frame(message)


def crumbs(message: bytes) -> Iterator[bytes]:
    """A message in frames of one byte behind one of none, with a ping and a pong in between, then an empty message."""
    yield frame(b"", fin=0)
    for place, byte in enumerate(message):
        yield frame(bytes((byte,)), ABNF.OPCODE_CONT, fin=int(place == len(message) - 1))
        if place == 1:
            yield frame(b"are you there", ABNF.OPCODE_PING) + frame(b"", ABNF.OPCODE_PONG)
    yield frame(b"")


@dataclass
class Kubelet:
    """Takes over a connection that asks for an upgrade; see `FakeApi.upgrades`."""

    to: tuple[str, int] | None = None
    """The server in the pod; None: none, so that what is said comes at once."""
    cut: Cut = whole
    sends: tuple[bytes, ...] = ()
    """Frames that come after the headings, in place of a server's bytes."""
    beneath: bytes = b""
    """What comes behind those beneath the API server's TLS."""
    drips: bytes = b""
    """A message that comes then, 20 times a second, until the client ends it or a test sets `done`; 40 s at most."""
    stays: bool = False
    """Whether the connection is kept after those, until the client ends it, answering nothing."""
    deaf: bool = False
    """Whether nothing of what the client sends is read; the connection is kept until a test sets `done`."""
    done: threading.Event = field(default_factory=threading.Event)
    connection: str = "Upgrade"
    """What is said of the connection in the answer."""
    accept: str | None = None
    """A wrong answer to the key."""
    protocol: str = PROTOCOL
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released for every connection that is over."""
    pongs: list[bytes] = field(default_factory=list)
    """What the client answered to pings."""
    serves: list[socket.socket] = field(default_factory=list)
    """The connections to the API server, all that there were."""

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        """Serve one connection until it is over."""
        self.serves.append(handler.connection)
        key = handler.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        agreed = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode()
        head = (
            f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: {self.connection}\r\n"
            f"Sec-WebSocket-Accept: {self.accept or agreed}\r\nSec-WebSocket-Protocol: {self.protocol}\r\n\r\n"
        )
        # In one piece with the headings: the client has read them before it knows that it may.
        handler.wfile.write(head.encode() + b"".join(piece for each in HEADINGS for piece in self.cut(each)))
        with contextlib.suppress(OSError, EOFError):
            self._serve(handler)
        self.ended.release()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        for each in self.sends:
            handler.wfile.write(each)
        if self.beneath:
            os.write(handler.connection.fileno(), self.beneath)
        for _ in range(800 if self.drips else 0):
            if self.done.wait(0.05):
                break
            handler.wfile.write(frame(self.drips))
        if self.deaf:
            self.done.wait(60)
            return
        if self.to is None:
            if self.stays:
                for _ in self._received(handler):
                    pass
            return
        with socket.create_connection(self.to) as pod:
            back = threading.Thread(target=self._copy_back, args=(pod, handler))
            back.start()
            try:
                for message in self._received(handler):
                    pod.sendall(message[1:])
            finally:
                with contextlib.suppress(OSError):
                    pod.shutdown(socket.SHUT_RDWR)
                back.join()

    def _received(self, handler: BaseHTTPRequestHandler) -> Iterator[bytes]:
        def read(size: int) -> bytes:
            piece = handler.rfile.read1(size)
            if not piece:
                raise EOFError
            return piece

        frames = frame_buffer(read, skip_utf8_validation=True)
        while True:
            received = frames.recv_frame()
            assert isinstance(received.data, bytes)
            if received.opcode == ABNF.OPCODE_PONG:
                self.pongs.append(received.data)
            else:
                assert received.data[0] == 0, "the client sends on the channel of data only"
                yield received.data

    def _copy_back(self, pod: socket.socket, handler: BaseHTTPRequestHandler) -> None:
        with contextlib.suppress(OSError):
            try:
                while piece := pod.recv(65536):
                    handler.wfile.write(b"".join(self.cut(b"\x00" + piece)))
            except ConnectionResetError:
                handler.wfile.write(frame(b"\x01error forwarding port 9090: read: connection reset by peer"))
            handler.wfile.write(frame(b"\x03\xe8", ABNF.OPCODE_CLOSE))
            handler.connection.shutdown(socket.SHUT_RDWR)
