"""verify on a whole cluster: kvobs' monitors, the real operator, the real Prometheus, exporters whose counters move.

Everything is lit first. Then things are broken, several in a round where they concern different panels, and each has
to be named as the one cause of what it darkens; the last round mends all. Scrapes are a second apart here and the time
range is five seconds long, so that what was scraped before a change is soon out of sight. The tests run in order.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kvobs.adapters.assets import shipped_dashboards
from kvobs.health.verdict import BoardVerdict
from kvobs.settings import Settings, Verification
from kvobs.use_cases.verify import verify
from kvobs.use_cases.verify_report import VerifyReport
from tests.cluster.api import Object, eventually
from tests.cluster.bed import METRICS, Bed
from tests.cluster.commands import kvobs, stack_arguments
from tests.cluster.exporters import Exposition
from tests.cluster.lean import LEAN
from tests.cluster.workloads import VLLM_PORT, gpu_operator, vllm

MONITORS = "monitoring.coreos.com/v1"
HOME = "monitoring"
EVERY_S = 1
VALUES = (*LEAN, "kubeApiServer.enabled=false", f"prometheus.prometheusSpec.scrapeInterval={EVERY_S}s")
"""A source that is said to be scraped each second has windows of a few seconds for rates."""
RANGE = "now-5s"
LOOKBACK = "5s"
"""How long what is scraped no more stands for now: five minutes, unless told otherwise."""
EXPORTER_PORT = 9400
VLLM, DCGM, BOTH = "kvobs-vllm", "kvobs-dcgm", "kvobs-two-lenses"


@dataclass(frozen=True, kw_only=True)
class World:
    """The bed with vLLM, GPUs and kvobs' own stack on it."""

    bed: Bed
    settings: Settings
    vllm: Exposition
    gpus: Exposition

    def look(self, wait_s: float = 0.0) -> VerifyReport:
        """Verify the loaded dashboards over the last seconds; those that the real chart brings are not told of."""
        report = verify(self.settings, Verification(start=RANGE, wait_s=wait_s))
        ours = (each for each in report.boards if str(each.uid).startswith("kvobs-") or each.uid == "brought")
        return replace(report, boards=tuple(ours))

    def monitor(self, of: str) -> Object:
        """Return the monitor of ours for what runs in a namespace."""
        ours = self.bed.api.list(MONITORS, "ServiceMonitor", labels="app.kubernetes.io/managed-by=kvobs")
        (found,) = (each for each in ours if each["spec"]["namespaceSelector"].get("matchNames") == [of])
        return found


@pytest.fixture(scope="module")
def world(bed: Bed) -> World:
    """A vLLM server, GPUs with an exporter, and `kvobs install`; then faster scrapes than an install asks for."""
    gpu_operator(bed)
    vllm(bed)
    expositions = [
        Exposition.of_file(METRICS / name, growth=0.01) for name in ("vllm-0.32.txt", "dcgm-4.6-hostname-new-case.txt")
    ]
    for exposition, (pods, port) in zip(
        expositions, (("llm/vllm-*", VLLM_PORT), ("gpu-operator/nvidia-dcgm-exporter-*", EXPORTER_PORT)), strict=True
    ):
        bed.expose(pods, port, exposition)
    values = [argument for value in VALUES for argument in ("--set", value)]
    kvobs("install", "--yes", "--dcgm", "exporter", *stack_arguments(), *values, env=bed.environment())
    prometheus = bed.api.get(MONITORS, "Prometheus", "kube-prometheus-stack-prometheus", HOME)
    bed.api.merge(prometheus, {"spec": {"query": {"lookbackDelta": LOOKBACK}}})
    made = World(
        bed=bed, settings=Settings(kubeconfig=str(bed.kubeconfig)), vllm=expositions[0], gpus=expositions[1]
    )  # fmt: skip
    for namespace in ("llm", "gpu-operator"):
        monitor = made.monitor(namespace)
        bed.api.merge(monitor, {"spec": {"endpoints": faster(monitor)}})
    bed.api.until(
        MONITORS, "Prometheus", "kube-prometheus-stack-prometheus", HOME,
        lambda found: any(
            c["type"] == "Available" and c["status"] == "True" for c in found.get("status", {}).get("conditions", ())
        ),
    )  # fmt: skip
    return made


def faster(monitor: Object) -> list[Object]:
    """Return the endpoints of a monitor, scraped each second."""
    return [{**each, "interval": f"{EVERY_S}s"} for each in monitor["spec"]["endpoints"]]


# --- what can be broken, and mended again ---

Fault = Callable[[World], Any]


@contextmanager
def changed(world: World, found: Object, change: Object, back: Object) -> Iterator[None]:
    """Patch an object, and patch it back."""
    world.bed.api.merge(found, change)
    try:
        yield
    finally:
        world.bed.api.merge(found, back)


def unlabelled_monitor(of: str) -> Fault:
    """The label is gone by which the Prometheus selects the monitor."""

    def fault(world: World) -> Any:
        found = world.monitor(of)
        label = found["metadata"]["labels"]["release"]
        return changed(
            world, found, {"metadata": {"labels": {"release": None}}}, {"metadata": {"labels": {"release": label}}}
        )

    return fault


def without_its_secret(of: str) -> Fault:
    """The monitor names a Secret that is not there, so that the operator rejects it.

    The Secret mends it, so that the operator's warning outlives what it warns of, on a monitor that nobody changed.
    """

    @contextmanager
    def fault(world: World) -> Iterator[None]:
        found = world.monitor(of)
        endpoints = copy.deepcopy(found["spec"]["endpoints"])
        for each in endpoints:
            each["authorization"] = {"credentials": {"name": "late-secret", "key": "token"}}
        world.bed.api.merge(found, {"spec": {"endpoints": endpoints}})
        try:
            yield
        finally:
            metadata = {"name": "late-secret", "namespace": found["metadata"]["namespace"]}
            world.bed.api.apply(
                {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": "it-is-here"}}
            )

    return fault


def renamed_port(namespace: str, name: str) -> Fault:
    """The Service's port has another name than the monitor asks for."""

    def fault(world: World) -> Any:
        found = world.bed.api.get("v1", "Service", name, namespace)
        ports = found["spec"]["ports"]
        return changed(
            world,
            found,
            {"spec": {"ports": [{**each, "name": "api"} for each in ports]}},
            {"spec": {"ports": ports}},
        )

    return fault


def relabelled_service(namespace: str, name: str, label: str) -> Fault:
    """The Service has lost a label that the monitor selects by."""

    def fault(world: World) -> Any:
        found = world.bed.api.get("v1", "Service", name, namespace)
        value = found["metadata"]["labels"][label]
        return changed(
            world, found, {"metadata": {"labels": {label: None}}}, {"metadata": {"labels": {label: value}}}
        )  # fmt: skip

    return fault


def failing(which: str) -> Fault:
    """The exporter answers 500."""

    @contextmanager
    def fault(world: World) -> Iterator[None]:
        exposition: Exposition = getattr(world, which)
        exposition.status = 500
        try:
            yield
        finally:
            exposition.status = 200

    return fault


def asleep(namespace: str, name: str) -> Fault:
    """The server is scaled to nothing."""

    def fault(world: World) -> Any:
        found = world.bed.api.get("apps/v1", "Deployment", name, namespace)
        return changed(world, found, {"spec": {"replicas": 0}}, {"spec": {"replicas": 1}})

    return fault


def unlabelled_dashboard(uid: str) -> Fault:
    """The ConfigMap has lost the label by which Grafana's sidecar finds it."""

    def fault(world: World) -> Any:
        found = world.bed.api.get("v1", "ConfigMap", f"kvobs-dashboard-{uid}", HOME)
        return changed(
            world, found,
            {"metadata": {"labels": {"grafana_dashboard": None}}}, {"metadata": {"labels": {"grafana_dashboard": "1"}}},
        )  # fmt: skip

    return fault


@contextmanager
def foreign_dashboard(world: World) -> Iterator[None]:
    """Somebody's dashboard is loaded that names a data source of another Grafana by its UID."""
    document = {
        "uid": "brought", "title": "Brought along", "schemaVersion": 41,
        "panels": [
            {
                "id": 1, "type": "timeseries", "title": "Running", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8},
                "datasource": {"type": "prometheus", "uid": "theirs-and-not-ours"},
                "targets": [{"refId": "A", "expr": "vllm:num_requests_running"}],
            }
        ],
    }  # fmt: skip
    metadata = {"name": "brought-along", "namespace": HOME, "labels": {"grafana_dashboard": "1"}}
    world.bed.api.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"brought.json": json.dumps(document)}}
    )
    try:
        yield
    finally:
        world.bed.api.delete("v1", "ConfigMap", "brought-along", HOME)


@dataclass(frozen=True, kw_only=True)
class Round:
    """What is broken at a time, and what verify has to say of it."""

    faults: tuple[Fault, ...]
    dark: Mapping[str, tuple[str, str]]
    """Dashboard -> the state and the one cause of each of its panels."""
    lost: Mapping[str, str] | None = None
    """Dashboard -> the cause by which it is not loaded at all."""
    exit_code: int = 1


ROUNDS = {
    "monitor-not-selected": Round(
        faults=(unlabelled_monitor("llm"), failing("gpus"), foreign_dashboard),
        dark={VLLM: ("broken", "KVO-401"), DCGM: ("broken", "KVO-406"), "brought": ("broken", "KVO-202")},
    ),
    "no-such-port": Round(
        faults=(renamed_port("llm", "vllm"), unlabelled_monitor("gpu-operator"), unlabelled_dashboard(BOTH)),
        dark={VLLM: ("broken", "KVO-404"), DCGM: ("broken", "KVO-401")},
        lost={BOTH: "KVO-104"},
    ),
    "monitor-rejected": Round(
        faults=(
            without_its_secret("llm"),
            relabelled_service("gpu-operator", "nvidia-dcgm-exporter", "app"),
        ),
        dark={VLLM: ("broken", "KVO-402"), DCGM: ("broken", "KVO-403")},
    ),
    "target-down": Round(
        faults=(failing("vllm"), renamed_port("gpu-operator", "nvidia-dcgm-exporter")),
        dark={VLLM: ("broken", "KVO-406"), DCGM: ("broken", "KVO-404")},
    ),
    "scaled-to-nothing": Round(
        faults=(asleep("llm", "vllm"),), dark={VLLM: ("expected", "KVO-407")}, exit_code=0
    ),
}  # fmt: skip


# --- what verify says ---


def verdicts(board: BoardVerdict) -> set[tuple[str, str]]:
    """Return the states of a dashboard's panels, with their causes; text is none."""
    return {
        (panel.state, panel.finding.cause if panel.finding else "") for panel in board.panels if panel.type != "text"
    }


def seen(report: VerifyReport) -> dict[str, set[tuple[str, str]]]:
    """Return dashboard -> what its panels are, of the dashboards that are loaded."""
    return {str(board.uid): verdicts(board) for board in report.boards if board.panels}


def ours(report: VerifyReport) -> dict[str, set[tuple[str, str]]]:
    """Return the same of the dashboards that kvobs brought."""
    return {uid: found for uid, found in seen(report).items() if uid.startswith("kvobs-")}


def lit(world: World) -> dict[str, set[tuple[str, str]]]:
    """Wait until all of ours is lit; return what is."""
    return eventually(
        lambda: all_lit if set().union(*(all_lit := ours(world.look())).values()) == {("lit", "")} else {}
    )


ALL_LIT = {uid: {("lit", "")} for uid in (VLLM, DCGM, BOTH)}


def test_all_is_lit(world: World) -> None:
    """After an install every shipped panel is lit, asked through the API server; nothing was changed by looking."""
    assert {json.loads(content)["uid"] for _, content in shipped_dashboards()} == set(ALL_LIT)
    world.look(wait_s=60)
    assert lit(world) == ALL_LIT

    report = world.look()
    assert report.exit_code == 0
    assert report.server is not None
    assert report.server.startswith("prometheus 3.")
    assert HOME in report.prometheus


def test_counters_move(world: World) -> None:
    """What is lit is live: tokens are generated, watts are drawn."""
    report = world.look()

    targets = [
        target for board in report.boards for panel in board.panels for target in panel.targets if target.state == "lit"
    ]
    moving = [each for each in targets if "rate(vllm:generation_tokens_total" in each.expr]
    assert moving
    assert not any(each.zero for each in moving)


@pytest.mark.parametrize("name", ROUNDS)
def test_each_fault_is_the_one_cause(world: World, name: str) -> None:
    """What each fault darkens has that one cause, what it does not touch stays lit, and mended, all is lit again."""
    chosen = ROUNDS[name]
    last: list[VerifyReport] = []

    def told() -> bool:
        last[:] = [world.look()]
        found = seen(last[0])
        alone = {uid: found.get(uid) for uid in (VLLM, DCGM, "brought") if uid in chosen.dark or uid != "brought"}
        return alone == {uid: {chosen.dark.get(uid, ("lit", ""))} for uid in alone}

    with ExitStack() as faults:
        for fault in chosen.faults:
            faults.enter_context(fault(world))
        try:
            eventually(told, timeout_s=60)
        except AssertionError as error:
            raise AssertionError(f"{error}; seen last: {seen(last[0])}") from error
        report = last[0]
        assert report.exit_code == chosen.exit_code
        assert verdicts_of_both(report) <= {("lit", ""), *chosen.dark.values()}
        lost = {str(board.uid): [each.cause for each in board.findings] for board in report.boards if board.findings}
        assert lost == {uid: [cause] for uid, cause in (chosen.lost or {}).items()}
        fixes = {group.finding.cause: group.finding.fix for group in report.causes}
        assert all(fixes.values()), fixes


def verdicts_of_both(report: VerifyReport) -> set[tuple[str, str]]:
    """Return what the panels of the dashboard are that shows GPUs and vLLM."""
    return seen(report).get(BOTH, set())


def test_all_is_lit_again(world: World) -> None:
    """With everything mended nothing is left to say."""
    assert lit(world) == ALL_LIT


def test_without_the_right_to_ask(world: World) -> None:
    """Who may look at everything, but not ask a Service through the API server, is told so; nothing counts as lit."""
    api = world.bed.api
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "only-lists"}}
    binding = {
        **role, "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "only-lists"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "looker"}],
    }  # fmt: skip
    api.apply({**role, "rules": rules}, binding)
    looker = str(world.bed.kubeconfig_for("looker"))
    allowed: Object = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "looker", "resourceAttributes": {"verb": "list", "resource": "pods"}},
    }  # fmt: skip
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    eventually(lambda: api.request("POST", path, allowed)["status"]["allowed"])

    done = kvobs("verify", "--kubeconfig", looker, "-o", "json", env=world.bed.environment(), code=4)

    assert "services/proxy" in done.stdout + done.stderr
    report = verify(Settings(kubeconfig=looker), Verification(start=RANGE))
    assert report.counts["lit"] == 0
    assert {cause for found in ours(report).values() for cause in found} == {("unknown", "KVO-901")}
