"""A real Prometheus on loopback, with series back-filled from OpenMetrics text; up in about a second.

::

    with PrometheusServer(binary="3", om_text='up{job="a"} 1 1700000000\\n') as server:
        server.url                     # http://127.0.0.1:PORT

It ends with its `with`, and when the test run is killed. Where the program is missing, the test is skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlencode

import pytest
import yaml

from .cluster import build
from .cluster.processes import ProcessError, Processes, free_port

Binary = Literal["3", "2.42"]
BINARIES: tuple[Binary, ...] = ("3", "2.42")
"""The current one, built as for the test bed, and the old one that Debian 12 has (package `prometheus`)."""

_NAME = "prometheus"
_STARTS = 3
"""Starts tried: the port that was free a moment ago may be taken."""
_READY_S = 120.0
_END = b"# EOF"
_DEBIAN = "Debian's prometheus 2.x is missing: apt-get install --no-install-recommends prometheus"


def programs(binary: Binary) -> tuple[Path, Path] | None:
    """Return (prometheus, promtool) of a version; None where the machine has none."""
    if binary == "3":
        return build.binary("prometheus"), build.binary("promtool")
    found = [shutil.which(name, path="/usr/bin:/usr/local/bin") for name in ("prometheus", "promtool")]
    if None in found:
        return None
    said = subprocess.run([str(found[0]), "--version"], capture_output=True, text=True, check=False)
    if "version 2." not in said.stdout + said.stderr:
        return None
    return Path(str(found[0])), Path(str(found[1]))


class PrometheusServer:
    """One server with a fresh database."""

    def __init__(
        self,
        *,
        binary: Binary = "3",
        om_text: str | bytes | Path | Sequence[str | bytes | Path] = (),
        config: str | Mapping[str, Any] | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """`om_text` is OpenMetrics text (`# EOF` is added where it is missing), a file of it, or several of them.

        Times are in seconds. `config` is that of Prometheus, as YAML or as a mapping; nothing is scraped without.
        With a scrape, the back-filled samples have to be older than its first one. `flags` come after ours.
        """
        self._binary = binary
        self._sources = [om_text] if isinstance(om_text, str | bytes | Path) else list(om_text)
        self._config = config
        self._flags = tuple(flags)
        self._port = 0
        self._processes: Processes | None = None

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def folder(self) -> Path:
        """Its folder: configuration, log and database; gone afterwards."""
        assert self._processes is not None, "not started"
        return self._processes.folder

    def __enter__(self) -> Self:
        found = programs(self._binary)
        if found is None:
            pytest.skip(_DEBIAN)
        self._program, promtool = found
        self._processes = Processes(Path(tempfile.mkdtemp(prefix="kvobs-prometheus-")))
        try:
            self._backfill(promtool)
            self.configure(self._config)
            for attempt in range(1, _STARTS + 1):
                self._port = free_port()
                try:
                    self.start()
                    break
                except ProcessError:
                    if attempt == _STARTS:
                        raise
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    def configure(self, config: str | Mapping[str, Any] | None) -> None:
        """Write another configuration; `reload` makes it count."""
        text = config if isinstance(config, str) else yaml.safe_dump(dict(config or {"global": {}}))
        (self.folder / "prometheus.yml").write_text(text)

    def start(self, *, wait: bool = True) -> None:
        """Start it, on the same port and database as before, and wait until it answers."""
        assert self._processes is not None
        argv = [
            str(self._program),
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--web.enable-lifecycle",
            "--web.enable-admin-api",
            "--scrape.discovery-reload-interval=100ms",  # five seconds otherwise before the first scrape
            "--log.level=warn",
            *self._flags,
        ]
        self._processes.start(_NAME, argv)
        end = time.monotonic() + _READY_S
        while wait and not self._ready():
            self._processes.check(_NAME)
            if time.monotonic() > end:
                raise ProcessError(f"{_NAME} is not ready; its last words:\n{self._processes.tail(_NAME)}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Kill it; its database and port stay for another `start`."""
        assert self._processes is not None
        self._processes.stop(_NAME)

    def reload(self) -> None:
        """Make it read its configuration again."""
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/-/reload", method="POST"), timeout=30).close()

    def get(self, path: str, **params: str) -> Any:
        """Return the `data` of an answer of its API: `get("query", query="up", time="1700000000")`."""
        address = f"{self.url}/api/v1/{path}?{urlencode(params)}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)["data"]

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _backfill(self, promtool: Path) -> None:
        (self.folder / "data").mkdir()
        for source in self._sources:
            file = source if isinstance(source, Path) and _is_ended(source) else self._ended(source)
            # One block for each file: by default there is one for each two hours.
            command = [str(promtool), "tsdb", "create-blocks-from", "--max-block-duration=100000h", "openmetrics"]
            done = subprocess.run(
                [*command, str(file), str(self.folder / "data")], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise ValueError(f"promtool does not take {file.name}: {done.stderr.strip()[-1000:]}")

    def _ended(self, source: str | bytes | Path) -> Path:
        """Write a source with the last line that promtool wants."""
        content = source.read_bytes() if isinstance(source, Path) else source
        text = (content if isinstance(content, bytes) else content.encode()).strip()
        if not text.endswith(_END):
            text += b"\n" + _END if text else _END
        file = self.folder / "series.om"
        file.write_bytes(text + b"\n")
        return file


def _is_ended(file: Path) -> bool:
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - len(_END) - 1))
        return content.read().rstrip(b"\n").endswith(_END)
