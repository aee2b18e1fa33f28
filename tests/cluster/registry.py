"""A local OCI registry behind TLS, so that a test pulls its chart as in life: by ``oci://`` and by https.

The registry itself speaks plain HTTP and keeps everything in memory. Helm pulls by https unless it is told
otherwise, and kvobs does not tell it otherwise, so a small TLS server stands in front and passes bytes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import ssl
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType

from tests.cluster.build import binary
from tests.cluster.certificates import Authority
from tests.cluster.charts import helm
from tests.cluster.processes import Processes

START_TIMEOUT_S = 60.0
LOOPBACK = "127.0.0.1"


class OciRegistry:
    """A registry on loopback for the length of a ``with`` block; it does not outlive the test run."""

    ca_file: Path
    """The certificate to trust: the value of ``SSL_CERT_FILE`` in Helm's environment."""
    plain_port: int
    """Where the registry itself listens on 127.0.0.1, without TLS."""

    def __enter__(self) -> OciRegistry:
        with contextlib.ExitStack() as parts:
            folder = Path(tempfile.mkdtemp(prefix="kvobs-oci-"))
            processes = Processes(folder)
            parts.callback(processes.close)  # removes the folder too

            authority = Authority("kvobs test registry")
            pair = authority.server(LOOPBACK, "localhost")
            self.ca_file = folder / "ca.crt"
            self.ca_file.write_bytes(authority.certificate)
            (folder / "tls.pem").write_bytes(pair.certificate + pair.key)
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(folder / "tls.pem")

            self.plain_port = _start(processes)
            front = _Front(self.plain_port, tls)
            parts.callback(front.close)
            self._host = f"{LOOPBACK}:{front.port}"
            self._parts = parts.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.close()

    @property
    def ref(self) -> str:
        """Where a pushed kube-prometheus-stack is to be found; its version is given beside it."""
        return f"oci://{self._host}/charts/kube-prometheus-stack"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a Helm that trusts this registry."""
        return {**os.environ, "SSL_CERT_FILE": str(self.ca_file)}

    def push(self, archive: Path) -> str:
        """Push a packed chart, and return the reference to pull it by."""
        helm("helm4", "push", archive, f"oci://{self._host}/charts", environment=self.environment)
        named = re.fullmatch(r"(.+?)-v?\d+\.\d+\.\d+.*\.tgz", archive.name)
        assert named is not None, f"{archive.name} is not named as helm package names an archive"
        return f"oci://{self._host}/charts/{named.group(1)}"


def _start(processes: Processes) -> int:
    """Run the registry on a free port of its own choice, and return that port."""
    name = "registry"
    processes.start(name, [str(binary("registry")), "-port", "0"])
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        processes.check(name)
        announced = re.search(r"serving on port (\d+)\n", processes.log(name).read_text())
        if announced:
            return int(announced.group(1))
        time.sleep(0.02)
    raise TimeoutError(f"the OCI registry said no port in {START_TIMEOUT_S:g} s: {processes.tail(name)}")


class _Front:
    """The TLS server: what it takes on its port goes on to the plain port, and back."""

    def __init__(self, plain_port: int, tls: ssl.SSLContext) -> None:
        self.port = 0
        self._plain_port = plain_port
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(tls),), name="registry TLS", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_TIMEOUT_S):
            raise TimeoutError("the TLS server in front of the OCI registry did not start")

    def close(self) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join()

    async def _serve(self, tls: ssl.SSLContext) -> None:
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        server = await asyncio.start_server(self._answer, LOOPBACK, 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._closed.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(LOOPBACK, self._plain_port)
        ways = [asyncio.ensure_future(_copy(reader, back)), asyncio.ensure_future(_copy(there, writer))]
        try:
            # TLS knows no half-closed connection: when one side hangs up, the other has nobody to talk to.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            back.close()
            writer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
