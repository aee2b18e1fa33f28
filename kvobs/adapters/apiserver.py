"""One API server over HTTP: a request in, a reply out, with time-outs, bounded retries and errors of ours.

kubernetes brings the credentials, TLS and the proxy settings; the requests go out on its connection pool,
without its own retries (which know no pause) and without redirects (which could lead to a login page).
"""

from __future__ import annotations

import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import urllib3
from urllib3 import exceptions as http

from ..errors import ClusterUnreachable, KubeconfigError, KvobsError
from .bounded import TooLarge, read_body
from .kubeconfig import Access
from .refusals import WEBHOOK_HINT, Reply, status_of
from .upgraded import SWITCHED, Upgraded

ATTEMPTS = 5
"""Tries of a request that may be repeated, the first one included."""

FIRST_PAUSE_S = 0.25
"""Before the second try, doubled each time, where the server names no pause: 3.75 s in all."""

LONGEST_PAUSE_S = 15.0
"""A server that asks for a longer pause than this is not waited for."""

_REFUSAL_BYTES = 1024 * 1024
"""Of a refused upgrade no more is read: a `Status` has a few hundred."""

Params = Iterable[tuple[str, str]]


class _Unwarned:
    """No warning about a server that is not verified: whoever wrote insecure-skip-tls-verify knows.

    Requests of several threads overlap; two `catch_warnings` that do would restore each other's filters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._caught = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.simplefilter("ignore", http.InsecureRequestWarning)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._caught.__exit__(None, None, None)


UNWARNED = _Unwarned()


class ApiServer:
    """The connection to one API server; nothing is sent before the first request. Threads may share it."""

    def __init__(
        self, access: Access, *, request_timeout_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        from kubernetes import client

        self.access = access
        self._timeout_s = request_timeout_s
        self._sleep = sleep
        self._answered = False
        access.configuration.retries = False
        try:
            with warnings.catch_warnings():
                # The ImportError that follows this warning says the same.
                warnings.simplefilter("ignore", http.DependencyWarning)
                self._client: Any = client.ApiClient(access.configuration)
        except (http.HTTPError, ValueError, ImportError, OSError) as exc:
            raise KubeconfigError(
                f"no connection to {access.server} can be made: {type(exc).__name__}",
                hint="look at proxy-url in the kubeconfig, and at HTTPS_PROXY",
            ) from exc

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Params = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        repeatable: bool,
        changes: bool = True,
        max_bytes: int | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Send a request; the reply, whatever its status.

        With `max_bytes` no more of it is taken: `TooLarge` is raised. `timeout_s` counts in place of the time-out
        of all requests.

        A `repeatable` request is tried again, a few times, when the connection breaks or the server says that
        it is overloaded (429, 503, or any failure that names a pause). A refused token is renewed once where
        that takes nobody's help. ClusterUnreachable says why no reply came, and where the request `changes`
        something, that nobody knows whether it did.
        """
        url = self.access.configuration.host + path + (f"?{urlencode(list(params))}" if params else "")
        renewed = False
        attempt = 1
        while True:
            last = attempt == ATTEMPTS or not repeatable
            try:
                reply = self._once(method, url, headers or {}, body, max_bytes, timeout_s or self._timeout_s)
            except http.HTTPError as exc:
                if last or not self._may_pass(exc):
                    waited_s = timeout_s or self._timeout_s
                    raise self._unreachable(exc, changes=changes and method != "GET", waited_s=waited_s) from exc
                pause: float | None = FIRST_PAUSE_S * 2 ** (attempt - 1)
            else:
                self._answered = True
                if reply.status == 401 and not renewed and self.access.renew():
                    renewed = True
                    continue
                pause = None if last else _pause(reply, attempt)
                if pause is None:
                    return reply
            self._sleep(pause or 0.0)
            attempt += 1

    def upgrade(self, path: str, *, params: Params, headers: Mapping[str, str], timeout_s: float) -> Reply | Upgraded:
        """Ask for the connection to be handed over to another protocol; the reply where that is refused.

        It is asked once, and once more after a refused token was renewed. ClusterUnreachable says why no reply came.
        """
        url = self.access.configuration.host + path + f"?{urlencode(list(params))}"
        renewed = False
        while True:
            try:
                answer = self._request("GET", url, headers, None, timeout_s, whole=False)
                self._answered = True
                # One that says "Connection: close" in the same breath hands nothing over.
                if answer.status == SWITCHED and getattr(answer.connection, "sock", None) is not None:
                    return Upgraded(answer)
                reply = Reply(answer.status, answer.headers, read_body(answer, _REFUSAL_BYTES, timeout_s))
            except TooLarge:
                reply = Reply(answer.status, answer.headers, b"")
            except http.HTTPError as exc:
                raise self._unreachable(exc, changes=False, waited_s=timeout_s) from exc
            if reply.status != 401 or renewed or not self.access.renew():
                return reply
            renewed = True

    def _once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        max_bytes: int | None,
        timeout_s: float,
    ) -> Reply:
        answer = self._request(method, url, headers, body, timeout_s, whole=max_bytes is None)
        content = answer.data if max_bytes is None else read_body(answer, max_bytes, timeout_s)
        return Reply(answer.status, answer.headers, content)

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float, *, whole: bool
    ) -> urllib3.BaseHTTPResponse:
        """Send a request with the credentials; the reply, its body read where it is wanted *whole*."""
        sent = urllib3.HTTPHeaderDict({"User-Agent": "kvobs", **headers})
        for key, value in self.access.headers:
            sent.add(key, value)
        for setting in self.access.configuration.auth_settings().values():
            sent[setting["key"]] = setting["value"]
        try:
            with UNWARNED:
                answer: urllib3.BaseHTTPResponse = self._client.rest_client.pool_manager.request(
                    method,
                    url,
                    headers=sent,
                    body=body,
                    timeout=urllib3.Timeout(connect=timeout_s, read=timeout_s),
                    redirect=False,
                    retries=False,
                    preload_content=whole,
                )
        except http.HTTPError:
            raise
        except ValueError:
            # http.client refuses a header with a line break in it, and quotes it: that may be the token.
            raise KubeconfigError(
                "the credentials hold characters that cannot be sent", hint=self.access.relogin
            ) from None
        return answer

    def _may_pass(self, exc: http.HTTPError) -> bool:
        """Whether another try may help: the connection broke, or is refused now and was not before."""
        if isinstance(exc, http.NewConnectionError) or is_broken_tls(exc):
            return self._answered
        return isinstance(exc, http.ProtocolError)

    def _unreachable(self, exc: http.HTTPError, *, changes: bool, waited_s: float) -> KvobsError:
        server = self.access.server
        hint = f"{self.access.kubectl} cluster-info says whether kubectl can reach it"
        if isinstance(exc, http.SSLError) and not (self._answered and is_broken_tls(exc)):
            return ClusterUnreachable(f"TLS with {server} failed: {tls_reason(exc)}", hint=f"{_tls_hint(exc)}; {hint}")
        unknown = "; whether the change was made is not known, running the command again settles it"
        if isinstance(exc, http.NameResolutionError):
            what = f"the name of {server} cannot be resolved"
        elif isinstance(exc, http.ProxyError):
            what = f"the proxy on the way to {server} does not let it through"
        elif isinstance(exc, http.NewConnectionError):
            what = f"{server} refuses connections"
        elif isinstance(exc, http.ConnectTimeoutError):
            what = f"{server} does not answer (no connection within {waited_s:g} s)"
        elif isinstance(exc, http.TimeoutError):
            what = f"{server} did not answer within {waited_s:g} s" + (unknown if changes else "")
            hint = WEBHOOK_HINT if changes and self._answered else hint
        else:
            what = f"{server} broke the connection" + (unknown if changes else "")
        return ClusterUnreachable(what, hint=hint)


def _pause(reply: Reply, attempt: int) -> float | None:
    """How long to wait before the request is sent again; None where it need not be."""
    if reply.ok or reply.status < 429:
        return None
    seconds: float | None = None
    if reply.header("Retry-After").isdecimal():
        seconds = float(reply.header("Retry-After"))
    elif status := status_of(reply):
        seconds = status.retry_after_s
    if seconds is None:
        return FIRST_PAUSE_S * 2 ** (attempt - 1) if reply.status in (429, 503) else None
    return seconds if seconds <= LONGEST_PAUSE_S else None


def is_broken_tls(exc: http.HTTPError) -> bool:
    """Whether the other side went away in the midst of TLS, as when a load balancer restarts: no word on who it is."""
    cause = exc.args[0] if isinstance(exc, http.SSLError) and exc.args else None
    return isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)


def _tls_hint(exc: BaseException) -> str:
    reason = tls_reason(exc)
    if "not yet valid" in reason or "expired" in reason:
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"this machine's clock says {now}: set it where that is wrong, else the server needs a new certificate"
    return "a certificate in the kubeconfig may have expired, or be of another cluster"


def tls_reason(exc: BaseException) -> str:
    """OpenSSL's words, without the source line it found the fault in."""
    cause = exc.args[0] if exc.args else exc
    text = str(getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or cause)
    return " ".join(text.split())[:256]
