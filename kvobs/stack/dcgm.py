"""How GPU metrics come to be scraped: through the GPU Operator where that is free to ask, else by our monitor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..settings import Settings
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
    sliced,
)
from .dcgm_policy import (
    EXPORTER,
    ForeignFieldChange,
    given_back,
    missing_labels,
    operand_namespace,
    through_policy,
    with_exporter,
    without_theirs,
)
from .facts import Facts, Object, Prometheus
from .monitor_objects import Kit
from .notes import Note
from .targets import ENDPOINTS


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
    told: Sequence[str | None] = (),
) -> DcgmPlan:
    """Return how *prometheus* comes to scrape every DCGM exporter of *facts* once.

    Our own monitors sit in *namespace* if *prometheus* reads monitors there. *templates* are the shipped
    monitors by name: `dcgm`, and `vllm-podmonitor` for its way to reach a port that no pod declares. *told* are the
    intervals that *prometheus* and Grafana's data source reckon with.
    """
    if settings.dcgm == "none":
        return DcgmPlan(notes=(Note("dcgm-skipped", "GPU metrics: skipped, as --dcgm none says."),))
    policy = min(facts.cluster_policies, key=lambda each: each.name, default=None)
    notes: list[Note] = [exporters_of_nodes(facts, prometheus, told)] if facts.exporting_nodes else []
    if policy is None and not facts.dcgm_pods:
        return DcgmPlan(notes=tuple(notes or [no_exporter(facts)]))
    fields: tuple[ForeignFieldChange, ...] = ()
    pods = list(facts.dcgm_pods)
    reworked = facts
    if policy is not None:
        place = operand_namespace(policy, facts)
        theirs = [pod for pod in pods if pod.namespace == place and pod.labels.get("app") == EXPORTER]
        if policy.in_conflict:
            notes += [policy_in_conflict(policy), *([] if pods else [no_exporter(facts)])]
        elif not policy.exporter_enabled:
            notes.append(exporter_off(policy))
        else:
            reworked, stand_ins = with_exporter(facts, place, theirs)
            theirs = theirs or stand_ins
            through = through_policy(policy, place, theirs, reworked, prometheus, settings, told)
            notes += through.notes
            fields = through.fields
            pods = [pod for pod in reworked.dcgm_pods if not (through.done and pod in theirs)]
            reworked = without_theirs(reworked, place) if through.done else given_back(reworked, policy, place)
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
    notes += [monitor_not_read(m, prometheus, missing_labels(prometheus, m, m.labels, facts)) for m in unread]
    notes += [*managed(facts.dcgm_pods), *password_asked(locked), *sliced(facts)]
    return DcgmPlan(objects=found.objects, fields=fields, notes=tuple(notes))


def _pod_template(templates: Mapping[str, Object]) -> Object:
    """A PodMonitor with the endpoint settings of the DCGM monitor, for exporters without a Service."""
    pod_monitor, dcgm = templates["vllm-podmonitor"], templates["dcgm"]
    key = ENDPOINTS["PodMonitor"]
    settings = {k: v for k, v in dcgm["spec"]["endpoints"][0].items() if k not in ("port", "targetPort")}
    endpoint = {**pod_monitor["spec"][key][0], **settings}
    metadata = {**pod_monitor["metadata"], "labels": dcgm["metadata"].get("labels") or {}}
    return {**pod_monitor, "metadata": metadata, "spec": {**pod_monitor["spec"], key: [endpoint]}}
