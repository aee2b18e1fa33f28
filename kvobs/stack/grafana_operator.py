"""Grafana as the Grafana Operator has it: instances, datasources and dashboards are objects. Pure.

A dashboard there is no file in a ConfigMap but a GrafanaDashboard, which says by labels for which Grafanas it is. So
does a GrafanaDatasource; a dashboard that says the same reaches just the Grafanas that have its datasource.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..dashboard.document import title_of
from ..dashboard.jsontext import write_json
from ..errors import DocumentError
from .facts import DatasourceFact, Grafana, LoadedDashboard, Object, Ref
from .monitor_objects import is_stable
from .objects import MANAGED_BY, PART_OF_LABEL, is_ours
from .provisioned import time_interval_of
from .selectors import matches
from .workloads import helm_release, labels_of, name_of, namespace_of, tracked_by

GRAFANA_KIND = "Grafana.grafana.integreatly.org"
DATASOURCE_KIND = "GrafanaDatasource.grafana.integreatly.org"
DASHBOARD_KIND = "GrafanaDashboard.grafana.integreatly.org"

_API_VERSION = "grafana.integreatly.org/v1beta1"
_GROUP = "grafana.integreatly.org/"
MAX_BYTES = 1024 * 1024
"""As for a ConfigMap; the API server's limit for a custom resource is a little higher."""


def operated_grafanas(
    workloads: Iterable[Grafana],
    *,
    raw_workloads: Iterable[Object],
    instances: Sequence[Object],
    datasources: Sequence[Object],
) -> tuple[Grafana, ...]:
    """Return the Grafanas: *workloads* that the operator runs by the name of their object, the others as they are.

    An instance without a workload is a Grafana elsewhere, which the operator fills all the same.
    """
    owner = {(namespace_of(each), name_of(each)): _owner(each) for each in raw_workloads}
    by_name = {(namespace_of(each), name_of(each)): each for each in instances}
    found: list[Grafana] = []
    seen: set[tuple[str, str]] = set()
    for grafana in workloads:
        name = owner.get((grafana.namespace, grafana.name))
        instance = by_name.get((grafana.namespace, name)) if name else None
        if instance is None:
            found.append(grafana)
            continue
        seen.add((grafana.namespace, name_of(instance)))
        found.append(_operated(grafana, instance, datasources))
    for key, instance in by_name.items():
        if key not in seen:
            found.append(_operated(_elsewhere(instance), instance, datasources))
    return tuple(found)


def _owner(workload: Object) -> str | None:
    """Name of the Grafana object that *workload* belongs to."""
    for each in workload["metadata"].get("ownerReferences") or ():
        if each.get("kind") == "Grafana" and str(each.get("apiVersion", "")).startswith(_GROUP):
            return str(each["name"])
    return None


def _elsewhere(instance: Object) -> Grafana:
    return Grafana(
        namespace=namespace_of(instance),
        name=name_of(instance),
        kind="Grafana",
        sidecar=None,
        service=None,
        service_port=None,
        release=None,
        tracked_by=None,
        admin_secret=None,
    )


def _operated(grafana: Grafana, instance: Object, datasources: Iterable[Object]) -> Grafana:
    labels = labels_of(instance)
    own = [
        source for each in datasources if _is_for(each, instance) and (source := _datasource(each, labels)) is not None
    ]
    return replace(
        grafana,
        name=name_of(instance),
        kind="Grafana",
        release=helm_release(instance) or grafana.release,
        tracked_by=tracked_by(instance) or grafana.tracked_by,
        datasources=(*grafana.datasources, *own),
        operated=labels,
    )


def _is_for(each: Object, instance: Object) -> bool:
    """Whether an object of the operator is for *instance*: by its selector, and by its namespace."""
    spec = each.get("spec") or {}
    near = namespace_of(each) == namespace_of(instance) or spec.get("allowCrossNamespaceImport") is True
    return near and matches(spec.get("instanceSelector"), labels_of(instance))


def _datasource(each: Object, labels: Mapping[str, str]) -> DatasourceFact | None:
    spec = each.get("spec") or {}
    told = spec.get("datasource") or {}
    name, url = told.get("name"), str(told.get("url") or "")
    if not isinstance(name, str) or not name:
        return None
    # A value from a Secret or a ConfigMap is put over what stands here: unknown from here.
    from_elsewhere = {str(source.get("targetPath")) for source in spec.get("valuesFrom") or ()}
    return DatasourceFact(
        uid=str(spec.get("uid") or told.get("uid") or each["metadata"].get("uid") or "") or None,
        name=name,
        type=str(told.get("type") or ""),
        url="" if "url" in from_elsewhere else url,
        is_default=told.get("isDefault") is True,
        where=f"GrafanaDatasource {namespace_of(each)}/{name_of(each)}",
        instances=spec.get("instanceSelector"),
        time_interval=time_interval_of(told),
    )


def instances_for(grafana: Grafana, uid: str | None) -> Mapping[str, Any]:
    """Return how a dashboard names *grafana*: as its datasource *uid* does, else by the labels that last."""
    for source in grafana.datasources:
        if source.uid == uid and source.instances is not None:
            return source.instances
    labels = grafana.operated or {}
    return {"matchLabels": {key: labels[key] for key in sorted(labels) if is_stable(key) and key != MANAGED_BY}}


def grafana_dashboard(
    document: Mapping[str, Any], *, name: str, namespace: str, instances: Mapping[str, Any], folder: str
) -> dict[str, Any]:
    """Return the GrafanaDashboard that brings one dashboard to the *instances*, which are in its namespace.

    Raise DocumentError for a dashboard without title, one that JSON cannot hold, or one over the size limit.
    """
    if not title_of(document):
        raise DocumentError("the dashboard has no title", hint="Grafana refuses it: Dashboard title cannot be empty")
    text = write_json(document)
    size = len(text.encode())
    if size > MAX_BYTES:
        raise DocumentError(
            f"dashboard {title_of(document)!r} has {size:,} bytes as compact JSON; a GrafanaDashboard of ours holds"
            f" {MAX_BYTES:,} at most",
            hint="split it into several dashboards, or load it through Grafana's API",
        )
    return {
        "apiVersion": _API_VERSION,
        "kind": "GrafanaDashboard",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"instanceSelector": dict(instances), "folder": folder, "json": text},
    }


def operated_dashboards(raw: Iterable[Object], *, own_sets: Collection[str]) -> Iterator[LoadedDashboard]:
    """Yield the dashboards that stand in GrafanaDashboard objects; what comes from an address or a file is not read."""
    for each in raw:
        spec = each.get("spec") or {}
        try:
            document = json.loads(spec.get("json") or "null")
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            uid, title = spec.get("uid") or document.get("uid"), document.get("title")
            yield LoadedDashboard(
                uid=uid if isinstance(uid, str) else None,
                title=title if isinstance(title, str) else None,
                where=f"GrafanaDashboard {namespace_of(each)}/{name_of(each)}",
                ours=is_ours(each, own_sets),
                carrier=Ref(DASHBOARD_KIND, namespace_of(each), name_of(each)),
                applyset=labels_of(each).get(PART_OF_LABEL),
            )
