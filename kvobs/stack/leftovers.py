"""What a kube-prometheus-stack release leaves behind when Helm uninstalls it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .applyset import Record
from .chart import StackNames
from .facts import Object, Ref
from .objects import ref

GROUP = "monitoring.coreos.com"
CRD_KIND = "CustomResourceDefinition.apiextensions.k8s.io"
KUBELET_SERVICE = "--kubelet-service="
"""Argument of the Prometheus Operator: NAMESPACE/NAME of the Service and Endpoints it keeps for the kubelets."""

OWNER_KINDS = ("Prometheus.monitoring.coreos.com", "Alertmanager.monitoring.coreos.com")
"""The objects of the release for which the operator makes others."""
MADE_BY_OPERATOR = "app.kubernetes.io/managed-by=prometheus-operator"
MADE_KINDS = ("StatefulSet.apps", "Service", "ConfigMap", "Secret")
"""What it makes for them, each with its owner."""


def left_by_release(names: StackNames) -> dict[str, Any]:
    """Return, for the record, what the operator and the chart's hook Jobs of a release make under these *names*.

    None of it has an owner reference or an entry in the release, so Helm does not know it.
    """
    return {
        "full_name": names.full,
        "stack_namespace": names.namespace,
        "kubelet_service": list(names.kubelet_service) if names.kubelet_service else None,
        "admission_secret": [names.namespace, names.admission_secret] if names.admission_secret else None,
    }


def stack_namespace(record: Record) -> str | None:
    """Return where the release's own objects stand: the release's namespace, unless its values say another."""
    if record.release is None:
        return None
    told = record.settings.get("stack_namespace")
    return told if isinstance(told, str) else record.release.namespace


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


def orphans(record: Record, made: Iterable[Object], owners: Iterable[Object]) -> tuple[Ref, ...]:
    """Return those objects *made* by the operator for the release whose owner is none of the live *owners* any more.

    The garbage collector takes them away too, but only as long as the owners' kinds are served: with the CRDs gone
    it does not know what an owner is, and Prometheus would run on.
    """
    names = _custom_objects(record)
    live = {each["metadata"]["uid"] for each in owners}
    found: list[Ref] = []
    for each in made:
        references = each["metadata"].get("ownerReferences") or ()
        # Several Prometheus objects of one namespace share a Service: it goes with the last of them.
        gone = all(owner["apiVersion"].startswith(f"{GROUP}/") and owner["uid"] not in live for owner in references)
        if gone and any(owner["name"] in names for owner in references):
            found.append(ref(each))
    return tuple(found)


def operator_crds(definitions: Iterable[Object]) -> list[Object]:
    """Return the CRDs of the Prometheus Operator."""
    return [each for each in definitions if each["spec"]["group"] == GROUP]


def volumes(record: Record, claims: Iterable[Object]) -> list[Object]:
    """Return the claims of the release's Prometheus and Alertmanager, by the labels their StatefulSets give them."""
    names = _custom_objects(record)
    return [
        each
        for each in claims
        if (each["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == "prometheus-operator"
        and (each["metadata"].get("labels") or {}).get("app.kubernetes.io/instance") in names
    ]


def _custom_objects(record: Record) -> set[str]:
    """The names that the release's Prometheus and Alertmanager objects can have."""
    full = record.settings.get("full_name")
    return {f"{full}", f"{full}-prometheus", f"{full}-alertmanager"}
