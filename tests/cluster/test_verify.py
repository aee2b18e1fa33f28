"""verify on a whole cluster: kvobs' monitors, the real operator, the real Prometheus, exporters whose counters move.

Everything is lit first. Then things are broken, several in a round where they concern different panels, and each has
to be named as the one cause of what it darkens; the last round mends all. The stack is told of scrapes that are a
second apart, so that kvobs' monitors keep to that too, and the time range is five seconds long: what was scraped before
a change is soon out of sight. The tests run in order.
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
from tests.cluster.charts import chart_under_test
from tests.cluster.commands import kvobs
from tests.cluster.exporters import Exposition
from tests.cluster.lean import LEAN
from tests.cluster.workloads import VLLM_PORT, gpu_operator, vllm

MONITORS = "monitoring.coreos.com/v1"
HOME = "monitoring"
RANGE = "now-5s"
VALUES = (
    *LEAN,
    "kubeApiServer.enabled=false",
    # A source that is said to be scraped each second has windows of a few seconds for rates.
    "prometheus.prometheusSpec.scrapeInterval=1s",
    # How long what is scraped no more stands for now: five minutes, unless told otherwise.
    "prometheus.prometheusSpec.query.lookbackDelta=5s",
)
EXPORTER_PORT = 9400
VLLM, DCGM, BOTH = "kvobs-vllm", "kvobs-dcgm", "kvobs-two-lenses"
SERVICE = "Service monitoring/kube-prometheus-stack-prometheus, port http-web"
POD = "pod monitoring/prometheus-kube-prometheus-stack-prometheus-0, port 9090"


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
    """A vLLM server, GPUs with an exporter, and `kvobs install`, which ends when every panel of its own is lit."""
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
    kvobs("install", "--yes", "--chart", chart_under_test(), *values, env=bed.environment())
    return World(bed=bed, settings=Settings(kubeconfig=str(bed.kubeconfig)), vllm=expositions[0], gpus=expositions[1])


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
    assert lit(world) == ALL_LIT

    # Scrapes are a second apart, and one may be too slow for once.
    report = eventually(lambda: found if (found := world.look()).exit_code == 0 else None)
    assert report.server is not None
    assert report.server.startswith("prometheus 3.")
    assert HOME in report.prometheus


def test_scraped_as_often_as_the_stack_reckons_with(world: World) -> None:
    """The operator takes monitors of one second, Prometheus shortens its timeout to that, and diff finds nothing."""
    path = f"/api/v1/namespaces/{HOME}/services/kube-prometheus-stack-prometheus:http-web/proxy/api/v1/targets"

    def ours() -> set[tuple[str, ...]]:
        targets = world.bed.api.request("GET", path, state="active")["data"]["activeTargets"]
        told = [each for each in targets if each["labels"].get("namespace") in ("llm", "gpu-operator")]
        return {(each["scrapeInterval"], each["scrapeTimeout"], each["health"]) for each in told}

    eventually(lambda: ours() == {("1s", "1s", "up")})
    kvobs("diff", "--chart", chart_under_test(), env=world.bed.environment())


def test_counters_move(world: World) -> None:
    """What is lit is live: tokens are generated, watts are drawn."""

    def zeros() -> list[bool]:
        """Return of each panel that shows how fast tokens are generated whether it shows zero."""
        panels = (panel for board in world.look().boards for panel in board.panels)
        lit = (target for panel in panels for target in panel.targets if target.state == "lit")
        return [each.zero for each in lit if "rate(vllm:generation_tokens_total" in each.expr]

    assert not any(eventually(zeros))


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
            eventually(told)
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


def user(world: World, name: str, *rules: Object) -> str:
    """Make a user who may list everything, and what *rules* say; return the path of a kubeconfig."""
    api, group = world.bed.api, "rbac.authorization.k8s.io"
    role = {
        "apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}, *rules],
    }  # fmt: skip
    binding = {
        "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
    }  # fmt: skip
    api.apply(role, binding)
    allowed: Object = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": name, "resourceAttributes": {"verb": "list", "resource": "pods"}},
    }  # fmt: skip
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    eventually(lambda: api.request("POST", path, allowed)["status"]["allowed"])
    return str(world.bed.kubeconfig_for(name))


def test_without_the_right_to_ask(world: World) -> None:
    """Who may look at everything, but go neither way to the Prometheus, is told which rights are missing; nothing
    counts as lit."""
    looker = user(world, "looker")

    done = kvobs("verify", "--kubeconfig", looker, "-o", "json", env=world.bed.environment(), code=4)

    said = done.stdout + done.stderr
    assert "user looker may not get services/proxy in namespace monitoring" in said
    assert "user looker may not get pods/portforward in namespace monitoring" in said
    assert "kubectl -n monitoring port-forward service/" in said
    report = verify(Settings(kubeconfig=looker), Verification(start=RANGE))
    assert report.counts["lit"] == 0
    assert {cause for found in ours(report).values() for cause in found} == {("unknown", "KVO-901")}


def test_by_a_port_forward(world: World) -> None:
    """Who may not use the proxy, but forward a port of a pod, has all lit, and is told which way was taken."""
    rule = {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]}
    forwarder = user(world, "forwarder", rule)

    def look() -> VerifyReport | None:
        report = verify(Settings(kubeconfig=forwarder), Verification(start=RANGE))
        return report if ours(report) == ALL_LIT else None

    report = eventually(look)
    assert report.prometheus == f"Prometheus ({POD}, by port-forward)"
    refused = kvobs(
        "verify", "vllm", "--reach", "proxy", "--kubeconfig", forwarder, env=world.bed.environment(), code=4
    )  # fmt: skip
    assert "may not get services/proxy" in refused.stdout
    assert "pods/portforward" not in refused.stdout


@pytest.mark.parametrize(
    ("reach", "place"),
    [("auto", SERVICE), ("proxy", SERVICE), ("port-forward", POD)],
    ids=["auto", "proxy", "port-forward"],
)
def test_the_way_that_is_told(world: World, reach: str, place: str) -> None:
    """Who may do everything goes through the proxy, unless told otherwise; either way leads to the same server."""
    arguments = ("verify", "vllm", "--from", RANGE, "--reach", reach, "-o", "json", "--fail-on", "unknown")
    report = json.loads(kvobs(*arguments, env=world.bed.environment()).stdout)
    assert place in report["prometheus"]
    assert report["counts"]["lit"] > 0
