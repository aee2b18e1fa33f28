"""Two ways to one Prometheus: through the API server's proxy, and where that is closed, by a port-forward."""

from __future__ import annotations

from dataclasses import replace

from ..stack.prometheus_pods import RIGHTS
from .prometheus_forwarded import OverPod
from .prometheus_proxied import RIGHT, OverCluster
from .prometheus_transport import Failed, Method, Params, Transport
from .refusals import Reply


class EitherWay:
    """The proxy first. What is refused there for want of a right, or of credentials that are known, goes to a pod.

    The proxy passes no credentials on. They alone are no reason to leave it before the server has asked for some; by a
    port-forward they go with each question. A port-forward that has led to a reply is kept to.
    """

    def __init__(self, proxied: OverCluster, forwarded: OverPod, *, credentials: bool) -> None:
        """Nothing is asked yet. *credentials*: whether *forwarded* has any."""
        self._proxied, self._forwarded = proxied, forwarded
        self._credentials = credentials
        self._way: Transport = proxied

    def __repr__(self) -> str:
        return f"EitherWay({self.place!r})"

    @property
    def place(self) -> str:
        """The server, as messages name it: by the way that is taken."""
        return self._way.place

    @property
    def credentials_hint(self) -> str:
        """What to do where the server takes no credentials, or wants others."""
        if self._way is self._forwarded:
            return self._forwarded.credentials_hint
        needed = f"the API server's proxy passes none on; a port-forward does, with the right to {RIGHTS}"
        return f"{needed}: {self._forwarded.credentials_hint}"

    @property
    def prefers_post(self) -> bool:
        """Whether questions go as forms at once, and not only long ones."""
        return self._way.prefers_post

    def send(self, method: Method, path: str, params: Params, *, max_bytes: int, timeout_s: float) -> Reply:
        """Send a request; the reply, whatever its status. Raises `Failed` or `TooLarge`."""

        def through(way: Transport) -> Reply:
            return way.send(method, path, params, max_bytes=max_bytes, timeout_s=timeout_s)

        if self._way is self._forwarded:
            return through(self._forwarded)
        try:
            reply = through(self._proxied)
        except Failed as closed:
            # Who may not post may be allowed to get, which is asked for next.
            if not closed.answer.denied or method == "POST":
                raise
            try:
                reply = through(self._forwarded)
            except Failed as failure:
                raise self._neither(closed, failure) from failure.__cause__
        else:
            if reply.status != 401 or not self._credentials:
                return reply
            try:
                reply = through(self._forwarded)
            except Failed as failure:
                if failure.answer.denied:
                    return reply
                raise
        self._way = self._forwarded
        return reply

    def close(self) -> None:
        """Close the connections."""
        self._proxied.close()
        self._forwarded.close()

    def _neither(self, closed: Failed, failure: Failed) -> Failed:
        """The failure where the second way leads nowhere either."""
        said = f"{closed.answer.said}; and {failure.answer.said}"
        hint = failure.answer.hint
        if failure.answer.denied:
            said = f"{closed.answer.said}; and {failure.__cause__}"
            right = f"an administrator can give the right to {RIGHT}, or to {RIGHTS}"
            hint = f"{right}; or {self._proxied.by_hand}"
        answer = replace(failure.answer, said=said, hint=hint)
        return Failed(answer, passing=failure.passing, missing=failure.missing, refused=failure.refused)
