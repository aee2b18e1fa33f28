"""The pod network: invented addresses, mapped to real servers on loopback by one proxy.

The API server dials pods, Services' endpoints, webhooks and kubelets through it (CONNECT, on a unix socket), and
Prometheus scrapes through it as through any HTTP proxy (on a loopback port).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from urllib.parse import urlsplit

Address = tuple[str, int]

REFUSED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Network:
    """A proxy that knows which loopback server stands for which address of the cluster."""

    def __init__(self, socket: Path) -> None:
        """Serve on the unix *socket* (its path may hold 107 bytes at most) and on a loopback port of its own."""
        self.socket = socket
        self.port = 0
        self._routes: dict[Address, Address] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="bed network", daemon=True)
        self._thread.start()
        ready.wait()

    @property
    def proxy_url(self) -> str:
        """The address for clients that take an HTTP proxy."""
        return f"http://127.0.0.1:{self.port}"

    def route(self, ip: str, port: int, server: Address) -> None:
        """Let connections to *ip*:*port* reach *server*."""
        self._routes[ip, port] = server

    def unroute(self, ip: str) -> None:
        """Forget every route to *ip*: its pod is gone."""
        for address in [address for address in self._routes if address[0] == ip]:
            self._routes.pop(address, None)

    def close(self) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        unix = self._loop.run_until_complete(asyncio.start_unix_server(self._answer, str(self.socket)))
        tcp = self._loop.run_until_complete(asyncio.start_server(self._answer, "127.0.0.1", 0))
        self.port = tcp.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(_end(unix, tcp))
        self._loop.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled when the bed ends; asyncio's own callback of Python 3.11 complains of a task that says so.
        over = (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError)
        task = asyncio.current_task()
        assert task is not None
        # Once its client has gone, asyncio itself holds a task no longer: it would be collected amid its work.
        self._tasks.add(task)
        try:
            with contextlib.suppress(*over):
                await self._connect(reader, writer)
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        server = self._routes.get(_address(method, target))
        if server is None:
            # At once: a connection that is accepted and stays silent costs its client the whole time-out.
            writer.write(REFUSED)
            await writer.drain()
            return
        try:
            there, back = await asyncio.open_connection(*server)
        except OSError:
            writer.write(REFUSED)
            await writer.drain()
            return
        if method == "CONNECT":
            writer.write(ESTABLISHED)
        else:
            back.write(_origin_form(head))
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            back.close()


async def _end(*servers: asyncio.Server) -> None:
    """Close the servers and whatever they still serve, so that no connection is left for the garbage collector."""
    for server in servers:
        server.close()
    # A connection that was being accepted becomes a task of its own only now.
    while rest := asyncio.all_tasks() - {asyncio.current_task()}:
        # A task that is cancelled before it has begun closes nothing.
        await asyncio.sleep(0)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
    # A closed transport is let go of in the loop's next rounds.
    for _ in range(3):
        await asyncio.sleep(0)


def _address(method: str, target: str) -> Address:
    """Return the address that a proxy request asks for.

    >>> _address("CONNECT", "10.1.0.7:9400"), _address("GET", "http://10.1.0.7/metrics")
    (('10.1.0.7', 9400), ('10.1.0.7', 80))
    """
    url = urlsplit(f"//{target}" if method == "CONNECT" else target)
    return url.hostname or "", url.port or 80


def _origin_form(head: bytes) -> bytes:
    """Return a proxy request's head as the server itself wants it, with the connection ending after the answer.

    >>> _origin_form(b"GET http://10.1.0.7:80/metrics?a=b HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    b'GET /metrics?a=b HTTP/1.1\\r\\nConnection: close\\r\\nHost: x\\r\\n\\r\\n'
    """
    line, *fields = head.split(b"\r\n")
    method, target, version = line.split(b" ", 2)
    url = urlsplit(target.decode())
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [field for field in fields if not field.lower().startswith((b"connection:", b"proxy-"))]
    return b"\r\n".join([b" ".join([method, path.encode(), version]), b"Connection: close", *kept])


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # the peer is gone; "not connected" is an OSError and no ConnectionError
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
