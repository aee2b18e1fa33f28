"""Which admission webhooks are asked about given objects, by their own rules and selectors. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .facts import Object
from .selectors import matches
from .workloads import labels_of, name_of

CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
GROUP = "admissionregistration.k8s.io"


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """An object that a webhook may be asked about."""

    group: str
    resource: str
    """The plural: `configmaps`."""
    labels: Mapping[str, str]
    namespace_labels: Mapping[str, str] | None
    """Labels of its namespace; None: it is in none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedWebhook:
    """A webhook that a Service serves, and that is asked about one of the subjects."""

    configuration: str
    """As kubectl takes it: `validatingwebhookconfiguration/x`."""
    name: str
    service: tuple[str, str]
    """(namespace, name)."""
    refuses: bool
    """Whether what it is asked about is refused while it does not answer."""
    conditional: bool
    """Whether it has match conditions, by which it may not be asked after all."""


def asked_webhooks(configurations: Iterable[Object], subjects: Sequence[Subject]) -> Iterator[AskedWebhook]:
    """Yield each webhook behind a Service that is asked before one of *subjects* is made or changed.

    Its match conditions are not evaluated: it counts as asked, and says that it has some.
    """
    for configuration in configurations:
        for webhook in configuration.get("webhooks") or ():
            service = (webhook.get("clientConfig") or {}).get("service")
            if service and any(_is_asked(webhook, subject) for subject in subjects):
                yield AskedWebhook(
                    configuration=f"{configuration['kind'].lower()}/{name_of(configuration)}",
                    name=webhook["name"],
                    service=(service["namespace"], service["name"]),
                    refuses=webhook.get("failurePolicy", "Fail") == "Fail",
                    conditional=bool(webhook.get("matchConditions")),
                )


def is_ready(slices: Iterable[Object]) -> bool:
    """Whether an endpoint of these EndpointSlices is ready; one that does not say so counts as ready."""
    return any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for each in slices
        for endpoint in each.get("endpoints") or ()
    )


def subject_of(obj: Object, resource: str, group: str, namespaces: Mapping[str, Mapping[str, str]]) -> Subject:
    """Return *obj*, a `group`'s `resource`, as webhooks see it; *namespaces*: name -> labels."""
    namespace = obj["metadata"].get("namespace")
    labels = {"kubernetes.io/metadata.name": namespace, **namespaces.get(namespace, {})} if namespace else None
    return Subject(group=group, resource=resource, labels=labels_of(obj), namespace_labels=labels)


def _is_asked(webhook: Object, subject: Subject) -> bool:
    if not any(_covers(rule, subject) for rule in webhook.get("rules") or ()):
        return False
    if not matches(webhook.get("objectSelector") or {}, subject.labels):
        return False
    labels = subject.namespace_labels
    return labels is None or matches(webhook.get("namespaceSelector") or {}, labels)


def _covers(rule: Object, subject: Subject) -> bool:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    operations = rule.get("operations") or ()
    return (
        bool({"*", "CREATE", "UPDATE"} & set(operations))
        and bool({"*", subject.group} & set(groups))
        and bool({"*", "*/*", subject.resource} & set(resources))
        and rule.get("scope", "*") in ("*", "Cluster" if subject.namespace_labels is None else "Namespaced")
    )
