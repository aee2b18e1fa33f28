"""Why nothing is scraped, on the real operator and the real Prometheus: each cause is met, mended as told, and gone.

The commands of a finding are run as they stand, by the real kubectl.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Prometheus
from kvobs.adapters.prometheus_proxied import OverCluster
from kvobs.health.evidence import ClusterEvidence
from kvobs.health.scrape import scrape_finding
from kvobs.health.verdict import Finding
from kvobs.settings import Settings
from kvobs.use_cases.look import look
from kvobs.use_cases.one_look import OneLook
from kvobs.use_cases.verifying.cluster_boards import boards_of_cluster
from kvobs.use_cases.verifying.cluster_evidence import cluster_evidence
from kvobs.use_cases.verifying.gathering import server_evidence
from kvobs.use_cases.verifying.sources import boards_to_verify
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.build import binary
from tests.cluster.test_monitoring import MONITORING, OPERATOR, PROMETHEUS, SERVICE
from tests.cluster.workloads import VLLM_PORT, vllm
from tests.stack.cases import PARTS

READ = {"release": "test"}


@pytest.fixture(scope="module", autouse=True)
def prometheus(bed: Bed) -> None:
    """Give the bed an operator, a Prometheus that takes monitors labelled `release: test`, and vLLM."""
    bed.apply_crds("prometheus-operator")
    bed.api.apply(OPERATOR, PROMETHEUS, SERVICE)
    vllm(bed, "chat", "llm")
    bed.api.until(MONITORING, "Prometheus", "main", "default", _is_available)


@pytest.fixture
def cluster(bed: Bed) -> Iterator[Cluster]:
    """The bed's API server, as kvobs asks it."""
    connected = Cluster.connect(str(bed.kubeconfig))
    yield connected
    connected.close()


def _is_available(prometheus: Object) -> bool:
    conditions = prometheus.get("status", {}).get("conditions", ())
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)


def monitor(labels: dict[str, str], **endpoint: Any) -> Object:
    """Return a ServiceMonitor for the server."""
    return {
        "apiVersion": MONITORING,
        "kind": "ServiceMonitor",
        "metadata": {"name": "chat", "namespace": "llm", "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": "chat"}},
            "endpoints": [{"port": "http", "interval": "1s", **endpoint}],
        },
    }


def replace_monitor(bed: Bed, wanted: Object) -> None:
    """Put *wanted* in the place of the one that is there."""
    bed.api.delete(MONITORING, "ServiceMonitor", "chat", "llm")
    bed.api.apply(wanted)


def evidence(cluster: Cluster) -> ClusterEvidence:
    """Look at the cluster, anew each time."""
    seen = OneLook(cluster)
    facts = look(seen, Settings())
    return cluster_evidence(seen, facts, facts.prometheuses[0])


def finding(cluster: Cluster) -> Finding | None:
    """Return what keeps vLLM's metrics away, from the cluster and from what Prometheus says of its targets."""
    asked = Prometheus(OverCluster(cluster.services, namespace="default", service="main", port="http-web"))
    seen = evidence(cluster)
    server = server_evidence(asked, seen)
    assert server.targets is not None
    return scrape_finding("vllm", seen, server)


def run(bed: Bed, command: str) -> None:
    """Run one command of a finding as it stands."""
    words = shlex.split(command, comments=True)
    assert words[0] == "kubectl"
    env = {**bed.environment(), "PATH": os.environ["PATH"]}
    done = subprocess.run([str(binary("kubectl")), *words[1:]], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr


def run_in_shell(bed: Bed, command: str, folder: Path) -> None:
    """Run one command of a finding as it stands, in a folder, by a shell that finds kubectl."""
    env = {**bed.environment(), "PATH": f"{binary('kubectl').parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True, env=env, cwd=folder, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def met(cluster: Cluster, cause: str, *, said: str = "") -> Finding:
    """Wait until *cause* is what is found, and *said* of it, and return it."""

    def found() -> Finding | None:
        seen = finding(cluster)
        return seen if seen is not None and seen.cause == cause and said in seen.said else None

    return eventually(found)


def is_scraped(cluster: Cluster) -> None:
    """Wait until nothing of the scrape is to blame."""
    eventually(lambda: finding(cluster) is None)


def test_evidence(cluster: Cluster) -> None:
    """The version is that of the image, and a server that runs is not asleep."""
    seen = eventually(lambda: (found := evidence(cluster)).vllm_version and found)

    assert seen.vllm_version == "0.32.0"
    assert seen.asleep == frozenset()
    assert [each.name for each in seen.facts.prometheuses] == ["main"]


def test_no_monitor(cluster: Cluster) -> None:
    """A server that nobody made a monitor for is told as such."""
    assert "no ServiceMonitor or PodMonitor is for vLLM llm/chat" in met(cluster, "KVO-401").said


def test_label_missing(bed: Bed, cluster: Cluster) -> None:
    """A monitor without the label is not read; the command that is told gives it the label, and a target appears."""
    bed.api.apply(monitor({}))

    told = met(cluster, "KVO-401")

    assert "it lacks the label release=test" in told.said
    run(bed, told.fix.splitlines()[0])
    is_scraped(cluster)


def test_rejected(bed: Bed, cluster: Cluster) -> None:
    """A monitor whose Secret is missing is rejected by the operator, whose own words are told."""
    tls = {"ca": {"secret": {"name": "not-there", "key": "ca.crt"}}}
    replace_monitor(bed, monitor(READ, scheme="https", tlsConfig=tls))

    told = met(cluster, "KVO-402")

    assert "the Prometheus Operator rejects ServiceMonitor llm/chat: " in told.said
    assert "not-there" in told.said


def test_port_missing(bed: Bed, cluster: Cluster) -> None:
    """A monitor that names no port of the Service is mended by the patch that is told.

    What the operator said of the one that had this name before says nothing of it.
    """
    replace_monitor(bed, monitor(READ, port="metrics"))

    told = met(cluster, "KVO-404")

    run(bed, told.fix.splitlines()[0])
    is_scraped(cluster)
    bed.api.delete(MONITORING, "ServiceMonitor", "chat", "llm")


def test_other_namespace(bed: Bed, cluster: Cluster) -> None:
    """A monitor that looks in its own namespace only is mended by the patch that is told."""
    away = monitor(READ)
    away["metadata"].update(name="vllm", namespace="default")
    bed.api.apply(away)

    told = met(cluster, "KVO-403")

    assert "it looks in namespace default only, and Service llm/chat is elsewhere" in told.said
    run(bed, told.fix.splitlines()[0])
    is_scraped(cluster)
    bed.api.delete(MONITORING, "ServiceMonitor", "vllm", "default")


def test_target_down(bed: Bed, cluster: Cluster) -> None:
    """A server that answers on another path is a target that is down, with Prometheus' own error."""
    wrong = monitor(READ, path="/nothing-here")
    wrong["metadata"]["name"] = "chat-path"
    bed.api.apply(wrong)

    # A scrape that is too slow for once fails otherwise.
    told = met(cluster, "KVO-406", said="404")

    assert "kubectl -n llm edit servicemonitor chat-path" in told.fix
    bed.api.delete(MONITORING, "ServiceMonitor", "chat-path", "llm")
    assert VLLM_PORT == 8000


def test_scaled_to_zero(bed: Bed, cluster: Cluster) -> None:
    """A server that is scaled to zero is expected dark, and no fault."""
    fine = monitor(READ)
    fine["metadata"]["name"] = "chat-asleep"
    bed.api.apply(fine)
    is_scraped(cluster)
    bed.api.merge({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat", "namespace": "llm"}},
                  {"spec": {"replicas": 0}})  # fmt: skip

    told = met(cluster, "KVO-407")

    assert told.severity == "expected"
    assert "scaled to zero" in told.said


def config_map(name: str, text: str, **labels: str) -> Object:
    """Return a ConfigMap with one dashboard."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "llm", "labels": labels},
        "data": {f"{name}.json": text},
    }


def test_dashboards_as_loaded(bed: Bed, cluster: Cluster) -> None:
    """What the sidecar sees is read back whole, broken JSON too; what it does not see is seen once labelled as told."""
    bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mon"}})
    bed.api.apply(*(each for each in yaml.safe_load_all((PARTS / "grafana.yaml").read_text()) if each))
    good = json.dumps({"uid": "g", "title": "G", "panels": []})
    bed.api.apply(
        config_map("good", good, grafana_dashboard="1"),
        config_map("broken", '{"title": "B",}', grafana_dashboard="1"),
        config_map("lost-dashboard", json.dumps({"uid": "l", "title": "L", "panels": []})),
    )

    def causes() -> dict[str, list[str]]:
        seen = OneLook(cluster)
        boards = boards_to_verify(Settings(), cluster=seen, facts=look(seen, Settings()))
        told.update({each.source: each for each in boards})
        return {each.source: [finding.cause for finding in each.findings] for each in boards}

    told: dict[str, Any] = {}
    assert causes() == {
        "llm/good[good.json]": [],
        "llm/broken[broken.json]": ["KVO-101"],
        "llm/lost-dashboard[lost-dashboard.json]": ["KVO-104"],
    }
    run(bed, told["llm/lost-dashboard[lost-dashboard.json]"].findings[0].fix)
    assert causes()["llm/lost-dashboard[lost-dashboard.json]"] == []


def test_a_dashboard_in_a_secret(bed: Bed, cluster: Cluster, tmp_path: Path) -> None:
    """A broken one that a sidecar sees is mended as told, whatever its size; what else is in its Secret stays."""
    bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mon"}})
    bed.api.apply(*(each for each in yaml.safe_load_all((PARTS / "grafana.yaml").read_text()) if each))
    text = json.dumps({"uid": "s", "title": "S", "panels": [], "description": "x" * 300_000})
    metadata = {"name": "held", "namespace": "llm", "labels": {"grafana_dashboard": "1"}}
    held = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "example.com/boards"}
    bed.api.apply({**held, "stringData": {"the.board.json": text + "}", "other": "kept"}})

    def findings() -> Sequence[Finding]:
        boards = boards_of_cluster(cluster, look(cluster, Settings()))
        return next(each.findings for each in boards if each.source == "Secret llm/held[the.board.json]")

    (finding,) = findings()
    out, back = finding.commands
    run_in_shell(bed, out, tmp_path)
    (tmp_path / "the.board.json").write_text((tmp_path / "the.board.json").read_text().removesuffix("}"))
    run_in_shell(bed, back, tmp_path)

    assert findings() == ()
    now = bed.api.get("v1", "Secret", "held", "llm")
    assert {key: b64decode(value).decode() for key, value in now["data"].items()} == {
        "the.board.json": text,
        "other": "kept",
    }
    assert (now["type"], now["metadata"]["labels"]) == (held["type"], metadata["labels"])
    bed.api.delete("v1", "Secret", "held", "llm")
