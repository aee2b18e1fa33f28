"""The GPU Operator's own ServiceMonitor: whether it can serve, and what of its ClusterPolicy is to be set for that.

The operator makes it when the policy says so. That field usually belongs to somebody's Helm release, and under Helm 4
their next upgrade fails with a conflict if we take it. So it is taken only where nobody owns it, or where the user
says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..settings import Settings
from .dcgm_notes import policy_left_alone, policy_taken, policy_too_slow, scraped_by_operator, unreachable
from .exporters import DCGM_PORT
from .facts import ClusterPolicy, Facts, MetricsPod, Monitor, Prometheus, Ref, Service, ServicePort
from .notes import Note
from .objects import OURS
from .record import ABSENT
from .scrape_intervals import scrape_interval, too_slow
from .selectors import labels_wanted, selects_namespace
from .targets import covered, selected, selectors_of, target_of

EXPORTER = "nvidia-dcgm-exporter"
"""What the GPU Operator calls the exporter's Service, its ServiceMonitor and the label `app` of both."""
PORT_NAME = "gpu-metrics"
POLICY_KIND = "ClusterPolicy.nvidia.com"
MONITOR_PATH = ("spec", "dcgmExporter", "serviceMonitor")
_INTERVAL = "15s"
"""How often the operator's monitor scrapes where its policy does not say."""

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
class Through:
    """What the ClusterPolicy does for us: `done` where the operator's own monitor serves, now or once set."""

    done: bool
    fields: tuple[ForeignFieldChange, ...] = ()
    notes: tuple[Note, ...] = ()


def through_policy(
    policy: ClusterPolicy,
    place: str,
    pods: list[MetricsPod],
    facts: Facts,
    prometheus: Prometheus,
    settings: Settings,
    told: Sequence[str | None],
) -> Through:
    """Decide whether the operator's own monitor is used, and what must be set for that.

    *told* are the intervals that the Prometheus and Grafana's data source reckon with.
    """
    if _read_elsewhere(pods, place, facts, prometheus):
        return Through(done=False)  # and `cover` names the monitor that scrapes it
    theirs = _their_monitor(policy, place, facts)
    # What we added ourselves in an earlier run does not count: the plan is the same in every run.
    missing = missing_labels(prometheus, theirs, _of_others(policy, theirs.labels), facts)
    enabled_by_others = policy.monitor_enabled is True and not _only_ours(policy, "enabled")
    if enabled_by_others and missing == {}:
        return Through(done=True, notes=(scraped_by_operator(theirs),))
    if settings.dcgm == "exporter":
        return Through(done=False)
    if missing is None:
        return Through(done=False, notes=(unreachable(policy, place, prometheus),))
    interval = policy.interval or _INTERVAL
    if settings.dcgm != "operator" and too_slow(interval, told):
        # Its interval is left as it is: beside a longer scrapeTimeout of the policy's the monitor would be rejected.
        slow = policy_too_slow(policy, interval=interval, wanted=scrape_interval(interval, told))
        return Through(done=False, notes=(slow,))
    changes = tuple(_changes(policy, {} if enabled_by_others else {"enabled": True}, missing))
    foreign = [each for each in changes if each.owner is not None]
    if not foreign:
        return Through(done=True, fields=changes)
    fields, owners = [".".join(each.path) for each in foreign], [str(each.owner) for each in foreign]
    if settings.dcgm == "operator":
        return Through(done=True, fields=changes, notes=(policy_taken(policy, fields=fields, owners=owners),))
    left = policy_left_alone(policy, fields=fields, owners=owners, labels=missing)
    return Through(done=False, notes=(left,))


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


def missing_labels(
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


def without_theirs(facts: Facts, place: str) -> Facts:
    """Return *facts* without the operator's own monitor."""
    return replace(facts, monitors=tuple(each for each in facts.monitors if not _is_theirs(each, place)))


def given_back(facts: Facts, policy: ClusterPolicy, place: str) -> Facts:
    """Return *facts* with the operator's own monitor as it is once what we set in the policy is no longer there."""
    if _only_ours(policy, "enabled"):
        return without_theirs(facts, place)

    def left(monitor: Monitor) -> Monitor:
        if not _is_theirs(monitor, place):
            return monitor
        return replace(monitor, labels=_of_others(policy, monitor.labels))

    return replace(facts, monitors=tuple(map(left, facts.monitors)))


def _of_others(policy: ClusterPolicy, labels: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in labels.items() if not _only_ours(policy, f"additionalLabels.{k}")}


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


def operand_namespace(policy: ClusterPolicy, facts: Facts) -> str:
    """Where the operator runs its exporter: where it is seen, else its release's namespace, else the usual one."""
    seen = [each.namespace for each in facts.services if each.name == EXPORTER]
    seen += [pod.namespace for pod in facts.dcgm_pods if pod.labels.get("app") == EXPORTER]
    if policy.release is not None:
        return policy.release[0] if policy.release[0] in seen or not seen else min(seen)
    usual = [each for each in _OPERATOR_NAMESPACES if each in facts.namespaces]
    return min(seen) if seen else (usual or list(_OPERATOR_NAMESPACES))[0]


def with_exporter(facts: Facts, place: str, pods: list[MetricsPod]) -> tuple[Facts, list[MetricsPod]]:
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
