"""What the API server asks of a kubelet: the logs of a container, and the way to a pod's port."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import threading
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from tests.cluster.certificates import Pair


class Pods(Protocol):
    """What a kubelet knows of its pods."""

    def log_of(self, namespace: str, pod: str, container: str) -> str | None:
        """Return what the container has written, None if there is no such pod."""

    def ip_of(self, namespace: str, pod: str) -> str | None:
        """Return the address of a pod, None if there is no such pod."""


class Kubelet:
    """The kubelet of every simulated node, on one loopback port. `port_forward` is the helper that does upgrades."""

    def __init__(self, pods: Pods, pair: Pair, folder: Path, port_forward: tuple[str, int]) -> None:
        class Handler(_Handler):
            known = pods
            helper = port_forward

        chain = folder / "kubelet.pem"
        chain.touch(mode=0o600)
        chain.write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # The handshake belongs to the connection's own thread: a silent client must not hold the others up.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.address = ("127.0.0.1", int(self._server.server_address[1]))
        threading.Thread(target=self._server.serve_forever, name="bed kubelet", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    known: Pods
    helper: tuple[str, int]

    def handle(self) -> None:
        """Serve the connection; a client that hangs up is no news."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            super().handle()

    def do_GET(self) -> None:
        """Serve /containerLogs/NAMESPACE/POD/CONTAINER, /portForward/NAMESPACE/POD and /metrics."""
        url = urlsplit(self.path)
        match url.path.split("/")[1:]:
            case ["containerLogs", namespace, pod, container]:
                text = self.known.log_of(namespace, pod, container)
                tail = parse_qs(url.query).get("tailLines")
                if text is not None and tail:
                    text = "".join(text.splitlines(keepends=True)[-int(tail[0]) :]) if int(tail[0]) else ""
                self._say(404 if text is None else 200, text or "")
            case ["portForward", namespace, pod]:
                self._forward(namespace, pod)
            case ["metrics", *_]:
                self._say(200, "# TYPE kubelet_running_pods gauge\n")  # a target that is up, with nothing to tell
            case _:
                self._say(404, "")

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Stay silent: the tests' output is for the tests."""

    def _say(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _forward(self, namespace: str, pod: str) -> None:
        ip = self.known.ip_of(namespace, pod)
        if ip is None:
            self._say(404, "")
            return
        self.close_connection = True
        head = f"{self.requestline}\r\n{self.headers.as_string().replace(chr(10), chr(13) + chr(10)).rstrip()}"
        with socket.create_connection(self.helper) as helper:
            helper.sendall(f"{head}\r\nPod-Ip: {ip}\r\n\r\n".encode())
            back = threading.Thread(target=self._copy_back, args=(helper,), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while chunk := self.rfile.read1(65536):
                    helper.sendall(chunk)
                helper.shutdown(socket.SHUT_WR)
            back.join()

    def _copy_back(self, helper: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := helper.recv(65536):
                self.wfile.write(chunk)
            self.connection.shutdown(socket.SHUT_RDWR)
