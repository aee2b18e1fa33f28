"""What an API server serves: kinds, their preferred version, their place in URLs.

Aggregated discovery answers in two requests; servers without it (before 1.27) are asked group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from ..errors import ApiError

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT = ",".join((_AGGREGATED.format("v2"), _AGGREGATED.format("v2beta1"), "application/json"))
"""Aggregated discovery, its beta, or the plain documents: the server takes the first that it knows."""

GetJson = Callable[[str, str], Mapping[str, Any]]
"""(path, Accept header) -> the JSON document."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """One served kind, in the version that the server prefers."""

    kind: str
    """With its group: `ServiceMonitor.monitoring.coreos.com`, `ConfigMap`."""
    version: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return self.kind.partition(".")[2]

    @property
    def api_version(self) -> str:
        """As objects spell it: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None, name: str | None = None, api_version: str | None = None) -> str:
        """The URL path of the collection, or of the object `name` in it; a namespace only where one fits."""
        version = api_version or self.api_version
        parts = ["apis" if "/" in version else "api", *version.split("/")]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        return "/" + "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The kinds that an API server serves."""

    resources: Mapping[str, Resource] = field(default_factory=dict)
    """Kind with its group -> where it is served."""
    unavailable: frozenset[str] = frozenset()
    """Groups whose own server does not answer: their kinds are unknown, which is not the same as absent."""

    @property
    def kinds(self) -> frozenset[str]:
        """Every served kind, with its group."""
        return frozenset(self.resources)


class Catalog:
    """Finds kinds, and remembers the last answer: in memory only."""

    def __init__(self, get_json: GetJson) -> None:
        self._get_json = get_json
        self._last: Discovery | None = None

    def ask(self) -> Discovery:
        """What the server serves now."""
        self._last = discover(self._get_json)
        return self._last

    def find(self, kind: str) -> Resource | None:
        """Where the kind is served; None where it is not, also when asked once more.

        ApiError (503) where its group does not answer: then nobody knows.
        """
        last = self._last or self.ask()
        found = last.resources.get(kind)
        if found is None:  # a CRD may have come since
            last = self.ask()
            found = last.resources.get(kind)
        group = kind.partition(".")[2]
        if found is None and group in last.unavailable:
            raise ApiError(
                f"the API group {group} does not answer, so nothing is known about {kind}",
                status=503,
                reason="ServiceUnavailable",
                hint="kubectl get apiservice shows what is wrong with it",
            )
        return found


def discover(get_json: GetJson) -> Discovery:
    """Ask what is served: two requests where the server aggregates, one for each group and version else."""
    resources: dict[str, Resource] = {}
    unavailable: set[str] = set()
    for root in ("/api", "/apis"):
        document = get_json(root, ACCEPT)
        if document.get("kind") == "APIGroupDiscoveryList":
            found, missing = _aggregated(document)
        else:
            found, missing = _group_by_group(root, document, get_json)
        for resource in found:
            # Versions come in the order of preference: the first one that has a kind is the preferred one.
            resources.setdefault(resource.kind, resource)
        unavailable |= missing
    return Discovery(resources, frozenset(unavailable))


def _aggregated(document: Mapping[str, Any]) -> tuple[list[Resource], set[str]]:
    found: list[Resource] = []
    missing: set[str] = set()
    for item in document.get("items") or ():
        group = item["metadata"].get("name") or ""
        for version in item.get("versions") or ():
            if version.get("freshness") == "Stale":
                missing.add(group)
            for entry in version.get("resources") or ():
                # An entry without a kind stands for subresources only.
                kind = (entry.get("responseKind") or {}).get("kind")
                if kind:
                    found.append(
                        Resource(
                            kind=_with_group(kind, group),
                            version=version["version"],
                            plural=entry["resource"],
                            namespaced=entry.get("scope") == "Namespaced",
                            verbs=frozenset(entry.get("verbs") or ()),
                        )
                    )
    return found, missing


def _group_by_group(root: str, document: Mapping[str, Any], get_json: GetJson) -> tuple[list[Resource], set[str]]:
    found: list[Resource] = []
    missing: set[str] = set()
    for group, version in _group_versions(document):
        path = f"{root}/{group}/{version}" if group else f"{root}/{version}"
        try:
            listed = get_json(path, "application/json")
        except ApiError as error:
            # An aggregated server that is down takes its own groups with it, not the others.
            if error.status not in (404, 500, 502, 503, 504):
                raise
            missing.add(group)
            continue
        found.extend(_plain(listed.get("resources") or (), group, version))
    return found, missing


def _group_versions(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for version in document.get("versions") or ():
        yield "", version
    for group in document.get("groups") or ():
        preferred = (group.get("preferredVersion") or {}).get("version")
        versions = [one["version"] for one in group.get("versions") or ()]
        for version in sorted(versions, key=lambda one: one != preferred):
            yield group["name"], version


def _plain(entries: Iterable[Mapping[str, Any]], group: str, version: str) -> Iterator[Resource]:
    for entry in entries:
        if "/" not in entry["name"]:  # a subresource
            yield Resource(
                kind=_with_group(entry["kind"], group),
                version=version,
                plural=entry["name"],
                namespaced=bool(entry.get("namespaced")),
                verbs=frozenset(entry.get("verbs") or ()),
            )


def _with_group(kind: str, group: str) -> str:
    return f"{kind}.{group}" if group else kind
