"""The fields of dcgm-exporter as data: which it exports by default, which need what GPU, how its labels changed. Pure.

From its list of default counters, which the GPU Operator uses too unless it is given another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..stack.dcgm_kinds import MIG_LACKS
from .versions import read_version

DCGM = "DCGM_"
"""What every metric of the exporter begins with."""
DEVICE = "DCGM_FI_DEV_"
PROFILING = "DCGM_FI_PROF_"

Group = Literal["device", "profiling", "derived", "label"]
"""device: read from the driver; profiling: needs a data-centre GPU of the Volta generation or newer; derived: made by
the exporter (`DCGM_EXP_…`); label: a field that is written as a label of the others."""

ON_BY_DEFAULT: frozenset[str] = frozenset(
    {
        "DCGM_FI_DEV_SM_CLOCK",
        "DCGM_FI_DEV_MEM_CLOCK",
        "DCGM_FI_DEV_MEMORY_TEMP",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "DCGM_FI_DEV_ENC_UTIL",
        "DCGM_FI_DEV_DEC_UTIL",
        "DCGM_FI_DEV_XID_ERRORS",
        "DCGM_FI_DEV_FB_FREE",
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_FB_RESERVED",
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        "DCGM_FI_PROF_PCIE_RX_BYTES",
    }
)

_IN_THE_LIST = re.compile(
    r"DCGM_FI_PROF_(SM_ACTIVE|SM_OCCUPANCY|PIPE_FP(64|32|16)_ACTIVE)"
    r"|DCGM_FI_DEV_\w+_VIOLATION"
    r"|DCGM_FI_DEV_ECC_\w+"
    r"|DCGM_FI_DEV_RETIRED_\w+"
    r"|DCGM_FI_DEV_NVLINK_\w+_(ERROR_COUNT_TOTAL|L0)"
    r"|DCGM_EXP_\w+"
)
"""What the default list names, commented out."""

LABELS: frozenset[str] = frozenset({"DCGM_FI_DRIVER_VERSION"})
"""Fields that are no metric of their own, but a label of the others."""

_SINCE = {DEVICE + "FB_RESERVED": "4.3.1-4.4.0"}
"""Versions of the exporter (its own and DCGM's) that first export a field by default."""

WITHOUT_UTIL_UNTIL = "September 2021"
"""Before then some releases (2.3.0 among them) left DCGM_FI_DEV_GPU_UTIL out of the default list."""

WITHOUT_PROFILING = ("GeForce", "TITAN")
"""Words in the models of consumer cards, of which none has profiling fields."""

MIG_DROPS: frozenset[str] = frozenset(DEVICE + each for each in MIG_LACKS)
"""Fields that a GPU sliced by MIG does not have."""
MIG_INSTEAD = {
    DEVICE + "GPU_UTIL": PROFILING + "GR_ENGINE_ACTIVE",
    DEVICE + "MEM_COPY_UTIL": PROFILING + "DRAM_ACTIVE",
}
"""What shows of a slice how busy it is, and how busy its memory; a fraction each. Encoder and decoder have nothing."""
MIG_LABELS = ("GPU_I_PROFILE", "GPU_I_ID")
"""Labels by which the series of a slice are known."""

WORKLOAD_LABELS = ("pod", "namespace", "container")
"""Labels of the workload on a GPU: stored as `exported_…` unless the scrape honours labels; an idle GPU has none."""

LINK_LABELS: dict[str, str] = {"UUID": "gpu_uuid", "modelName": "model_name"}
"""What metrics of links (`nvlink`) have in place of the labels that all others have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """What is known of one field."""

    name: str
    group: Group
    default: bool
    """Whether the exporter's default list has it."""
    listed: bool
    """Whether the default list names it at all, be it commented out."""
    since: str | None = None
    """The exporter's first version that exports it by default, where it was not always so."""
    mig: bool = True
    """Whether a slice of a GPU has it."""


def gpu_field(name: str) -> Field | None:
    """Return what is known of a DCGM metric by its name; None for another name.

    >>> gpu_field("DCGM_FI_PROF_SM_ACTIVE").default
    False
    """
    group: Group
    if name in LABELS:
        group = "label"
    elif name.startswith(PROFILING):
        group = "profiling"
    elif name.startswith(DEVICE):
        group = "device"
    elif name.startswith("DCGM_EXP_"):
        group = "derived"
    else:
        return None
    default = name in ON_BY_DEFAULT
    return Field(
        name=name,
        group=group,
        default=default,
        listed=default or group == "label" or _IN_THE_LIST.fullmatch(name) is not None,
        since=_SINCE.get(name),
        mig=name not in MIG_DROPS,
    )


def to_export(field: Field) -> str:
    """Return in words how an exporter is made to export a field that it does not by default."""
    line = f"{field.name}, gauge, {field.name}"
    where = "take the # from its line in" if field.listed else f"add the line `{line}` to"
    return (
        f"{where} the exporter's list of counters: dcgmExporter.config.name of the GPU Operator names a ConfigMap with"
        " it (key dcgm-metrics.csv), customMetrics of the chart dcgm-exporter holds it"
    )


HOST_LABELS = ("Hostname", "hostname")
"""The label of the node, up to exporter 4.5.3-4.8.2 and since 4.6.0-4.8.3."""

_HOST_LABEL_CHANGED = "4.6.0"


def host_label(exporter_version: str) -> str | None:
    """Return how a version of the exporter spells the label of the node; None where the version cannot be read.

    >>> host_label("4.5.3-4.8.2-distroless"), host_label("4.6.0-4.8.3-ubuntu22.04")
    ('Hostname', 'hostname')
    """
    read, changed = read_version(exporter_version), read_version(_HOST_LABEL_CHANGED)
    if read is None or changed is None:
        return None
    return HOST_LABELS[read.reached(changed)]
