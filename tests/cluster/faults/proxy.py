"""A TLS proxy in front of the bed's API server: it counts the requests, and at one of them something goes wrong.

It keeps no state between requests but the counts. Credentials are tokens, and pass through; whatever streams (watches)
streams on. Its own certificate is one of the bed's authority, so that clients verify it as they verify the server's.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.cluster.bed import Bed
from tests.cluster.faults.kinds import Call, Fault, Kind, call_of

HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}
"""Headers of one connection, which are not passed on."""
PATIENCE_S = 60
"""How long the server may take for a request, and how long silence lasts at most."""


@dataclass
class Heard:
    """What came through the proxy since `listen`, and what went wrong."""

    fault: Fault | None = None
    step: Callable[[], str] = lambda: ""
    calls: list[Call] = field(default_factory=list)
    hits: list[str] = field(default_factory=list)
    """The step of the run at each request that the fault met."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when the run is over: silence ends."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def met(self, call: Call) -> Kind | None:
        """Count a request; return what happens to it, None when nothing does."""
        with self._lock:
            self.calls.append(call)
            fault = self.fault
            if fault is None or fault.place.call != call:
                return None
            nth = self.calls.count(call)
            if not (nth == fault.place.nth or (fault.lasting and nth > fault.place.nth)):
                return None
            self.hits.append(self.step())
            return fault.kind


class FaultProxy:
    """The proxy; `listen` for the length of one run, with or without a fault."""

    def __init__(self, bed: Bed, folder: Path) -> None:
        admin = yaml.safe_load(bed.kubeconfig.read_text())
        cluster = admin["clusters"][0]["cluster"]
        upstream = urlsplit(cluster["server"])
        self.token: str = admin["users"][0]["user"]["token"]
        self._heard = Heard()
        self._server = _Server(
            address=(str(upstream.hostname), int(upstream.port or 443)),
            trust=ssl.create_default_context(cafile=cluster["certificate-authority"]),
            heard=lambda: self._heard,
        )
        self._server.socket = _own(bed, folder).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://127.0.0.1:{self._server.server_port}"
        cluster["server"] = self.url
        self.kubeconfig = folder / "faults.kubeconfig"
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump(admin))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @contextmanager
    def listen(self, fault: Fault | None = None, *, step: Callable[[], str] = lambda: "") -> Iterator[Heard]:
        """Count requests anew, and let *fault* happen; *step* names what the run is doing."""
        heard = self._heard = Heard(fault=fault, step=step)
        try:
            yield heard
        finally:
            heard.over.set()
            self._heard = Heard()

    def close(self) -> None:
        """End it, with all its connections."""
        self._heard.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _own(bed: Bed, folder: Path) -> ssl.SSLContext:
    pair = bed.server_certificate("127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as pem:
        pem.write(pair.certificate + pair.key)
    context.load_cert_chain(name)
    return context


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *, address: tuple[str, int], trust: ssl.SSLContext, heard: Callable[[], Heard]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = address
        self.trust = trust
        self.heard = heard

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what this is for."""


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client, and one to the server behind."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    _behind: http.client.HTTPSConnection | None = None

    def answer(self) -> None:
        heard = self.server.heard()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = heard.met(call_of(self.command, self.path))
        if kind is Kind.SILENCE:
            heard.over.wait(PATIENCE_S)
            self.close_connection = True
        elif kind is Kind.RESET_BEFORE:
            self._reset()
        elif kind is not None and kind.answer is not None:
            refusal = kind.answer
            headers = {"Content-Type": "application/json"}
            if refusal.retry_after_s:
                headers["Retry-After"] = str(refusal.retry_after_s)
            self._reply(refusal.status, headers, refusal.body)
        else:
            self._forward(body, kind)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def finish(self) -> None:
        if self._behind is not None:
            self._behind.close()
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _forward(self, body: bytes, kind: Kind | None) -> None:
        reply = self._ask(body)
        headers = {key: value for key, value in reply.getheaders() if key.lower() not in HOP}
        if kind is None and reply.chunked:
            self._stream(reply, headers)
            return
        # What is cut or swallowed was done all the same: the server has said all that it has to say.
        content = reply.read()
        if kind is Kind.RESET_AFTER:
            self._reset()
        else:
            self._reply(reply.status, headers, content, cut=kind is Kind.CUT)

    def _ask(self, body: bytes) -> http.client.HTTPResponse:
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP}
        fresh = self._behind is None
        if self._behind is None:
            self._behind = http.client.HTTPSConnection(
                *self.server.address, context=self.server.trust, timeout=PATIENCE_S
            )
        try:
            self._behind.request(self.command, self.path, body=body or None, headers=headers)
            return self._behind.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The server has closed a connection that nobody used; nothing was done on it.
            self._behind.close()
            self._behind = None
            if fresh:
                raise
            return self._ask(body)

    def _reply(self, status: int, headers: dict[str, str], content: bytes, *, cut: bool = False) -> None:
        self.send_response_only(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True

    def _stream(self, reply: http.client.HTTPResponse, headers: dict[str, str]) -> None:
        self.send_response_only(reply.status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while chunk := reply.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        """Break the connection as a machine does that goes down."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
