"""Metric expositions for pods: a text, and counters that move."""

from __future__ import annotations

import http.server
import re
import ssl
import tempfile
import threading
from pathlib import Path

from tests.cluster.certificates import Pair

_SAMPLE = re.compile(r"^(?P<series>[a-zA-Z_:][\w:]*(?:\{.*\})?) (?P<value>\S+)$")
_MOVING_TYPES = {"counter", "histogram", "summary"}


class Exposition:
    """A metrics page, served on loopback at /metrics from the moment it is made.

    `text` and `status` may be changed at any time; the next scrape sees it.
    """

    def __init__(self, text: str, *, growth: float = 0.0, certificate: Pair | None = None) -> None:
        """Serve *text*; with each scrape its counters and histograms grow by *growth* times their first value.

        With a *certificate* it is served over TLS only.
        """
        self.text = text
        self.status = 200
        self.growth = growth
        self.scrapes = 0
        exposition = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Serve the page."""
                known = self.path.partition("?")[0] == "/metrics"
                body = exposition.scrape().encode() if known else b""
                self.send_response(exposition.status if known else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Stay silent: the tests' output is for the tests."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            # A handshake belongs to the thread of its connection: one that never ends must not keep the others waiting.
            self._server.socket = _tls(certificate).wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.address = ("127.0.0.1", int(self._server.server_address[1]))
        threading.Thread(target=self._server.serve_forever, name="exposition", daemon=True).start()

    @classmethod
    def of_file(cls, path: Path, *, growth: float = 0.0) -> Exposition:
        """Serve the text of the file *path*."""
        return cls(path.read_text(), growth=growth)

    def scrape(self) -> str:
        """Return the page for the next scrape."""
        text = grown(self.text, 1 + self.growth * self.scrapes)
        self.scrapes += 1
        return text

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _tls(certificate: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # OpenSSL reads pairs from files only
        names = [Path(folder, name) for name in ("server.crt", "server.key")]
        for name, content in zip(names, (certificate.certificate, certificate.key), strict=True):
            name.write_bytes(content)
        context.load_cert_chain(*names)
    return context


def grown(text: str, factor: float) -> str:
    """Return the exposition *text* with every counter and histogram sample times *factor*, whole numbers whole.

    One factor for all keeps a histogram one: its buckets stay in order, its count is its last bucket.

    >>> print(grown("# TYPE a counter\\na_total 3\\n# TYPE b gauge\\nb 3\\n", 1.5))
    # TYPE a counter
    a_total 4
    # TYPE b gauge
    b 3
    <BLANKLINE>
    """
    if factor == 1:
        return text
    lines = []
    moves = False
    for line in text.split("\n"):
        if line.startswith("# TYPE "):
            moves = line.rsplit(" ", 1)[1] in _MOVING_TYPES
        elif moves and (sample := _SAMPLE.match(line)):
            value = float(sample["value"]) * factor
            whole = float(sample["value"]).is_integer()
            line = f"{sample['series']} {int(value) if whole else value}"
        lines.append(line)
    return "\n".join(lines)
