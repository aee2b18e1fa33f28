"""Where a Prometheus is that has an address, and the connections to it: proxies, trust."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import exceptions as http

from ..dashboard.origins import shown
from ..errors import UsageError

_ADDRESS_HINT = "the address as in http://HOST:9090, with the path in front of /api/v1 where there is one"


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


def split(url: str) -> tuple[str, str | None, str | None]:
    """Return (the address without user, user, password); raises UsageError for what is no address of a server."""
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


def pool_of(base: str, address: Address, connections: int, place: str) -> urllib3.PoolManager:
    """Return what connects to *base*; UsageError says what is wrong with certificates or the environment's proxy."""
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
