"""What kube-prometheus-stack 88.5.3 (with Grafana's chart 12.11.1) will make of its values.

A plan for a cluster without a stack needs the names, selectors and datasource that will be there: these
functions foretell them by the rules of the charts' own templates, and tests compare them with what the charts
render. Templates inside values (`{{ … }}`) are not evaluated, but for the release's name in a selector.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .facts import DatasourceFact, Grafana, Prometheus, Selector, Sidecar
from .merge import value_at
from .provisioned import read_datasources, text_of

CHART_NAME = "kube-prometheus-stack"

# Prometheus' selectors: the field of its object, and the switch that says "only monitors of this release".
_SERVICE_MONITORS = "serviceMonitorSelector"
_POD_MONITORS = "podMonitorSelector"
_SCRAPE_CONFIGS = "scrapeConfigSelector"
_SCRAPE_INTERVAL = "prometheus.prometheusSpec.scrapeInterval"
_RELEASE_NAME = re.compile(r"\{\{-? *\$?\.Release\.Name *-?\}\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class StackNames:
    """Names of what a release of the stack puts on the cluster; None: these values switch it off."""

    full: str
    """What most names begin with; 26 characters at most."""
    namespace: str
    prometheus: str | None
    """The Prometheus object."""
    prometheus_service: str | None
    operator: str | None
    """The Prometheus Operator's Deployment and Service."""
    grafana: str | None
    """Grafana's Deployment (or StatefulSet)."""
    grafana_namespace: str
    grafana_service: str | None
    grafana_secret: str | None
    """The Secret with Grafana's administrator; None too where the environment says who that is."""
    datasources: str | None
    """The ConfigMap with the datasources."""
    kubelet_service: tuple[str, str] | None
    """(namespace, name) of the Service for the kubelets; the operator makes it: uninstall leaves it."""
    admission_secret: str | None
    """The Secret with the webhook's certificate; a hook makes it: uninstall leaves it."""


def names_of(release: str, namespace: str, values: Mapping[str, Any]) -> StackNames:
    """Return the names that release *release* in *namespace* will give, under these *values*."""
    full = _full_name(release, CHART_NAME, values, "", 26)
    stack_namespace = value_at(values, "namespaceOverride", None) or namespace
    on = {
        part: bool(value_at(values, f"{part}.enabled", True))
        for part in ("prometheus", "prometheusOperator", "grafana")
    }
    grafana = _full_name(release, "grafana", values, "grafana.", 63)
    operator = _cut(value_at(values, "prometheusOperator.fullnameOverride", None) or f"{full}-operator", 35)
    clean = value_at(values, "cleanPrometheusOperatorObjectNames", False)
    kubelet = "prometheusOperator.kubeletService"
    kubelets = on["prometheusOperator"] and value_at(values, f"{kubelet}.enabled", True)
    datasources = (on["grafana"] and value_at(values, "grafana.sidecar.datasources.enabled", True)) or value_at(
        values, "grafana.forceDeployDatasources", False
    )
    return StackNames(
        full=full,
        namespace=stack_namespace,
        prometheus=(full if clean else f"{full}-prometheus") if on["prometheus"] else None,
        prometheus_service=(
            f"{full}-prometheus" if on["prometheus"] and value_at(values, "prometheus.service.enabled", True) else None
        ),
        operator=operator if on["prometheusOperator"] else None,
        grafana=grafana if on["grafana"] else None,
        grafana_namespace=value_at(values, "grafana.namespaceOverride", None) or namespace,
        grafana_service=(grafana if on["grafana"] and value_at(values, "grafana.service.enabled", True) else None),
        grafana_secret=_admin_secret(values, grafana) if on["grafana"] else None,
        datasources=f"{full}-grafana-datasource" if datasources else None,
        kubelet_service=(
            (
                value_at(values, f"{kubelet}.namespace", "kube-system"),
                value_at(values, f"{kubelet}.name", None) or f"{full}-kubelet",
            )
            if kubelets
            else None
        ),
        admission_secret=f"{full}-admission" if _has_admission_secret(values) else None,
    )


def datasource_of(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return (uid, name) of the Prometheus datasource that the chart provisions; None: it provisions none."""
    of = "grafana.sidecar.datasources"
    enabled = value_at(values, "grafana.enabled", True) and value_at(values, f"{of}.enabled", True)
    if not (enabled or value_at(values, "grafana.forceDeployDatasources", False)):
        return None
    if not value_at(values, f"{of}.defaultDatasourceEnabled", True):
        return None
    return value_at(values, f"{of}.uid", "prometheus"), value_at(values, f"{of}.name", "Prometheus")


def sidecar_of(values: Mapping[str, Any], namespace: str) -> Sidecar | None:
    """Return what Grafana's dashboard sidecar will look for; None: there is none.

    *namespace* is the release's: the sidecar looks only there when no namespaces are named.
    """
    of = "grafana.sidecar.dashboards"
    if not (value_at(values, "grafana.enabled", True) and value_at(values, f"{of}.enabled", True)):
        return None
    searched = value_at(values, f"{of}.searchNamespace", "ALL")
    if isinstance(searched, str):
        searched = [part.strip() for part in searched.split(",") if part.strip()]
    own = value_at(values, "grafana.namespaceOverride", None) or namespace
    return Sidecar(
        label=value_at(values, f"{of}.label", "grafana_dashboard"),
        label_value=value_at(values, f"{of}.labelValue", "1") or None,
        namespaces=None if searched and "ALL" in searched else tuple(searched or (own,)),
        folder_annotation=value_at(values, f"{of}.folderAnnotation", None) or None,
        resource=value_at(values, f"{of}.resource", "both") or "both",
        only_at_start=bool(value_at(values, f"{of}.initDashboards", False))
        and value_at(values, f"{of}.restartPolicy", None) != "Always",
    )


def prometheus_of(release: str, namespace: str, values: Mapping[str, Any]) -> Prometheus | None:
    """Return the Prometheus object as a look at the cluster will find it; None: there will be none."""
    names = names_of(release, namespace, values)
    if names.prometheus is None:
        return None
    spec = "prometheus.prometheusSpec"
    return Prometheus(
        namespace=names.namespace,
        name=names.prometheus,
        service_monitor_selector=_selector(values, release, _SERVICE_MONITORS),
        service_monitor_namespace_selector=value_at(values, f"{spec}.serviceMonitorNamespaceSelector", {}) or {},
        pod_monitor_selector=_selector(values, release, _POD_MONITORS),
        pod_monitor_namespace_selector=value_at(values, f"{spec}.podMonitorNamespaceSelector", {}) or {},
        keeps_metrics=bool(value_at(values, f"{spec}.storageSpec.volumeClaimTemplate", None)),
        release=(namespace, release),
        tracked_by=None,
        service=names.prometheus_service,
        service_port=value_at(values, f"{spec}.portName", "http-web"),
        ignores_namespace_selectors=bool(value_at(values, f"{spec}.ignoreNamespaceSelectors", False)),
        scrape_config_selector=_selector(values, release, _SCRAPE_CONFIGS),
        scrape_interval=text_of(value_at(values, _SCRAPE_INTERVAL, None)),
    )


def grafana_of(release: str, namespace: str, values: Mapping[str, Any]) -> Grafana | None:
    """Return Grafana as a look at the cluster will find it; None: there will be none."""
    names = names_of(release, namespace, values)
    if names.grafana is None:
        return None
    of = "grafana.sidecar.datasources"
    datasource = datasource_of(values)
    where = f"ConfigMap {names.grafana_namespace}/{names.datasources}"
    provisioned = DatasourceFact(
        uid=datasource[0] if datasource else None,
        name=datasource[1] if datasource else "",
        type="prometheus",
        url=value_at(values, f"{of}.url", None) or _prometheus_url(names, values),
        is_default=bool(value_at(values, f"{of}.isDefaultDatasource", True)),
        where=where,
        time_interval=_time_interval(values),
    )
    return Grafana(
        namespace=names.grafana_namespace,
        name=names.grafana,
        kind="StatefulSet" if _is_stateful(values) else "Deployment",
        sidecar=sidecar_of(values, namespace),
        service=names.grafana_service,
        service_port=value_at(values, "grafana.service.port", 80) if names.grafana_service else None,
        release=(namespace, release),
        tracked_by=None,
        admin_secret=names.grafana_secret,
        admin_password_key=value_at(values, "grafana.admin.passwordKey", None) or "admin-password",
        admin_user=_admin_user(values, names.grafana),
        datasources=(
            *((provisioned,) if datasource else ()),
            *(_additional_sources(values, where) if names.datasources else ()),
        ),
    )


def _additional_sources(values: Mapping[str, Any], where: str) -> Iterator[DatasourceFact]:
    """The user's own data sources; one with a template in it is known once Helm has rendered that."""
    given = value_at(values, "grafana.additionalDataSources", None)
    plain = [each for each in given if "{{" not in json.dumps(each)] if isinstance(given, list) else []
    return read_datasources(json.dumps({"datasources": plain}), where, {})


def _time_interval(values: Mapping[str, Any]) -> str | None:
    """Return what Grafana is told of the scrapes: what the user says, else what Prometheus is told, else 30 seconds."""
    said = value_at(values, "grafana.sidecar.datasources.defaultDatasourceScrapeInterval", None)
    return text_of(said or value_at(values, _SCRAPE_INTERVAL, None) or "30s")


def _full_name(release: str, chart: str, values: Mapping[str, Any], prefix: str, length: int) -> str:
    """Return a chart's full name: the override, else the release's name, with the chart's if it lacks it."""
    override = value_at(values, f"{prefix}fullnameOverride", None)
    if override:
        return _cut(override, length)
    name = value_at(values, f"{prefix}nameOverride", None) or chart
    return _cut(release if name in release else f"{release}-{name}", length)


def _cut(name: str, length: int) -> str:
    return name[:length].removesuffix("-")


def _selector(values: Mapping[str, Any], release: str, field: str) -> Selector:
    given: Selector = value_at(values, f"prometheus.prometheusSpec.{field}", {})
    if given:
        # The chart runs a selector through its template engine; the release's name is what is asked for there.
        rendered: Selector = json.loads(_RELEASE_NAME.sub(release, json.dumps(given)))
        return rendered
    ours_only = value_at(values, f"prometheus.prometheusSpec.{field}NilUsesHelmValues", True)
    return {"matchLabels": {"release": release}} if ours_only else {}


def _has_admission_secret(values: Mapping[str, Any]) -> bool:
    of = "prometheusOperator.admissionWebhooks"
    return all(value_at(values, path, True) for path in ("prometheusOperator.enabled", f"{of}.enabled")) and bool(
        value_at(values, f"{of}.patch.enabled", True) or value_at(values, f"{of}.certManager.enabled", False)
    )


def _admin_secret(values: Mapping[str, Any], grafana: str) -> str | None:
    """Return the Secret with Grafana's administrator; None where the environment says who that is."""
    environment = value_at(values, "grafana.env", {}) or {}
    password = "GF_SECURITY_ADMIN_PASSWORD"
    if any(environment.get(name) for name in (password, f"{password}__FILE")):
        return None
    named: str | None = value_at(values, "grafana.admin.existingSecret", None)
    return named or grafana


def _admin_user(values: Mapping[str, Any], grafana: str) -> str | tuple[str, str]:
    """Return the administrator's name; or the (Secret, key) that holds it."""
    environment = value_at(values, "grafana.env", {}) or {}
    given, without = "GF_SECURITY_ADMIN_USER", "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"
    if environment.get(given) or environment.get(f"{given}__FILE") or environment.get(without):
        return str(environment.get(given) or "admin")
    named = value_at(values, "grafana.admin.existingSecret", None) or grafana
    return named, value_at(values, "grafana.admin.userKey", None) or "admin-user"


def _is_stateful(values: Mapping[str, Any]) -> bool:
    of = "grafana.persistence"
    stateful = value_at(values, f"{of}.type", "pvc") in ("sts", "StatefulSet", "statefulset")
    kept = value_at(values, f"{of}.enabled", False) and not value_at(values, f"{of}.existingClaim", None)
    return bool(value_at(values, "grafana.useStatefulSet", False) or (kept and stateful))


def _prometheus_url(names: StackNames, values: Mapping[str, Any]) -> str:
    port = value_at(values, "prometheus.service.port", 9090)
    prefix = str(value_at(values, "prometheus.prometheusSpec.routePrefix", "/")).removeprefix("/")
    return f"http://{names.full}-prometheus.{names.namespace}:{port}/{prefix}"
