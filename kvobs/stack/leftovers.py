"""What a kube-prometheus-stack release leaves behind when Helm uninstalls it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from .chart import StackNames
from .facts import Object, Ref
from .objects import ref
from .record import Record
from .workloads import helm_release, labels_of

GROUP = "monitoring.coreos.com"
CRD_KIND = "CustomResourceDefinition.apiextensions.k8s.io"
KUBELET_SERVICE = "--kubelet-service="
"""Argument of the Prometheus Operator: NAMESPACE/NAME of the Service and Endpoints it keeps for the kubelets."""

OWNER_KINDS = (f"Prometheus.{GROUP}", f"Alertmanager.{GROUP}")
"""The objects of the release for which the operator makes others."""
MADE_BY_OPERATOR = "app.kubernetes.io/managed-by=prometheus-operator"
MADE_KINDS = ("StatefulSet.apps", "Service", "ConfigMap", "Secret")
"""What it makes for them, each with its owner and in its owner's namespace."""

_NAMES = "names"

Names = Mapping[str, Any]
"""One set of names as the record has it (`names_left`)."""

DATABASE: Final = "Grafana's database"
Holds = Literal["metrics", "silences", "Grafana's database", "what the release keeps"]
"""What is lost with a volume."""


def names_left(record: Record, names: StackNames) -> dict[str, Any]:
    """Return the settings that tell what the operator and the chart's hook Jobs of a release make under *names*.

    None of it has an owner reference or an entry in the release, so Helm does not know it. Names that *record*
    has from earlier values are kept: what was made under them stays until an uninstall.
    """
    now = {
        "full_name": names.full,
        "stack_namespace": names.namespace,
        "kubelet_service": list(names.kubelet_service) if names.kubelet_service else None,
        "admission_secret": [names.namespace, names.admission_secret] if names.admission_secret else None,
        "grafana": [names.grafana_namespace, names.grafana] if names.grafana else None,
    }
    return {_NAMES: [*(each for each in _names(record) if each != now), now]}


def _names(record: Record) -> Sequence[Names]:
    return record.settings.get(_NAMES) or ()


def stack_namespaces(record: Record) -> tuple[str, ...]:
    """Return where the operator's custom objects of the release stand, or once stood, sorted."""
    return tuple(sorted({each["stack_namespace"] for each in _names(record)}))


def volume_namespaces(record: Record) -> tuple[str, ...]:
    """Return where the release can have volumes, sorted: beside Prometheus, and beside Grafana."""
    grafanas = {each["grafana"][0] for each in _names(record) if each["grafana"]}
    return tuple(sorted({*stack_namespaces(record), *grafanas}))


def leftovers(record: Record) -> tuple[Ref, ...]:
    """Return what a release of ours leaves: the kubelets' Services with their endpoints, the webhook's Secrets."""
    found: list[Ref] = []
    for each in _names(record):
        if kubelets := each["kubelet_service"]:
            found += [Ref("Service", *kubelets), Ref("Endpoints", *kubelets)]
        if admission := each["admission_secret"]:
            found.append(Ref("Secret", *admission))
    return tuple(dict.fromkeys(found))


def in_use(leftover: Ref, deployments: Iterable[Object]) -> bool:
    """Whether an operator that stays keeps this Service for the kubelets, or mounts this Secret."""
    argument = f"{KUBELET_SERVICE}{leftover.namespace}/{leftover.name}"
    for deployment in deployments:
        if deployment["metadata"].get("deletionTimestamp"):
            continue
        pod = deployment["spec"]["template"]["spec"]
        if leftover.kind != "Secret":
            if any(argument in (container.get("args") or ()) for container in pod.get("containers", ())):
                return True
        elif deployment["metadata"]["namespace"] == leftover.namespace and any(
            (volume.get("secret") or {}).get("secretName") == leftover.name for volume in pod.get("volumes") or ()
        ):
            return True
    return False


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
    """Return the CRDs of the Prometheus Operator; their metadata is enough."""
    return [each for each in definitions if each["metadata"]["name"].partition(".")[2] == GROUP]


def operator_kinds(served: Iterable[str]) -> list[str]:
    """Return the kinds of the operator's CRDs among those that the cluster serves, sorted."""
    return sorted(kind for kind in served if kind.partition(".")[2] == GROUP)


def volumes(record: Record, claims: Iterable[Object]) -> list[tuple[Object, Holds]]:
    """Return the claims of the release, each with what it holds.

    Those of Prometheus and Alertmanager are known by the labels that their StatefulSets give them, Grafana's by
    Helm's annotations, or where a StatefulSet of its own made it, by its name and label.
    """
    if record.release is None:
        return []
    ours = (record.release.namespace, record.release.name)
    custom = _custom_objects(record)
    grafanas = [tuple(each["grafana"]) for each in _names(record) if each["grafana"]]
    found: list[tuple[Object, Holds]] = []
    for each in claims:
        labels, at = labels_of(each), ref(each)
        instance = labels.get("app.kubernetes.io/instance")
        if labels.get("app.kubernetes.io/managed-by") == "prometheus-operator":
            if instance in custom:
                silences = labels.get("app.kubernetes.io/name") == "alertmanager"
                found.append((each, "silences" if silences else "metrics"))
        elif helm_release(each) == ours:
            database = (at.namespace, at.name) in grafanas
            found.append((each, DATABASE if database else "what the release keeps"))
        elif instance == record.release.name and any(
            at.namespace == namespace and at.name.startswith(f"storage-{name}-") for namespace, name in grafanas
        ):
            found.append((each, DATABASE))
    return found


def _custom_objects(record: Record) -> set[str]:
    """The names that the release's Prometheus and Alertmanager objects can have, or once had."""
    fulls = {each["full_name"] for each in _names(record)}
    return {f"{full}{suffix}" for full in fulls for suffix in ("", "-prometheus", "-alertmanager")}
