"""The way to a Prometheus by a port-forward to one of its pods: requests as to any address, credentials included."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import replace

import urllib3
from urllib3 import exceptions as http
from urllib3.connection import HTTPConnection
from urllib3.util.ssltransport import SSLTransport

from ..errors import ApiError, Forbidden, KvobsError
from ..health.answers import NoAnswer
from ..stack.prometheus_pods import RIGHTS, WEB_PORT, PodPort
from .port_forward import PodRefused, Pods, PodSocket
from .prometheus_transport import Address, Failed, Method, OverHttp, Params, unreached
from .refusals import Reply

_CONNECT_S = 10.0

Connection = PodSocket | SSLTransport


class OverPod:
    """Through the API server and a kubelet, to a ready pod; to another one where that has gone."""

    prefers_post = True

    def __init__(
        self,
        pods: Pods,
        choose: Callable[[], PodPort | None],
        *,
        namespace: str,
        name: str,
        credentials: Address,
        prefix: str = "",
        https: bool = False,
        connections: int,
    ) -> None:
        """Nothing is asked yet. *choose* finds the pod of Prometheus *namespace*/*name*; None: none is ready.

        *credentials*: what lets in, its address left aside. With *https* the pod's certificate is not verified, as the
        API server's proxy does not: it is the API server that vouches for the pod.
        """
        self._pods, self._choose = pods, choose
        self._namespace, self._name, self._prefix = namespace, name, prefix
        self._tls = _unverified() if https else None
        self._look = f"kubectl -n {namespace} get pods -l operator.prometheus.io/name={name} shows whether it runs"
        self._to: PodPort | None = None
        self._stale = False
        # What the kubelet dials is the pod's own localhost. TLS, where there is any, is within the connection.
        self._http = OverHttp(
            replace(credentials, url=f"http://localhost{prefix}"),
            connections=connections,
            pool=_pool_of(self._connect, connections),
            place=f"Prometheus (a pod of {namespace}/{name}, by port-forward)",
            look=self._look,
        )

    def __repr__(self) -> str:
        return f"OverPod({self.place!r})"

    @property
    def place(self) -> str:
        """The server, as messages name it: by its pod, once there was one."""
        return self._http.place

    @property
    def credentials_hint(self) -> str:
        """What to do where the server takes no credentials, or wants others."""
        return self._http.credentials_hint

    @property
    def by_hand(self) -> str:
        """What a person types to go the same way."""
        to = self._to or PodPort(namespace=self._namespace, pod=f"prometheus-{self._name}-0", port=WEB_PORT)
        scheme = "https" if self._tls else "http"
        return (
            f"kubectl -n {to.namespace} port-forward pod/{to.pod} 9090:{to.port}, then"
            f" --prometheus {scheme}://127.0.0.1:9090{self._prefix}"
        )

    def send(self, method: Method, path: str, params: Params, *, max_bytes: int, timeout_s: float) -> Reply:
        """Send a request; the reply, whatever its status. Raises `Failed` or `TooLarge`."""
        try:
            return self._http.send(method, path, params, max_bytes=max_bytes, timeout_s=timeout_s)
        except Failed as failure:
            told = self._told(failure)
            self._stale = self._stale or told.passing
            raise told from failure.__cause__
        except KvobsError as error:
            self._stale = True
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # --- one connection ---

    def _connect(self, timeout_s: float) -> Connection:
        pod = self._pods.connect(self._chosen(), timeout_s=timeout_s)
        pod.settimeout(timeout_s)  # urllib3 sets none before it has sent the first request
        if self._tls is None:
            return pod
        try:
            with pod.together():
                return SSLTransport(pod, self._tls, server_hostname="localhost")  # type: ignore[arg-type]
        except BaseException:
            pod.close()
            raise

    def _chosen(self) -> PodPort:
        # Threads that get here at once each look for a pod: with a lock they would wait for each other's time-outs.
        to = self._to
        if to is None or self._stale:
            to = self._choose()
            if to is None:
                said = f"{self.place}: no pod of it is ready"
                raise Failed(NoAnswer(said=said, hint=self._look, lasting=True), passing=True)
            self._to, self._stale = to, False
            self._http.place = f"Prometheus ({to}, by port-forward)"
        return to

    # --- what fails ---

    def _told(self, failure: Failed) -> Failed:
        """The failure of a request, with the kubelet's word where it has one."""
        cause = failure.__cause__
        refused = next((each for each in getattr(cause, "args", ()) if isinstance(each, PodRefused)), None)
        if refused is not None:
            said = f"{self.place}: the kubelet says: {refused}"
            answer = NoAnswer(said=said, hint=self._look, lasting=True)
            return Failed(answer, passing=True, refused="connection refused" in str(refused))
        if isinstance(cause, http.SSLError):
            hint = (
                f"kubectl -n {self._namespace} get prometheus {self._name} -o yaml shows which TLS it wants (spec.web)"
            )
            return Failed(replace(failure.answer, hint=hint), passing=failure.passing)
        return failure

    def _failed(self, error: KvobsError) -> Failed:
        said = f"{self.place}: {error}"
        if isinstance(error, Forbidden):
            hint = f"the right to {RIGHTS} is missing: an administrator can give it; or {self.by_hand}"
            return Failed(NoAnswer(said=said, hint=hint, lasting=True, denied=True), passing=False)
        if isinstance(error, ApiError):
            # A pod that is gone (404) has a successor, and what a restarting node answers passes.
            passing = error.status in (404, 429, 500, 502, 503, 504)
            return Failed(NoAnswer(said=said, hint=f"{self._look}; or {self.by_hand}", lasting=True), passing=passing)
        return unreached(error, said)


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _pool_of(connect: Callable[[float], Connection], connections: int) -> urllib3.PoolManager:
    """Return a pool whose connections come from *connect*, whatever address they are asked for."""

    class Forwarded(HTTPConnection):
        def connect(self) -> None:
            timeout_s = self.timeout if isinstance(self.timeout, int | float) else _CONNECT_S
            try:
                self.sock = connect(timeout_s)
            except TimeoutError as error:
                raise http.ConnectTimeoutError(self, f"no connection within {timeout_s:g} s") from error
            except ConnectionError as error:
                # urllib3 lets it pass while a request is sent (reset, broken pipe): an answer may have come already.
                raise http.ProtocolError("Connection aborted.", error) from error

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Forwarded

    manager = urllib3.PoolManager(num_pools=1, maxsize=connections, block=False)
    manager.pool_classes_by_scheme = {"http": Pool}
    return manager
