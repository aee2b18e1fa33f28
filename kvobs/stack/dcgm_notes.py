"""What a run says about GPU metrics, sentence by sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .dcgm_kinds import DRA_EXPORTER, MIG_LACKS, NODE_LABEL, NODE_PORT, managed_kind
from .facts import ClusterPolicy, Facts, MetricsPod, Monitor, Prometheus
from .node_scrape import KIND, node_scrape
from .notes import Note
from .targets import in_words

POLICY_TAKEN = "dcgm-policy-taken"
"""Id of the note that names the owner of a field which is taken, and the consequence."""


def no_exporter(facts: Facts) -> Note:
    """Nothing serves GPU metrics."""
    text = "GPU metrics: no GPU exporter, skipped."
    if facts.gpu_nodes:
        text += (
            f" {facts.gpu_nodes} of the nodes have GPUs: the GPU Operator brings an exporter, or NVIDIA's"
            " chart dcgm-exporter; run this again when one is there."
        )
    return Note("no-gpu-exporter", text)


def exporters_of_nodes(facts: Facts, prometheus: Prometheus, told: Iterable[str | None]) -> Note:
    """Nodes serve GPU metrics themselves, where no ServiceMonitor or PodMonitor leads.

    *told* are the intervals than which a scrape is not to be slower.
    """
    key, value = NODE_LABEL
    text = (
        f"GPU metrics: AKS runs the DCGM exporter as a service of the node itself (label {key}={value}, on"
        f" {facts.exporting_nodes} of the nodes), in no pod, so that no ServiceMonitor or PodMonitor leads to it."
    )
    scrape = node_scrape(prometheus, name="dcgm-of-nodes", node_label=NODE_LABEL, port=NODE_PORT, told=told)
    where = f"Prometheus {prometheus.namespace}/{prometheus.name}"
    if KIND not in facts.kinds:
        text += " A ScrapeConfig would, and this cluster's Prometheus Operator is too old for it (0.65 or later)."
    elif scrape is None:
        text += f" A ScrapeConfig would, and {where} reads none: set its scrapeConfigSelector, and run this again."
    else:
        text += f" A ScrapeConfig does: echo '{json.dumps(scrape)}' | kubectl apply -f -"
    return Note("dcgm-on-nodes", text)


def managed(pods: Iterable[MetricsPod]) -> Iterator[Note]:
    """Say of each managed exporter who manages it, what it lacks, and how to have more."""
    for kind in sorted({pod.kind for pod in pods}):
        known = managed_kind(kind)
        if known is None:
            continue
        where = in_words(pod for pod in pods if pod.kind == kind)
        yield Note(
            "dcgm-managed",
            f"DCGM exporter {where} belongs to {known.manager}, which sets back what is changed of it; kvobs leaves it"
            f" as it is, and {known.limits}; {known.remedy}.",
        )


def password_asked(pods: Sequence[MetricsPod]) -> Iterator[Note]:
    """Exporters behind a password are left alone."""
    if pods:
        yield Note(
            "dcgm-password",
            f"DCGM exporter {in_words(pods)} is not scraped: its web configuration asks for a password, which kvobs"
            " does not handle; give its own ServiceMonitor the labels that the Prometheus selects by, and basicAuth.",
        )


def sliced(facts: Facts) -> Iterator[Note]:
    """Nodes whose GPUs are sliced: what is not measured there."""
    if facts.mig_nodes and facts.dcgm_pods:
        lacking = ", ".join(f"DCGM_FI_DEV_{each}" for each in MIG_LACKS)
        yield Note(
            "dcgm-mig",
            f"On {facts.mig_nodes} of the nodes GPUs are sliced by MIG, where DCGM has no {lacking}: the panels GPU"
            " utilisation and Memory copy utilisation stay dark for them; Graphics engine active"
            " (DCGM_FI_PROF_GR_ENGINE_ACTIVE) is what shows the use of a slice.",
        )


def exporter_off(policy: ClusterPolicy) -> Note:
    """The GPU Operator is told to run no exporter."""
    return Note(
        "dcgm-exporter-off",
        f"ClusterPolicy {policy.name} has the DCGM exporter switched off, so the GPU Operator serves no GPU"
        f" metrics; to switch it on: {_next_upgrade(policy.release, ['dcgmExporter.enabled=true'])}",
    )


def policy_in_conflict(policy: ClusterPolicy) -> Note:
    """The GPU Operator carries out neither of two objects of its own."""
    return Note(
        "dcgm-policy-left",
        f"ClusterPolicy {policy.name} is left alone: while a GPUCluster is there too, the GPU Operator carries out"
        " neither of the two; kvobs takes the exporters that run as they are. Keep one of them (values"
        " clusterPolicy.deployCR and gpuCluster.deployCR of chart gpu-operator), then run this again.",
    )


def scraped_by_operator(monitor: Monitor) -> Note:
    """The operator's own monitor does it."""
    where = f"{monitor.namespace}/{monitor.name}"
    return Note(
        "already-scraped",
        f"The DCGM exporter of the GPU Operator is scraped through the operator's own ServiceMonitor {where};"
        " nothing is changed.",
    )


def unreachable(policy: ClusterPolicy, place: str, prometheus: Prometheus) -> Note:
    """No label would help the operator's own monitor."""
    return Note(
        "dcgm-policy-left",
        f"ClusterPolicy {policy.name} is left alone: Prometheus {prometheus.namespace}/{prometheus.name} would"
        f" not read a ServiceMonitor in namespace {place}, whatever its labels; kvobs applies its own.",
    )


def policy_too_slow(policy: ClusterPolicy, *, interval: str, wanted: str) -> Note:
    """The operator's own monitor would scrape each *interval*, which is too seldom here: *wanted* would do."""
    values = [f"dcgmExporter.serviceMonitor.interval={wanted}"]
    return Note(
        "dcgm-policy-left",
        f"ClusterPolicy {policy.name} is left alone: the GPU Operator's own ServiceMonitor scrapes each {interval}, too"
        " seldom for the scrape interval of this Prometheus and Grafana, whose windows for rates are four times that;"
        " kvobs applies its own. To have the operator's instead, then run this again:"
        f" {_next_upgrade(policy.release, values)}",
    )


def policy_left_alone(
    policy: ClusterPolicy, *, fields: Iterable[str], owners: Iterable[str], labels: Mapping[str, str]
) -> Note:
    """*fields* of the policy belong to *owners*, who would meet a conflict; the monitor lacks *labels*."""
    text = (
        f"ClusterPolicy {policy.name} is left alone, as {_and(fields)} belongs to {_and(owners)}; kvobs applies"
        " its own ServiceMonitor."
    )
    if policy.monitor_enabled is not True:  # else its labels serve another Prometheus already
        values = ["dcgmExporter.serviceMonitor.enabled=true"]
        values += _label_values("dcgmExporter.serviceMonitor.additionalLabels", labels)
        text += f" To have the operator's instead, then run this again: {_next_upgrade(policy.release, values)}"
    return Note("dcgm-policy-left", text)


def policy_taken(policy: ClusterPolicy, *, fields: Iterable[str], owners: Iterable[str]) -> Note:
    """*fields* of the policy are taken from *owners*, as asked."""
    return Note(
        POLICY_TAKEN,
        f"{_and(fields)} of ClusterPolicy {policy.name} is taken from {_and(owners)}, as --dcgm operator says:"
        " the next helm upgrade of its release fails with a conflict under Helm 4 unless its values say the"
        " same; kvobs uninstall gives the field back.",
    )


def monitor_not_read(monitor: Monitor, prometheus: Prometheus, missing: Mapping[str, str] | None) -> Note:
    """*monitor* would do, if only *prometheus* read it: it lacks the labels *missing*; None: no label would help."""
    text = (
        f"{monitor.kind} {monitor.namespace}/{monitor.name} is not read by Prometheus {prometheus.namespace}/"
        f"{prometheus.name}, "
    )
    if not missing:
        return Note("monitor-not-read", f"{text}whatever its labels; kvobs applies its own.")
    text += f"for lack of the label {_and(f'{key}={value}' for key, value in missing.items())}; kvobs applies its own."
    values: list[str] = []
    if monitor.release is not None:
        values = _label_values("serviceMonitor.additionalLabels", missing)
    elif monitor.name == DRA_EXPORTER:
        values = _label_values("dcgmExporter.serviceMonitor.additionalLabels", missing)
    if values:
        text += f" To use theirs instead, then run this again: {_next_upgrade(monitor.release, values)}"
    return Note("monitor-not-read", text)


def _and(words: Iterable[str]) -> str:
    return " and ".join(sorted(set(words)))


def _label_values(below: str, labels: Mapping[str, str]) -> list[str]:
    """Labels as Helm's `--set-string` takes them, quoted for a shell; a dot in a key is escaped."""
    return [f"{below}.{key.replace('.', chr(92) + '.')}={value}" for key, value in sorted(labels.items())]


def _next_upgrade(release: tuple[str, str] | None, values: Sequence[str]) -> str:
    """What to set where. No command: which chart a release was made from is nowhere on the cluster."""
    if release is None:
        return f"set {', '.join(values)} in the values of what installed it"
    namespace, name = release
    flags = " ".join(f"--set-string '{v}'" if "abels." in v else f"--set {v}" for v in values)
    return (
        f"give {flags} in the next upgrade of Helm release {namespace}/{name}, beside its other values and at the"
        f" chart version that it has (helm list -n {namespace})"
    )
