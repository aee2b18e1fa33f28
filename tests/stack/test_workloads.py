"""Small readings of raw objects: who tracks them, which of them is a Prometheus Operator."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.workloads import operators, tracked_by

RELEASE = {"meta.helm.sh/release-name": "kps"}
HELM = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "kps"}
CHART = {"helm.sh/chart": "grafana-12.11.1"}
WITHOUT_HELM = "something that renders charts without Helm (Argo CD, helm template)"


@pytest.mark.parametrize(
    ("labels", "annotations", "tool"),
    [
        (HELM | CHART, RELEASE, None),
        ({"app.kubernetes.io/instance": "kps"}, {}, None),
        (HELM, {}, WITHOUT_HELM),
        (CHART, {}, WITHOUT_HELM),
        (HELM, {"argocd.argoproj.io/tracking-id": "obs:apps/Deployment:mon/g"}, "Argo CD application obs"),
        (HELM | {"argocd.argoproj.io/instance": "obs"}, {}, "Argo CD application obs"),
        (HELM | {"helm.toolkit.fluxcd.io/name": "g"}, RELEASE, "Flux HelmRelease mon/g"),
        ({"kustomize.toolkit.fluxcd.io/name": "k", "kustomize.toolkit.fluxcd.io/namespace": "flux"}, {},
         "Flux Kustomization flux/k"),
    ],
    ids=[
        "Helm", "a label that every chart has", "Argo CD by its label", "a chart without its release",
        "Argo CD by its annotation", "Argo CD by a label of its own", "Flux's Helm", "Flux's Kustomize",
    ],
)  # fmt: skip
def test_tracked(labels: dict[str, str], annotations: dict[str, str], tool: str | None) -> None:
    """Who would undo a change is told by what it leaves on the object, and by what Helm would have left."""
    each = {"metadata": {"name": "g", "namespace": "mon", "labels": labels, "annotations": annotations}}

    assert tracked_by(each) == tool


def deployment(image: str, *args: str, **labels: str) -> dict[str, Any]:
    """Return a Deployment of one container."""
    spec = {"template": {"spec": {"containers": [{"name": "x", "image": image, "args": list(args)}]}}}
    return {"metadata": {"name": "o", "namespace": "mon", "labels": labels}, "spec": spec}


@pytest.mark.parametrize(
    ("candidate", "is_one"),
    [
        (deployment("quay.io/prometheus-operator/prometheus-operator:v0.93.1"), True),
        (deployment("rancher/mirrored-prometheus-operator-prometheus-operator:v0.80.0"), True),
        (deployment("registry.local/x@sha256:12", "--prometheus-config-reloader=y"), True),
        (deployment("registry.local/x@sha256:12", **{"app.kubernetes.io/name": "prometheus-operator"}), True),
        (deployment("quay.io/prometheus-operator/admission-webhook:v0.93.1"), False),
        (deployment("acme/operator", "--image=prometheus-operator"), False),
    ],
    ids=["image", "mirror", "arguments", "label", "its webhook", "named as an argument"],
)
def test_operator(candidate: dict[str, Any], is_one: bool) -> None:
    """By the image, also behind a mirror's prefix, by what only this operator is told, or by its label."""
    assert bool(operators([candidate])) is is_one
