"""Who runs the control plane: a provider whose scheduler nobody can scrape, or OpenShift with a monitoring of its own.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import Undecided
from ..settings import Settings
from .facts import Facts, Object
from .merge import value_at
from .notes import Note
from .workloads import labels_of, name_of

MANAGED_PARTS = ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy")
"""Values of the chart for what a managed cluster shows to nobody: the provider keeps the first three to itself, and
kube-proxy listens on its node's loopback address only. The chart's alerts for them fire as soon as there is no target.
"""

_VERSIONS = (("-eks-", "EKS"), ("-gke.", "GKE"))
"""What a provider writes into the server's version."""

_NODE_LABELS = (
    ("eks.amazonaws.com/", "EKS"),
    ("cloud.google.com/gke-", "GKE"),
    ("kubernetes.azure.com/", "AKS"),
)
"""Prefixes of the labels that a provider's own nodes carry; a provider ID alone is that of any machine rented there."""

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

_OPENSHIFT = "ClusterVersion.config.openshift.io"
_OPENSHIFT_MONITORING = "openshift-monitoring"
_USER_WORKLOADS = "openshift-user-workload-monitoring"


def managed_by(server_version: str, nodes: Iterable[Object]) -> str | None:
    """Return the provider that runs the control plane (EKS, GKE, AKS); None: nobody whom we know.

    >>> managed_by("v1.33.2-eks-931bdca", []), managed_by("v1.33.4-gke.1036000", []), managed_by("v1.36.3", [])
    ('EKS', 'GKE', None)
    """
    for mark, provider in _VERSIONS:
        if mark in server_version:
            return provider
    labels = [labels_of(each) for each in nodes]
    if any(role in each for each in labels for role in _CONTROL_PLANE):
        return None
    for prefix, provider in _NODE_LABELS:
        if any(label.startswith(prefix) for each in labels for label in each):
            return provider
    return None


def managed_notes(facts: Facts, values: Mapping[str, Any]) -> tuple[Note, ...]:
    """Say which parts of the chart are off in a release with *values* because a provider keeps them to itself."""
    off = [part for part in MANAGED_PARTS if value_at(values, f"{part}.enabled", True) is False]
    if facts.control_plane is None or not off:
        return ()
    text = (
        f"{facts.control_plane} runs the control plane, and shows {', '.join(off)} to nobody: they are off in the"
        " release, since their alerts would fire at once; to have one all the same: --set PART.enabled=true"
    )
    return (Note("control-plane-managed", text + ", together with the --values and --set of earlier runs."),)


def terminating(namespaces: Iterable[Object]) -> dict[str, str]:
    """Return what holds up each namespace that is being deleted, in Kubernetes' own words ("" before it says so)."""
    going = (each for each in namespaces if "deletionTimestamp" in each["metadata"])
    return {name_of(each): _held_by(each) for each in going}


_HOLDS = ("NamespaceFinalizersRemaining", "NamespaceContentRemaining", "NamespaceDeletionDiscoveryFailure")
"""Conditions of a namespace that say why it is still there; the first that is true tells most."""


def _held_by(namespace: Object) -> str:
    conditions = {each["type"]: each for each in (namespace.get("status") or {}).get("conditions") or ()}
    held = (conditions[each] for each in _HOLDS if conditions.get(each, {}).get("status") == "True")
    return next((str(each.get("message") or "") for each in held), "")


def is_openshift(facts: Facts) -> bool:
    """Whether this is OpenShift, with its own monitoring."""
    return _OPENSHIFT in facts.kinds and (
        _OPENSHIFT_MONITORING in facts.namespaces
        or any(each.namespace == _OPENSHIFT_MONITORING for each in facts.operators)
    )


USER_WORKLOADS_HINT = (
    f"turn on monitoring of user workloads (enableUserWorkload: true in ConfigMap {_OPENSHIFT_MONITORING}/"
    f"cluster-monitoring-config), then: kvobs install --stack reuse --prometheus {_USER_WORKLOADS}/user-workload"
    " --grafana NAMESPACE/NAME, or --grafana none for the monitors only"
)


def is_of_platform(namespace: str) -> bool:
    """Whether what is in *namespace* is OpenShift's own monitoring."""
    return namespace in (_OPENSHIFT_MONITORING, _USER_WORKLOADS)


def refuse_openshift(facts: Facts, settings: Settings) -> None:
    """Raise `Undecided` on OpenShift unless the user has said which stack is meant, or one is there beside its own."""
    others = any(not is_of_platform(each.namespace) for each in facts.prometheuses)
    if settings.stack == "auto" and settings.prometheus is None and is_openshift(facts) and not others:
        raise platform_refusal(facts)


def platform_refusal(facts: Facts) -> Undecided:
    """The refusal of OpenShift's own monitoring: it names the Prometheus for user workloads, or how to get it."""
    message = (
        f"this is OpenShift: its own monitoring in namespace {_OPENSHIFT_MONITORING} reads no monitor of ours,"
        " and undoes what others change there"
    )
    users = next((each for each in facts.prometheuses if each.namespace == _USER_WORKLOADS), None)
    if users is None:
        return Undecided(message, hint=USER_WORKLOADS_HINT)
    return Undecided(
        f"{message}; Prometheus {users.namespace}/{users.name} is there for what users run",
        hint=f"kvobs install --prometheus {users.namespace}/{users.name} --grafana NAMESPACE/NAME, or --grafana none"
        " for the monitors only",
    )
