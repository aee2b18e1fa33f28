"""Metrics that a scrape drops, on the real operator and the real Prometheus: what drops them is named, and mended."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Prometheus
from kvobs.adapters.prometheus_proxied import OverCluster
from kvobs.dashboard.board import Panel, Query, SourceRef, Target
from kvobs.health.answers import Result
from kvobs.health.ladder import judge
from kvobs.health.verdict import Finding
from kvobs.use_cases.verifying.gathering import Unlit, gather, server_evidence
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.build import binary
from tests.cluster.test_monitoring import OPERATOR, PROMETHEUS, SERVICE
from tests.cluster.test_verify_evidence import READ, evidence, monitor, replace_monitor
from tests.cluster.workloads import vllm

SWAPS = {"action": "drop", "sourceLabels": ["__name__"], "regex": "vllm:num_preemptions.*"}
CLASS: Object = {"name": "lean", "default": True, "metricRelabelings": [SWAPS]}
STEPS = [
    {"action": "labeldrop", "regex": "engine"},
    {"action": "drop", "sourceLabels": ["__name__"], "regex": "vllm:(kv_cache|gpu_cache)_.*"},
    {"action": "replace", "sourceLabels": ["__name__"], "regex": "vllm:(prompt_tokens.*)", "targetLabel": "__name__",
     "replacement": "served_$1"},
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def scraped(bed: Bed) -> None:
    """Give the bed an operator, a Prometheus with a scrape class, vLLM, and a monitor that drops and renames."""
    bed.apply_crds("prometheus-operator")
    bed.api.apply(OPERATOR, {**PROMETHEUS, "spec": {**PROMETHEUS["spec"], "scrapeClasses": [CLASS]}}, SERVICE)
    vllm(bed, "chat", "llm")
    replace_monitor(bed, monitor(READ, metricRelabelings=STEPS))


@pytest.fixture
def cluster(bed: Bed) -> Iterator[Cluster]:
    """The bed's API server, as kvobs asks it."""
    connected = Cluster.connect(str(bed.kubeconfig))
    yield connected
    connected.close()


def judged(cluster: Cluster, expr: str) -> Finding | None:
    """Return why a query has no answer now; None where it has one, or the server has none for anything yet."""
    asked = Prometheus(OverCluster(cluster.services, namespace="default", service="main", port="http-web"))

    def query(text: str) -> Query:
        return Query(expr=text, instant=True, start_s=0.0, end_s=time.time(), step_s=0.0, source="p")

    lit, unlit = asked.query(query("vllm:num_requests_running")), asked.query(query(expr))
    if not (isinstance(lit, Result) and lit.numbers and isinstance(unlit, Result)) or unlit.numbers:
        return None
    target = Target(ref_id="A", source=SourceRef(None), expr=expr)
    dark = Unlit(panel=Panel(id=1, title="p", type="stat"), target=target, query=query(expr), answer=unlit)
    seen = evidence(cluster)
    return judge(gather(dark, asked, server_evidence(asked, seen), cluster=seen))


@pytest.mark.parametrize(
    ("expr", "cause", "said", "fix"),
    [
        ("vllm:kv_cache_usage_perc", "KVO-408",
         "spec.endpoints[0].metricRelabelings[1] of ServiceMonitor llm/chat drops it",
         "kubectl -n llm edit servicemonitor chat   # spec.endpoints[0].metricRelabelings[1]: narrow its regex"),
        ("rate(vllm:prompt_tokens_total[1m])", "KVO-408",
         "spec.endpoints[0].metricRelabelings[2] of ServiceMonitor llm/chat stores it as served_prompt_tokens_total",
         "In the query: served_prompt_tokens_total instead of vllm:prompt_tokens_total"),
        ("vllm:num_preemptions_total", "KVO-408",
         "metric_relabel_configs[0] of serviceMonitor/llm/chat/0 (no step of ServiceMonitor llm/chat itself) drops it",
         "kubectl -n default edit prometheus main   # spec.scrapeClasses"),
        # The rule fits its name too, and this version has none such.
        ("vllm:gpu_cache_usage_perc", "KVO-502", "gone from vLLM", "vllm:kv_cache_usage_perc"),
    ],
    ids=["dropped", "renamed", "by a scrape class", "not there anyway"],
)  # fmt: skip
def test_what_drops_it(cluster: Cluster, expr: str, cause: str, said: str, fix: str) -> None:
    """The step is found where it is written: in the monitor by its number there, or in the Prometheus object."""
    found = eventually(lambda: judged(cluster, expr))

    assert (found.cause, said in found.said, fix in found.fix) == (cause, True, True), found


def test_mended_as_told(bed: Bed, cluster: Cluster) -> None:
    """The command that is told opens the monitor; once the step there fits the metric no more, it is lit."""
    found = eventually(lambda: judged(cluster, "vllm:kv_cache_usage_perc"))

    run_with_editor(bed, found.commands[0], "sed -i s/(kv_cache|gpu_cache)_/(gpu_cache)_/")

    eventually(lambda: is_lit(cluster, "vllm:kv_cache_usage_perc"))


def is_lit(cluster: Cluster, expr: str) -> bool:
    """Whether a query has an answer now."""
    asked = Prometheus(OverCluster(cluster.services, namespace="default", service="main", port="http-web"))
    answer: Any = asked.query(Query(expr=expr, instant=True, start_s=0.0, end_s=time.time(), step_s=0.0, source="p"))
    return isinstance(answer, Result) and answer.numbers > 0


def run_with_editor(bed: Bed, command: str, editor: str) -> None:
    """Run an edit by the real kubectl, with a program in place of a person."""
    words = shlex.split(command)
    env = {**bed.environment(), "PATH": os.environ["PATH"], "KUBE_EDITOR": editor}
    done = subprocess.run([str(binary("kubectl")), *words[1:]], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
