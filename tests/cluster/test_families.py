"""Exporters and servers of many makes on one cluster, from `tests/data/clusters/`, in front of a real Prometheus.

Each is scraped once, at the port and by the scheme that it really serves; what stands around them is not. The files say
by whom: somebody's own monitor, or ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kvobs.stack.targets import ENDPOINTS
from tests.cluster.api import Object, eventually
from tests.cluster.bed import METRICS, Bed
from tests.cluster.certificates import Authority
from tests.cluster.charts import chart_under_test
from tests.cluster.commands import kvobs
from tests.cluster.exporters import Exposition
from tests.cluster.lean import LEAN
from tests.cluster.workloads import helm_run

CLUSTERS = Path(__file__).parents[1] / "data" / "clusters"
CASES = (
    "dcgm-chart", "dcgm-cloudwatch", "dcgm-daemonset-without-service", "dcgm-dra", "dcgm-gke",
    "vllm-aibrix", "vllm-dynamo-monitored", "vllm-kserve-knative", "vllm-kserve-llminferenceservice",
    "vllm-llm-d-monitored", "vllm-other-engines", "vllm-own-chart", "vllm-production-stack-monitored",
    "vllm-production-stack-ray", "vllm-ray-serve", "vllm-router-alike",
)  # fmt: skip
KINDS = {"v1": ("Pod", "Service"), "monitoring.coreos.com/v1": ("ServiceMonitor", "PodMonitor")}
"""What is put on the bed of a case: it has a Prometheus of its own, nodes of its own, and no other kinds."""
MONITORS = "monitoring.coreos.com/v1"
NODE_LABELS = {
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
    "kubernetes.azure.com/dcgm-exporter": "enabled",
}
"""What the machine with GPUs says of itself, beside what NVIDIA's feature discovery does: sliced, and one of AKS's."""
ROUTER = "vs-deployment-router-77-1"
QUERIED = "/api/v1/namespaces/mon/services/kps-kube-prometheus-stack-prometheus:http-web/proxy/api/v1"


@dataclass(frozen=True)
class Families:
    """The bed with all of them, and kvobs installed beside them."""

    bed: Bed
    wanted: dict[str, str]
    """`NAMESPACE/POD:PORT` -> who scrapes it, as the files say."""
    report: dict[str, Any] = field(default_factory=dict)

    def targets(self) -> list[Object]:
        """Return the targets that the Prometheus has in the namespaces of the cases."""
        found = self.bed.api.request("GET", f"{QUERIED}/targets", state="active")["data"]["activeTargets"]
        places = {target.partition("/")[0] for target in self.wanted}
        return [each for each in found if each["labels"].get("namespace") in places]

    def query(self, promql: str) -> dict[str, float]:
        """Return the values of a query by the label pod."""
        data = self.bed.api.request("GET", f"{QUERIED}/query", query=promql)["data"]
        return {each["metric"].get("pod", ""): float(each["value"][1]) for each in data["result"]}


def where(target: Object) -> str:
    """Return `NAMESPACE/POD:PORT` of a target."""
    labels = target["labels"]
    return f"{labels['namespace']}/{labels['pod']}:{urlsplit(target['scrapeUrl']).port}"


def by_whom(target: Object) -> str:
    """Return who scrapes a target, as the files say it; ours are all called so, as their owners are missing here."""
    kind, namespace, name, _ = target["scrapePool"].split("/")
    whole = {"serviceMonitor": "ServiceMonitor", "podMonitor": "PodMonitor"}[kind]
    who = "ours" if namespace == "mon" and name.startswith("kvobs-") else f"{whole} {namespace}/{name}"
    return who + (" over https" if target["scrapeUrl"].startswith("https:") else "")


def live(each: Object) -> Object:
    """Return an object of the files as it can be applied: without what only controllers and kubelets say.

    A monitor of others asks as often as one of Dynamo's, so that nobody waits for its first scrape.
    """
    metadata = {key: value for key, value in each["metadata"].items() if key != "ownerReferences"}
    spec = each["spec"]
    for key in ENDPOINTS.values():
        if key in spec:
            spec = {**spec, key: [{**endpoint, "interval": "5s"} for endpoint in spec[key]]}
    return {**{key: value for key, value in each.items() if key != "status"}, "metadata": metadata, "spec": spec}


def expose(bed: Bed, wanted: dict[str, str]) -> None:
    """Let every server of the files serve what it serves in life, and the router gauges under vLLM's names."""
    texts = {kind: (METRICS / f"{kind}-small.txt").read_text() for kind in ("vllm", "dcgm")}
    # A slice of a GPU has no *_UTIL, and two labels more.
    sliced = re.sub(r"^(# \w+ )?DCGM_FI_DEV_\w+_UTIL.*\n", "", texts["dcgm"], flags=re.MULTILINE)
    texts["dcgm"] = sliced.replace('Hostname="', 'GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",Hostname="')
    certificate = Authority("somebody").server("localhost")
    pages = {
        (kind, tls): Exposition(text, certificate=certificate if tls else None)
        for kind, text in texts.items()
        for tls in (False, True)
    }
    for target, by in wanted.items():
        pod, _, port = target.rpartition(":")
        kind = "dcgm" if "dcgm" in pod else "vllm"
        bed.expose(pod, int(port), pages[kind, by.endswith(" over https")])
    gauges = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{server="http://10.1.0.9:8000"} 3\n'
    bed.expose(f"ml/{ROUTER}", 8000, Exposition(gauges))


@pytest.fixture(scope="module")
def families() -> Iterator[Families]:
    """Their stack, their servers and exporters, then `kvobs install` without a choice."""
    folders = [CLUSTERS / name for name in CASES]
    wanted: dict[str, str] = {}
    objects = []
    for folder in folders:
        wanted |= yaml.safe_load((folder / "expected.yaml").read_text())["plan"]["scraped"] or {}
        for each in yaml.safe_load_all((folder / "objects.yaml").read_text()):
            if each["kind"] in KINDS.get(each["apiVersion"], ()):
                objects.append(live(each))
    with Bed(gpu=True, monitoring=True) as bed:
        sets = [word for value in (*LEAN, "grafana.enabled=false") for word in ("--set", value)]
        helm_run(bed, "install", "kps", str(chart_under_test()), "-n", "mon", "--create-namespace", *sets)
        expose(bed, wanted)
        for name in sorted({each["metadata"]["namespace"] for each in objects}):
            bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-node"}}
        bed.api.merge(node, {"metadata": {"labels": NODE_LABELS}})
        bed.api.apply(*objects)
        bed.api.until(
            MONITORS, "Prometheus", "kps-kube-prometheus-stack-prometheus", "mon",
            lambda found: any(c["type"] == "Available" and c["status"] == "True"
                              for c in found.get("status", {}).get("conditions", ())),
        )  # fmt: skip
        done = kvobs("install", "--grafana", "none", "-o", "json", env=bed.environment())
        yield Families(bed, wanted, json.loads(done.stdout))


def test_everyone_is_scraped_once(families: Families) -> None:
    """The real Prometheus has one target for each server, up, by the monitor that the files name, and no other."""
    router = f"ml/{ROUTER}:8000"
    other = {f"{target}": by for target, by in families.wanted.items() if "kvobs-" not in by}
    ours = {
        target: "ours" + (" over https" if by.endswith(" over https") else "")
        for target, by in families.wanted.items()
        if "kvobs-" in by
    }
    # A router's own monitor, and KServe's, which scrapes a server beside ours and gives its metrics other names.
    beside = {(router, "ServiceMonitor ml/vs-router-service-monitor")}
    beside |= {("ml/qwen-kserve-64-1:8000", "PodMonitor ml/kserve-llm-isvc-vllm-engine over https")}
    expected = {*ours.items(), *other.items(), *beside}

    def all_up() -> bool:
        up = [(where(each), by_whom(each)) for each in families.targets() if each["health"] == "up"]
        return sorted(up) == sorted(expected)

    try:
        eventually(all_up, timeout_s=240, every_s=1)
    except AssertionError:
        seen = sorted((where(each), by_whom(each), each["health"], each["lastError"]) for each in families.targets())
        pytest.fail(f"wanted {sorted(expected)}\nhad {seen}")


def test_metrics_have_their_names(families: Families) -> None:
    """Each server's metrics are there once under vLLM's names, KServe's copy under its own, the router's by server."""
    servers = {target.partition("/")[2].rpartition(":")[0] for target in families.wanted if "dcgm" not in target}
    eventually(lambda: families.query("vllm:num_requests_running").keys() >= servers, every_s=1)
    eventually(lambda: families.query("kserve_vllm:num_requests_running"))
    eventually(lambda: families.query('vllm:num_requests_running{server!=""}'))
    # AIBrix' own monitor scrapes the sidecar of a server, too: here it serves the same page.
    counted = families.query('count by (pod) (vllm:num_requests_running{server="",endpoint!="http"})')

    assert set(counted.values()) == {1.0}
    assert set(families.query("kserve_vllm:num_requests_running")) == {"qwen-kserve-64-1"}
    assert set(families.query('vllm:num_requests_running{server!=""}')) == {ROUTER}


def test_slices_are_measured(families: Families) -> None:
    """The exporters arrive with the labels of their slices, and without utilisation, of which install has said so."""
    exporters = {target.partition("/")[2].rpartition(":")[0] for target in families.wanted if "dcgm" in target}
    eventually(lambda: families.query("DCGM_FI_DEV_FB_USED").keys() >= exporters, every_s=1)
    notes = {note["id"]: note["text"] for note in families.report["notes"]}

    assert set(families.query('DCGM_FI_DEV_FB_USED{GPU_I_ID="7"}')) == exporters
    assert families.query("DCGM_FI_DEV_GPU_UTIL") == {}
    assert "On 1 of the nodes GPUs are sliced by MIG" in notes["dcgm-mig"]


def test_exporter_of_a_node(families: Families) -> None:
    """The ScrapeConfig that install gives for AKS's nodes, applied as it stands, leads to the node's port."""
    text = next(note["text"] for note in families.report["notes"] if note["id"] == "dcgm-on-nodes")
    given = re.search(r"echo '(\{.*\})' \| kubectl apply -f -$", text)
    assert given is not None, text
    families.bed.api.apply(json.loads(given[1]))

    def targets() -> list[tuple[str, str, str]]:
        found = families.bed.api.request("GET", f"{QUERIED}/targets", state="active")["data"]["activeTargets"]
        return [
            (each["scrapeUrl"], each["labels"]["job"], each["labels"]["node"])
            for each in found
            if each["scrapePool"].startswith("scrapeConfig/")
        ]

    assert eventually(targets) == [("http://10.2.0.2:19400/metrics", "dcgm-of-nodes", "gpu-node")]


def test_what_is_said(families: Families) -> None:
    """Everything that kvobs cannot do for the reader is one note with its command; what is fine has none."""
    ids = {note["id"] for note in families.report["notes"]}

    assert ids >= {"dcgm-managed", "dcgm-mig", "dcgm-on-nodes", "metrics-renamed", "router-gauges", "vllm-in-ray"}
    assert not ids & {"no-vllm", "no-gpu-exporter", "port-unknown"}


def test_without_a_grafana_no_panel_is_asked(families: Families) -> None:
    """No dashboard is loaded: that no data was proved is a note, and says how to ask what they would show."""
    (text,) = (note["text"] for note in families.report["notes"] if note["id"] == "not-verified")

    assert "kvobs verify dcgm vllm two-lenses" in text
    assert (families.report["verified"], families.report["exit_code"]) == (None, 0)


def test_second_run_changes_nothing(families: Families) -> None:
    """With all of them scraped, an install finds nothing to do."""
    done = kvobs("install", "--no-verify", "-o", "json", env=families.bed.environment())

    assert {step["outcome"] for step in json.loads(done.stdout)["steps"]} == {"unchanged"}
