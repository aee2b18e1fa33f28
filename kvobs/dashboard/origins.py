"""What `--dashboard` was given: a name, `grafana:ID@REV`, an address, a file or a folder. Pure; nothing is fetched.

An address may carry credentials. What a person sees of it is `shown`, which has none.
"""

from __future__ import annotations

import difflib
import hashlib
import ipaddress
import posixpath
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from ..errors import DocumentError, UsageError
from .catalog import SHIPPED, Catalog, Upstream, grafana_com_url

_GRAFANA = re.compile(r"grafana:([1-9][0-9]{0,8})(?:@([1-9][0-9]{0,5}))?")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_CHECKSUM = re.compile(r"sha256=([0-9a-fA-F]{64})")
_NUMBERS = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE)
_HIDDEN = "***"
_LIST = "kvobs dashboards list"


@dataclass(frozen=True, slots=True)
class Shipped:
    """One of kvobs' own, which an install loads in any case."""

    name: str


@dataclass(frozen=True, slots=True)
class Local:
    """A file, a folder or standard input."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Remote:
    """A dashboard to download."""

    name: str
    """How a person knows it; free of credentials."""
    key: str
    """Under which its checksum is pinned; free of credentials."""
    url: str | None = field(repr=False)
    """Where it is, credentials included; None: on Grafana.com, at the newest revision, whichever that is."""
    grafana_com: int | None = None
    revision: str | None = None
    """None: what stands at the address may change."""
    sha256: str | None = None
    """The checksum that is known beforehand."""

    @property
    def immutable(self) -> bool:
        """Whether the same address always gives the same bytes: then the first download settles the checksum."""
        return self.revision is not None or self.grafana_com is not None or self.sha256 is not None

    @property
    def place(self) -> str:
        """The address without credentials."""
        return shown(self.url) if self.url else f"https://grafana.com/grafana/dashboards/{self.grafana_com}"

    @property
    def file_name(self) -> str:
        """A file name made from what it is called; never a path, never hidden, never long.

        >>> read_origin("https://a.example/x/..%2F..%2Fetc%2Fpasswd?token=s", Catalog(())).file_name
        'passwd.json'
        """
        stem = self.name
        if self.grafana_com is None and self.url and self.name == shown(self.url):
            parts = urlsplit(self.url)
            stem = posixpath.basename(unquote(parts.path).rstrip("/")) or parts.hostname or ""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", stem.removesuffix(".json")).strip(".-_")[:100].strip(".-_")
        return f"{plain or 'dashboard'}.json"


Origin = Shipped | Local | Remote


def read_origin(text: str, catalog: Catalog) -> Origin:
    """Say what *text* names; raise UsageError for what can name no dashboard.

    A bare word that the catalogue knows is its name; `./word` is always a path. A topic with one dashboard names
    it, one with several is an error that lists them.

    >>> read_origin("grafana:12239@2", Catalog(())).url
    'https://grafana.com/api/dashboards/12239/revisions/2/download'
    >>> read_origin("./vllm", Catalog(()))
    Local(path='./vllm')
    """
    if text in SHIPPED:
        return Shipped(text)
    entry = catalog.named(text)
    if entry is None and (several := catalog.of_topic(text)):
        if len(several) > 1:
            raise UsageError(
                f"{text!r} is the topic of {len(several)} dashboards: {', '.join(each.name for each in several)}",
                hint=f"name one of them; {_LIST} {text} tells them apart",
            )
        (entry,) = several
    if entry is not None:
        return from_catalog(entry)
    if text.startswith("grafana:"):
        return _on_grafana_com(text, catalog)
    if "://" in text:
        return _address(text)
    if not text or "\0" in text:
        raise UsageError(f"{text!r} names no dashboard", hint=f"a file, a folder, an address, or a name of {_LIST}")
    return Local(text)


def from_catalog(entry: Upstream) -> Remote:
    """Return what to download for an entry of the catalogue."""
    key = f"grafana:{entry.grafana_com}@{entry.revision}" if entry.repository is None else entry.url
    return Remote(
        name=entry.name,
        key=key,
        url=entry.url,
        grafana_com=entry.grafana_com if entry.repository is None else None,
        revision=entry.revision,
        sha256=entry.sha256,
    )


def at_revision(remote: Remote, revision: int, catalog: Catalog) -> Remote:
    """Return the dashboard of Grafana.com that *remote* names without a revision, at *revision*."""
    return _on_grafana_com(f"grafana:{remote.grafana_com}@{revision}", catalog)


def unknown_name(text: str, catalog: Catalog) -> DocumentError:
    """Return the error for a word that is neither a path nor a name of the catalogue, with what may be meant."""
    if not _NAME.fullmatch(text):
        return DocumentError(f"{text} does not exist")
    known = [*SHIPPED, *(each.name for each in catalog), *catalog.topics]
    near = difflib.get_close_matches(text, dict.fromkeys(known), n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return DocumentError(f"{text} is no file here, and no dashboard that kvobs knows", hint=f"{meant}{_LIST}")


def shown(url: str) -> str:
    """Return an address as it may be shown: without user, password, and whatever its query or fragment says.

    >>> shown("https://me:pa55@a.example:8443/d.json?token=s3cret&raw#sha256=00")
    'https://***@a.example:8443/d.json?token=***&raw=***'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        query = "&".join(f"{_plain(name)}={_HIDDEN}" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        return "an address that cannot be read"
    if ":" in host:
        host = f"[{host}]"
    where = (f"{_HIDDEN}@" if "@" in parts.netloc else "") + host + (f":{port}" if port else "")
    return _plain(urlunsplit((parts.scheme, where, parts.path, query, "")))


def secrets_of(url: str) -> set[str]:
    """Return what must not be seen of an address, wherever a library's own message may repeat it."""
    parts = urlsplit(url)
    values = {parts.username, parts.password, *(value for _, value in parse_qsl(parts.query)), parts.query}
    return {each for value in values if value for each in (value, unquote(value))}


def check_address(url: str, *, after: str | None = None) -> None:
    """Raise UsageError for an address that nothing may be downloaded from; *after* is the one that led there.

    Only https is proof against a change on the way; plain http is for a server on this machine. A redirect from
    elsewhere leads to nothing on this machine and to no link-local address: that is where clouds keep credentials.
    A name that resolves to such an address passes: whoever answers there needs a certificate for that name.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError("the address of a dashboard cannot be read", hint="https://HOST/PATH") from error
    said = f"{shown(after)} leads to {shown(url)}" if after else shown(url)
    if parts.scheme not in ("https", "http") or not host:
        raise UsageError(f"{said}: nothing but https is downloaded", hint="give https://HOST/PATH, or a FILE")
    if parts.scheme == "http" and not _is_here(host):
        raise UsageError(
            f"{said}: over plain http anybody on the way can change it",
            hint="give its https address, or download it yourself and give the FILE",
        )
    if after and (_is_link_local(host) or (_is_here(host) and not _is_here(urlsplit(after).hostname or ""))):
        raise UsageError(f"{said}, which is an address of this machine", hint="give the address of the file itself")


def _on_grafana_com(text: str, catalog: Catalog) -> Remote:
    match = _GRAFANA.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not grafana:ID or grafana:ID@REVISION", hint="for example grafana:12239@2")
    number, revision = int(match[1]), match[2]
    if revision is None:
        return Remote(name=text, key=text, url=None, grafana_com=number)
    entry = catalog.on_grafana_com(number, int(revision))
    return Remote(
        name=text,
        key=text,
        url=grafana_com_url(number, int(revision)),
        grafana_com=number,
        revision=revision,
        sha256=entry.sha256 if entry else None,
    )


def _address(text: str) -> Remote:
    check_address(text)
    parts = urlsplit(text)
    checksum = _CHECKSUM.fullmatch(parts.fragment)
    if parts.fragment.startswith("sha256") and checksum is None:
        raise UsageError(f"{shown(text)}: #sha256= wants 64 hexadecimal digits", hint="sha256sum FILE prints them")
    url = urlunsplit(parts._replace(fragment=""))
    return Remote(
        name=shown(url),
        # The key is written down: of an address it says nothing but whether it is the same one.
        key="url:" + hashlib.sha256(_without_user(parts).encode("utf-8", "surrogatepass")).hexdigest(),
        url=url,
        sha256=checksum[1].lower() if checksum else None,
    )


def _without_user(parts: SplitResult) -> str:
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def _is_here(host: str) -> bool:
    address = _ip_address(host)
    if address is not None:
        return address.is_loopback
    return host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost")


def _is_link_local(host: str) -> bool:
    address = _ip_address(host)
    if address is not None:
        return address.is_link_local or address.is_unspecified
    # 127.1 and 2852039166 are no addresses here, but they are to the system.
    return _NUMBERS.fullmatch(host) is not None


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None) or address


def _plain(text: str) -> str:
    """Leave out what would move a terminal's cursor."""
    return "".join(each if each.isprintable() else "?" for each in text)
