"""A thin client for the API server: plain dicts in, plain dicts out, and watches that do not give up."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import kubernetes.client
import kubernetes.config

Object = dict[str, Any]
"""A Kubernetes object, as JSON has it."""


class ApiError(Exception):
    """The API server said no: `status` is the HTTP status, the text the server's own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Busy(ApiError):
    """The API server, or what is behind it, has no time for this request now: 429, 500, 503 or 504."""


BUSY = frozenset({429, 500, 503, 504})


class Unreachable(Exception):
    """The API server could not be asked."""


class Api:
    """The API server that a kubeconfig names. Safe to use from several threads."""

    def __init__(self, kubeconfig: Path) -> None:
        found = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(str(kubeconfig), client_configuration=found)
        trust = ssl.create_default_context(cafile=found.ssl_ca_cert)
        if found.cert_file:
            trust.load_cert_chain(found.cert_file, found.key_file)
        token = found.auth_settings().get("BearerToken", {}).get("value")
        self._http = httpx.Client(
            base_url=found.host,
            verify=trust,
            headers={"Authorization": token} if token else {},
            timeout=30,
            limits=httpx.Limits(max_connections=None),  # each watch holds one
            trust_env=False,
        )
        self._resources: dict[str, dict[str, Object]] = {}

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def request(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json",
        accept: str = "*/*", **params: str,
    ) -> Any:  # fmt: skip
        """Return the answer to one request, decoded where it is JSON; ApiError unless it is a success."""
        content = None if body is None else json.dumps(body)
        headers = {"Accept": accept, **({"Content-Type": content_type} if body is not None else {})}
        try:
            response = self._http.request(method, path, content=content, headers=headers, params=params)
        except httpx.TransportError as error:
            raise Unreachable(f"{method} {path}: {error}") from error
        _refuse_errors(response)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.json() if is_json else response.text

    def path(self, api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path of one object, or of a collection; ApiError 404 if the kind is not served."""
        root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        if kind not in self._resources.get(api_version, {}):
            listing = self.request("GET", root)["resources"]
            self._resources[api_version] = {r["kind"]: r for r in listing if "/" not in r["name"]}
        resource = self._resources[api_version].get(kind)
        if resource is None:
            raise ApiError(404, f"{api_version} has no {kind}")
        if namespace is not None and resource["namespaced"]:
            root += f"/namespaces/{namespace}"
        return f"{root}/{resource['name']}" + (f"/{name}" if name else "")

    def serves(self, api_version: str, kind: str) -> bool:
        """Return whether the server knows the kind."""
        try:
            self.path(api_version, kind)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def lists(self, api_version: str, kind: str) -> bool:
        """Return whether objects of the kind can be listed, and whether aggregated discovery tells of it.

        Of a kind that comes or goes the server says 404 in one place when another has it; or 429.
        """
        group, _, version = api_version.rpartition("/")
        aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        try:
            self.request("GET", self.path(api_version, kind), limit="1")
            groups = self.request("GET", "/apis" if group else "/api", accept=aggregated)["items"]
        except ApiError as error:
            if error.status in (404, 429):
                return False
            raise
        return any(
            each["metadata"].get("name", "") == group
            and one["version"] == version
            and any(resource["responseKind"]["kind"] == kind for resource in one["resources"])
            for each in groups
            for one in each["versions"]
        )

    def path_of(self, obj: Object) -> str:
        """Return the path of *obj*; a namespaced one without a namespace is taken to be in `default`."""
        metadata = obj["metadata"]
        return self.path(obj["apiVersion"], obj["kind"], metadata.get("namespace", "default"), metadata["name"])

    def find(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return one object, None if it (or its kind) is not there."""
        try:
            found: Object = self.request("GET", self.path(api_version, kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return found

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return one object that must be there."""
        found: Object = self.request("GET", self.path(api_version, kind, namespace, name))
        return found

    def list(self, api_version: str, kind: str, namespace: str | None = None, labels: str = "") -> list[Object]:
        """Return the objects of a kind, in one namespace or all, that match the label selector; none if not served.

        Each carries apiVersion and kind, which the server leaves out in lists.
        """
        try:
            listing = self.request("GET", self.path(api_version, kind, namespace), labelSelector=labels)
        except ApiError as error:
            if error.status == 404:
                return []
            raise
        return [{"apiVersion": api_version, "kind": kind, **item} for item in listing["items"]]

    def create(self, obj: Object) -> Object:
        """Create *obj* and return it as the server has it."""
        created: Object = self.request("POST", self.path_of(obj).rsplit("/", 1)[0], obj)
        return created

    def apply(self, *objects: Object, manager: str = "test") -> None:
        """Apply *objects* in order, server side, by force."""
        for obj in objects:
            self.request(
                "PATCH", self.path_of(obj), obj,
                content_type="application/apply-patch+yaml", fieldManager=manager, force="true",
            )  # fmt: skip

    def merge(self, obj: Object, change: Object, *, subresource: str = "") -> Object:
        """Patch *obj* on the server with the merge patch *change*."""
        path = self.path_of(obj) + (f"/{subresource}" if subresource else "")
        changed: Object = self.request("PATCH", path, change, content_type="application/merge-patch+json")
        return changed

    def delete(
        self, api_version: str, kind: str, name: str, namespace: str | None = None, *, grace_s: int | None = None
    ) -> None:
        """Delete one object, its dependents in the background; one that is not there is fine."""
        options: Object = {"propagationPolicy": "Background"}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        try:
            self.request("DELETE", self.path(api_version, kind, namespace, name), options)
        except ApiError as error:
            if error.status != 404:
                raise

    def until(
        self, api_version: str, kind: str, name: str, namespace: str | None,
        holds: Callable[[Object], bool], *, timeout_s: float = 120,
    ) -> Object:  # fmt: skip
        """Return the object as soon as it is there and *holds* says so; AssertionError when time is up."""
        seen: list[Object | None] = [None]

        def wanted() -> Object | None:
            seen[0] = found = self.find(api_version, kind, name, namespace)
            return found if found is not None and holds(found) else None

        try:
            return eventually(wanted, timeout_s=timeout_s)
        except AssertionError as error:
            state = "missing" if seen[0] is None else json.dumps(seen[0].get("status"))[:1000]
            raise AssertionError(f"{kind} {name} is not as wanted after {timeout_s} s: {state}") from error

    def follow(self, api_version: str, kind: str, stopped: threading.Event) -> Iterator[tuple[str, Object]]:
        """Yield (event type, object) until *stopped*: all that is there as ADDED, then every change as it comes.

        A broken connection or an expired watch starts again with all that is there; a kind that is not served yet
        is waited for.
        """
        while not stopped.is_set():
            try:
                path = self.path(api_version, kind)
                listing = self.request("GET", path)
                for item in listing["items"]:
                    yield "ADDED", {"apiVersion": api_version, "kind": kind, **item}
                yield from self._watch(path, listing["metadata"]["resourceVersion"])
            except ApiError as error:
                if error.status not in (404, 410, *BUSY):
                    raise
            except (Unreachable, httpx.TransportError):
                # Nobody waits for the answer here: the next turn asks again.
                pass
            stopped.wait(0.3)

    def _watch(self, path: str, version: str) -> Iterator[tuple[str, Object]]:
        params = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        patience = httpx.Timeout(30, read=None)
        with self._http.stream("GET", path, params=params, timeout=patience) as response:
            if response.is_error:
                response.read()
            _refuse_errors(response)
            for line in response.iter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", 500), event["object"].get("message", ""))
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]


def background(name: str, loop: Callable[[], None], stopped: threading.Event) -> threading.Thread:
    """Return a started thread that runs *loop*; that the API server goes away once *stopped* is set is no error."""

    def run() -> None:
        try:
            loop()
        except Unreachable:
            if not stopped.is_set():
                raise

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


T = TypeVar("T")


def eventually(look: Callable[[], T], *, timeout_s: float = 120, every_s: float = 0.2) -> T:
    """Return the first true answer of *look*; AssertionError with the last answer when time is up.

    There is time for a machine that has a dozen other things to do: whoever is right does not wait for its end. An API
    server that is busy, or a Service that has no ready pod, has not answered yet.
    """
    end = time.monotonic() + timeout_s
    while True:
        last: object
        try:
            last = answer = look()
            if answer:
                return answer
        except Busy as busy:
            last = busy
        if time.monotonic() > end:
            raise AssertionError(f"not so within {timeout_s} s; the last answer was {last!r}")
        time.sleep(every_s)


def _refuse_errors(response: httpx.Response) -> None:
    if response.is_success:
        return
    message = response.text
    if response.headers.get("Content-Type", "").startswith("application/json"):
        message = response.json().get("message", message)
    raise (Busy if response.status_code in BUSY else ApiError)(response.status_code, message)
