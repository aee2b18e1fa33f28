"""A revision of a Helm release, as Helm keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from ..errors import HelmError
from ..stack.facts import Object
from .helm_manifests import manifest_objects


@dataclass(frozen=True, kw_only=True)
class HelmRelease:
    """One revision of a release. What may hold secrets is in no repr."""

    name: str
    namespace: str
    revision: int
    status: str
    """Helm's word: deployed, failed, pending-install, pending-upgrade, uninstalling, …"""
    chart_version: str
    values: Mapping[str, Any] = field(repr=False)
    """What the user supplied (not the chart's defaults)."""
    manifest_text: str = field(default="", repr=False, compare=False)
    """What Helm applied, hooks and CRDs aside."""
    hooks_text: str = field(default="", repr=False, compare=False)
    """The hooks that it ran."""

    @cached_property
    def manifest(self) -> tuple[Object, ...]:
        """The objects of `manifest_text`, read when first asked for; those in the release's namespace may name none.

        Raises `HelmError` where it cannot be read.
        """
        return self._objects("manifest", self.manifest_text)

    @cached_property
    def hooks(self) -> tuple[Object, ...]:
        """The objects of `hooks_text`, as `manifest`; those that have done their work may be gone."""
        return self._objects("hooks", self.hooks_text)

    def _objects(self, what: str, text: str) -> tuple[Object, ...]:
        try:
            return manifest_objects(text)
        except (ValueError, yaml.YAMLError):
            # Neither chained nor repeated: it may hold secrets.
            raise HelmError(
                f"release {self.namespace}/{self.name}, revision {self.revision}: its {what} cannot be read",
                hint=f"helm -n {self.namespace} get {what} {self.name} shows it",
            ) from None


def release_of(told: Mapping[str, Any], chart: Mapping[str, Any], values: Mapping[str, Any]) -> HelmRelease:
    """Return the release in Helm's own document *told*; ValueError, LookupError or TypeError where it is none."""
    return HelmRelease(
        name=told["name"],
        namespace=told["namespace"],
        revision=int(told["version"]),
        status=told["info"]["status"],
        chart_version=str(chart["version"]),
        values=values,
        manifest_text=told.get("manifest") or "",
        hooks_text="\n---\n".join(
            each["manifest"] for each in told.get("hooks") or () if (each.get("last_run") or {}).get("phase")
        ),
    )
