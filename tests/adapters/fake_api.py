"""An API server of tables: for each request a list of answers, good and bad, over real HTTP on loopback."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

TOKEN = "sekrit-token-0815"
"""The credential in every kubeconfig here: no message may show it."""


@dataclass(frozen=True)
class Answer:
    """What the server does with a request: answers, or one of the ways to fail."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fails: str = ""
    """`reset`, `cut` (half of the body, then the end) or `silence`; "" for an answer."""


@dataclass(frozen=True)
class Request:
    """What the server was asked."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


def status(
    code: int, reason: str, message: str = "", causes: list[dict[str, str]] | None = None, **details: Any
) -> Answer:
    """A refusal as the API server writes it."""
    return Answer(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            "details": {"causes": causes or [], **details},
        },
        status=code,
    )


def resource(name: str, kind: str, *, namespaced: bool = True) -> dict[str, Any]:
    """An entry of aggregated discovery."""
    return {
        "resource": name,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "verbs": ["get", "list", "patch"],
        "subresources": [{"subresource": "status", "responseKind": {"kind": kind}}],
    }


def aggregated(groups: Mapping[str, Mapping[str, list[dict[str, Any]]]], **more: Any) -> dict[str, Any]:
    """An aggregated discovery document: group -> version -> entries."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {"version": version, "resources": entries, "freshness": "Current", **more}
                    for version, entries in versions.items()
                ],
            }
            for group, versions in groups.items()
        ],
    }


CORE = aggregated(
    {
        "": {
            "v1": [
                resource("configmaps", "ConfigMap"),
                resource("secrets", "Secret"),
                resource("services", "Service"),
                resource("namespaces", "Namespace", namespaced=False),
            ]
        }
    }
)
GROUPS = aggregated(
    {
        "monitoring.coreos.com": {"v1": [resource("servicemonitors", "ServiceMonitor")]},
        "autoscaling": {
            "v2": [resource("horizontalpodautoscalers", "HorizontalPodAutoscaler")],
            "v1": [resource("horizontalpodautoscalers", "HorizontalPodAutoscaler")],
        },
    }
)


class FakeApi:
    """The server; `answers` fills its tables, `requests` is what came."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self.upgrades: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        """Who takes over the connection of a request that asks for it, by its path."""
        self._tables: dict[tuple[str, str], list[Answer]] = {}
        self.answers("GET", "/api", Answer(CORE))
        self.answers("GET", "/apis", Answer(GROUPS))

    def answers(self, method: str, path: str, *answers: Answer) -> None:
        """Answer such requests in this order; the last answer stays."""
        self._tables[method, path] = list(answers)

    def next_answer(self, request: Request) -> Answer:
        """Take the next answer for the request."""
        self.requests.append(request)
        table = self._tables.get((request.method, request.path))
        if not table:
            return status(404, "NotFound", f"no answer for {request.method} {request.path}")
        return table.pop(0) if len(table) > 1 else table[0]

    def asked(self, path: str) -> list[Request]:
        """The requests for one path."""
        return [one for one in self.requests if one.path == path]

    def kubeconfig(self, folder: Path, *, cluster: Mapping[str, Any] | None = None, user: Any = None) -> str:
        """Write a kubeconfig for this server; its path."""
        path = folder / "kubeconfig"
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "test",
                    "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
                    "clusters": [{"name": "c", "cluster": {"server": self.url, **(cluster or {})}}],
                    "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
                }
            )
        )
        return str(path)


@contextmanager
def fake_api(*, tls: ssl.SSLContext | None = None) -> Iterator[FakeApi]:
    """Run a server for as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            parts = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            form = self.headers.get("Content-Type") == "application/x-www-form-urlencoded"
            body = dict(parse_qsl(raw.decode())) if form else json.loads(raw) if raw else None
            request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), self.joined(), body)
            if self.headers.get("Upgrade") and parts.path in api.upgrades:
                api.requests.append(request)
                self.close_connection = True
                api.upgrades[parts.path](self)
                return
            answer = api.next_answer(request)
            if answer.fails == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            if answer.fails == "silence":
                api.stopped.wait(60)
                self.close_connection = True
                return
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            headers = {"Content-Type": "application/json", **answer.headers}
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if answer.fails == "cut" else content)
            if answer.fails == "cut":
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def joined(self) -> dict[str, str]:
            names = dict.fromkeys(self.headers.keys())
            return {name: ", ".join(self.headers.get_all(name) or ()) for name in names}

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that hangs up is part of the game

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    scheme = "https" if tls is not None else "http"
    api = FakeApi(f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield api
    finally:
        api.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
