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

from kvobs.adapters.helm import Helm
from kvobs.errors import HelmError
from kvobs.settings import CHART, CHART_VERSION
from tests.cluster import build
from tests.cluster.api import eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import package, small_chart
from tests.cluster.registry import OciRegistry
from tests.cluster.workloads import gpu_operator, vllm

QUERY = "vllm:num_requests_running"
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
        with chart(bed) as (arguments, environment):
            kvobs = [sys.executable, "-m", "kvobs"]
            with timed("kvobs install"):
                run([*kvobs, "install", "--yes", *arguments], environment)
            with timed("kvobs status"):
                run([*kvobs, "status"], environment)
        with timed(f"ask the real Prometheus for {QUERY}, through the API server"):
            show_samples(bed)
    finally:
        with timed("take everything down"):
            bed.__exit__(None, None, None)
    return 0


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


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a command as a user types it; its failure is the demonstration's."""
    say("$ " + shlex.join(["python", *command[1:]]))
    subprocess.run(command, env=environment, check=True)


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
    except (subprocess.CalledProcessError, AssertionError, TimeoutError) as error:
        say(f"the demonstration failed: {error}")
        sys.exit(1)
