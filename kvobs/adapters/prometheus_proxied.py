"""The way to a Prometheus through the API server, to the Service in front of it."""

from __future__ import annotations

from ..errors import ApiError, Forbidden, KvobsError, Unauthenticated
from ..health.answers import NoAnswer
from .prometheus_transport import Failed, Method, Params, unreached
from .refusals import Reply
from .services import Services

RIGHT = "get services/proxy (Role kvobs-prove of kvobs render --rbac)"


class OverCluster:
    """Through the API server, to a Service."""

    prefers_post = False
    """GET needs the right to get services/proxy, which more roles give than that to create it."""

    def __init__(
        self,
        services: Services,
        *,
        namespace: str,
        service: str,
        port: str | int,
        prefix: str = "",
        https: bool = False,
    ) -> None:
        self._services = services
        self._namespace, self._service, self._port = namespace, service, port
        self._prefix, self._https = prefix, https
        self.place = f"Prometheus (Service {namespace}/{service}, port {port})"

    def __repr__(self) -> str:
        return f"OverCluster({self.place!r})"

    @property
    def credentials_hint(self) -> str:
        """What to do where the server takes no credentials, or wants others."""
        return f"the API server passes no credentials on: {self.by_hand}, with KVOBS_PROMETHEUS_TOKEN"

    @property
    def by_hand(self) -> str:
        """What a person types to go around the proxy."""
        port = self._port if str(self._port).isdecimal() else 9090
        scheme = "https" if self._https else "http"
        return (
            f"kubectl -n {self._namespace} port-forward service/{self._service} 9090:{port}, then"
            f" --prometheus {scheme}://127.0.0.1:9090{self._prefix}"
        )

    def send(self, method: Method, path: str, params: Params, *, max_bytes: int, timeout_s: float) -> Reply:
        """Send a request; the reply, whatever its status. Raises `Failed` or `TooLarge`."""
        posted = method == "POST"
        try:
            return self._services.request(
                method,
                self._namespace,
                f"https:{self._service}" if self._https else self._service,
                self._port,
                self._prefix + path,
                params=() if posted else params,
                form=params if posted else None,
                headers={"Accept": "application/json", "Accept-Encoding": "gzip"},
                max_bytes=max_bytes,
                timeout_s=timeout_s,
            )
        except KvobsError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Leave the connection to whoever brought it."""

    def _failed(self, error: KvobsError) -> Failed:
        said, hint, passing = f"{self.place}: {error}", error.hint, False
        if isinstance(error, Forbidden):
            hint = f"the right to {RIGHT} is missing: an administrator can give it; or {self.by_hand}"
        elif isinstance(error, Unauthenticated):
            pass
        elif isinstance(error, ApiError):
            text = str(error)
            if "no endpoints available" in text:
                said, passing = f"{self.place}: the Service has no ready pod", True
                hint = (
                    f"kubectl -n {self._namespace} get pods,endpointslices -l"
                    f" kubernetes.io/service-name={self._service} shows why"
                )
            elif error.status == 404:
                hint = f"kubectl -n {self._namespace} get services shows what is there"
            elif error.status in (429, 500, 502, 503, 504):
                passing = True
                hint = f"kubectl -n {self._namespace} get pods shows whether it runs; or {self.by_hand}"
        else:
            return unreached(error, said)
        denied = isinstance(error, Forbidden)
        return Failed(NoAnswer(said=said, hint=hint, lasting=True, denied=denied), passing=passing)
