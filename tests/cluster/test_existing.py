"""A stack that somebody else's Helm release made: kvobs works beside it, changes nothing of it, and leaves no trace.

One bed with vLLM servers of every kind in front of the real Prometheus of release `kps`. The tests run in their order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kvobs.adapters.assets import shipped_dashboards
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import chart_under_test
from tests.cluster.commands import kvobs
from tests.cluster.snapshots import Snapshot, come_to, differences, settled, versions
from tests.cluster.workloads import VLLM_PORT, helm_run, vllm

NAMESPACE = "observability"
UID = "theirs"
MONITORS = "monitoring.coreos.com/v1"
OURS = "app.kubernetes.io/managed-by=kvobs"
NAME = "app.kubernetes.io/name"
SCRAPE = {"kvobs.dev/scrape": "vllm"}

VALUES = (f"grafana.sidecar.datasources.uid={UID}", "prometheus.prometheusSpec.scrapeInterval=2s")


def service(name: str, pods: str, *, labels: Mapping[str, str] | None = None) -> Object:
    """Return a Service in front of the server *pods*."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "llm", "labels": dict(labels or {})},
        "spec": {"selector": {NAME: pods}, "ports": [{"name": "http", "port": 80, "targetPort": VLLM_PORT}]},
    }


def monitor(kind: str, pods: str, *, labels: Mapping[str, str]) -> Object:
    """Return somebody's monitor for the server *pods*."""
    endpoints = {"ServiceMonitor": "endpoints", "PodMonitor": "podMetricsEndpoints"}[kind]
    return {
        "apiVersion": MONITORS,
        "kind": kind,
        "metadata": {"name": f"theirs-{pods}", "namespace": "llm", "labels": dict(labels)},
        "spec": {"selector": {"matchLabels": {NAME: pods}}, endpoints: [{"port": "http", "interval": "2s"}]},
    }


def servers(bed: Bed) -> None:
    """Deploy vLLM in every way that makes a difference to who scrapes it; each line is one of them."""
    vllm(bed, "named")
    vllm(bed, "unnamed", port_name=None)
    vllm(bed, "alone", service=False)
    vllm(bed, "two-services")
    vllm(bed, "no-labels", service=False)
    vllm(bed, "labelled", labels=SCRAPE)
    vllm(bed, "monitored")
    vllm(bed, "unread-monitor")
    vllm(bed, "pod-monitored")
    vllm(bed, "vllm", "other")
    bed.api.apply(
        service("two-services-internal", "two-services", labels={"role": "internal"}),
        service("no-labels", "no-labels"),
        monitor("ServiceMonitor", "monitored", labels={"release": "kps"}),
        monitor("ServiceMonitor", "unread-monitor", labels={}),
        monitor("PodMonitor", "pod-monitored", labels={"release": "kps"}),
    )


@dataclass(frozen=True, kw_only=True)
class Existing:
    """The bed with their stack, and kvobs installed beside it."""

    bed: Bed
    environment: dict[str, str]
    """Without any Helm on PATH."""
    before: Snapshot
    report: dict[str, Any]
    after: Snapshot

    def targets(self) -> list[Object]:
        """Return what their Prometheus scrapes."""
        path = f"/api/v1/namespaces/{NAMESPACE}/services/kps-kube-prometheus-stack-prometheus:http-web/proxy"
        found: list[Object] = self.bed.api.request("GET", f"{path}/api/v1/targets", state="active")["data"][
            "activeTargets"
        ]
        return found

    def scraped(self, *health: str) -> Counter[tuple[str, str]]:
        """Return how often each vLLM pod is a target, of those whose last scrape ended so (that answered, if none)."""
        return Counter(
            (each["labels"]["namespace"], each["labels"]["pod"])
            for each in self.targets()
            if each["health"] in (health or ("up",)) and each["labels"].get("namespace") in ("llm", "other")
        )

    def pods(self) -> set[tuple[str, str]]:
        """Return the vLLM pods."""
        found = [each for namespace in ("llm", "other") for each in self.bed.api.list("v1", "Pod", namespace)]
        return {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found}


@pytest.fixture(scope="module")
def existing(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Existing:
    """Their release by plain Helm, their servers, then `kvobs install` without a flag."""
    arguments = [argument for value in VALUES for argument in ("--set", value)]
    helm_run(bed, "install", "kps", str(chart_under_test()), "-n", NAMESPACE, "--create-namespace", *arguments)
    servers(bed)
    bed.api.until(
        MONITORS, "Prometheus", "kps-kube-prometheus-stack-prometheus", NAMESPACE,
        lambda found: any(
            c["type"] == "Available" and c["status"] == "True" for c in found.get("status", {}).get("conditions", ())
        ),
    )  # fmt: skip
    environment = bed.environment() | {"PATH": str(tmp_path_factory.mktemp("no-helm"))}
    before = settled(bed.api)
    report = json.loads(kvobs("install", "-o", "json", "--no-verify", env=environment).stdout)
    made = Existing(bed=bed, environment=environment, before=before, report=report, after={})
    # What the operator makes of the monitors is there only when Prometheus goes by it.
    pods = made.pods()
    eventually(lambda: made.scraped().keys() >= pods, timeout_s=240, every_s=1)
    return replace(made, after=settled(bed.api))


def test_is_reused(existing: Existing) -> None:
    """Without a flag their Prometheus, their Grafana and the UID that their values give it are found and used."""
    report = existing.report

    assert report["stack"] == "reused"
    assert report["namespace"] == NAMESPACE
    assert report["prometheus"] == f"{NAMESPACE}/kps-kube-prometheus-stack-prometheus"
    assert report["grafana"] == f"{NAMESPACE}/kps-grafana"
    assert report["datasource"] == UID


def test_monitors_are_ones_that_their_prometheus_reads(existing: Existing) -> None:
    """Every monitor of ours carries the label that their Prometheus selects, beside it."""
    ours = [m for kind in ("ServiceMonitor", "PodMonitor") for m in existing.bed.api.list(MONITORS, kind, labels=OURS)]

    assert {each["metadata"]["namespace"] for each in ours} == {NAMESPACE}
    assert {each["metadata"]["labels"].get("release") for each in ours} == {"kps"}


def test_dashboards_point_to_their_datasource(existing: Existing) -> None:
    """Each dashboard is a ConfigMap that their sidecar reads, without an input and with the UID of their values."""
    maps = existing.bed.api.list("v1", "ConfigMap", NAMESPACE, labels=f"{OURS},grafana_dashboard=1")
    texts = [text for each in maps for text in each["data"].values()]

    assert len(texts) == len(existing.report["dashboards"]) == len(shipped_dashboards())
    assert all(f'"uid":"{UID}"' in text and "${DS_" not in text and "__inputs" not in text for text in texts)


def test_nothing_of_theirs_is_changed(existing: Existing) -> None:
    """What is new is ours; what was there has its resourceVersion, but for the operator's own configuration Secret."""
    told = differences(existing.before, existing.after)
    new = {key for key, what in told.items() if what == "new"}
    was, now = versions(existing.before), versions(existing.after)
    generated = ("Secret", NAMESPACE, "prometheus-kps-kube-prometheus-stack-prometheus")

    assert all(existing.after[key]["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "kvobs" for key in new), new
    assert {key for key in was if was[key] != now.get(key)} <= {generated}


def test_every_server_is_scraped_once(existing: Existing) -> None:
    """The real Prometheus scrapes each vLLM pod once, by whomever: none is left out, none is counted twice."""
    pods = existing.pods()
    eventually(lambda: existing.scraped().keys() >= pods, every_s=1)

    # One that is too slow for once is a target all the same.
    assert existing.scraped("up", "down", "unknown") == Counter(pods)


def test_what_is_proved_of_a_reused_stack(existing: Existing) -> None:
    """Asked of their Prometheus, kvobs' panels lack nothing but the DCGM exporter, which runs nowhere here."""
    lacks = "1 of the nodes have NVIDIA GPUs, and no DCGM exporter runs here"
    uids = {each["uid"] for each in existing.report["dashboards"]}

    def told() -> dict[str, set[str]]:
        """Return what is said of the panels of each state."""
        report = json.loads(kvobs("verify", "-o", "json", env=existing.environment, code=None).stdout)
        said: dict[str, set[str]] = {}
        for panel in (each for board in report["boards"] if board["uid"] in uids for each in board["panels"]):
            said.setdefault(panel["state"], set()).add((panel["finding"] or {}).get("said", ""))
        return said if report["exit_code"] == 1 else {}

    # A rate needs samples first, and a server that has just been asked for the first time has few.
    said = eventually(lambda: found if (found := told()).get("broken") == {lacks} and "unknown" not in found else None)
    assert said.keys() >= {"lit"}


def test_what_others_scrape_is_said(existing: Existing) -> None:
    """A server that a monitor of theirs finds gets none of ours; a monitor that is not read is named."""
    notes = {note["id"]: note["text"] for note in existing.report["notes"]}
    scraped = [note["text"] for note in existing.report["notes"] if note["id"] == "already-scraped"]

    assert any("llm/monitored" in text and "llm/theirs-monitored" in text for text in scraped), notes
    assert any("llm/pod-monitored" in text for text in scraped), notes
    assert "llm/theirs-unread-monitor" in notes["monitor-not-read"]


def test_second_run_changes_nothing(existing: Existing) -> None:
    """A second install says so, and no object has another resourceVersion."""
    report = json.loads(kvobs("install", "-o", "json", "--no-verify", env=existing.environment).stdout)

    assert {step["outcome"] for step in report["steps"]} == {"unchanged"}
    assert versions(settled(existing.bed.api)) == versions(existing.after)


def test_server_deployed_later(existing: Existing) -> None:
    """A server that comes after the install is scraped once its Service carries the label, without another run."""
    vllm(existing.bed, "later", labels=SCRAPE)

    def once() -> bool:
        times = [count for (_, pod), count in existing.scraped().items() if pod.startswith("later-")]
        return times == [1]

    assert eventually(once, every_s=1)
    for api_version, kind in (("apps/v1", "Deployment"), ("v1", "Service")):
        existing.bed.api.delete(api_version, kind, "later", "llm")
    eventually(lambda: not any(name.startswith("later-") for _, name in existing.pods()))


def test_uninstall_leaves_what_was_there(existing: Existing) -> None:
    """After uninstall everything is as before the install, their release untouched, and Helm was never needed."""
    done = kvobs("uninstall", "--yes", "-o", "json", env=existing.environment)

    assert json.loads(done.stdout)["removed"]
    assert come_to(existing.bed.api, existing.before, lambda found: not found) == {}


def test_helm_would_have_been_missed(existing: Existing, tmp_path: Path) -> None:
    """The environment of these runs really has no Helm: where one is needed, its absence is said, and nothing done."""
    before = versions(settled(existing.bed.api))
    arguments = ("--stack", "install", "-n", "new", "--set", "prometheusOperator.enabled=false")
    done = kvobs("install", *arguments, "--chart", str(tmp_path), env=existing.environment, code=3)

    assert "helm" in done.stderr.lower()
    assert versions(settled(existing.bed.api)) == before
