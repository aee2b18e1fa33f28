"""The dashboards that kvobs ships, on a vLLM 0.32 and on each kind of GPU, in front of real Prometheus servers."""

from __future__ import annotations

import csv
import re

import pytest

from kvobs.health.gpu_fields import MIG_DROPS, MIG_LABELS, ON_BY_DEFAULT, PROFILING
from kvobs.settings import Reach, Settings, Verification
from kvobs.use_cases.verify import verify
from kvobs.use_cases.verify_report import VerifyReport

from ..prometheus_server import BINARIES, Binary, PrometheusServer
from ..vllm_capture import METRICS as CAPTURES
from ..vllm_capture import WHY_SKIPPED
from .dark import DATA, NOW_S
from .replay import Scrape, replayed

EXPOSITIONS = DATA / "metrics"
SHIPPED = ("vllm", "dcgm", "two-lenses")
VLLM = {
    "job": "vllm", "instance": "10.0.0.5:8000", "namespace": "serving", "pod": "vllm-0",
    "service": "vllm", "endpoint": "http", "container": "vllm",
}  # fmt: skip
EXPORTER = {
    "job": "nvidia-dcgm-exporter", "instance": "10.0.0.9:9400", "namespace": "gpu-operator",
    "pod": "nvidia-dcgm-exporter-x7k2p", "service": "nvidia-dcgm-exporter", "endpoint": "gpu-metrics",
    "container": "nvidia-dcgm-exporter",
}  # fmt: skip
"""What Prometheus adds to the series of the GPU Operator's exporter, and does not let it overwrite."""

DARK = {
    "dcgm-4.5-hostname-old-case.txt": {},
    "dcgm-4.6-hostname-new-case.txt": {},
    "dcgm-4.6-mig.txt": {
        "Average utilisation": "KVO-508",
        "GPU utilisation": "KVO-508",
        "Memory copy utilisation": "KVO-508",
    },
    "dcgm-4.6-consumer-card.txt": {
        "Average tensor activity": "KVO-507",
        "Tensor activity": "KVO-507",
        "Memory bandwidth active": "KVO-507",
        "Graphics engine active": "KVO-507",
    },
}
"""Exposition of the GPUs -> the panels that are dark by what the GPU is, and the cause; every other one is lit."""


def verified(binary: Binary, *scrapes: Scrape) -> VerifyReport:
    """Return what verify says of the shipped dashboards where these were scraped for an hour."""
    with PrometheusServer(binary=binary, om_text=[replayed(each, NOW_S) for each in scrapes]) as server:
        reach = Reach(url=server.url)
        return verify(Settings(offline=True), Verification(sources=SHIPPED, reach=reach, at=str(NOW_S)))


def scrape(exposition: str, labels: dict[str, str]) -> Scrape:
    """Return the scrape of one of the expositions."""
    return Scrape(text=(EXPOSITIONS / exposition).read_text(), labels=labels)


def by_state(report: VerifyReport) -> dict[str, dict[str, str]]:
    """Return state -> panel -> cause, of the panels that are neither lit nor text."""
    found: dict[str, dict[str, str]] = {}
    for _, panel in report.panels:
        if panel.state != "lit" and panel.type != "text":
            found.setdefault(panel.state, {})[panel.title] = panel.finding.cause if panel.finding else panel.why
    return found


@pytest.mark.parametrize("binary", BINARIES)
@pytest.mark.parametrize("exposition", DARK)
def test_all_is_lit_or_expected_dark(exposition: str, binary: Binary) -> None:
    """Every panel is lit, but for those whose field this kind of GPU does not have; nothing is broken."""
    report = verified(binary, scrape("vllm-0.32.txt", VLLM), scrape(exposition, EXPORTER))

    dark = DARK[exposition]
    assert by_state(report) == ({"expected": dark} if dark else {})
    assert report.exit_code == 0
    assert report.counts["lit"] + len(dark) + report.counts["not checked"] == sum(report.counts.values())
    assert [board.title for board in report.boards if not board.panels or board.findings] == []


@pytest.mark.parametrize("binary", BINARIES)
def test_what_no_server_exports_is_named(binary: Binary) -> None:
    """With vLLM alone, every panel of the vLLM dashboard is lit, and what is of the GPU has one cause."""
    report = verified(binary, scrape("vllm-0.32.txt", VLLM))

    states = {board.uid: {panel.state for panel in board.panels} for board in report.boards}
    assert states["kvobs-vllm"] == {"lit"}
    assert "lit" not in states["kvobs-dcgm"]
    assert {panel.finding.cause for _, panel in report.panels if panel.finding is not None} == {"KVO-510"}


def families(exposition: str) -> dict[str, str]:
    """Return name -> kind of the metrics of an exposition."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", (EXPOSITIONS / exposition).read_text(), re.MULTILINE))


def label_names(exposition: str) -> set[frozenset[str]]:
    """Return the sets of labels that the series of an exposition have."""
    series = re.findall(r"^\w+\{(.*)\} ", (EXPOSITIONS / exposition).read_text(), re.MULTILINE)
    return {frozenset(re.findall(r'(\w+)="', each)) for each in series}


def test_expositions_of_gpus_are_as_the_exporter_writes_them() -> None:
    """All default fields and labels are there, less what MIG and a consumer card lack."""
    plain = {"gpu", "UUID", "pci_bus_id", "device", "modelName", "DCGM_FI_DRIVER_VERSION"}
    workload = {"pod", "namespace", "container"}
    of_links_and_rows = {each for each in ON_BY_DEFAULT if "NVLINK" in each or "REMAP" in each}
    profiling = {each for each in ON_BY_DEFAULT if each.startswith(PROFILING)}
    expected = {
        "dcgm-4.5-hostname-old-case.txt": (ON_BY_DEFAULT, {"Hostname"}),
        "dcgm-4.6-hostname-new-case.txt": (ON_BY_DEFAULT, {"hostname"}),
        "dcgm-4.6-mig.txt": (ON_BY_DEFAULT - MIG_DROPS, {"hostname", *MIG_LABELS}),
        "dcgm-4.6-consumer-card.txt": (ON_BY_DEFAULT - profiling - of_links_and_rows, {"hostname"}),
    }
    for exposition, (fields, labels) in expected.items():
        assert set(families(exposition)) == fields, exposition
        own = plain | labels
        assert label_names(exposition) == {frozenset(own), frozenset(own | workload)}, exposition


@pytest.mark.skipif(not CAPTURES.is_dir(), reason=WHY_SKIPPED)
def test_the_exposition_of_vllm_has_what_a_real_server_has() -> None:
    """Each family that a real vLLM 0.32 has by default is there, of the same kind, and no other."""
    with (CAPTURES / "vllm-metric-names-0.32.0.tsv").open(newline="") as names:
        rows = [each for each in csv.DictReader(names, delimiter="\t") if each["name"].startswith("vllm:")]

    assert families("vllm-0.32.txt") == {each["name"]: each["type"] for each in rows if each["shown"] == "default"}
