"""Downloads over HTTPS: one file each, checked while it comes, whole or not at all.

Proxies (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`), `SSL_CERT_FILE`, `SSL_CERT_DIR` and the user's netrc file count as
for curl; they are read when the first download begins. No message has a credential in it.
"""

from __future__ import annotations

import logging
import netrc
import os
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urljoin, urlsplit

import httpx

from .. import __version__
from ..dashboard.origins import check_address, secrets_of, shown
from ..errors import DownloadError, UsageError
from .dashboard_cache import MAX_BYTES
from .replies import Interrupted, body, not_there, waiting_time

MAX_REDIRECTS = 5
ATTEMPTS = 4
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_OFFER = "gzip, identity"
_SHORTEST_SECRET = 4
"""In characters; a shorter value of a query, say `v=1`, would be found in every number of a message."""
_WITH_A_NETWORK = "is this machine online? With a proxy: HTTPS_PROXY=http://HOST:PORT; without a network: --offline"


_LOGGERS = ("httpx", *(f"httpcore.{name}" for name in ("connection", "http11", "proxy", "socks")))


class _Elsewhere(Exception):
    """The server leads to another address."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location


class _Hush(logging.Filter):
    """Drops what the HTTP library logs in this thread: its lines hold whole addresses and headers."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread not in (self._thread, None)


class Downloads:
    """Fetches files; keeps a connection open between them, and is closed at the end of its `with`."""

    def __init__(
        self,
        *,
        ca_file: str | None = None,
        timeout_s: float = 15.0,
        deadline_s: float = 90.0,
        max_bytes: int = MAX_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`ca_file` is trusted beside the system's authorities.

        `timeout_s` is for each silence of a server, `deadline_s` for one file with all its attempts.
        """
        self._ca_file = ca_file
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._client: httpx.Client | None = None
        self._hush = _Hush()

    def __enter__(self) -> Self:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._hush)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._hush)

    def fetch(self, url: str) -> bytes:
        """Return what stands at an address; raise DownloadError where that cannot be had.

        What may pass by itself (no answer, a server's error, a limit of its rate, a reply cut short) is tried
        `ATTEMPTS` times, after the wait that the server asks for or a growing one.
        """
        deadline = time.monotonic() + self._deadline_s
        attempt = 1
        while True:
            try:
                return self._fetch_once(url, deadline)
            except Interrupted as interruption:
                wait_s = interruption.wait_s
                if wait_s is None:
                    # Not all who were turned away at one moment come back at one moment.
                    wait_s = 0.5 * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)
                if attempt == ATTEMPTS or time.monotonic() + wait_s > deadline:
                    times = "once" if attempt == 1 else f"{attempt} times"
                    raise DownloadError(
                        f"{shown(url)} could not be downloaded, tried {times}: {interruption}",
                        hint=interruption.hint or _WITH_A_NETWORK,
                        passing=True,
                    ) from interruption
                self._sleep(wait_s)
                attempt += 1

    def _fetch_once(self, url: str, deadline: float) -> bytes:
        at = url
        for _ in range(MAX_REDIRECTS + 1):
            try:
                with self._answer(at) as response:
                    return self._content(response, url, at, deadline)
            except _Elsewhere as answer:
                at = _target(at, answer.location)
        raise DownloadError(
            f"{shown(url)} leads from one address to the next, more than {MAX_REDIRECTS} times, at last to {shown(at)}",
            hint="give the address of the file itself",
        )

    @contextmanager
    def _answer(self, url: str) -> Iterator[httpx.Response]:
        try:
            if self._client is None:
                self._client = self._new_client()
            auth = self._credentials(url)
            # `None` would mean: no credentials, not even those of the address.
            request = self._client.stream("GET", url, auth=auth) if auth else self._client.stream("GET", url)
            with request as response:
                yield response
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise self._explained(error, url) from error

    def _new_client(self) -> httpx.Client:
        try:
            trusted = httpx.create_ssl_context()
            # Beside the list that httpx brings: a company puts its own authority into the system's store.
            trusted.load_default_certs()
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                "the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read",
                hint="name a PEM file, or unset it",
            ) from error
        if self._ca_file is not None:
            try:
                trusted.load_verify_locations(cafile=self._ca_file)
            except (OSError, ssl.SSLError) as error:
                raise UsageError(
                    f"--ca-file: {self._ca_file} holds no certificates that can be read",
                    hint="name a PEM file: -----BEGIN CERTIFICATE-----",
                ) from error
        try:
            return httpx.Client(
                verify=trusted,
                timeout=self._timeout_s,
                event_hooks={"response": [_leave_at_redirect]},
                headers={
                    "User-Agent": f"kvobs/{__version__}",
                    "Accept": "application/json, */*;q=0.5",
                    "Accept-Encoding": _OFFER,
                },
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            # Its message repeats the variable, which may hold a password.
            raise UsageError(
                "a proxy that the environment names cannot be used (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY)",
                hint="HTTPS_PROXY=http://HOST:PORT",
            ) from error

    def _credentials(self, url: str) -> httpx.BasicAuth | None:
        """Return what the user's netrc file holds for the host, unless the address has its own."""
        parts = urlsplit(url)
        if parts.username or not parts.hostname:
            return None
        path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
        try:
            hosts = netrc.netrc(path).hosts
        except FileNotFoundError:
            return None
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} cannot be read as a netrc file", hint="mend it, or NETRC=/dev/null") from error
        # `default` would send a password to every host that a dashboard comes from.
        found = hosts.get(parts.hostname)
        return httpx.BasicAuth(found[0], found[2] or "") if found else None

    def _content(self, response: httpx.Response, url: str, at: str, deadline: float) -> bytes:
        status = response.status_code
        if status in _RETRIED:
            wait_s = waiting_time(response.headers.get("Retry-After"))
            asks = "" if wait_s is None else f" and asks to wait {wait_s:g} s"
            raise Interrupted(f"the server answered {status}{asks}", wait_s=wait_s)
        if status != httpx.codes.OK:
            raise not_there(shown(url), status)
        limit_s = max(0.0, deadline - time.monotonic())
        return body(response, shown(url), landed=shown(at), max_bytes=self._max_bytes, limit_s=limit_s)

    def _explained(self, error: Exception, url: str) -> Exception:
        """Return a library's error as one of ours, without what only the address may know."""
        if (refusal := _certificate_refusal(error)) is not None:
            host = urlsplit(url).hostname
            return DownloadError(
                f"{shown(url)}: the certificate of {host} is not trusted: {refusal}",
                hint="behind a proxy that opens TLS, or with a private authority: --ca-file FILE, or SSL_CERT_FILE",
            )
        if isinstance(error, httpx.ProxyError):
            return Interrupted(f"the proxy refused ({_masked(str(error), url)})", hint="look at HTTPS_PROXY, NO_PROXY")
        if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
            return DownloadError(f"{shown(url)} cannot be asked for", hint="give https://HOST/PATH")
        if isinstance(error, httpx.TimeoutException):
            return Interrupted(f"no answer within {self._timeout_s:g} s")
        said = _masked(str(error), url) or type(error).__name__
        return Interrupted(said)


def _leave_at_redirect(response: httpx.Response) -> None:
    # Before the library reads the new address: its errors would repeat it.
    if response.has_redirect_location:
        raise _Elsewhere(response.headers["Location"])


def _target(url: str, location: str) -> str:
    """Return the address that a redirect from *url* leads to; raise DownloadError for one that is not followed."""
    try:
        target = urljoin(url, location)
        check_address(target, after=url)
    except (UsageError, ValueError) as error:
        said = str(error) if isinstance(error, UsageError) else f"{shown(url)} leads to an address that cannot be read"
        raise DownloadError(said, hint="give the address of the file itself, https://HOST/PATH, or the FILE") from error
    return target


def _certificate_refusal(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _masked(message: str, url: str) -> str:
    for secret in sorted(secrets_of(url), key=len, reverse=True):
        if len(secret) < _SHORTEST_SECRET:
            continue
        message = message.replace(secret, "***")
    return message
