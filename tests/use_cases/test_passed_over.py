"""What Helm said it had taken away and did not: it goes, where it is still the release's own."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.adapters.helm_release import HelmRelease
from kvobs.stack.facts import Ref
from kvobs.use_cases.passed_over import passed_over

ONE = Ref("ConfigMap", "monitoring", "one")
OURS = {"meta.helm.sh/release-name": "kps", "meta.helm.sh/release-namespace": "monitoring"}
KEPT = {"helm.sh/resource-policy": "keep"}


class Cluster:
    """Holds one ConfigMap, or none."""

    def __init__(self, metadata: dict[str, Any] | None) -> None:
        self.held = metadata
        self.deleted: list[Ref] = []

    def get(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """Return it."""
        there = self.held is not None and Ref(kind, namespace or "", name) == ONE
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self.held} if there else None

    def delete(self, kind: str, name: str, namespace: str | None = None) -> bool:
        """Remember it."""
        self.deleted.append(Ref(kind, namespace or "", name))
        return True


@pytest.mark.parametrize(
    ("metadata", "goes"),
    [
        ({"annotations": OURS}, True),
        (None, False),
        ({"annotations": {**OURS, "meta.helm.sh/release-name": "other"}}, False),
        ({}, False),
        ({"annotations": {**OURS, **KEPT}}, False),
        ({"annotations": OURS, "deletionTimestamp": "2026-01-01T00:00:00Z"}, False),
    ],
    ids=["passed over", "gone", "of another release", "of nobody", "kept", "going"],
)
def test_an_object_after_the_uninstall(metadata: dict[str, Any] | None, goes: bool) -> None:
    """One that is there and the release's is deleted, any other is left; the manifest names no namespace."""
    if metadata is not None:
        metadata = {"name": "one", "namespace": "monitoring", **metadata}
    cluster = Cluster(metadata)
    release = HelmRelease(
        name="kps", namespace="monitoring", revision=1, status="deployed", chart_version="1.0.0", values={},
        manifest_text="---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n",
    )  # fmt: skip
    assert passed_over(cluster, release) == ([ONE] if goes else [])  # type: ignore[arg-type]
    assert cluster.deleted == ([ONE] if goes else [])
