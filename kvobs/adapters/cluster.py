"""The Kubernetes API server: objects as plain dicts, in and out.

Paths come from aggregated discovery, kept on the instance and never on disk. Every request has a time-out.
Errors are those of `kvobs.errors`; no message, log or repr holds a credential or a Secret's content.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..errors import ApiError, ClusterUnreachable, Conflict
from ..stack.facts import Object, Ref
from ..stack.objects import OURS, kind_of, ref
from .access_reviews import AccessReviews
from .apiserver import ApiServer, Params
from .discovery import Catalog, Resource
from .discovery import Discovery as Discovery
from .kubeconfig import Access, find_access
from .port_forward import Pods
from .refusals import Attempt, Reply, refusal, unreadable
from .services import Services

Objects = list[Object]
Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]
PatchType = Literal["merge", "json", "strategic"]

_JSON = "application/json"
_DISCOVERY_KINDS = frozenset({"APIGroupDiscoveryList", "APIVersions", "APIGroupList", "APIResourceList"})
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_PATCH_TYPES: Mapping[PatchType, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}

PAGE = 500
"""Objects asked for at once, as kubectl does."""

LIST_TRIES = 3
"""How often a list is begun, when the server forgets the place in it (410) before the end is reached."""


class Cluster:
    """One API server, as one user."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.services = Services(server)
        """Those that run on it, asked through it."""
        self.pods = Pods(server)
        """Those that run on it, connected to through it."""
        self._catalog = Catalog(self._discovery_document)
        self._reviews = AccessReviews(self._review, self._catalog)

    @classmethod
    def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        *,
        request_timeout_s: float = 30.0,
        insecure: bool = False,
        environ: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Cluster:
        """The cluster that kubectl would talk to: by the given file, $KUBECONFIG, ~/.kube/config, or the pod.

        With `insecure` its certificate is not verified.
        Nothing is asked yet, but a login plugin runs. KubeconfigError says what is wrong with the
        configuration, Unauthenticated that the plugin gives no credentials.
        """
        access = find_access(kubeconfig, context, environ=environ, insecure=insecure)
        return cls(ApiServer(access, request_timeout_s=request_timeout_s, sleep=sleep))

    def __repr__(self) -> str:
        return f"Cluster({self._access.server!r}, context={self._access.context!r})"

    @property
    def _access(self) -> Access:
        return self._server.access

    @property
    def server(self) -> str:
        """The server's URL, as it may be shown."""
        return self._access.server

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    # --- what is served ---

    def server_version(self) -> str:
        """The version of Kubernetes, as in `v1.36.3`."""
        version = self._json("GET", "/version", Attempt("ask", "the version of Kubernetes")).get("gitVersion")
        return str(version or "unknown")

    def discover(self) -> Discovery:
        """The kinds that the server serves now, in two requests."""
        return self._catalog.ask()

    def _discovery_document(self, path: str, accept: str) -> Mapping[str, Any]:
        attempt = Attempt("ask", f"what is served ({path})")
        document = self._json("GET", path, attempt, accept=accept)
        if document.get("kind") not in _DISCOVERY_KINDS:
            raise ClusterUnreachable(
                f"{self.server} answers, but not as a Kubernetes API server does",
                hint=f"{self._access.kubectl} cluster-info says what is there",
            )
        return document

    def _resource_for(self, kind: str, attempt: Attempt) -> Resource:
        resource = self._catalog.find(kind)
        if resource is None:
            raise ApiError(
                f"{attempt}: the cluster does not serve {kind}",
                status=404,
                reason="NotFound",
                hint="its CustomResourceDefinition is missing; the operator for such objects brings it",
            )
        return resource

    # --- reading ---

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
        metadata_only: bool = False,
    ) -> Objects:
        """All objects of a kind, in a namespace or in all; none where the kind is not served.

        With `metadata_only` the server sends nothing else: the content of a Secret does not travel. Each
        object carries its `kind` and `apiVersion`.
        """
        resource = self._catalog.find(kind)
        if resource is None:
            return []
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        attempt = Attempt("list", f"{kind} {where}" if resource.namespaced else kind)
        selectors = {"labelSelector": labels, "fieldSelector": fields}
        params = [("limit", str(PAGE)), *((key, text) for key, text in selectors.items() if text)]
        path = resource.path(namespace=namespace)
        tries = 1
        while True:
            try:
                items = self._pages(path, params, attempt, _METADATA_LIST if metadata_only else _JSON)
                break
            except ApiError as error:
                if error.status != 410 or tries == LIST_TRIES:
                    raise
                tries += 1
        identity = {"apiVersion": resource.api_version, "kind": kind.partition(".")[0]}
        if metadata_only:  # whatever else a server may have sent
            return [{**identity, "metadata": item["metadata"]} for item in items]
        return [{**item, **identity} for item in items]

    def _pages(self, path: str, params: Params, attempt: Attempt, accept: str) -> Objects:
        items: Objects = []
        place: Params = ()
        while True:
            page = self._json("GET", path, attempt, params=[*params, *place], accept=accept)
            items += page.get("items") or ()
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return items
            place = [("continue", token)]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object; None where there is none (or the kind is not served)."""
        resource = self._catalog.find(kind)
        if resource is None:
            return None
        attempt = _attempt("read", Ref(kind, namespace or "", name))
        try:
            return self._json("GET", self._path(resource, namespace, name), attempt)
        except ApiError as error:
            if error.reason == "NotFound":
                return None
            raise

    # --- what is allowed ---

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool:
        """Whether the credentials allow *verb* on a kind; see `AccessReviews`."""
        return self._reviews.may(verb, kind, namespace)

    def allows_everything(self) -> bool:
        """Whether the credentials are those of an administrator; see `AccessReviews`."""
        return self._reviews.allows_everything()

    def allows(
        self, verb: str, group: str, resource: str, namespace: str | None = None, *, name: str = ""
    ) -> bool | None:
        """Whether the credentials allow what a rule of a role says; see `AccessReviews`."""
        return self._reviews.allows(verb, group, resource, namespace, name=name)

    def _review(self, path: str, attempt: Attempt, review: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._json("POST", path, attempt, body=review, repeatable=True, changes=False)

    # --- writing ---

    def apply(
        self,
        obj: Object,
        *,
        dry_run: bool = False,
        force: bool = False,
        field_manager: str = OURS,
        strict: bool = True,
    ) -> Object:
        """Apply the object server-side; the object as it then stands.

        Conflict names the manager of a field that is not ours, unless `force` takes it. A field that the kind
        does not know is refused, and without `strict` dropped. What is applied unchanged keeps its resourceVersion.
        """
        attempt = _attempt("apply", ref(obj))
        params = [("fieldManager", field_manager), ("fieldValidation", "Strict" if strict else "Ignore")]
        params += [("force", "true")] if force else []
        params += [("dryRun", "All")] if dry_run else []
        path = self._object_path(obj, attempt)
        # A second apply of the same does nothing, so that it may be sent again.
        return self._json(
            "PATCH",
            path,
            attempt,
            params=params,
            body=obj,
            content="application/apply-patch+yaml",
            repeatable=True,
            changes=not dry_run,
        )

    def create(self, obj: Object, *, field_manager: str = OURS) -> Object:
        """Create the object; Conflict with reason `AlreadyExists` where another one of that name is there.

        One that says all that *obj* says is the one that was asked for: made by a try whose reply was lost.
        """
        at = ref(obj)
        attempt = _attempt("create", at)
        path = self._object_path(obj, attempt).rpartition("/")[0]
        params = [("fieldManager", field_manager)]
        try:
            return self._json("POST", path, attempt, params=params, body=obj, repeatable=True)
        except Conflict as error:
            live = self.get(at.kind, at.name, at.namespace or None) if error.reason == "AlreadyExists" else None
            if live is None or not _says(live, obj):
                raise
            return live

    def replace(self, obj: Object, *, field_manager: str = OURS) -> Object:
        """Put the object in place of the live one; Conflict where that has another resourceVersion.

        After a lost reply that other one may be ours: whoever meets a Conflict reads what is there, and decides anew.
        """
        attempt = _attempt("replace", ref(obj))
        path = self._object_path(obj, attempt)
        return self._json("PUT", path, attempt, params=[("fieldManager", field_manager)], body=obj, repeatable=True)

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        propagation: Literal["Background", "Foreground", "Orphan"] = "Background",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> bool:
        """Delete the object; False where it was not there.

        With `uid` or `resource_version` only that very object: Conflict where another one has its name.
        """
        resource = self._catalog.find(kind)
        if resource is None:
            return False
        conditions = {"uid": uid, "resourceVersion": resource_version}
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {key: value for key, value in conditions.items() if value is not None},
        }
        attempt = _attempt("delete", Ref(kind, namespace or "", name))
        path = self._path(resource, namespace, name)
        try:
            self._json("DELETE", path, attempt, body=options, repeatable=True)
        except ApiError as error:
            if error.reason == "NotFound":
                return False
            raise
        return True

    # --- through the API server ---

    def proxy_get(
        self, namespace: str, service: str, port: str | int, path: str, params: Params = ()
    ) -> tuple[int, bytes]:
        """GET from a Service, through the API server: (HTTP status, body) as the Service gave them; see `Services`."""
        reply = self.services.request("GET", namespace, service, port, path, params=params)
        return reply.status, reply.body

    # --- one request ---

    def _path(self, resource: Resource, namespace: str | None, name: str) -> str:
        if resource.namespaced and not namespace:
            raise ValueError(f"{resource.kind} {name} needs a namespace")
        return resource.path(namespace=namespace, name=name)

    def _object_path(self, obj: Object, attempt: Attempt) -> str:
        resource = self._resource_for(kind_of(obj), attempt)
        at = ref(obj)
        if resource.namespaced and not at.namespace:
            raise ValueError(f"{at} needs a namespace")
        return resource.path(namespace=at.namespace, name=at.name, api_version=str(obj["apiVersion"]))

    def _json(
        self,
        method: str,
        path: str,
        attempt: Attempt,
        *,
        params: Params = (),
        body: Any = None,
        accept: str = _JSON,
        content: str = _JSON,
        repeatable: bool = False,
        changes: bool = True,
    ) -> dict[str, Any]:
        headers = {"Accept": accept} | ({"Content-Type": content} if body is not None else {})
        encoded = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        reply = self._server.send(
            method,
            path,
            params=params,
            headers=headers,
            body=encoded,
            repeatable=repeatable or method == "GET",
            changes=changes,
        )
        if not reply.ok:
            raise refusal(reply, attempt, self._access)
        document = _document(reply)
        if document is None:
            raise unreadable(reply, attempt, self._access)
        return document


def _document(reply: Reply) -> dict[str, Any] | None:
    try:
        document = json.loads(reply.body)
    except ValueError:
        return None
    return document if isinstance(document, dict) and document else None


def _says(live: Any, wanted: Any) -> bool:
    """Whether *live* holds everything that *wanted* does; the server adds defaults and metadata of its own."""
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(_says(live.get(key), value) for key, value in wanted.items())
    return bool(live == wanted)


def _attempt(verb: str, at: Ref) -> Attempt:
    kubectl_name = f"{at.kind.partition('.')[0].lower()}/{at.name}" + (f" -n {at.namespace}" if at.namespace else "")
    return Attempt(verb, str(at), secret=at.kind == "Secret", kubectl_name=kubectl_name)
