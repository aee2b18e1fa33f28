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
REGISTRY_LIMIT_S = 20
"""How long the public registry may take to answer before it counts as out of reach."""


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
    """Check, install, see a sample arrive; then an object is lost, found missing and brought back; then uninstall."""
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
    with timed("uninstall"):
        kvobs("uninstall", "--yes", "--delete-crds", "--delete-pvcs", "--delete-namespace")


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

    for sample in eventually(samples, timeout_s=90):
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
