"""Grafana's HTTP API, asked with a token: its dashboards, its data sources, and whether they answer it.

Nothing is written. The token, and a password in the address, go to Grafana alone: no message and no repr has them,
and no redirect is followed with them.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit, urlunsplit

import httpx

from .. import __version__
from ..dashboard.origins import shown
from ..errors import Unanswered, UsageError
from ..health.source_health import read_health
from ..stack.facts import DatasourceFact
from ..stack.provisioned import time_interval_of
from .dashboard_cache import MAX_BYTES
from .grafana import BUILT_IN

PAGE = 1000
"""Dashboards asked for at once."""
_NEWER_FORMS = ("v2", "v2beta1", "v2alpha1")
"""Versions of the dashboards API that hold what the old one cannot show, the newest first."""
_NOT_SHOWN = 406
_MOST_DASHBOARDS = 100_000
"""More than any Grafana has; a server that lists on and on is none."""
_TOKEN = "a token of a service account that may read dashboards and data sources, in GRAFANA_TOKEN"


@dataclass(frozen=True, slots=True)
class Found:
    """One dashboard that a search found."""

    uid: str
    title: str
    folder: str | None


class GrafanaApi:
    """One Grafana, as one user; closed at the end of its `with`."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        ca_file: str | None = None,
        insecure: bool = False,
        timeout_s: float = 15.0,
        deadline_s: float = 60.0,
    ) -> None:
        """Ask nothing yet; raise UsageError for an address or a CA file that cannot be used.

        `timeout_s` is for each silence of the server, `deadline_s` for one answer.
        """
        self._deadline_s = deadline_s
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError("--grafana: the address cannot be read", hint="https://HOST[:PORT][/PATH]") from error
        if parts.scheme not in ("http", "https") or not host:
            raise UsageError(f"--grafana {shown(url)} is no address of a Grafana", hint="https://HOST[:PORT][/PATH]")
        user = (parts.username or "", parts.password or "") if parts.username else None
        self.url = shown(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")))
        headers = {"User-Agent": f"kvobs/{__version__}", "Accept": "application/json"}
        token = (token or "").strip()
        if token:
            if not (token.isascii() and token.isprintable()):
                raise UsageError("GRAFANA_TOKEN holds characters that no token has", hint="set it again, on one line")
            headers["Authorization"] = f"Bearer {token}"
        try:
            self._client = httpx.Client(
                base_url=self.url,
                headers=headers,
                auth=httpx.BasicAuth(*user) if user and not token else None,
                verify=_trusted(ca_file, insecure),
                timeout=timeout_s,
                follow_redirects=False,
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            # Its message repeats the variable, which may hold a password.
            raise UsageError(
                "a proxy that the environment names cannot be used (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY)",
                hint="HTTPS_PROXY=http://HOST:PORT",
            ) from error

    def __repr__(self) -> str:
        return f"GrafanaApi({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def search(self) -> Iterator[Found]:
        """Yield every dashboard that the user may see."""
        seen: set[str] = set()
        for page in range(1, _MOST_DASHBOARDS // PAGE + 1):
            listed = self._json("/api/search", {"type": "dash-db", "limit": str(PAGE), "page": str(page)})
            rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
            new = {uid: each for each in rows if isinstance(uid := each.get("uid"), str) and uid not in seen}
            for uid, each in new.items():
                folder = each.get("folderTitle")
                yield Found(uid, str(each.get("title") or ""), folder if isinstance(folder, str) else "General")
            if len(rows) < PAGE or not new:
                return
            seen.update(new)
        raise Unanswered(
            f"Grafana {self.url} lists more than {_MOST_DASHBOARDS:,} dashboards",
            hint="name those that are to be verified: export them, and give the files",
        )

    def dashboard(self, uid: str) -> dict[str, Any] | None:
        """Return the document of one dashboard, in the form that it was saved in; None where it is gone."""
        name = _segment(uid)
        status, body = self._get(f"/api/dashboards/uid/{name}")
        if status == _NOT_SHOWN:
            status, body = self._newer_form(name)
        if status == httpx.codes.NOT_FOUND:
            return None
        document = self._document(f"dashboard {uid}", status, body)
        if not isinstance(document, dict):
            raise self._odd(f"dashboard {uid}")
        inner = document.get("dashboard")
        return inner if isinstance(inner, dict) else document

    def _newer_form(self, name: str) -> tuple[int, bytes]:
        """Return what the dashboards API says in the newest version that it has; 406 where it has none of them."""
        namespace = self._namespace()
        for version in _NEWER_FORMS:
            path = f"/apis/dashboard.grafana.app/{version}/namespaces/{namespace}/dashboards/{name}"
            status, body = self._get(path)
            if status != httpx.codes.NOT_FOUND:
                return status, body
        return _NOT_SHOWN, b""

    def _namespace(self) -> str:
        """Return how the newer API calls this user's organisation."""
        status, body = self._get("/api/frontend/settings")
        settings = self._document("its settings", status, body) if status == httpx.codes.OK else None
        told = settings.get("namespace") if isinstance(settings, dict) else None
        return _segment(told) if isinstance(told, str) and told else "default"

    def library_panel(self, uid: str) -> dict[str, Any] | None:
        """Return the model of a library panel; None where it is gone."""
        status, body = self._get(f"/api/library-elements/{_segment(uid)}")
        if status == httpx.codes.NOT_FOUND:
            return None
        told = self._document(f"library panel {uid}", status, body)
        result = told.get("result") if isinstance(told, dict) else None
        model = result.get("model") if isinstance(result, dict) else None
        return model if isinstance(model, dict) else None

    def datasources(self) -> tuple[DatasourceFact, ...]:
        """Return its data sources: with their addresses where the user may read those, else what everybody sees."""
        where = f"the API of Grafana {self.url}"
        status, body = self._get("/api/datasources")
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            settings = self._json("/api/frontend/settings")
            told = settings.get("datasources") if isinstance(settings, dict) else None
            rows = [{"name": name, **each} for name, each in told.items()] if isinstance(told, dict) else []
            rows = [{**each, "url": ""} for each in rows]  # a path through Grafana, not where it leads
        else:
            listed = self._document("its data sources", status, body)
            rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return tuple(
            _datasource(each, where)
            for each in rows
            if isinstance(each.get("uid"), str) and each.get("type") not in BUILT_IN
        )

    def health(self, uid: str) -> tuple[bool, str] | None:
        """Whether a data source answers Grafana, and its words; None where the user may not ask, or it cannot tell."""
        _, body = self._get(f"/api/datasources/uid/{_segment(uid)}/health")
        return read_health(body)

    # --- one request ---

    def _json(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        status, body = self._get(path, params)
        return self._document(path, status, body)

    def _document(self, what: str, status: int, body: bytes) -> Any:
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise Unanswered(f"Grafana {self.url} does not let this user read {what} (HTTP {status})", hint=_TOKEN)
        if 300 <= status < 400:
            raise Unanswered(f"Grafana {self.url} leads elsewhere, to a login perhaps (HTTP {status})", hint=_TOKEN)
        if status != httpx.codes.OK:
            raise Unanswered(
                f"Grafana {self.url} answered HTTP {status} for {what}", hint="is it the address of Grafana itself?"
            )
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._odd(what) from error

    def _odd(self, what: str) -> Unanswered:
        return Unanswered(
            f"{self.url} answers, but not as Grafana does ({what})",
            hint="is it Grafana's own address, its path included? A login page in front of it answers like that",
        )

    def _get(self, path: str, params: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        content = bytearray()
        deadline = time.monotonic() + self._deadline_s
        try:
            with self._client.stream("GET", path, params=params) as response:
                for piece in response.iter_bytes():
                    content += piece
                    if time.monotonic() > deadline:
                        raise Unanswered(f"Grafana {self.url} answers too slowly to {path}", hint="try again later")
                    if len(content) > MAX_BYTES:
                        raise Unanswered(f"Grafana {self.url} answers with more than {MAX_BYTES:,} bytes to {path}")
                return response.status_code, bytes(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error) or "no answer"
            raise Unanswered(
                f"Grafana {self.url} could not be asked: {reason}",
                hint=f"curl -sS {self.url}/api/health says whether it is there; a private authority: --ca-file FILE",
            ) from error


def _segment(text: str) -> str:
    """One step of a path; what no text can hold (half a character, in a hostile answer) becomes a question mark."""
    return quote(text, safe="", errors="replace")


def _datasource(each: Mapping[str, Any], where: str) -> DatasourceFact:
    return DatasourceFact(
        uid=each["uid"],
        name=str(each.get("name") or each["uid"]),
        type=str(each.get("type") or ""),
        url=str(each.get("url") or ""),
        is_default=each.get("isDefault") is True,
        where=where,
        time_interval=time_interval_of(each),
    )


def _trusted(ca_file: str | None, insecure: bool) -> ssl.SSLContext | bool:
    if insecure:
        return False
    try:
        trusted = httpx.create_ssl_context()
        trusted.load_default_certs()  # a company puts its own authority into the system's store
        if ca_file is not None:
            trusted.load_verify_locations(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"{ca_file or 'SSL_CERT_FILE or SSL_CERT_DIR'} holds no certificates that can be read",
            hint="name a PEM file: -----BEGIN CERTIFICATE-----",
        ) from error
    return trusted
