"""What a kube-prometheus-stack release leaves behind when Helm uninstalls it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .applyset import Record
from .chart import StackNames
from .facts import Object, Ref

CRD_KIND = "CustomResourceDefinition.apiextensions.k8s.io"
KUBELET_SERVICE = "--kubelet-service="
"""Argument of the Prometheus Operator: NAMESPACE/NAME of the Service and Endpoints it keeps for the kubelets."""


def left_by_release(names: StackNames) -> dict[str, Any]:
    """Return, for the record, what the operator and the chart's hook Jobs of a release make under these *names*.

    None of it has an owner reference or an entry in the release, so Helm does not know it.
    """
    return {
        "full_name": names.full,
        "kubelet_service": list(names.kubelet_service) if names.kubelet_service else None,
        "admission_secret": [names.namespace, names.admission_secret] if names.admission_secret else None,
    }


def leftovers(record: Record) -> tuple[Ref, ...]:
    """Return what a release of ours leaves: the kubelets' Service with its endpoints, the webhook's Secret."""
    if record.release is None:
        return ()
    found: list[Ref] = []
    if kubelets := record.settings.get("kubelet_service"):
        found += [Ref("Service", *kubelets), Ref("Endpoints", *kubelets)]
    if admission := record.settings.get("admission_secret"):
        found.append(Ref("Secret", *admission))
    return tuple(found)


def kubelet_service_in_use(service: Ref, deployments: Iterable[Object]) -> bool:
    """Whether another Prometheus Operator keeps the kubelets' Service of that name."""
    argument = f"{KUBELET_SERVICE}{service.namespace}/{service.name}"
    return any(
        argument in (container.get("args") or ())
        for deployment in deployments
        if not deployment["metadata"].get("deletionTimestamp")
        for container in deployment["spec"]["template"]["spec"].get("containers", ())
    )


def operator_crds(definitions: Iterable[Object]) -> list[Object]:
    """Return the CRDs of the Prometheus Operator."""
    return [each for each in definitions if each["spec"]["group"] == "monitoring.coreos.com"]


def volumes(record: Record, claims: Iterable[Object]) -> list[Object]:
    """Return the claims of the release's Prometheus and Alertmanager, by the labels their StatefulSets give them."""
    full = record.settings.get("full_name")
    names = {full, f"{full}-prometheus", f"{full}-alertmanager"}
    return [
        each
        for each in claims
        if (each["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == "prometheus-operator"
        and (each["metadata"].get("labels") or {}).get("app.kubernetes.io/instance") in names
    ]
