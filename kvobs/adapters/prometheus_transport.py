"""The way to a Prometheus at an address; that through the API server is in `prometheus_proxied`.

One request in, one reply out, bounded in size and time. No message, log or repr holds a credential.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import exceptions as http

from .. import __version__
from ..dashboard.origins import shown
from ..errors import UsageError
from ..health.answers import NoAnswer
from .apiserver import UNWARNED, is_broken_tls, tls_reason
from .bounded import TooLarge as TooLarge
from .bounded import read_body
from .refusals import Reply

Method = Literal["GET", "POST"]
Params = Sequence[tuple[str, str]]

LONG = 6000
"""Characters of an address that servers and proxies on the way surely take; a longer question is sent as a form."""

_ADDRESS_HINT = "the address as in http://HOST:9090, with the path in front of /api/v1 where there is one"


class Failed(Exception):
    """No reply came, or one that is not Prometheus'."""

    def __init__(self, answer: NoAnswer, *, passing: bool, missing: bool = False, refused: bool = False) -> None:
        """`passing`: another try may better it; `missing`: there is no such page; `refused`: nobody listens."""
        super().__init__(answer.said)
        self.answer = answer
        self.passing = passing
        self.missing = missing
        self.refused = refused


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """Where a Prometheus is, and how to get in."""

    url: str = field(repr=False)
    """With the path in front of `/api/v1`; may hold user and password."""
    read_token: Callable[[], str | None] | None = field(default=None, repr=False)
    """Reads the bearer token anew: that of a file is rotated."""
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    """PEM file of authorities that are trusted beside the system's."""
    insecure: bool = False
    """Do not verify the server's certificate."""
    tenant: str | None = None
    """`X-Scope-OrgID`, for Mimir, Cortex and Loki-like gateways."""


class OverHttp:
    """Straight to an address; proxies of the environment count (`HTTPS_PROXY`, `NO_PROXY`)."""

    prefers_post = True

    def __init__(self, address: Address, *, connections: int) -> None:
        """Nothing is sent yet; UsageError says what is wrong with the address or the certificates."""
        self._address = address
        self._base, user, password = _split(address.url)
        self.place = shown(self._base)
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
        self._pool = _pool(self._base, address, connections, self.place)

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
        hint: str | None = f"is it running, and is the address right? curl {self.place}/-/ready"
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


def _split(url: str) -> tuple[str, str | None, str | None]:
    """(the address without user, user, password); raises UsageError for what is no address of a server."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError("the address of Prometheus cannot be read", hint=_ADDRESS_HINT) from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{shown(url)} is no address of a Prometheus", hint=_ADDRESS_HINT)
    if parts.query or parts.fragment:
        raise UsageError(f"{shown(url)}: an address with a query is that of a page", hint=_ADDRESS_HINT)
    where = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
    path = parts.path.rstrip("/").removesuffix("/api/v1").rstrip("/")
    user = unquote(parts.username) if parts.username is not None else None
    password = unquote(parts.password) if parts.password is not None else None
    return f"{parts.scheme}://{where}{path}", user, password


def _pool(base: str, address: Address, connections: int, place: str) -> urllib3.PoolManager:
    options: dict[str, object] = {"maxsize": connections, "block": False}
    if base.startswith("https:"):
        options["ssl_context"] = _trust(address)
    parts = urlsplit(base)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return urllib3.PoolManager(**options)  # type: ignore[arg-type]
    try:
        login = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        headers: Mapping[str, str] | None = None
        if login.username is not None:
            pair = f"{unquote(login.username)}:{unquote(login.password or '')}"
            headers = urllib3.make_headers(proxy_basic_auth=pair)
        where = f"[{login.hostname}]" if ":" in str(login.hostname) else str(login.hostname)
        to = f"{login.scheme}://{where}:{login.port}" if login.port else f"{login.scheme}://{where}"
        return urllib3.ProxyManager(to, proxy_headers=headers, **options)  # type: ignore[arg-type]
    except (ValueError, http.HTTPError):
        # Its message repeats the variable, which may hold a password.
        raise UsageError(
            f"{place}: the proxy that the environment names cannot be used (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY)",
            hint="HTTPS_PROXY=http://HOST:PORT, or NO_PROXY=HOST to go without",
        ) from None


def _trust(address: Address) -> ssl.SSLContext:
    import httpx

    context = httpx.create_ssl_context()
    # Beside the list that httpx brings: a company puts its own authority into the system's store.
    context.load_default_certs()
    if address.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if address.ca_file is not None:
        try:
            context.load_verify_locations(cafile=address.ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise UsageError(
                f"--ca-file: {address.ca_file} holds no certificates that can be read",
                hint="name a PEM file: -----BEGIN CERTIFICATE-----",
            ) from error
    return context
