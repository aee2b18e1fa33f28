"""What a run says about GPU metrics, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .facts import ClusterPolicy, Facts, Monitor, Prometheus
from .notes import Note
from .selectors import labels_wanted

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


def exporter_off(policy: ClusterPolicy) -> Note:
    """The GPU Operator is told to run no exporter."""
    return Note(
        "dcgm-exporter-off",
        f"ClusterPolicy {policy.name} has the DCGM exporter switched off, so the GPU Operator serves no GPU"
        f" metrics; to switch it on: {_next_upgrade(policy.release, ['dcgmExporter.enabled=true'])}",
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


def monitor_not_read(monitor: Monitor, prometheus: Prometheus) -> Note:
    """*monitor* would do, if only *prometheus* read it."""
    wanted = labels_wanted(prometheus.service_monitor_selector, monitor.labels) or {}
    missing = {key: value for key, value in wanted.items() if monitor.labels.get(key) != value}
    text = (
        f"{monitor.kind} {monitor.namespace}/{monitor.name} is not read by Prometheus {prometheus.namespace}/"
        f"{prometheus.name}"
    )
    if missing:
        text += f", for lack of the label {_and(f'{key}={value}' for key, value in missing.items())}"
    text += "; kvobs applies its own."
    if missing and monitor.release is not None:
        values = _label_values("serviceMonitor.additionalLabels", missing)
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
