"""Why a server's metrics do not arrive: each file of `tests/data/scrape` is a case, see the README there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.health.answers import ScrapeTarget
from kvobs.health.causes import CAUSES
from kvobs.health.evidence import ClusterEvidence, ServerEvidence
from kvobs.health.scrape import scrape_finding
from kvobs.health.scrape_kinds import family_of
from kvobs.settings import Settings
from kvobs.stack.objects import kind_of, ref
from kvobs.use_cases.look import look
from kvobs.use_cases.verifying.cluster_evidence import cluster_evidence
from tests.stack.cases import PARTS as CLUSTER_PARTS
from tests.stack.listed import BUILT_IN, Listed

ROOT = Path(__file__).parents[1] / "data" / "scrape"
OF_CLUSTER = {"parts", "without", "denied", "objects"}
OF_SERVER = {"targets", "dropped", "pools", "time_interval_s"}
KEYS = {"why", "family", "finding", *OF_CLUSTER, *OF_SERVER}
CASES = sorted(path.stem for path in ROOT.glob("*.yaml"))
OWN = {"pool": "prometheus", "url": "http://10.0.9.9:9090/metrics", "health": "up"}
MONITORING = ("ServiceMonitor", "PodMonitor", "Prometheus", "ScrapeConfig")


def case_of(name: str) -> dict[str, Any]:
    """Read a case; a key that nothing reads is an error."""
    case: dict[str, Any] = yaml.safe_load((ROOT / f"{name}.yaml").read_text())
    assert set(case) <= KEYS
    return case


def evidence_of(case: dict[str, Any]) -> ClusterEvidence | None:
    """Look at the cluster of a case as verify does; None where it has none."""
    if "parts" not in case:
        return None
    there: dict[str, Any] = {}
    for part in case["parts"]:
        path = ROOT / "_parts" / f"{part}.yaml"
        path = path if path.exists() else CLUSTER_PARTS / f"{part}.yaml"
        there.update((str(ref(each)), each) for each in yaml.safe_load_all(path.read_text()) if each)
    for name in case.get("without", ()):
        del there[name]
    there.update((str(ref(each)), each) for each in case.get("objects", ()))
    namespaces = {each["metadata"].get("namespace") for each in there.values()} - {None}
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in sorted(namespaces)]
    objects = [*spaces, *there.values()]
    served = {*BUILT_IN, *map(kind_of, objects), *(f"{each}.monitoring.coreos.com" for each in MONITORING)}
    cluster = Listed(objects, frozenset(served), frozenset(case.get("denied", ())))
    facts = look(cluster, Settings())
    return cluster_evidence(cluster, facts, facts.prometheuses[0])


def target_of(told: dict[str, Any]) -> ScrapeTarget:
    """Return a target as Prometheus tells it."""
    namespace, _, pod = told.get("pod", "").partition("/")
    discovered = {"__meta_kubernetes_namespace": namespace, "__meta_kubernetes_pod_name": pod} if pod else {}
    return ScrapeTarget(
        pool=told["pool"],
        labels={"job": told.get("job", told["pool"])},
        url=told.get("url", ""),
        health=told.get("health", "unknown"),
        error=told.get("error", ""),
        discovered=discovered,
    )


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    """The one cause is named with its severity, in a sentence with the concrete names, and with the command."""
    case = case_of(name)
    told = case.get("targets", [OWN])
    targets = None if told == "none" else tuple(map(target_of, told))
    dropped = tuple(map(target_of, case.get("dropped", ())))

    pools = frozenset(case["pools"]) if "pools" in case else None
    server = ServerEvidence(
        targets=targets, dropped=dropped, pools=pools, datasource_interval_s=case.get("time_interval_s")
    )

    finding = scrape_finding(case["family"], evidence_of(case), server)

    expected = case.get("finding")
    if expected is None:
        assert finding is None, finding
        return
    assert finding is not None
    assert finding.cause == expected["cause"], finding
    assert finding.severity == expected.get("severity", CAUSES[finding.cause].severity)
    assert finding.passing is expected.get("passing", False)
    assert [words for words in expected["said"] if words not in finding.said] == [], finding.said
    assert [words for words in expected.get("fix", ()) if words not in finding.fix] == [], finding.fix
    assert "hunter2" not in str(finding)
    assert "\n" not in finding.said


def test_every_cause_has_cases() -> None:
    """Each cause that the scrape can have is met in at least one file."""
    met = {case["finding"]["cause"] for name in CASES if "finding" in (case := case_of(name))}
    assert met == {f"KVO-{number}" for number in (401, 402, 403, 404, 405, 406, 407, 509)}


@pytest.mark.parametrize(
    ("metric", "family"),
    [
        ("vllm:num_requests_running", "vllm"),
        ("vllm_num_requests_running", "vllm"),
        ("DCGM_FI_DEV_GPU_UTIL", "dcgm"),
        ("node_load1", None),
        ("ray_vllm_num_requests_running", "vllm"),
    ],
)
def test_family(metric: str, family: str | None) -> None:
    """A metric's name tells whose it is, in any spelling of it."""
    assert family_of(metric) == family
