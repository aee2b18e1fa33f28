"""Where a monitor sits, and by which labels, so that a Prometheus reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .facts import Facts, Prometheus
from .objects import MANAGED_BY, OURS
from .selectors import labels_wanted, selects_namespace
from .targets import selectors_of


@dataclass(frozen=True, slots=True)
class Home:
    """Where a monitor sits, and the labels it needs, so that the Prometheus reads it."""

    namespace: str
    labels: Mapping[str, str]


def home_of(
    prometheus: Prometheus,
    facts: Facts,
    *,
    kind: str,
    namespace: str,
    reach: str | None,
    labels: Mapping[str, str],
) -> Home | str:
    """Return where a monitor of *kind* that has *labels* can sit: in *namespace* if possible.

    *reach* is the only namespace whose targets it must find, None for all. A text says why there is no place.
    """
    selector, namespace_selector = selectors_of(prometheus, kind)
    where = f"Prometheus {prometheus.namespace}/{prometheus.name}"
    field = f"spec.{kind[0].lower()}{kind[1:]}Selector"
    if selector is None:
        return f"{where} reads no {kind} ({field} is not set)"
    wanted = labels_wanted(selector, {**labels, MANAGED_BY: OURS})
    if wanted is None or wanted.get(MANAGED_BY, OURS) != OURS:
        return f"no labels that kvobs can give a {kind} meet {field} of {where}"
    nearest = [namespace, prometheus.namespace, *([reach] if reach else [])]
    places = list(dict.fromkeys((*nearest, *sorted(facts.namespaces))))
    if prometheus.ignores_namespace_selectors:
        if reach is None:
            return f"{where} ignores namespace selectors, so that no {kind} finds targets in other namespaces"
        places = [reach]
    for each in places:
        own_labels = facts.namespaces.get(each, {})
        if selects_namespace(namespace_selector, own=prometheus.namespace, namespace=each, labels=own_labels):
            return Home(each, wanted)
    return f"{where} reads no {kind} from namespace {' or '.join(places[:3])}"
