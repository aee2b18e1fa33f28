"""The pod network by itself."""

from __future__ import annotations

import gc
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cluster.network import Network


def test_an_end_leaves_no_connection(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Connections that are being made, asked, or copied when the network ends are closed, not left to the collector."""
    left: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: left.append(unraisable.exc_value))
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for number in range(20):
            network = Network(Path(folder) / f"{number}.sock")
            with socket.create_server(("127.0.0.1", 0)) as server:
                network.route("10.1.0.1", 80, server.getsockname())
                clients = [socket.create_connection(("127.0.0.1", network.port)) for _ in range(8)]
                for client in clients[:4]:
                    client.sendall(b"CONNECT 10.1.0.1:80 HTTP/1.1\r\n\r\n")
                network.close()
                for client in clients:
                    client.close()
    gc.collect()

    assert left == []
    assert caplog.records == []


def test_a_client_that_goes(caplog: pytest.LogCaptureFixture) -> None:
    """A connection whose client has gone is served on until its server has noticed, and not collected before."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.create_server(("127.0.0.1", 0)) as server:
        network = Network(Path(folder) / "n.sock")
        network.route("10.1.0.1", 80, server.getsockname())
        for _ in range(8):
            with socket.create_connection(("127.0.0.1", network.port)) as client:
                client.sendall(b"CONNECT 10.1.0.1:80 HTTP/1.1\r\n\r\n")
                assert client.recv(1024).startswith(b"HTTP/1.1 200")
            served, _ = server.accept()
            with served:
                assert served.recv(1) == b""  # the client's end has arrived; nobody has said anything back
                gc.collect()
                served.sendall(b"late")
        network.close()
    gc.collect()

    assert caplog.records == []
