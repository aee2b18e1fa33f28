"""How GPU metrics come to be scraped: through the GPU Operator where that is free to ask, else by our monitor.

The GPU Operator makes a ServiceMonitor for its exporter when its ClusterPolicy says so. That field usually
belongs to somebody's Helm release, and under Helm 4 their next upgrade fails with a conflict if we take it.
So it is taken only where nobody owns it, or where the user says so; else a monitor of our own does the same,
beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..settings import Settings
from .applyset import ABSENT
from .cover import cover
from .dcgm_kinds import managed_kind
from .dcgm_notes import (
    exporter_off,
    exporters_of_nodes,
    managed,
    monitor_not_read,
    no_exporter,
    password_asked,
    policy_in_conflict,
    policy_left_alone,
    policy_taken,
    scraped_by_operator,
    sliced,
    unreachable,
)
from .exporters import DCGM_PORT
from .facts import ClusterPolicy, Facts, MetricsPod, Monitor, Object, Prometheus, Ref, Service, ServicePort
from .monitor_objects import Kit
from .notes import Note
from .objects import OURS
from .selectors import labels_wanted, selects_namespace
from .targets import ENDPOINTS, covered, selected, selectors_of, target_of

EXPORTER = "nvidia-dcgm-exporter"
"""What the GPU Operator calls the exporter's Service, its ServiceMonitor and the label `app` of both."""
PORT_NAME = "gpu-metrics"
POLICY_KIND = "ClusterPolicy.nvidia.com"
MONITOR_PATH = ("spec", "dcgmExporter", "serviceMonitor")

_OPERATOR_NAMESPACES = ("gpu-operator", "nvidia-gpu-operator", "gpu-operator-resources")
"""Where the GPU Operator lives by NVIDIA's, OpenShift's and its older documentation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignFieldChange:
    """A field of an object that is not ours, to be set by us."""

    ref: Ref
    api_version: str
    path: tuple[str, ...]
    """The keys from the top of the object to the field."""
    value: Any
    owner: str | None
    """The field manager that has it now, None where nobody has (or we have it already)."""
    before: Any
    """Its JSON value now, or `ABSENT`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DcgmPlan:
    """How the GPU metrics are to be scraped."""

    objects: tuple[Object, ...] = ()
    """Monitors to apply."""
    fields: tuple[ForeignFieldChange, ...] = ()
    notes: tuple[Note, ...] = ()


def dcgm_plan(
    facts: Facts,
    prometheus: Prometheus,
    settings: Settings,
    *,
    namespace: str,
    templates: Mapping[str, Object],
) -> DcgmPlan:
    """Return how *prometheus* comes to scrape every DCGM exporter of *facts* once.

    Our own monitors sit in *namespace* if *prometheus* reads monitors there. *templates* are the shipped
    monitors by name: `dcgm`, and `vllm-podmonitor` for its way to reach a port that no pod declares.
    """
    if settings.dcgm == "none":
        return DcgmPlan(notes=(Note("dcgm-skipped", "GPU metrics: skipped, as --dcgm none says."),))
    policy = min(facts.cluster_policies, key=lambda each: each.name, default=None)
    notes: list[Note] = [exporters_of_nodes(facts, prometheus)] if facts.exporting_nodes else []
    if policy is None and not facts.dcgm_pods:
        return DcgmPlan(notes=tuple(notes or [no_exporter(facts)]))
    fields: tuple[ForeignFieldChange, ...] = ()
    pods = list(facts.dcgm_pods)
    reworked = facts
    if policy is not None:
        place = _operand_namespace(policy, facts)
        theirs = [pod for pod in pods if pod.namespace == place and pod.labels.get("app") == EXPORTER]
        if policy.in_conflict:
            notes += [policy_in_conflict(policy), *([] if pods else [no_exporter(facts)])]
        elif not policy.exporter_enabled:
            notes.append(exporter_off(policy))
        else:
            reworked, stand_ins = _with_exporter(facts, place, theirs)
            theirs = theirs or stand_ins
            through = _through_policy(policy, place, theirs, reworked, prometheus, settings)
            notes += through.notes
            fields = through.fields
            pods = [pod for pod in reworked.dcgm_pods if not (through.done and pod in theirs)]
            if through.done:
                reworked = replace(reworked, monitors=tuple(m for m in reworked.monitors if not _is_theirs(m, place)))
    kit = Kit(
        what="DCGM exporter",
        prefix="kvobs-dcgm",
        service_monitor=templates["dcgm"],
        pod_monitor=_pod_template(templates),
        opt_out={},
        closed=frozenset(pod.namespace for pod in pods if (kind := managed_kind(pod.kind)) and kind.closed),
    )
    locked = [pod for pod in pods if pod.asks_password]
    pods = [pod for pod in pods if not pod.asks_password]
    found = cover(pods, reworked, prometheus, kit, namespace=namespace)
    # What is missing from the operator's own monitor was said with the policy.
    unread = [each for each in found.unselected if policy is None or each.name != EXPORTER]
    notes += found.notes
    notes += [monitor_not_read(m, prometheus, _missing_labels(prometheus, m, m.labels, facts)) for m in unread]
    notes += [*managed(facts.dcgm_pods), *password_asked(locked), *sliced(facts)]
    return DcgmPlan(objects=found.objects, fields=fields, notes=tuple(notes))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Through:
    """What the ClusterPolicy does for us: `done` where the operator's own monitor serves, now or once set."""

    done: bool
    fields: tuple[ForeignFieldChange, ...] = ()
    notes: tuple[Note, ...] = ()


def _through_policy(
    policy: ClusterPolicy,
    place: str,
    pods: list[MetricsPod],
    facts: Facts,
    prometheus: Prometheus,
    settings: Settings,
) -> _Through:
    """Decide whether the operator's own monitor is used, and what must be set for that."""
    if _read_elsewhere(pods, place, facts, prometheus):
        return _Through(done=False)  # and `cover` names the monitor that scrapes it
    theirs = _their_monitor(policy, place, facts)
    # What we added ourselves in an earlier run does not count: the plan is the same in every run.
    base = {k: v for k, v in theirs.labels.items() if not _only_ours(policy, f"additionalLabels.{k}")}
    missing = _missing_labels(prometheus, theirs, base, facts)
    enabled_by_others = policy.monitor_enabled is True and not _only_ours(policy, "enabled")
    if enabled_by_others and missing == {}:
        return _Through(done=True, notes=(scraped_by_operator(theirs),))
    if settings.dcgm == "exporter":
        return _Through(done=False)
    if missing is None:
        return _Through(done=False, notes=(unreachable(policy, place, prometheus),))
    changes = tuple(_changes(policy, {} if enabled_by_others else {"enabled": True}, missing))
    foreign = [each for each in changes if each.owner is not None]
    if not foreign:
        return _Through(done=True, fields=changes)
    fields, owners = [".".join(each.path) for each in foreign], [str(each.owner) for each in foreign]
    if settings.dcgm == "operator":
        return _Through(done=True, fields=changes, notes=(policy_taken(policy, fields=fields, owners=owners),))
    left = policy_left_alone(policy, fields=fields, owners=owners, labels=missing)
    return _Through(done=False, notes=(left,))


def _changes(policy: ClusterPolicy, plain: Mapping[str, Any], labels: Mapping[str, str]) -> list[ForeignFieldChange]:
    wanted: dict[tuple[str, ...], Any] = {(key,): value for key, value in plain.items()}
    wanted |= {("additionalLabels", key): value for key, value in sorted(labels.items())}
    changes = []
    for path, value in wanted.items():
        if path[0] == "enabled":
            before: Any = ABSENT if policy.monitor_enabled is None else policy.monitor_enabled
        else:
            before = policy.additional_labels.get(path[1], ABSENT)
        others = _others(policy, ".".join(path))
        changes.append(
            ForeignFieldChange(
                ref=Ref(POLICY_KIND, "", policy.name),
                api_version=policy.api_version,
                path=(*MONITOR_PATH, *path),
                value=value,
                # An owner who wants the same value is not in the way.
                owner=others[0] if others and before != value else None,
                before=before,
            )
        )
    return changes


def _missing_labels(
    prometheus: Prometheus, theirs: Monitor, base: Mapping[str, str], facts: Facts
) -> dict[str, str] | None:
    """The labels that somebody's monitor lacks beside *base* for *prometheus* to read it; None: no label would do."""
    selector, namespace_selector = selectors_of(prometheus, theirs.kind)
    if not selects_namespace(
        namespace_selector,
        own=prometheus.namespace,
        namespace=theirs.namespace,
        labels=facts.namespaces.get(theirs.namespace, {}),
    ):
        return None
    wanted = labels_wanted(selector, base)
    return None if wanted is None else {k: v for k, v in wanted.items() if base.get(k) != v}


def _their_monitor(policy: ClusterPolicy, place: str, facts: Facts) -> Monitor:
    """The operator's ServiceMonitor: the live one, else as the operator will make it."""
    live = next((each for each in facts.monitors if _is_theirs(each, place)), None)
    return Monitor(
        kind="ServiceMonitor",
        namespace=place,
        name=EXPORTER,
        labels={"app": EXPORTER, **(live.labels if live else {}), **policy.additional_labels},
        selector={"matchLabels": {"app": EXPORTER}},
        namespace_selector={"matchNames": [place]},
        endpoints=({"port": PORT_NAME, "path": "/metrics"},),
        ours=False,
    )


def _is_theirs(monitor: Monitor, place: str) -> bool:
    return (monitor.kind, monitor.namespace, monitor.name) == (
        "ServiceMonitor",
        place,
        EXPORTER,
    ) and not monitor.ours


def _read_elsewhere(pods: list[MetricsPod], place: str, facts: Facts, prometheus: Prometheus) -> bool:
    """Whether somebody's own monitor, not the operator's, makes *prometheus* scrape the exporter already."""

    def keep(monitor: Monitor) -> bool:
        ours_or_theirs = monitor.ours or _is_theirs(monitor, place)
        return not ours_or_theirs and selected(prometheus, monitor, facts.namespaces)

    wanted = {target_of(pod, pod.metrics_port) for pod in pods if pod.metrics_port is not None}
    return bool(wanted) and set(covered(facts.monitors, facts, wanted, keep)) == wanted


def _others(policy: ClusterPolicy, path: str) -> list[str]:
    return [each for each in policy.managers.get(path, ()) if each != OURS]


def _only_ours(policy: ClusterPolicy, path: str) -> bool:
    return policy.managers.get(path) == (OURS,)


def _operand_namespace(policy: ClusterPolicy, facts: Facts) -> str:
    """Where the operator runs its exporter: where it is seen, else its release's namespace, else the usual one."""
    seen = [each.namespace for each in facts.services if each.name == EXPORTER]
    seen += [pod.namespace for pod in facts.dcgm_pods if pod.labels.get("app") == EXPORTER]
    if policy.release is not None:
        return policy.release[0] if policy.release[0] in seen or not seen else min(seen)
    usual = [each for each in _OPERATOR_NAMESPACES if each in facts.namespaces]
    return min(seen) if seen else (usual or list(_OPERATOR_NAMESPACES))[0]


def _with_exporter(facts: Facts, place: str, pods: list[MetricsPod]) -> tuple[Facts, list[MetricsPod]]:
    """The facts with the operator's Service and a pod of its exporter, where they are not there yet."""
    services, stand_ins = facts.services, []
    if not any((each.namespace, each.name) == (place, EXPORTER) for each in services):
        port = ServicePort(name=PORT_NAME, port=DCGM_PORT, target=DCGM_PORT)
        labels = {"app": EXPORTER}
        services = (
            *services,
            Service(namespace=place, name=EXPORTER, labels=labels, selector=labels, ports=(port,)),
        )
    if not pods:
        stand_ins = [
            MetricsPod(
                namespace=place,
                name=EXPORTER,
                labels={"app": EXPORTER},
                ports={DCGM_PORT: "metrics"},
                metrics_port=DCGM_PORT,
                owner=EXPORTER,
            )
        ]
    return replace(facts, services=services, dcgm_pods=(*facts.dcgm_pods, *stand_ins)), stand_ins


def _pod_template(templates: Mapping[str, Object]) -> Object:
    """A PodMonitor with the endpoint settings of the DCGM monitor, for exporters without a Service."""
    pod_monitor, dcgm = templates["vllm-podmonitor"], templates["dcgm"]
    key = ENDPOINTS["PodMonitor"]
    settings = {k: v for k, v in dcgm["spec"]["endpoints"][0].items() if k not in ("port", "targetPort")}
    endpoint = {**pod_monitor["spec"][key][0], **settings}
    metadata = {**pod_monitor["metadata"], "labels": dcgm["metadata"].get("labels") or {}}
    return {**pod_monitor, "metadata": metadata, "spec": {**pod_monitor["spec"], key: [endpoint]}}
