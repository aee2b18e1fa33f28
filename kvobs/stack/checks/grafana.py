"""Does a Grafana load what install makes?"""

from __future__ import annotations

from ..merge import value_at
from .evidence import Evidence
from .verdict import Bad, Check, Fine, Verdict


def _enabled(evidence: Evidence) -> Verdict:
    target = evidence.plan.target if evidence.plan is not None else None
    if target is None or target.beside is not None:
        return None
    if target.release is not None and value_at(target.release.values, "grafana.enabled", True) is False:
        return Bad(
            "the values switch Grafana off (grafana.enabled=false), so no dashboard is loaded",
            "leave grafana.enabled out; kvobs render has the dashboards for a Grafana elsewhere",
        )
    if target.grafana is None:
        return Bad(
            "no Grafana is used, so no dashboard is loaded",
            "--grafana NAMESPACE/NAME names one; kvobs render has the dashboards for a Grafana elsewhere",
        )
    return Fine(f"{target.grafana.namespace}/{target.grafana.name}")


def _sidecar(evidence: Evidence) -> Verdict:
    target = evidence.plan.target if evidence.plan is not None else None
    if target is None or target.grafana is None or target.beside is not None:
        return None
    if target.instances is not None:
        return Fine("the Grafana Operator brings dashboards, no sidecar is needed")
    if target.sidecar is None:
        return Bad(
            f"Grafana {target.grafana.namespace}/{target.grafana.name} has no dashboard sidecar",
            "--set grafana.sidecar.dashboards.enabled=true",
        )
    value = f"={target.sidecar.label_value}" if target.sidecar.label_value else ""
    return Fine(f"label {target.sidecar.label}{value}")


def _looks(evidence: Evidence) -> Verdict:
    target = evidence.plan.target if evidence.plan is not None else None
    if evidence.plan is None or target is None or target.sidecar is None:
        return None
    if evidence.plan.refused:
        source, why = next(iter(evidence.plan.refused.items()))
        return Bad(f"{len(evidence.plan.refused)} dashboards cannot be loaded; {source}: {why}")
    sidecar = target.sidecar
    places = sidecar.namespaces
    if sidecar.only_at_start:
        grafana = target.grafana
        where = f"{grafana.namespace}/{grafana.name}" if grafana else target.namespace
        return Bad(
            f"the sidecar of Grafana {where} looks only before Grafana starts, so that dashboards wait for a restart",
            "--set grafana.sidecar.dashboards.initDashboards=false" if target.release else "",
        )
    if places is not None and evidence.facts is not None and "Namespace" not in evidence.facts.unasked:
        gone = [each for each in places if each not in evidence.facts.namespaces and each != target.namespace]
        if len(gone) == len(places):
            return Bad(f"the sidecar looks into namespace {', '.join(gone)} only, which is not there")
    return Fine(f"in {'all namespaces' if places is None else ', '.join(places)}, {sidecar.resource}")


CHECKS = (
    Check(
        id="grafana", title="there is a Grafana for the dashboards", severity="warning", verdict=_enabled, noted=True
    ),
    Check(id="sidecar", title="Grafana has a dashboard sidecar", severity="warning", verdict=_sidecar, noted=True),
    Check(
        id="sidecar-looks",
        title="the sidecar looks where the dashboards go",
        severity="warning",
        verdict=_looks,
        noted=True,
    ),
)
