"""What a kube-prometheus-stack release leaves behind when Helm uninstalls it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .applyset import Record
from .facts import Object, Ref

CRD_KIND = "CustomResourceDefinition.apiextensions.k8s.io"
KUBELET_SERVICE = "--kubelet-service="
"""Argument of the Prometheus Operator: NAMESPACE/NAME of the Service and Endpoints it keeps for the kubelets."""


def leftovers(record: Record) -> tuple[Ref, ...]:
    """Return what the operator and the chart's hook Jobs made: no owner reference, and no entry in the release.

    These are the kubelets' Service with its endpoints, and the Secret of the admission webhook, by the names that
    the record has of them.
    """
    found: list[Ref] = []
    if record.release is not None:
        match record.settings.get("kubelet_service"):
            case [str(namespace), str(name)]:
                found += [Ref("Service", namespace, name), Ref("Endpoints", namespace, name)]
        match record.settings.get("admission_secret"):
            case str(name):
                found.append(Ref("Secret", record.release.namespace, name))
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
