"""Look at what stands around an install: CRDs, webhooks, quotas, StorageClasses. Read only, few requests.

What may not be asked is a `Trouble` that was not asked, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..errors import ApiError, KvobsError, Unanswered
from ..stack.checks.crds import OPERATOR_VERSION
from ..stack.checks.evidence import Crd, Evidence, Quotas, Trouble, Webhook
from ..stack.checks.storage import claims
from ..stack.facts import Facts, Object
from ..stack.kinds import resource_of
from ..stack.leftovers import CRD_KIND, operator_crds
from ..stack.objects import kind_of
from ..stack.webhooks import CONFIGURATIONS, GROUP, asked_webhooks, is_ready, subject_of
from ..stack.workloads import annotations_of, helm_release, name_of, tracked_by
from .act import ListCluster

Answer = TypeVar("Answer")

_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_SERVICE_NAME = "kubernetes.io/service-name"
"""Label of an EndpointSlice: the Service that it is of."""


def trouble(error: KvobsError) -> Trouble:
    """Return *error* as a value."""
    return Trouble(str(error), error.hint or "", asked=not isinstance(error, Unanswered))


def with_surroundings(evidence: Evidence, cluster: ListCluster, objects: Sequence[Object]) -> Evidence:
    """Return *evidence* of a plan with what stands around it; webhooks are those that *objects* pass.

    Raises `Unanswered`.
    """
    facts, plan = evidence.facts, evidence.plan
    if facts is None or plan is None:
        return evidence
    evidence = replace(evidence, webhooks=_asked(lambda: look_at_webhooks(cluster, objects, facts)))
    target = plan.target
    if target.release is None:
        return evidence
    evidence = replace(evidence, crds=_asked(lambda: look_at_crds(cluster)))
    if target.namespace in facts.namespaces:
        evidence = replace(evidence, quotas=_asked(lambda: look_at_quotas(cluster, target.namespace)))
    if any(claims(target.release.values)):
        evidence = replace(evidence, storage_classes=_asked(lambda: look_at_storage_classes(cluster)))
    return evidence


def _asked(question: Callable[[], Answer]) -> Answer | Trouble:
    """The answer; where the API server refuses the question, why."""
    try:
        return question()
    except ApiError as error:
        return Trouble(str(error), error.hint or "", asked=False)


def look_at_crds(cluster: ListCluster) -> tuple[Crd, ...]:
    """Return the Prometheus Operator's CRDs, each with its age and its keeper."""
    return tuple(
        Crd(
            name=name_of(each),
            operator_version=annotations_of(each).get(OPERATOR_VERSION),
            owner=_keeper(each),
            holders=_holders(each),
        )
        for each in operator_crds(cluster.list(CRD_KIND, metadata_only=True))
    )


def _keeper(crd: Object) -> str | None:
    release = helm_release(crd)
    return f"Helm release {'/'.join(release)}" if release else tracked_by(crd)


def _holders(crd: Object) -> tuple[str, ...]:
    """The field managers that Helm's server-side apply of another content would conflict with."""
    names: list[str] = []
    for entry in crd["metadata"].get("managedFields") or ():
        fields = entry.get("fieldsV1") or {}
        annotations = (fields.get("f:metadata") or {}).get("f:annotations") or {}
        if (entry.get("manager"), entry.get("operation")) == ("helm", "Apply"):
            continue
        if "f:spec" in fields or f"f:{OPERATOR_VERSION}" in annotations:
            names.append(str(entry.get("manager")))
    return tuple(dict.fromkeys(names))


def look_at_webhooks(cluster: ListCluster, objects: Iterable[Object], facts: Facts) -> tuple[Webhook, ...]:
    """Return the webhooks that are asked about one of *objects*, and whether a pod behind each is ready."""
    subjects = []
    for each in objects:
        group, resource = resource_of(kind_of(each))
        subjects.append(subject_of(each, resource, group, facts.namespaces))
    configurations = [each for kind in CONFIGURATIONS for each in cluster.list(f"{kind}.{GROUP}")]
    ready: dict[tuple[str, str], bool] = {}
    found: list[Webhook] = []
    for webhook in asked_webhooks(configurations, subjects):
        service = webhook.service
        if service not in ready:
            labels = f"{_SERVICE_NAME}={service[1]}"
            slices = cluster.list("EndpointSlice.discovery.k8s.io", namespace=service[0], labels=labels)
            ready[service] = is_ready(slices)
        found.append(
            Webhook(
                configuration=webhook.configuration,
                name=webhook.name,
                service="/".join(service),
                refuses=webhook.refuses,
                ready=ready[service],
                conditional=webhook.conditional,
            )
        )
    return tuple(found)


def look_at_quotas(cluster: ListCluster, namespace: str) -> Quotas:
    """Return what the quotas of *namespace* limit; whether a LimitRange is there is asked only where it matters."""
    hard = {
        name_of(each): tuple(sorted((each.get("spec") or {}).get("hard") or ()))
        for each in cluster.list("ResourceQuota", namespace=namespace)
    }
    return Quotas(hard=hard, defaults=bool(hard) and bool(cluster.list("LimitRange", namespace=namespace)))


def look_at_storage_classes(cluster: ListCluster) -> dict[str, bool]:
    """Return each StorageClass, and whether it is the default one."""
    return {
        name_of(each): any(annotations_of(each).get(annotation) == "true" for annotation in _DEFAULT_CLASS)
        for each in cluster.list("StorageClass.storage.k8s.io", metadata_only=True)
    }
