"""The Services of a cluster, asked through the API server's proxy: no port-forward, no credentials of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote, urlencode

from .apiserver import ApiServer, Params
from .refusals import Attempt, Reply, refusal, status_of

_FORM = "application/x-www-form-urlencoded"


class Services:
    """Every Service behind one API server."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def request(
        self,
        method: Literal["GET", "POST"],
        namespace: str,
        service: str,
        port: str | int,
        path: str,
        *,
        params: Params = (),
        form: Params | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Ask a Service once; the reply as it gave it, whatever its status.

        What the API server itself refuses (no right, no such Service, no endpoint) is raised. `service` may begin with
        `https:`, for one that speaks it; `port` is a name or a number, `path` begins with a slash. `form` is sent as
        the body. With `max_bytes` no more of a reply is taken: `TooLarge` is raised.
        """
        target = f"/api/v1/namespaces/{quote(namespace, safe='')}/services/{quote(f'{service}:{port}', safe=':')}"
        content = {} if form is None else {"Content-Type": _FORM}
        reply = self._server.send(
            method,
            f"{target}/proxy{quote(path, safe='/')}",
            params=params,
            headers={**content, **(headers or {})},
            body=None if form is None else urlencode(list(form)).encode(),
            repeatable=False,
            changes=False,
            max_bytes=max_bytes,
            timeout_s=timeout_s,
        )
        if not reply.ok and status_of(reply) is not None:
            named = service.removeprefix("https:")
            raise refusal(reply, Attempt("reach", f"Service {namespace}/{named}, port {port}"), self._server.access)
        return reply
