"""How fast an install is: `python -m tests.bench.install` prints Markdown tables.

All of it runs on one test bed, with one chart, in one go, so that the ratios hold where the times do not. Times are
the best of several runs, memory is the peak of the process as the kernel counts it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

import kvobs
from kvobs.adapters.apiserver import ApiServer
from kvobs.adapters.cluster import Cluster
from kvobs.adapters.helm_storage import stored_release
from kvobs.adapters.kubeconfig import find_access
from kvobs.adapters.refusals import Reply
from kvobs.settings import CHART_VERSION, DEFAULT_NAMESPACE, DEFAULT_RELEASE, Settings
from kvobs.use_cases.diff import diff
from tests.bench.processes import Ran, best, ran, table
from tests.cluster.bed import Bed
from tests.cluster.build import binary
from tests.cluster.charts import chart_under_test
from tests.cluster.commands import KVOBS
from tests.cluster.workloads import gpu_operator, vllm

RUNS = 5
QUICK_RUNS = 15
"""For what takes milliseconds: the best of a few is still another one each time."""


class Counting(ApiServer):
    """An API server that counts what it is asked, by verb and kind."""

    asked: Counter[tuple[str, str]]

    def send(self, method: str, path: str, **given: Any) -> Reply:
        """Count it, and send it on."""
        self.asked[verb(method, path, dict(given.get("params") or ())), kind(path)] += 1
        return super().send(method, path, **given)


def verb(method: str, path: str, params: Mapping[str, str]) -> str:
    """Return the verb as RBAC has it; a dry run changes nothing, and is one of its own."""
    if method == "GET":
        words = path.strip("/").split("/")
        in_group = words[3:] if words[0] == "apis" else words[2:]
        below = in_group[2:] if in_group[:1] == ["namespaces"] and len(in_group) > 2 else in_group
        return "list" if len(below) == 1 and words[0] in ("api", "apis") else "get"
    name = {"POST": "create", "PATCH": "apply", "PUT": "update", "DELETE": "delete"}[method]
    return f"{name} (dry run)" if "dryRun" in params else name


def kind(path: str) -> str:
    """Return the resource that a path leads to, or the path itself where that is none."""
    words = path.strip("/").split("/")
    if words[0] not in ("api", "apis") or len(words) < 3:
        return path
    below = words[3:] if words[0] == "apis" else words[2:]
    if below[:1] == ["namespaces"] and len(below) > 2:
        below = below[2:]
    return f"{below[0]} (proxy)" if "proxy" in below else below[0]


Action = Callable[[Settings, Cluster], Any]


def requests(settings: Settings, action: Action) -> Counter[tuple[str, str]]:
    """Return what an action asks of the API server."""
    server = Counting(find_access(settings.kubeconfig, None), request_timeout_s=30)
    server.asked = Counter()
    action(settings, Cluster(server))
    server.close()
    return server.asked


def compared(what: str, ours: Ran, beside: str, theirs: Ran, aim: str) -> list[str]:
    """Return a row that sets one time beside another."""
    ratio = f"{ours.seconds / theirs.seconds:.2f}"
    return [what, f"{ours.seconds * 1000:.0f} ms", beside, f"{theirs.seconds * 1000:.0f} ms", ratio, aim]


def of_the_command() -> list[list[str]]:
    """What every command costs before it does anything."""
    environment = dict(os.environ)
    bare, imported, help_, helm_help = best(
        QUICK_RUNS,
        lambda: ran([sys.executable, "-c", "pass"], environment),
        lambda: ran([sys.executable, "-c", "import kvobs"], environment),
        lambda: ran([*KVOBS, "--help"], environment),
        lambda: ran([str(binary("helm4")), "--help"], environment),
    )
    return [
        compared("`kvobs --help`", help_, "`helm --help`", helm_help, "2"),
        compared("`import kvobs`", imported, "`python -c pass`", bare, "1.5"),
    ]


class Installed:
    """kvobs on a bed with a GPU Operator and a vLLM server."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.chart = str(chart_under_test())
        self.settings = Settings(
            kubeconfig=str(bed.kubeconfig), chart=self.chart, chart_version=CHART_VERSION, helm=str(bed.helm("4"))
        )
        self.environment = bed.environment()
        self.helm_log = bed.folder / "bench-helm"
        self.environment["PATH"] = f"{self._telltale()}{os.pathsep}{self.environment['PATH']}"

    def _telltale(self) -> Path:
        """Make a helm that says that it was started, and is otherwise the real one; return its folder."""
        folder = self.bed.folder / "bench-bin"
        folder.mkdir()
        helm = folder / "helm"
        helm.write_text(f'#!/bin/sh\necho "$*" >> "{self.helm_log}"\nexec "{self.bed.helm("4")}" "$@"\n')
        helm.chmod(0o755)
        return folder

    def requests(self, action: Action, *, verify: bool = True) -> Counter[tuple[str, str]]:
        """Return what an action asks of the API server."""
        return requests(replace(self.settings, verify=verify), action)

    def again(self, *more: str) -> Ran:
        """Install once more, as a user does."""
        arguments = ["install", "--chart", self.chart, "--chart-version", CHART_VERSION, *more]
        return ran([*KVOBS, *arguments], self.environment)

    def until_lit(self) -> None:
        """Wait until data arrives: what is measured afterwards waits for nothing."""
        if kvobs.install(self.settings).exit_code:
            raise RuntimeError("kvobs install: some panels stay dark")

    def upgrade(self) -> Ran:
        """Let Helm alone do the same: the same chart with the same values."""
        cluster = Cluster.connect(str(self.bed.kubeconfig), None)
        release = stored_release(cluster, DEFAULT_RELEASE, DEFAULT_NAMESPACE)
        cluster.close()
        assert release is not None
        argv = [str(self.bed.helm("4")), "upgrade", DEFAULT_RELEASE, self.chart, "-n", DEFAULT_NAMESPACE, "-f", "-"]
        return ran(argv, self.environment, yaml.safe_dump(release.values).encode())


def of_an_install(installed: Installed) -> tuple[list[list[str]], list[str]]:
    """What a second install costs, in time beside Helm alone, and in memory."""
    installed.until_lit()
    installed.helm_log.write_text("")
    mine = [installed.again() for _ in range(RUNS)]
    unproved = min((installed.again("--no-verify") for _ in range(RUNS)), key=lambda one: one.seconds)
    started = len(installed.helm_log.read_text().splitlines())
    (theirs,) = best(2, installed.upgrade)
    again = min(mine, key=lambda one: one.seconds)
    memory = [
        f"peak memory of the second install: {max(one.peak_mib for one in mine):.0f} MiB;"
        f" of `helm upgrade`: {theirs.peak_mib:.0f} MiB",
        f"Helm processes that {2 * RUNS} second installs started: {started}",
        "",
    ]
    rows = [
        compared("second `kvobs install`", again, "`helm upgrade`", theirs, "1"),
        compared("second `kvobs install --no-verify`", unproved, "`helm upgrade`", theirs, "1"),
    ]
    return rows, memory


def is_change(verb: str, resource: str) -> bool:
    """Whether a request changes something on the cluster: a question about rights does not, though it is created."""
    return verb in ("create", "apply", "update", "delete") and resource != "selfsubjectaccessreviews"


def of_requests(columns: Mapping[str, Counter[tuple[str, str]]]) -> Iterator[str]:
    """Yield a table of requests, by verb and kind."""
    order = ["get", "list", "create", "apply (dry run)", "apply", "update", "delete"]
    asked = sorted({each for counts in columns.values() for each in counts}, key=lambda one: (order.index(one[0]), one))
    rows = [[f"{verb} {kind}", *(str(counts[verb, kind] or "") for counts in columns.values())] for verb, kind in asked]
    rows.append(["all", *(str(sum(counts.values())) for counts in columns.values())])
    writes = [sum(number for what, number in counts.items() if is_change(*what)) for counts in columns.values()]
    rows.append(["of them changes", *map(str, writes)])
    return table(["request", *columns], rows)


def lines() -> Iterator[str]:
    """Yield the tables, line by line."""
    times = of_the_command()
    with Bed(gpu=True, monitoring=True) as bed:
        gpu_operator(bed)
        vllm(bed)
        installed = Installed(bed)

        def install(settings: Settings, cluster: Cluster) -> None:
            kvobs.install(settings, cluster=cluster)

        # How often a first install asks Prometheus depends on how long data takes.
        columns = {"install, not verified": installed.requests(install, verify=False)}
        installed.until_lit()
        columns |= {
            "second, not verified": installed.requests(install, verify=False),
            "second install": installed.requests(install),
            "status": installed.requests(lambda settings, cluster: kvobs.status(settings, cluster=cluster)),
            "diff": installed.requests(lambda settings, cluster: diff(settings, cluster=cluster)),
        }
        rows, memory = of_an_install(installed)
    yield from table(["what", "best", "beside", "best", "ratio", "aim"], [*rows, *times])
    yield from memory
    yield from of_requests(columns)


def main() -> None:
    """Print the tables."""
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
