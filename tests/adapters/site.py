"""A real HTTPS server on loopback that plays what a test tells it, and a real proxy that leads every host to it."""

from __future__ import annotations

import contextlib
import gzip
import json
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cluster.certificates import Authority

Answer = Callable[["Asked"], None]
"""What is done with one request."""

DASHBOARD = {"title": "Theirs", "uid": "theirs", "panels": [], "schemaVersion": 39}
BODY = json.dumps(DASHBOARD).encode()


class Asked(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server: Served

    def do_GET(self) -> None:
        """Play the next answer for the path; the last one is played again and again."""
        site = self.server.site
        host = self.headers.get("Host", "")
        site.requests.append((host, self.path, dict(self.headers)))
        plain = self.path.partition("?")[0]
        pages = (site.pages.get(each) for each in (f"{host}{self.path}", self.path, plain))
        answers = next(filter(None, pages), None) or [status(404)]
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def do_POST(self) -> None:
        """As a GET, with a form, which is read whole."""
        self.server.site.forms.append(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        self.do_GET()

    def send(self, code: int, headers: Mapping[str, str], content: bytes, *, length: int | None = None) -> None:
        """Send a whole answer, or one that says another *length* than it has."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Served(ThreadingHTTPServer):
    """A server whose connections speak TLS, each in its own thread."""

    daemon_threads = True
    site: Site
    context: ssl.SSLContext

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept one; its handshake is made by the thread that serves it."""
        plain, address = super().get_request()
        return self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is part of the play."""


@dataclass
class Site:
    """The server; `pages` says what each path (or host and path) answers, in turn."""

    folder: Path
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "raw.githubusercontent.com", "grafana.com", "a.example")
    pages: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    """Bodies of what was posted."""
    closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        authority = Authority("an authority of the test")
        pair = authority.server(*self.hosts)
        self.ca_file = self.folder / "ca.pem"
        self.ca_file.write_bytes(authority.certificate)
        (self.folder / "server.pem").write_bytes(pair.certificate + pair.key)
        self._server = Served(("127.0.0.1", 0), Asked)
        self._server.site = self
        self._server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server.context.load_cert_chain(self.folder / "server.pem")
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def url(self, path: str = "/d.json") -> str:
        """Return the address of a path."""
        return f"https://localhost:{self.port}{path}"

    def play(self, *answers: Answer, at: str = "/d.json") -> None:
        """Say what a path answers from now on, and forget who asked before."""
        self.pages[at] = list(answers)
        self.requests.clear()
        self.forms.clear()


def ok(content: bytes = BODY, **headers: str) -> Answer:
    """Answer with a body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: asked.send(200, {"Content-Type": "text/plain; charset=utf-8", **named}, content)


def status(code: int, **headers: str) -> Answer:
    """Answer with a status, and nothing to read."""
    return lambda asked: asked.send(code, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def page(title: str, code: int = 200) -> Answer:
    """Answer with a web page."""
    html = f"\n<!DOCTYPE html><html><head><title>\n{title}\n</title></head><body>…</body></html>".encode()
    return lambda asked: asked.send(code, {"Content-Type": "text/html"}, html)


def packed(content: bytes, encoding: str = "gzip") -> Answer:
    """Answer with a body that is packed with gzip and said to be in *encoding*."""
    return ok(gzip.compress(content), Content_Encoding=encoding)


def cut_off(asked: Asked) -> None:
    """Promise more than comes."""
    asked.send(200, {}, BODY[:10], length=len(BODY))
    asked.close_connection = True


def reset(asked: Asked) -> None:
    """Break the connection without a word."""
    asked.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    asked.connection.close()
    asked.close_connection = True


def silent(asked: Asked) -> None:
    """Say nothing until the test is over."""
    asked.server.site.closing.wait(60)
    asked.close_connection = True


def dripping(asked: Asked) -> None:
    """Send a byte now and then, for ever."""
    asked.send(200, {}, b"", length=10_000)
    with contextlib.suppress(OSError):
        while not asked.server.site.closing.wait(0.05):
            asked.wfile.write(b" ")
            asked.wfile.flush()
    asked.close_connection = True


def endless(asked: Asked) -> None:
    """Send without end, and without saying how much."""
    asked.send_response(200)
    asked.send_header("Transfer-Encoding", "chunked")
    asked.end_headers()
    with contextlib.suppress(OSError):
        while not asked.server.site.closing.is_set():
            asked.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
    asked.close_connection = True


class Proxy:
    """A proxy that opens a tunnel to one server, whatever host is asked for; remembers which were."""

    def __init__(self, to: int, *, refuses: bool = False) -> None:
        self.asked: list[str] = []
        self._to = to
        self._refuses = refuses

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing alone would not wake who waits in accept().
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._threads.append(threading.Thread(target=self._serve, args=(client,)))
                self._threads[-1].start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (piece := client.recv(4096)):
                    return
                head += piece
            self.asked.append(head.split()[1].decode())
            if self._refuses:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", self._to)) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                _pass_on(client, server)


def _pass_on(client: socket.socket, server: socket.socket) -> None:
    ways = {client: server, server: client}
    with contextlib.suppress(OSError):
        while True:
            for ready in select.select(list(ways), [], [], 10)[0]:
                if not (piece := ready.recv(65536)):
                    return
                ways[ready].sendall(piece)
