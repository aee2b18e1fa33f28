"""`make demo`: the main job of kvobs from end to end, on a control plane of its own.

Afterwards nothing is left but the built binaries in the user's cache.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvobs.adapters.helm import Helm
from kvobs.errors import HelmError
from kvobs.settings import CHART, CHART_VERSION
from tests.cluster import build
from tests.cluster.api import eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import package, small_chart
from tests.cluster.registry import OciRegistry
from tests.cluster.snapshots import Snapshot, differences, settled
from tests.cluster.workloads import gpu_operator, vllm

QUERY = "vllm:num_requests_running"
DRIFTED = "kvobs-dashboard-kvobs-vllm"
EXPECTED = Path(__file__).with_name("demo-expected.yaml")
SHIPPED = ("dcgm", "two-lenses", "vllm")
REGISTRY_LIMIT_S = 20
"""How long the public registry may take to answer before it counts as out of reach."""


def panel(number: int, title: str, expr: str, uid: str = "prometheus") -> dict[str, object]:
    """Return one panel with one query."""
    return {
        "id": number, "type": "timeseries", "title": title,
        "gridPos": {"x": 8 * (number - 1), "y": 0, "w": 8, "h": 8},
        "datasource": {"type": "prometheus", "uid": uid}, "targets": [{"refId": "A", "expr": expr}],
    }  # fmt: skip


BROKEN_PANELS = [
    panel(1, "KV cache, by its name before vLLM 0.12", "vllm:gpu_cache_usage_perc"),
    panel(2, "Requests of a model that nobody serves", 'vllm:num_requests_running{model_name="another-model"}'),
    panel(3, "Requests, asked of another Grafana's source", "vllm:num_requests_running", uid="P1809F7CD0C75ACF3"),
]
BROKEN: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "brought-along", "namespace": "monitoring", "labels": {"grafana_dashboard": "1"}},
    "data": {
        "brought-along.json": json.dumps(
            {"uid": "brought-along", "title": "Brought along", "schemaVersion": 41, "panels": BROKEN_PANELS}
        )
    },
}


def main() -> int:
    """Run the demonstration; return 0 when the metric was seen in Prometheus."""
    with timed("build the control plane, Helm, the operator and Prometheus (kept in your cache)"):
        build.main()
    with timed("start etcd, API server, controller-manager and scheduler"):
        bed = Bed(gpu=True, monitoring=True)
        bed.__enter__()
    try:
        with timed("put a GPU Operator (its DCGM monitor off) and a running vLLM on the cluster"):
            gpu_operator(bed)
            vllm(bed)
        before = settled(bed.api)
        with chart(bed) as (arguments, environment):
            show(bed, Kvobs(environment), arguments)
        with timed("compare the cluster with what it was before kvobs"):
            show_differences(bed, before)
    finally:
        with timed("take everything down"):
            bed.__exit__(None, None, None)
    return 0


@dataclass(frozen=True)
class Kvobs:
    """The command as a user types it, in one environment."""

    environment: dict[str, str]

    def __call__(self, *arguments: str, code: int = 0) -> None:
        """Run it, show it, and see that it ends with *code*; anything else is the demonstration's failure."""
        say("$ " + shlex.join(["python", "-m", "kvobs", *arguments]))
        command = [sys.executable, "-m", "kvobs", *arguments]
        done = subprocess.run(command, env=self.environment, check=False)
        if done.returncode != code:
            raise AssertionError(f"kvobs {arguments[0]} ended with {done.returncode}, not {code}")


def show(bed: Bed, kvobs: Kvobs, arguments: list[str]) -> None:
    """Check, install, see samples arrive; lose an object and have it back; verify every panel; uninstall."""
    with timed("what stands in the way?"):
        kvobs("check", *arguments)
    with timed("install"):
        kvobs("install", "--yes", *arguments)
    with timed(f"ask the real Prometheus for {QUERY}, through the API server"):
        show_samples(bed)
    with timed("is everything as kvobs would have it?"):
        kvobs("status")
        kvobs("diff", *arguments)
    with timed(f"somebody deletes ConfigMap {DRIFTED}"):
        bed.api.delete("v1", "ConfigMap", DRIFTED, "monitoring")
        kvobs("diff", *arguments, code=1)
    with timed("install mends it"):
        kvobs("install", "--yes", *arguments)
        kvobs("diff", *arguments)
    show_panels(bed, kvobs, arguments)
    with timed("uninstall"):
        kvobs("uninstall", "--yes", "--delete-crds", "--delete-pvcs", "--delete-namespace")


def show_panels(bed: Bed, kvobs: Kvobs, arguments: list[str]) -> None:
    """Verify every panel on the live data; then load a dashboard with three broken ones, whose causes are named."""
    # The real chart has dozens of dashboards of its own, on parts of a cluster that are not simulated here.
    sources = () if arguments else SHIPPED
    expected = ("--quiet", "--expect", os.path.relpath(EXPECTED))
    with timed("is every panel lit?"):
        kvobs("verify", *sources, "--wait", "2m", *expected)
    with timed("somebody loads a dashboard: an old metric, a model that is not served, another Grafana's data source"):
        bed.api.apply(BROKEN)
        kvobs("verify", *expected, code=1)
        bed.api.delete("v1", "ConfigMap", BROKEN["metadata"]["name"], BROKEN["metadata"]["namespace"])


def show_differences(bed: Bed, before: Snapshot) -> None:
    """Print what is not as it was; nothing may differ."""
    eventually(lambda: bed.api.find("v1", "Namespace", "monitoring") is None)
    changed = differences(before, settled(bed.api))
    for key, what in changed.items():
        print(" ".join(filter(None, key)), what)
    print(f"{len(changed)} differences")
    if changed:
        raise AssertionError("uninstall did not leave the cluster as it was")


@contextmanager
def chart(bed: Bed) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Give the arguments and the environment by which install finds a chart: the real one where it can be had."""
    environment = bed.environment()
    try:
        Helm(environment=environment, timeout_s=REGISTRY_LIMIT_S).chart(CHART, CHART_VERSION)
    except HelmError:
        say(f"chart: {CHART} cannot be reached from here; the small chart of the tests, from a registry on loopback")
    else:
        say(f"chart: {CHART} {CHART_VERSION}, the real one")
        yield [], environment
        return
    with OciRegistry() as registry:
        registry.push(package(small_chart()))
        yield (
            ["--chart", registry.ref, "--chart-version", CHART_VERSION],
            environment | {"SSL_CERT_FILE": str(registry.ca_file)},
        )


def show_samples(bed: Bed) -> None:
    """Print what Prometheus scraped through the monitor that kvobs applied."""
    path = "/api/v1/namespaces/monitoring/services/kube-prometheus-stack-prometheus:http-web/proxy/api/v1/query"

    def samples() -> list[dict[str, object]]:
        answer = bed.api.request("GET", path, query=QUERY)
        return list(answer["data"]["result"])

    for sample in eventually(samples):
        print(json.dumps(sample))


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say what begins, and how long it took."""
    say(f"== {what}")
    start = time.monotonic()
    yield
    say(f"   {time.monotonic() - start:.1f} s")


def say(line: str) -> None:
    """Print a line of the demonstration's own."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    try:
        sys.exit(main())
    except (AssertionError, TimeoutError) as error:
        say(f"the demonstration failed: {error}")
        sys.exit(1)
