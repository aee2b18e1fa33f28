"""DCGM's fields, as its exporter's default list and its releases have them."""

from __future__ import annotations

import pytest

from kvobs.health.gpu_fields import gpu_field, host_label, to_export


@pytest.mark.parametrize(
    ("name", "group", "default", "listed", "mig"),
    [
        *((f"DCGM_FI_DEV_{each}", "device", True, True, True) for each in (
            "SM_CLOCK", "MEM_CLOCK", "MEMORY_TEMP", "GPU_TEMP", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION",
            "PCIE_REPLAY_COUNTER", "XID_ERRORS", "FB_FREE", "FB_USED", "FB_RESERVED", "NVLINK_BANDWIDTH_TOTAL",
            "VGPU_LICENSE_STATUS", "ROW_REMAP_FAILURE",
        )),
        *((f"DCGM_FI_DEV_{each}_UTIL", "device", True, True, False) for each in ("GPU", "MEM_COPY", "ENC", "DEC")),
        *((f"DCGM_FI_PROF_{each}", "profiling", True, True, True) for each in (
            "GR_ENGINE_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE", "PCIE_TX_BYTES", "PCIE_RX_BYTES",
        )),
        *((f"DCGM_FI_PROF_{each}", "profiling", False, True, True) for each in (
            "SM_ACTIVE", "SM_OCCUPANCY", "PIPE_FP64_ACTIVE", "PIPE_FP32_ACTIVE", "PIPE_FP16_ACTIVE",
        )),
        *((f"DCGM_FI_DEV_{each}", "device", False, True, True) for each in (
            "POWER_VIOLATION", "THERMAL_VIOLATION", "ECC_SBE_VOL_TOTAL", "RETIRED_PENDING",
            "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "NVLINK_BANDWIDTH_L0",
        )),
        ("DCGM_FI_DEV_PCIE_TX_THROUGHPUT", "device", False, False, True),
        ("DCGM_EXP_XID_ERRORS_COUNT", "derived", False, True, True),
        ("DCGM_FI_DRIVER_VERSION", "label", False, True, True),
    ],
)  # fmt: skip
def test_a_field(name: str, group: str, default: bool, listed: bool, mig: bool) -> None:
    """A field's kind, whether the exporter exports it by default, and whether a slice of a GPU has it."""
    field = gpu_field(name)
    assert field is not None
    assert (field.group, field.default, field.listed, field.mig) == (group, default, listed, mig)


@pytest.mark.parametrize("name", ["vllm:num_requests_running", "dcgm_gpu_temp", "DCGM", ""])
def test_no_field(name: str) -> None:
    """What is not spelled as a field is none."""
    assert gpu_field(name) is None


def test_how_a_field_is_exported() -> None:
    """One that the list has commented out takes a #, one that it lacks a line."""
    off, unlisted = gpu_field("DCGM_FI_PROF_SM_ACTIVE"), gpu_field("DCGM_FI_DEV_PCIE_TX_THROUGHPUT")
    assert off is not None
    assert unlisted is not None
    assert "take the #" in to_export(off)
    assert "DCGM_FI_DEV_PCIE_TX_THROUGHPUT, gauge" in to_export(unlisted)


@pytest.mark.parametrize(
    ("version", "label"),
    [
        ("4.5.3-4.8.2", "Hostname"),
        ("3.3.7-3.5.0-ubuntu22.04", "Hostname"),
        ("4.6.0-4.8.3", "hostname"),
        ("v4.6.0-4.8.3-distroless", "hostname"),
        ("5.0.0-5.1.0", "hostname"),
        ("latest", None),
    ],
)
def test_the_label_of_the_node(version: str, label: str | None) -> None:
    """The exporter wrote Hostname up to 4.5.3-4.8.2, and hostname since."""
    assert host_label(version) == label
