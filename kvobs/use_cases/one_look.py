"""A cluster as one look sees it: what was read is remembered, so that nothing is asked twice.

What was listed whole answers for a namespace, a name and a label too. It gets old: whoever acts takes a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from ..adapters.discovery import Discovery
from ..stack.facts import Object
from .look import ReadCluster

Answer = TypeVar("Answer")


class OneLook:
    """Reads as a `Cluster` does, each thing once. What may not be read is asked again: a refusal is no answer."""

    def __init__(self, cluster: ReadCluster) -> None:
        self._cluster = cluster
        self._answers: dict[Hashable, Any] = {}

    def server_version(self) -> str:
        """As `Cluster.server_version`."""
        return self._once("version", self._cluster.server_version)

    def discover(self) -> Discovery:
        """As `Cluster.discover`."""
        return self._once("kinds", self._cluster.discover)

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
    ) -> list[Object]:
        """As `Cluster.list`; with *metadata_only* an object may come with more, where that was read before."""
        if self._is_unknown(kind):
            return []
        for place in dict.fromkeys((None, namespace)):
            for thin in (False, True) if metadata_only else (False,):
                whole = (kind, place, None, thin)
                if whole in self._answers and (labels is None or _is_simple(labels)):
                    return [each for each in self._answers[whole] if _is_in(each, namespace) and _carries(each, labels)]

        def ask() -> list[Object]:
            return self._cluster.list(kind, namespace=namespace, labels=labels, metadata_only=metadata_only)

        return list(self._once((kind, namespace, labels, metadata_only), ask))

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """As `Cluster.get`."""
        if self._is_unknown(kind):
            return None
        whole = self._answers.get((kind, None, None, False))
        if whole is not None:
            found = (each for each in whole if each["metadata"]["name"] == name and _is_in(each, namespace))
            return cast("Object | None", next(found, None))
        return self._once(("get", kind, name, namespace), lambda: self._cluster.get(kind, name, namespace))

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """As `Cluster.proxy_get`."""
        question = ("proxy", namespace, service, port, path)
        return self._once(question, lambda: self._cluster.proxy_get(namespace, service, port, path))

    def _is_unknown(self, kind: str) -> bool:
        """Whether the cluster serves no such kind, which is not asked again; one whose group is away may be there."""
        served = self.discover()
        return kind not in served.resources and kind.partition(".")[2] not in served.unavailable

    def _once(self, question: Hashable, ask: Callable[[], Answer]) -> Answer:
        if question not in self._answers:
            self._answers[question] = ask()
        return cast(Answer, self._answers[question])


def _is_simple(labels: str) -> bool:
    """Whether a selector is one that `_carries` can read: `key` or `key=value`."""
    return not any(sign in labels for sign in ",!() ") and "==" not in labels


def _carries(each: Object, labels: str | None) -> bool:
    if labels is None:
        return True
    key, equals, value = labels.partition("=")
    there = each["metadata"].get("labels") or {}
    return there.get(key) == value if equals else key in there


def _is_in(each: Object, namespace: str | None) -> bool:
    return namespace is None or each["metadata"].get("namespace") == namespace
