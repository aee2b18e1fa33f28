"""What a kind is called in a path, and whether its objects are in namespaces: told without asking a cluster. Pure.

The kinds of Kubernetes itself are known; those of custom resources are read from their definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .facts import Object
from .leftovers import CRD_KIND
from .objects import kind_of

CLUSTER_KINDS = frozenset(
    {
        "APIService.apiregistration.k8s.io",
        "ClusterPolicy.nvidia.com",
        "ClusterRole.rbac.authorization.k8s.io",
        "ClusterRoleBinding.rbac.authorization.k8s.io",
        CRD_KIND,
        "IngressClass.networking.k8s.io",
        "MutatingWebhookConfiguration.admissionregistration.k8s.io",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PodSecurityPolicy.policy",
        "PriorityClass.scheduling.k8s.io",
        "RuntimeClass.node.k8s.io",
        "StorageClass.storage.k8s.io",
        "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
    }
)
"""Kinds whose objects are in no namespace, among those that a stack has or that kvobs asks for."""

_OWN_PLURALS = {"Endpoints": "endpoints"}


def resource_of(kind: str) -> tuple[str, str]:
    """Return (group, plural) of a kind with its group, as RBAC and paths name it.

    >>> resource_of("Prometheus.monitoring.coreos.com"), resource_of("NetworkPolicy.networking.k8s.io")
    (('monitoring.coreos.com', 'prometheuses'), ('networking.k8s.io', 'networkpolicies'))
    >>> resource_of("Endpoints"), resource_of("Gateway.gateway.networking.k8s.io")[1]
    (('', 'endpoints'), 'gateways')
    """
    name, _, group = kind.partition(".")
    if name in _OWN_PLURALS:
        return group, _OWN_PLURALS[name]
    lower = name.lower()
    if lower.endswith(("s", "x", "ch", "sh")):
        return group, f"{lower}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return group, f"{lower[:-1]}ies"
    return group, f"{lower}s"


def in_namespaces(objects: Iterable[Object], namespace: str) -> tuple[Object, ...]:
    """Return *objects* with *namespace* where they name none and are of a kind that is in one, as Helm applies them."""
    listed = tuple(objects)
    scopes = _defined_scopes(listed)
    return tuple(
        {**each, "metadata": {**each["metadata"], "namespace": namespace}}
        if not each["metadata"].get("namespace") and is_namespaced(kind_of(each), scopes)
        else each
        for each in listed
    )


def is_namespaced(kind: str, scopes: Mapping[str, str] | None = None) -> bool:
    """Whether objects of *kind* are in namespaces; *scopes*: what definitions say of custom kinds."""
    scope = (scopes or {}).get(kind)
    return scope == "Namespaced" if scope else kind not in CLUSTER_KINDS


def _defined_scopes(objects: Iterable[Object]) -> dict[str, str]:
    return {
        f"{each['spec']['names']['kind']}.{each['spec']['group']}": each["spec"]["scope"]
        for each in objects
        if kind_of(each) == CRD_KIND
    }
