"""The life of an install on a cluster that has a GPU Operator and a vLLM server, and no stack yet.

All of it runs on one bed, with the chart pulled over TLS from a registry. Each test leaves the install as it found it.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import kvobs
from kvobs.adapters.assets import catalog, shipped_dashboards
from kvobs.settings import CHART_VERSION
from kvobs.use_cases.prepare import Preparation
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.prove import prove
from kvobs.use_cases.verify_report import VerifyReport
from tests.adapters.site import Proxy, Site, ok
from tests.bench.install import is_change, requests
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import chart_under_test, package
from tests.cluster.commands import Running
from tests.cluster.commands import kvobs as run
from tests.cluster.registry import OciRegistry
from tests.cluster.sidecar import files_written, sidecar_command
from tests.cluster.snapshots import Key, Snapshot, come_to, differences, settled, snapshot, versions
from tests.cluster.workloads import gpu_operator, vllm

NAMESPACE = "monitoring"
RELEASE = "kube-prometheus-stack"
MONITORS = "monitoring.coreos.com/v1"
PART_OF = "applyset.kubernetes.io/part-of"
OWNERSHIP = (PART_OF, "app.kubernetes.io/managed-by")
UIDS = tuple(f"kvobs-{name.removesuffix('.json')}" for name, _ in shipped_dashboards())

MEMBERS: dict[Key, str] = {
    **{("ConfigMap", NAMESPACE, f"kvobs-dashboard-{uid}"): "v1" for uid in UIDS},
    ("PodMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-vllm-pods"): MONITORS,
    ("Secret", NAMESPACE, f"{RELEASE}-grafana-admin"): "v1",
    ("ServiceMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-dcgm-gpu-operator-nvidia-dcgm-exporter"): MONITORS,
    ("ServiceMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-vllm"): MONITORS,
    ("ServiceMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-vllm-llm-vllm"): MONITORS,
}
"""What install applies for this cluster, with the version of each kind's API."""

AROUND: tuple[Key, ...] = (("ConfigMap", NAMESPACE, "kvobs"), ("Namespace", "", NAMESPACE))
"""What kvobs makes beside the members: their parent, and the namespace for all."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, kw_only=True)
class Installed:
    """The bed after its first install."""

    bed: Bed
    kvobs: Command
    """Runs a kvobs command against the bed; `install` takes the chart from the registry, and waits for data only where
    it is told to (`prove=True`)."""
    chart: tuple[str, ...]
    """The arguments that say so."""
    environment: dict[str, str]
    first: subprocess.CompletedProcess[str]
    """How the first install, with --verbose, ended."""
    helm_log: Path
    """The arguments of every Helm that kvobs has started, one a line."""

    @property
    def api(self) -> Any:
        """The administrator's client."""
        return self.bed.api

    def settings(self, **more: Any) -> kvobs.Settings:
        """What the library is told for the same install."""
        _, chart, _, version = self.chart
        told = {"kubeconfig": str(self.bed.kubeconfig), "helm": str(self.bed.helm())}
        return kvobs.Settings(**told, chart=chart, chart_version=version, **more)

    def query(self, promql: str) -> list[Object]:
        """Ask the real Prometheus, through the API server."""
        return list(self._prometheus("query", query=promql)["result"])

    def targets(self) -> list[Object]:
        """Return the targets that Prometheus scrapes now."""
        return list(self._prometheus("targets", state="active")["activeTargets"])

    def _prometheus(self, what: str, **params: str) -> Object:
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{RELEASE}-prometheus:http-web/proxy/api/v1/{what}"
        data: Object = self.api.request("GET", path, **params)["data"]
        return data

    def revisions(self) -> list[str]:
        """Return the names of the Helm release's revisions."""
        secrets = self.api.list("v1", "Secret", NAMESPACE, labels=f"owner=helm,name={RELEASE}")
        return sorted((each["metadata"]["name"] for each in secrets), key=lambda name: int(name.rpartition(".v")[2]))


@pytest.fixture(scope="module")
def installed(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """A GPU Operator whose monitor is off, a vLLM server, and kvobs installed beside them."""
    gpu_operator(bed)
    vllm(bed)
    folder = tmp_path_factory.mktemp("helm")
    helm_log = folder / "arguments"
    wrapper = folder / "helm"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> "{helm_log}"\nexec "{bed.helm("4")}" "$@"\n')
    wrapper.chmod(0o755)
    with OciRegistry() as registry:
        registry.push(package(chart_under_test()))
        environment = bed.environment() | {"SSL_CERT_FILE": str(registry.ca_file)}
        environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
        chart = ("--chart", registry.ref, "--chart-version", CHART_VERSION)

        def command(
            what: str, *arguments: str | Path, prove: bool = False, **how: Any
        ) -> subprocess.CompletedProcess[str]:
            own = (*chart, "--verify" if prove else "--no-verify") if what == "install" else ()
            return run(what, *own, *arguments, env=environment, **how)

        first = command("install", "--verbose", prove=True)
        yield Installed(bed=bed, kvobs=command, chart=chart, environment=environment, first=first, helm_log=helm_log)


# --- 1. what the first install leaves ---


@pytest.mark.parametrize(
    "said",
    [
        "stack       installed by kvobs",
        f"Prometheus  {NAMESPACE}/{RELEASE}-prometheus",
        f"Grafana     {NAMESPACE}/{RELEASE}-grafana",
        f"changed  Helm release {NAMESPACE}/{RELEASE}  install, revision 1, chart {CHART_VERSION}",
        "changed  vLLM monitors",
        "changed  DCGM monitors",
        "ClusterPolicy cluster-policy is left alone",
        "in the next upgrade of Helm release gpu-operator/gpu-operator",
        "Metrics are lost when the pod of Prometheus",
        f"kubectl -n {NAMESPACE} port-forward service/{RELEASE}-grafana 3000:80",
        f"kubectl -n {NAMESPACE} get secret {RELEASE}-grafana-admin",
        "http://localhost:3000/d/kvobs-dcgm  NVIDIA GPUs (kvobs)",
        "http://localhost:3000/d/kvobs-vllm  vLLM serving (kvobs)",
        f"Asked Prometheus (Service {NAMESPACE}/{RELEASE}-prometheus, port http-web) (prometheus 3.",
        "panels lit",
    ],
)
def test_report(installed: Installed, said: str) -> None:
    """The report says what was decided, what was done, what is left to do, and how to open it."""
    # Columns are as wide as their widest row.
    assert re.sub(r" {2,}", "  ", said) in re.sub(r" {2,}", "  ", installed.first.stdout)


def test_progress_is_no_part_of_the_result(installed: Installed) -> None:
    """Each step is told on stderr, as plain lines where there is no terminal; stdout begins with the report."""
    steps = [line for line in installed.first.stderr.splitlines() if not line.startswith(" ")]
    assert steps[0] == "look at the cluster"
    assert "wait until everything is ready" in steps
    assert steps[-1] == "find the causes"
    assert "\x1b" not in installed.first.stderr + installed.first.stdout
    assert installed.first.stdout.startswith("kvobs on Kubernetes v")


def test_members(installed: Installed) -> None:
    """Everything that kvobs applies carries its labels, nothing else does, and status lists just that."""
    labels = _ours(installed)
    assert labels.keys() == {*MEMBERS, *AROUND}
    assert {labels[key]["app.kubernetes.io/part-of"] for key in MEMBERS} == {"kvobs"}
    assert {labels[key][PART_OF] for key in MEMBERS} == {_applyset_id("kvobs", NAMESPACE)}

    told = json.loads(installed.kvobs("status", "-o", "json").stdout)
    assert told["members"] == sorted(f"{kind.partition('.')[0]} {ns}/{name}" for kind, ns, name in MEMBERS)


def test_applyset_parent(installed: Installed) -> None:
    """The parent is what KEP-3659 asks for: its own ID, the tool, and the members' kinds, sorted.

    With them, any tool that keeps to it finds every member and no more.
    """
    parent = installed.api.get("v1", "ConfigMap", "kvobs", NAMESPACE)
    metadata = parent["metadata"]
    set_id = metadata["labels"]["applyset.kubernetes.io/id"]
    annotations = metadata["annotations"]

    assert set_id == _applyset_id("kvobs", NAMESPACE)
    assert re.fullmatch(r"kvobs/v\d+", annotations["applyset.kubernetes.io/tooling"])
    kinds = annotations["applyset.kubernetes.io/contains-group-kinds"].split(",")
    assert kinds == sorted({kind for kind, _, _ in MEMBERS})
    assert "applyset.kubernetes.io/additional-namespaces" not in annotations
    api_versions = {kind: version for (kind, _, _), version in MEMBERS.items()}
    found = {
        (kind, each["metadata"]["namespace"], each["metadata"]["name"])
        for kind in kinds
        for each in installed.api.list(api_versions[kind], kind.partition(".")[0], labels=f"{PART_OF}={set_id}")
    }
    assert found == set(MEMBERS)


def test_no_dangling_datasource(installed: Installed) -> None:
    """Every datasource reference of every dashboard that the live sidecar loads leads to a live datasource."""
    live = _live_datasources(installed)
    assert "prometheus" in live
    loaded = _dashboards(installed)
    assert {*UIDS} <= {each["uid"] for each in loaded.values()}
    for name, dashboard in loaded.items():
        if not name.startswith("kvobs-"):
            continue
        text = json.dumps(dashboard)
        assert not re.search(r"\$\{(DS|VAR)_|__inputs|__requires", text), name
        references = list(_references(dashboard))
        assert len(references) > 20
        assert {each if isinstance(each, str) else each["uid"] for each in references} <= {*live, "-- Grafana --"}


def test_admin_password(installed: Installed) -> None:
    """Grafana takes its administrator from the Secret that kvobs made, and the password is nowhere else.

    Not in what kvobs says, not on a command line, not in Helm's release, in no other object, and in no program's log.
    """
    secret = f"{RELEASE}-grafana-admin"
    encoded = installed.api.get("v1", "Secret", secret, NAMESPACE)["data"]["admin-password"]
    password = base64.b64decode(encoded).decode()
    assert len(password) >= 24
    environment = _container(installed, "grafana")["env"]
    named = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in environment if "secretKeyRef" in str(each)}
    assert named["GF_SECURITY_ADMIN_PASSWORD"] == {"name": secret, "key": "admin-password"}

    outputs = [installed.first, *(installed.kvobs("status", "-o", form) for form in ("text", "json", "yaml"))]
    places = {
        "output": "".join(each.stdout + each.stderr for each in outputs),
        "command lines": installed.helm_log.read_text(),
        "logs": "".join(installed.bed.log(process) for process in installed.bed.running()),
        "objects": json.dumps(
            [each for key, each in snapshot(installed.api).items() if key != ("Secret", NAMESPACE, secret)]
        ),
        "release": "".join(_release_texts(installed)),
    }
    assert "upgrade" in places["command lines"]
    assert secret in places["release"]
    assert [place for place, text in places.items() if password in text or encoded in text] == []


# --- 2. what Prometheus scrapes ---


@pytest.mark.parametrize(
    ("metric", "monitor"),
    [
        ("vllm:num_requests_running", "kvobs-vllm-llm-vllm"),
        ("DCGM_FI_DEV_GPU_TEMP", "kvobs-dcgm-gpu-operator-nvidia-dcgm-exporter"),
    ],
)
def test_scraped_once_through_our_monitor(installed: Installed, metric: str, monitor: str) -> None:
    """The real Prometheus has the metric, and its one target was found by the monitor that kvobs applied."""
    sample = eventually(lambda: installed.query(metric))[0]["metric"]

    there = [each for each in installed.targets() if each["labels"]["instance"] == sample["instance"]]
    assert [each["scrapePool"] for each in there] == [f"serviceMonitor/{NAMESPACE}/{monitor}/0"]
    counted = installed.query(f'count(up{{instance="{sample["instance"]}"}} == 1)')
    assert counted[0]["value"][1] == "1"


def test_data_arrived(installed: Installed) -> None:
    """The first install has waited until every panel was lit, or dark since nobody had asked the server anything."""
    boards = [json.loads(_shipped(uid)) for uid in UIDS]
    shipped = sum(panel["type"] != "row" for board in boards for panel in board["panels"])
    steps = installed.first.stderr.splitlines()
    end = installed.first.stdout.splitlines()[-1]
    lit, panels = map(int, re.match(r"(\d+) of (\d+) panels lit", end).groups())  # type: ignore[union-attr]

    assert "wait for data" in steps[steps.index("prove that data arrives") :]
    assert end.endswith((": every panel is lit.", ": nothing is broken.")), installed.first.stdout
    assert panels == shipped
    assert lit >= panels - 5, installed.first.stdout


# --- 3. the second run ---


def test_second_install_changes_nothing(installed: Installed) -> None:
    """A second run makes no new Helm revision, and no object on the cluster gets another resourceVersion.

    It asks for every panel again, and waits for none.
    """
    before = settled(installed.api)

    done = installed.kvobs("install", prove=True)

    assert "Steps (nothing to change)" in done.stdout
    assert "panels lit" in done.stdout
    assert "wait for data" not in done.stderr
    after = snapshot(installed.api)
    assert versions(after) == versions(before)
    assert installed.revisions() == [f"sh.helm.release.v1.{RELEASE}.v1"]


def test_a_second_install_asks_nothing_twice(installed: Installed) -> None:
    """A proof adds what panels ask Prometheus, Grafana's own test of its source, dashboards in Secrets, and events."""
    settings = [installed.settings(verify=verify) for verify in (False, True)]
    without, proved = (requests(each, lambda told, cluster: kvobs.install(told, cluster=cluster)) for each in settings)
    more = proved - without

    assert sum(without.values()) < 40
    assert without - proved == Counter()
    assert set(more) == {("get", "services (proxy)"), ("list", "secrets"), ("list", "events")}
    assert not [what for what in proved if is_change(*what)]


def test_what_is_broken_ends_with_1(installed: Installed, tmp_path: Path) -> None:
    """Stopped while it waits for data, exit 130, all that was installed stays; what stays dark is named, and is exit 1.

    The next run goes on where it stopped.
    """
    panel = {"type": "stat", "title": "Gone", "targets": [{"expr": "vllm:gone_total", "refId": "A"}]}
    board = {
        "uid": "gone",
        "title": "Gone",
        "panels": [{**panel, "id": 1, "gridPos": {"h": 4, "w": 4, "x": 0, "y": 0}}],
    }
    (tmp_path / "gone.json").write_text(json.dumps(board))
    asked = ("--dashboard", tmp_path / "gone.json")
    running = Running("install", *installed.chart, *asked, env=installed.environment)
    running.until("wait for data")
    running.process.send_signal(signal.SIGINT)
    code = running.end()
    settings = installed.settings(dashboards=(str(tmp_path / "gone.json"),))
    preparation = Preparation(settings, None, None)
    found = preparation.prepared()
    leases = installed.api.list("coordination.k8s.io/v1", "Lease", NAMESPACE)

    assert code == 130, running.said
    assert ("ConfigMap", NAMESPACE, "kvobs-dashboard-gone") in snapshot(installed.api)
    assert [each for each in leases if each["metadata"]["name"].startswith("kvobs")] == []

    def proved() -> VerifyReport | None:
        """Once data has had its time: no parent tells how much of it is left."""
        report, notes = prove(
            preparation.cluster, found.plan.target, settings, progress=Silent(), seen=found.seen, parent=None
        )
        assert notes == ()
        return report if report is not None and report.counts["broken"] else None

    report = eventually(proved)
    preparation.cluster.close()
    assert report is not None
    assert (report.counts["broken"], report.exit_code) == (1, 1)
    (cause,) = (each for each in report.causes if each.finding.severity == "broken")
    assert (cause.finding.cause, [each.panel for each in cause.panels]) == ("KVO-510", ["Gone"])
    assert cause.finding.fix
    done = installed.kvobs("install", prove=True)
    assert f"ConfigMap {NAMESPACE}/kvobs-dashboard-gone" in done.stdout
    assert "panels lit" in done.stdout


def test_a_loop_that_runs(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library can be called inside a running event loop, and gives the report as a value."""
    monkeypatch.setenv("SSL_CERT_FILE", installed.environment["SSL_CERT_FILE"])
    before = settled(installed.api)
    settings = installed.settings()

    async def script() -> kvobs.InstallReport:
        return kvobs.install(settings)

    report = asyncio.run(script())

    assert (report.changed, report.ready, report.exit_code) == (False, True, 0)
    assert report.datasource == "prometheus"
    assert [each.uid for each in report.dashboards] == list(UIDS)
    assert versions(snapshot(installed.api)) == versions(before)


# --- 4. one document on stdout ---


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("install", "-o", "yaml"), "InstallReport", 0),
        (("install", "-o", "json", "--dashboard", "no-dashboard.json"), "InstallReport", 1),
        (("install", "-o", "json", "--release", "other"), "Error", 2),
        (("install", "-o", "yaml", "--chart-version", "99.0.0"), "Error", 3),
        (("install", "-o", "json", "--context", "other"), "Error", 4),
        (("status", "-o", "json"), "StatusReport", 0),
        (("status", "-o", "yaml", "--namespace", "other"), "StatusReport", 1),
    ],
)
def test_one_document(installed: Installed, tmp_path: Path, arguments: tuple[str, ...], kind: str, code: int) -> None:
    """With -o json or yaml stdout is exactly one document, which agrees with the exit code."""
    (tmp_path / "no-dashboard.json").write_text("[]")
    placed = [str(tmp_path / each) if each.endswith(".json") else each for each in arguments]

    done = installed.kvobs(*placed, code=code)

    document = json.loads(done.stdout) if "json" in arguments else yaml.safe_load(done.stdout)
    assert (document["kind"], document["version"], document["exit_code"]) == (kind, 1, code)


# --- 5. changes converge ---


def test_other_values(installed: Installed, tmp_path: Path) -> None:
    """Other values make exactly one new revision, whoever asks again gets no further one, and so does the way back.

    A run without values keeps them, and kvobs' own administrator with them; it says what it keeps.
    """

    def prometheus() -> Object:
        spec: Object = installed.api.get(MONITORS, "Prometheus", f"{RELEASE}-prometheus", NAMESPACE)["spec"]
        return spec

    revisions = len(installed.revisions())
    usual = prometheus()["retention"]
    other = ("--set", "prometheus.prometheusSpec.retention=11d", "--no-wait")

    done = installed.kvobs("install", *other)
    assert f"upgrade, revision {revisions + 1}" in done.stdout
    assert prometheus()["retention"] == "11d"
    assert "Steps (nothing to change)" in installed.kvobs("install", *other).stdout
    before = settled(installed.api)
    kept = installed.kvobs("install", "--no-wait").stdout
    assert "Steps (nothing to change)" in kept
    assert "Values of the release are kept (prometheus)" in kept
    assert versions(snapshot(installed.api)) == versions(before)
    assert len(installed.revisions()) == revisions + 1

    (tmp_path / "none.yaml").write_text("")
    installed.kvobs("install", "--values", tmp_path / "none.yaml")
    assert prometheus()["retention"] == usual
    assert len(installed.revisions()) == revisions + 2


def test_fewer_dashboards(installed: Installed, tmp_path: Path) -> None:
    """A dashboard that is no longer asked for is pruned, and nothing else is; none while one cannot be had."""
    files = []
    for name in ("one", "two"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"uid": name, "title": f"Board {name}", "panels": []}))
    before = settled(installed.api)

    def added() -> set[str]:
        return {name for _, _, name in _new(before, snapshot(installed.api))}

    installed.kvobs("install", *(word for file in files for word in ("--dashboard", file)))
    assert added() == {"kvobs-dashboard-one", "kvobs-dashboard-two"}
    done = installed.kvobs("install", "--dashboard", files[1], "--dashboard", tmp_path / "absent.json", code=1)
    assert "kvobs-dashboard-one of an earlier run stays" in done.stdout
    assert added() == {"kvobs-dashboard-one", "kvobs-dashboard-two"}
    done = installed.kvobs("install", "--dashboard", files[1])
    assert added() == {"kvobs-dashboard-two"}
    assert f"ConfigMap {NAMESPACE}/kvobs-dashboard-one" in done.stdout
    installed.kvobs("install")
    assert differences(before, snapshot(installed.api)) == {}


def test_dashboards_of_others(installed: Installed, tmp_path: Path) -> None:
    """A name of the catalogue and an address with a login are loaded, patched; again, offline, nothing changes."""
    board = {"panels": [{"datasource": {"type": "prometheus", "uid": "another-grafana"}}], "schemaVersion": 39}
    named, addressed = ({"uid": uid, "title": f"Board {uid}"} | board for uid in ("named", "addressed"))
    secret = "Dunlin-in-the-address-5"
    entry = catalog().named("vllm-overview")
    assert entry is not None
    before = settled(installed.api)
    with Site(tmp_path) as site, Proxy(site.port) as proxy:
        site.pages |= {
            entry.url.removeprefix("https://"): [ok(json.dumps(named).encode())],
            f"/d.json?token={secret}": [ok(json.dumps(addressed).encode())],
        }
        url = site.url(f"/d.json?token={secret}").replace("//", f"//me:{secret}@")
        asked = ("--dashboard", "vllm-overview", "--dashboard", url, "--ca-file", site.ca_file)
        env = installed.environment | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HTTPS_PROXY": proxy.url}
        env |= {"NO_PROXY": "127.0.0.1,localhost"}
        done = [run("install", *installed.chart, *asked, "-v", env=env)]
    loaded = _dashboards(installed)
    done.append(run("install", *installed.chart, *asked, "--offline", "-o", "json", env=env))

    assert {name for _, _, name in _new(before, snapshot(installed.api))} == {
        f"kvobs-dashboard-{uid}" for uid in ("named", "addressed")
    }
    uids = [loaded[f"kvobs-dashboard-{uid}"]["panels"][0]["datasource"]["uid"] for uid in ("named", "addressed")]
    assert set(uids) <= _live_datasources(installed)
    assert {step["outcome"] for step in json.loads(done[1].stdout)["steps"]} == {"unchanged"}
    said = "".join(each.stdout + each.stderr for each in done)
    assert "https://***@localhost:" in said
    objects = [each for _, each in settled(installed.api).items()]
    kept = [path.read_text() for path in (tmp_path / "cache").rglob("*.json")]
    assert len(kept) == 4
    assert not [text for text in (said, json.dumps(objects), *kept) if secret in text]
    installed.kvobs("install")
    assert differences(before, snapshot(installed.api)) == {}


def test_a_server_that_vanishes(installed: Installed) -> None:
    """The monitor of a vLLM Service goes with the Service, at the next install, and nothing else goes."""
    before = settled(installed.api)
    vllm(installed.bed, "brief", "brief")
    eventually(lambda: installed.api.list("v1", "Pod", "brief"))
    installed.kvobs("install")
    monitor = ("ServiceMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-vllm-brief-brief")
    assert _new(before, snapshot(installed.api)) & set(_ours(installed)) == {monitor}

    installed.api.delete("apps/v1", "Deployment", "brief", "brief")
    installed.api.delete("v1", "Service", "brief", "brief")
    eventually(lambda: not installed.api.list("v1", "Pod", "brief"))
    done = installed.kvobs("install")

    assert f"ServiceMonitor {NAMESPACE}/kvobs-vllm-brief-brief" in done.stdout
    assert _ours(installed).keys() == {*MEMBERS, *AROUND}


def test_a_labelled_server_needs_no_install(installed: Installed) -> None:
    """A Service that is deployed later with kvobs.dev/scrape: vllm is scraped by the generic monitor.

    The next install adds no second monitor for it.
    """
    vllm(installed.bed, "later", "later", labels={"kvobs.dev/scrape": "vllm"})
    up = 'up{namespace="later"} == 1'
    eventually(lambda: installed.query(up))

    installed.kvobs("install")

    assert _ours(installed).keys() == {*MEMBERS, *AROUND}
    there = [each["scrapePool"] for each in installed.targets() if each["labels"]["namespace"] == "later"]
    assert there == [f"serviceMonitor/{NAMESPACE}/kvobs-vllm/0"]
    assert [each["metric"]["service"] for each in installed.query("vllm:num_requests_running{namespace='later'}")] == [
        "later"
    ]


def test_what_was_deleted_comes_back(installed: Installed) -> None:
    """Objects of kvobs that somebody deleted are as they were after the next install; no other object is touched.

    Only the password is another one: nobody has kept the old one.
    """
    before = settled(installed.api)
    for (kind, namespace, name), api_version in MEMBERS.items():
        installed.api.delete(api_version, kind.partition(".")[0], name, namespace)

    done = installed.kvobs("install", "--no-wait")

    # The operator, too, puts back what it had written for Prometheus, when it has come to it.
    changed = come_to(installed.api, before, lambda found: found.keys() == MEMBERS.keys())
    assert changed.keys() == MEMBERS.keys()
    anew = {"metadata.creationTimestamp", "metadata.uid"}
    for key, what in changed.items():
        assert _paths(what) - anew == ({"data.admin-password"} if key[0] == "Secret" else set())
    assert "1 applied" in done.stdout


def test_what_another_manager_took(installed: Installed) -> None:
    """A field of ours that another manager has taken is a plain error that names manager and field; nothing changes."""
    key = ("ConfigMap", NAMESPACE, "kvobs-dashboard-kvobs-vllm")
    config_map = installed.api.get("v1", "ConfigMap", key[2], NAMESPACE)
    (field,) = config_map["data"]
    installed.api.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": key[2], "namespace": NAMESPACE},
            "data": {field: "{}"},
        },
        manager="kubectl-edit",
    )
    before = settled(installed.api)

    done = installed.kvobs("install", code=3)

    assert done.stdout == ""
    assert f'ConfigMap {NAMESPACE}/{key[2]}: .data.{field} belongs to field manager "kubectl-edit"' in done.stderr
    assert versions(snapshot(installed.api)) == versions(before)
    assert "--take-ownership" in done.stderr
    installed.kvobs("install", "--no-wait", "--take-ownership")
    assert installed.api.get("v1", "ConfigMap", key[2], NAMESPACE)["data"] == config_map["data"]
    taken = versions(settled(installed.api))
    installed.kvobs("install", "--no-wait")
    assert versions(snapshot(installed.api)) == taken


# --- 6. render ---


def test_render_is_what_install_applies(installed: Installed) -> None:
    """Render gives the same bytes twice, and the objects that install has applied, but for the labels of ownership.

    The API server takes each of them, strictly and without any kubectl, and adds the defaults that it knows. Render
    asks no cluster: the monitor of the one server that runs already is not among its objects, nor is the Secret.
    """
    before = settled(installed.api)
    once, again = (installed.kvobs("render").stdout for _ in range(2))
    assert once == again
    rendered = {_key(each): each for each in yaml.safe_load_all(once)}

    unseen = {
        ("ServiceMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-vllm-llm-vllm"),
        ("Secret", NAMESPACE, f"{RELEASE}-grafana-admin"),
    }
    assert set(rendered) == set(MEMBERS) - unseen
    for key, each in rendered.items():
        assert _applied(installed, each) == _applied_content(before[key])
    assert versions(snapshot(installed.api)) == versions(before)


if sidecar_command() is not None:  # no sidecar, no such test: it would only be skipped

    def test_the_real_sidecar(installed: Installed, tmp_path: Path) -> None:
        """What Grafana's sidecar writes for Grafana to read is the patched dashboards, byte for byte."""
        expected = {}
        for uid in UIDS:
            config_map = installed.api.get("v1", "ConfigMap", f"kvobs-dashboard-{uid}", NAMESPACE)
            folder = (config_map["metadata"].get("annotations") or {}).get("grafana_folder", "")
            expected |= {f"{folder}/{name}": text.encode() for name, text in config_map["data"].items()}
        sidecar = {each["name"]: each.get("value", "") for each in _container(installed, "grafana-sc-dashboard")["env"]}

        written = files_written(
            installed.bed.kubeconfig,
            tmp_path,
            label=sidecar["LABEL"],
            label_value=sidecar["LABEL_VALUE"],
            folder_annotation=sidecar.get("FOLDER_ANNOTATION", ""),
        )

        assert {name: content for name, content in written.items() if "kvobs" in name} == expected
        for uid in UIDS:
            source = json.loads(_shipped(uid))
            patched = kvobs.patch_dashboard(source, datasources={"prometheus": "prometheus"})
            (content,) = (each for name, each in expected.items() if uid in name)
            assert json.loads(content) == patched.document


# --- looking at things ---


def _applyset_id(name: str, namespace: str) -> str:
    """The ID that KEP-3659 gives a ConfigMap's set, computed as it says."""
    digest = hashlib.sha256(f"{name}.{namespace}.ConfigMap.".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def _key(obj: Object) -> Key:
    group, slash, _ = obj["apiVersion"].partition("/")
    kind = f"{obj['kind']}.{group}" if slash else obj["kind"]
    return kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _ours(installed: Installed) -> dict[Key, dict[str, str]]:
    """The labels of each object that says kvobs manages it."""
    labels = {key: each["metadata"].get("labels") or {} for key, each in snapshot(installed.api).items()}
    return {key: each for key, each in labels.items() if each.get("app.kubernetes.io/managed-by") == "kvobs"}


def _new(before: Snapshot, after: Snapshot) -> set[Key]:
    return set(after) - set(before)


def _paths(change: str) -> set[str]:
    """The fields that `differences` names for a changed object."""
    return set(re.findall(r"(?:^changed: |; )([\w.-]+) ", change))


def _applied(installed: Installed, obj: Object) -> Object:
    """What the API server would make of a rendered object on a cluster that has no such object: a dry run tells."""
    elsewhere = {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}
    dry_run: Object = installed.api.request(
        "PATCH",
        installed.api.path_of(elsewhere),
        elsewhere,
        content_type="application/apply-patch+yaml",
        fieldManager="whoever",
        fieldValidation="Strict",
        dryRun="All",
    )
    assert dry_run["metadata"]["namespace"] == "default"
    return _applied_content(dry_run)


def _applied_content(obj: Object) -> Object:
    """What was applied of an object, without its place and the labels of ownership."""
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in ("name", "annotations") if key in metadata}
    kept["labels"] = {key: value for key, value in metadata["labels"].items() if key not in OWNERSHIP}
    return {**{key: obj[key] for key in ("data", "spec") if key in obj}, "metadata": kept}


def _container(installed: Installed, name: str) -> Object:
    pod = installed.api.get("apps/v1", "Deployment", f"{RELEASE}-grafana", NAMESPACE)["spec"]["template"]["spec"]
    found: Object = next(each for each in (*pod.get("initContainers", ()), *pod["containers"]) if each["name"] == name)
    return found


def _live_datasources(installed: Installed) -> set[str]:
    """The UIDs of the datasources that the live Grafana is provisioned with."""
    uids: set[str] = set()
    for config_map in installed.api.list("v1", "ConfigMap", NAMESPACE, labels="grafana_datasource=1"):
        for text in config_map["data"].values():
            uids |= {each["uid"] for each in yaml.safe_load(text)["datasources"]}
    return uids


def _dashboards(installed: Installed) -> dict[str, Object]:
    """Every dashboard that the sidecar loads, by ConfigMap, found by what the live sidecar is told to look for."""
    told = {each["name"]: each.get("value", "") for each in _container(installed, "grafana-sc-dashboard")["env"]}
    found = installed.api.list("v1", "ConfigMap", labels=f"{told['LABEL']}={told['LABEL_VALUE']}")
    return {each["metadata"]["name"]: json.loads(text) for each in found for text in each.get("data", {}).values()}


def _references(value: Any) -> Iterator[Any]:
    """Every value of a key `datasource`, wherever it stands."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "datasource":
                yield each
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _release_texts(installed: Installed) -> Iterator[str]:
    """What Helm has stored of each revision: chart, values and manifest."""
    for name in installed.revisions():
        stored = installed.api.get("v1", "Secret", name, NAMESPACE)["data"]["release"]
        yield gzip.decompress(base64.b64decode(base64.b64decode(stored))).decode()


def _shipped(uid: str) -> str:
    return (Path(__file__).parents[2] / "dashboards" / f"{uid.removeprefix('kvobs-')}.json").read_text()
