"""A WebSocket (RFC 6455) to the API server: messages over a connection that it has handed over.

The handshake is a request as any other of `ApiServer`: with its TLS, proxies, credentials and time-outs.
websocket-client, which kubernetes brings, would open a connection by settings of its own; it reads and writes frames
here.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING

from ..errors import ClusterUnreachable
from .apiserver import ApiServer, Params
from .refusals import Attempt, refusal
from .upgraded import Upgraded

if TYPE_CHECKING:
    from websocket import ABNF

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""What a server that speaks the protocol joins to the key (section 1.3)."""

FRAME_BYTES = 32 * 1024 * 1024
"""Of one frame no more is taken. The API server and kubelets send what they have read at once: some kilobytes."""


class Broken(OSError):
    """The other side keeps to no protocol, or the connection ended amid a frame."""


class WebSocket:
    """Messages, in pieces as they come. One thread at a time."""

    def __init__(self, stream: Upgraded) -> None:
        from websocket import frame_buffer

        self._stream = stream
        self._frames = frame_buffer(self._read, skip_utf8_validation=True)
        self._deadline_s: float | None = None
        self._left = 0
        self._ended = False

    def fileno(self) -> int:
        """Return what to watch for more to read, or for its end."""
        return self._stream.fileno()

    def send(self, content: bytes, deadline_s: float | None) -> None:
        """Send a message; TimeoutError past *deadline_s* (of `time.monotonic`), else OSError."""
        from websocket import ABNF

        self._write(ABNF.OPCODE_BINARY, content, deadline_s)

    def receive(self, deadline_s: float | None) -> tuple[bytes, bool] | None:
        """Return the next piece of a message, and whether one begins with it; None once the other side has ended.

        Raises as `send` does. Pings are answered, and put no deadline off.
        """
        from websocket import ABNF

        while not self._ended:
            frame = self._next(deadline_s)
            if frame is None or frame.opcode == ABNF.OPCODE_CLOSE:
                self._ended = True
            elif frame.opcode == ABNF.OPCODE_PING:
                self._write(ABNF.OPCODE_PONG, _content(frame), deadline_s)
            elif frame.opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_CONT):
                return _content(frame), frame.opcode == ABNF.OPCODE_BINARY
            elif frame.opcode != ABNF.OPCODE_PONG:
                raise Broken("a text where bytes belong")
        return None

    def close(self) -> None:
        """Close the connection: its end tells the other side that nothing follows."""
        self._stream.close()

    def _write(self, opcode: int, content: bytes, deadline_s: float | None) -> None:
        from websocket import ABNF

        self._stream.write(ABNF.create_frame(content, opcode).format(), deadline_s)

    def _next(self, deadline_s: float | None) -> ABNF | None:
        from websocket import WebSocketException

        self._deadline_s, self._left = deadline_s, FRAME_BYTES
        try:
            return self._frames.recv_frame()
        except EOFError:
            if self._left < FRAME_BYTES:
                raise Broken("the connection ended amid a frame") from None
            return None
        except WebSocketException as error:
            raise Broken("what comes is no WebSocket") from error

    def _read(self, size: int) -> bytes:
        """For websocket-client, which would ask an ended connection for ever, and take a frame of any size."""
        piece = self._stream.read(size, self._deadline_s)
        if not piece:
            raise EOFError
        self._left -= len(piece)
        if self._left < 0:
            raise Broken("a frame of more than 32 MiB")
        return piece


def _content(frame: ABNF) -> bytes:
    return frame.data if isinstance(frame.data, bytes) else frame.data.encode()


def open_web_socket(
    server: ApiServer, path: str, *, params: Params, protocol: str, attempt: Attempt, timeout_s: float
) -> WebSocket:
    """Open a WebSocket that speaks *protocol*; an error of ours says why there is none."""
    key = base64.b64encode(os.urandom(16)).decode()
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": protocol,
    }
    answer = server.upgrade(path, params=params, headers=headers, timeout_s=timeout_s)
    if not isinstance(answer, Upgraded):
        raise refusal(answer, attempt, server.access)
    agreed = base64.b64encode(hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()).decode()
    said = answer.headers.get("Sec-WebSocket-Accept"), answer.headers.get("Sec-WebSocket-Protocol")
    if said != (agreed, protocol):
        answer.close()
        raise ClusterUnreachable(
            f"{attempt}: {server.access.server} opens a WebSocket, but not as it was asked to ({protocol})",
            hint="a proxy may stand in between",
        )
    return WebSocket(answer)
