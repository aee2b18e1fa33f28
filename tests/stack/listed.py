"""An API server for tests that only ever lists what it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvobs.adapters.discovery import Discovery, Resource
from kvobs.errors import ApiError, Forbidden
from kvobs.stack.facts import Object
from kvobs.stack.objects import kind_of
from kvobs.stack.selectors import NAME_LABEL, matches, parse_selector

BUILT_IN = (
    *("Namespace", "Node", "Service", "Pod", "ConfigMap", "Secret"),
    *("Deployment.apps", "StatefulSet.apps", "DaemonSet.apps"),
)
"""Kinds that every cluster serves."""

CLUSTER_WIDE = ("Namespace", "Node", "CustomResourceDefinition.apiextensions.k8s.io", "ClusterPolicy.nvidia.com")


@dataclass(frozen=True)
class Listed:
    """An API server that has these objects and answers questions about them as a real one does."""

    objects: Sequence[Object]
    served: frozenset[str]
    denied: frozenset[str] = frozenset()

    def server_version(self) -> str:
        """The version of Kubernetes."""
        return "v1.36.3"

    def discover(self) -> Discovery:
        """The kinds that are served."""
        verbs = frozenset({"get", "list", "patch", "create", "update", "delete"})
        return Discovery(
            {
                kind: Resource(kind=kind, version="v1", plural="", namespaced=kind not in CLUSTER_WIDE, verbs=verbs)
                for kind in self.served
            }
        )

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        metadata_only: bool = False,
    ) -> list[Object]:
        """The objects of a kind, as far as they carry *labels*."""
        self._refuse(kind)
        selector = parse_selector(labels) if labels else {}
        found = [
            each
            for each in map(_as_stored, self.objects)
            if kind_of(each) == kind
            and namespace in (None, each["metadata"].get("namespace"))
            and matches(selector, each["metadata"].get("labels") or {})
        ]
        keys = ("apiVersion", "kind", "metadata")
        return [{key: each[key] for key in keys} for each in found] if metadata_only else found

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object, if it is there."""
        self._refuse(kind)
        named = (each for each in self.list(kind, namespace=namespace) if each["metadata"]["name"] == name)
        return next(named, None)

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """Nothing answers behind any Service."""
        raise ApiError(f"no endpoint behind {namespace}/{service}:{port}{path}", status=503)

    def _refuse(self, kind: str) -> None:
        if kind in self.denied:
            raise Forbidden(f"list {kind}: not allowed", status=403, reason="Forbidden")


def _as_stored(each: Object) -> Object:
    """An object as the API server returns it: a namespace is labelled with its own name."""
    if kind_of(each) != "Namespace":
        return each
    metadata = each["metadata"]
    return {
        **each,
        "metadata": {**metadata, "labels": {NAME_LABEL: metadata["name"], **(metadata.get("labels") or {})}},
    }
