"""The way to a Prometheus at an address; through the API server lead `prometheus_proxied` and `prometheus_forwarded`.

One request in, one reply out, bounded in size and time. No message, log or repr holds a credential.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol
from urllib.parse import quote, urlencode

import urllib3
from urllib3 import exceptions as http

from .. import __version__
from ..dashboard.origins import shown
from ..errors import KvobsError, UsageError
from ..health.answers import NoAnswer
from .apiserver import UNWARNED, is_broken_tls, tls_reason
from .bounded import TooLarge as TooLarge
from .bounded import read_body
from .prometheus_address import Address as Address
from .prometheus_address import pool_of, split
from .refusals import Reply

Method = Literal["GET", "POST"]
Params = Sequence[tuple[str, str]]

LONG = 6000
"""Characters of an address that servers and proxies on the way surely take; a longer question is sent as a form."""


class Failed(Exception):
    """No reply came, or one that is not Prometheus'."""

    def __init__(self, answer: NoAnswer, *, passing: bool, missing: bool = False, refused: bool = False) -> None:
        """`passing`: another try may better it; `missing`: there is no such page; `refused`: nobody listens."""
        super().__init__(answer.said)
        self.answer = answer
        self.passing = passing
        self.missing = missing
        self.refused = refused


def unreached(error: KvobsError, said: str) -> Failed:
    """Return the failure that *error* stands for, where the API server on the way did not answer."""
    passing = isinstance(error.__cause__, http.ProtocolError | http.NewConnectionError)
    slow = isinstance(error.__cause__, http.ReadTimeoutError)
    return Failed(NoAnswer(said=said, hint=error.hint, lasting=not slow), passing=passing)


class Transport(Protocol):
    """A way to one server. Threads may share it."""

    @property
    def place(self) -> str:
        """The server, as messages name it."""

    @property
    def credentials_hint(self) -> str:
        """What to do where the server takes no credentials, or wants others."""

    @property
    def prefers_post(self) -> bool:
        """Whether questions go as forms at once, and not only long ones."""

    def send(self, method: Method, path: str, params: Params, *, max_bytes: int, timeout_s: float) -> Reply:
        """Send a request; the reply, whatever its status. Raises `Failed` or `TooLarge`."""

    def close(self) -> None:
        """Close the connections."""


class OverHttp:
    """Straight to an address; proxies of the environment count (`HTTPS_PROXY`, `NO_PROXY`)."""

    prefers_post = True

    def __init__(
        self,
        address: Address,
        *,
        connections: int,
        pool: urllib3.PoolManager | None = None,
        place: str | None = None,
        look: str | None = None,
    ) -> None:
        """Nothing is sent yet; UsageError says what is wrong with the address or the certificates.

        `pool`: where connections come from, if not from the address; `place` is what it then is called, and `look` how
        one looks whether it is there.
        """
        self._address = address
        self._base, user, password = split(address.url)
        self.place = place or shown(self._base)
        self._look = look or f"is it running, and is the address right? curl {self.place}/-/ready"
        if user is not None and address.user is not None:
            raise UsageError(
                f"{self.place}: there are two users, one in the address and one in KVOBS_PROMETHEUS_USER",
                hint="take one of them away",
            )
        self._user = (user, password or "") if user is not None else None
        if address.user is not None:
            self._user = (address.user, address.password or "")
        if self._user is not None and address.read_token is not None:
            raise UsageError(
                f"{self.place}: there are a token and a user; a request carries one of them",
                hint="take one of them away: KVOBS_PROMETHEUS_TOKEN, --token-file, or the user",
            )
        self._token = address.read_token() if address.read_token else None
        self._pool = pool or pool_of(self._base, address, connections, self.place)

    def __repr__(self) -> str:
        return f"OverHttp({self.place!r})"

    @property
    def credentials_hint(self) -> str:
        """What to do where the server takes no credentials, or wants others."""
        if self._token is not None:
            return "the token may have expired: put a new one into KVOBS_PROMETHEUS_TOKEN or the --token-file"
        if self._user is not None:
            return "look at the user and the password"
        return (
            "a bearer token in KVOBS_PROMETHEUS_TOKEN or a --token-file; or KVOBS_PROMETHEUS_USER and"
            " KVOBS_PROMETHEUS_PASSWORD"
        )

    def send(self, method: Method, path: str, params: Params, *, max_bytes: int, timeout_s: float) -> Reply:
        """Send a request; the reply, whatever its status. Raises `Failed` or `TooLarge`.

        A token that is refused is read again: its file may hold a new one.
        """
        token = self._token
        reply = self._once(method, path, params, token, max_bytes, timeout_s)
        if reply.status == 401 and (fresh := self._fresh_token()) != token:
            self._token = fresh
            reply = self._once(method, path, params, fresh, max_bytes, timeout_s)
        return reply

    def _fresh_token(self) -> str | None:
        try:
            return self._address.read_token() if self._address.read_token else None
        except UsageError:  # the file is gone: the refusal says what to do
            return self._token

    def _once(
        self, method: Method, path: str, params: Params, token: str | None, max_bytes: int, timeout_s: float
    ) -> Reply:
        headers = self._headers(token)
        url, body = self._base + quote(path, safe="/"), None
        if method == "POST":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(params).encode()
        elif params:
            url += "?" + urlencode(params)
        try:
            with UNWARNED:
                answer = self._pool.request(
                    method,
                    url,
                    headers=headers,
                    body=body,
                    timeout=urllib3.Timeout(connect=min(10.0, timeout_s), read=timeout_s),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                )
                return Reply(answer.status, answer.headers, read_body(answer, max_bytes, timeout_s))
        except http.HTTPError as exc:
            raise self._failed(exc, timeout_s) from exc
        except (ValueError, UnicodeError):
            # http.client refuses a header with a line break in it, and quotes it: that may be the token.
            raise Failed(
                NoAnswer(
                    said=f"{self.place}: the credentials hold characters that cannot be sent",
                    hint=self.credentials_hint,
                    lasting=True,
                ),
                passing=False,
            ) from None

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _headers(self, token: str | None) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": f"kvobs/{__version__}",
        }
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        elif self._user is not None:
            headers["Authorization"] = urllib3.make_headers(basic_auth=":".join(self._user))["authorization"]
        if self._address.tenant is not None:
            headers["X-Scope-OrgID"] = self._address.tenant
        return headers

    def _failed(self, exc: http.HTTPError, timeout_s: float) -> Failed:
        hint = self._look
        lasting, passing = True, False
        if isinstance(exc, http.SSLError) and not is_broken_tls(exc):
            what = f"TLS with {self.place} failed: {tls_reason(exc)}"
            hint = "with a private authority: --ca-file FILE; to go without verification: --insecure-skip-tls-verify"
        elif isinstance(exc, http.NameResolutionError):
            what = f"the name of {self.place} cannot be resolved"
        elif isinstance(exc, http.ProxyError):
            what = f"the proxy on the way to {self.place} does not let it through"
            hint = "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
        elif isinstance(exc, http.NewConnectionError):
            what, passing = f"{self.place} refuses connections", True
        elif isinstance(exc, http.ConnectTimeoutError):
            what = f"{self.place} does not answer (no connection within {min(10.0, timeout_s):g} s)"
        elif isinstance(exc, http.TimeoutError):
            what = f"{self.place} did not answer within {timeout_s:g} s"
            hint, lasting = "the query may be heavy, or the server busy", False
        elif isinstance(exc, http.DecodeError):
            what, passing, lasting = f"{self.place} sent an answer that cannot be unpacked", True, False
        else:
            what, passing, lasting = f"{self.place} broke the connection", True, False
        refused = isinstance(exc, http.NewConnectionError)
        return Failed(NoAnswer(said=what, hint=hint, lasting=lasting), passing=passing, refused=refused)
