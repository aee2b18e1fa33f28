"""A cluster that refuses a part, and input of which a part is bad: what can be done is done, the rest is said."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kvobs as library
from kvobs.adapters.assets import shipped_dashboards
from kvobs.dashboard.catalog import SHIPPED
from kvobs.errors import ActionError
from tests.cluster.api import ApiError, Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import small_chart
from tests.cluster.commands import kvobs
from tests.cluster.rights import until_in_force
from tests.cluster.snapshots import settled, snapshot, versions
from tests.cluster.workloads import gpu_operator, helm_run

GROUP = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io/v1"
REUSE = ("install", "--no-wait")


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A cluster with somebody's own stack, which kvobs reuses, and with a GPU Operator."""
    with Bed() as cluster:
        gpu_operator(cluster)
        parts = ("alertmanager", "kubeStateMetrics", "nodeExporter")
        lean = [word for part in parts for word in ("--set", f"{part}.enabled=false")]
        helm_run(cluster, "install", "theirs", str(small_chart()), "-n", "theirs", "--create-namespace", *lean)
        yield cluster


@pytest.fixture(autouse=True)
def clean(bed: Bed) -> Iterator[None]:
    """Each test begins without kvobs on the cluster."""
    yield
    kvobs("uninstall", "--yes", env=bed.environment())


def grant(bed: Bed, user: str, rules: list[Object], *, namespace: str | None = None) -> Path:
    """Let *user* do what the rules say, everywhere or in one namespace; return their kubeconfig."""
    at = {"name": user, **({"namespace": namespace} if namespace else {})}
    role = "Role" if namespace else "ClusterRole"
    bed.api.apply(
        {"apiVersion": f"{GROUP}/v1", "kind": role, "metadata": at, "rules": rules},
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": f"{role}Binding",
            "metadata": at,
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": user},
            "subjects": [{"kind": "User", "name": user, "apiGroup": GROUP}],
        },
    )
    until_in_force(bed.api, user, {"metadata": at, "rules": rules})
    return bed.kubeconfig_for(user)


def rule(groups: str, resources: str, verbs: str = "*") -> Object:
    """Return an RBAC rule; each argument is a list of words."""
    split = {"apiGroups": groups, "resources": resources, "verbs": verbs}
    return {key: ["" if word == "core" else word for word in words.split()] for key, words in split.items()}


# --- rights ---


def test_who_may_not_read_everything(bed: Bed) -> None:
    """Without Secrets, Nodes and ClusterPolicies an install does what it can, and says what could not be read."""
    rules = [rule("core", "configmaps pods services namespaces"), rule("apps monitoring.coreos.com", "*"), LEASES]
    team = ("--kubeconfig", grant(bed, "team", rules))
    shipped = shipped_dashboards()
    for command in (REUSE, ("status",)):
        done = kvobs(*command, *team, "-o", "json", env=bed.environment(), code=None)
        notes = [note["text"] for note in json.loads(done.stdout)["notes"] if note["id"] == "not-asked"]
        for kind in ("Secret", "Node", "ClusterPolicy.nvidia.com"):
            assert any(note.startswith(f"{kind} could not be read: ") for note in notes), notes
        assert len(json.loads(done.stdout).get("dashboards", shipped)) == len(shipped)
    assert "ServiceMonitor theirs/kvobs-vllm" in kvobs(*("uninstall", "--yes", *team), env=bed.environment()).stdout


@pytest.mark.parametrize("flags", [("--stack", "reuse"), ()], ids=["told to reuse", "told nothing"])
def test_who_may_only_see_one_namespace(flags: tuple[str, ...], bed: Bed) -> None:
    """Who cannot look beyond a namespace is told what could not be asked, not that nothing is there."""
    config = grant(bed, "tenant", [rule("*", "*")], namespace="theirs")
    done = kvobs(*REUSE, *flags, "-n", "theirs", "--kubeconfig", config, env=bed.environment(), code=4)
    assert "could not be asked" in done.stderr
    assert "user tenant may not list" in done.stderr


def test_a_right_that_is_missing_for_one_kind(bed: Bed) -> None:
    """A missing right is exit 3, names verb and kind, and stops the run before its first change."""
    everything = "core apps monitoring.coreos.com nvidia.com"
    rules = [rule(everything, "*", "get list"), rule("core", "configmaps")]
    config = grant(bed, "half", rules)
    done = kvobs(*REUSE, "--kubeconfig", config, env=bed.environment(), code=3)
    assert "patch or create ServiceMonitor.monitoring.coreos.com in namespace theirs" in done.stderr
    assert "ConfigMap" not in done.stderr
    assert bed.api.find("v1", "ConfigMap", "kvobs", "theirs") is None


LEASES = rule("coordination.k8s.io", "leases")
EVERYTHING = "core apps monitoring.coreos.com nvidia.com"


def test_rights_of_an_uninstall(bed: Bed) -> None:
    """What an uninstall may not do is named at once, before any field is given back or any object deleted."""
    kvobs(*REUSE, "--dcgm", "operator", env=bed.environment())
    config = grant(bed, "reader", [rule(EVERYTHING, "*", "get list"), LEASES])
    before = versions(settled(bed.api))

    done = kvobs("uninstall", "--yes", "--kubeconfig", config, env=bed.environment(), code=3)
    for right in (
        "update any ClusterPolicy.nvidia.com",
        "delete ConfigMap in namespace theirs",
        "delete ServiceMonitor.monitoring.coreos.com in namespace theirs",
    ):
        assert right in done.stderr
    assert versions(snapshot(bed.api)) == before


def test_rights_to_take_away_what_is_no_longer_wanted(bed: Bed, tmp_path: Path) -> None:
    """Who may apply and not delete cannot take an earlier dashboard away; that is found out before the first change."""
    (tmp_path / "one.json").write_text(json.dumps(dashboard("one")))
    kvobs(*REUSE, "--dashboard", tmp_path / "one.json", env=bed.environment())
    config = grant(bed, "applier", [rule(EVERYTHING, "*", "get list patch create update"), LEASES])
    before = versions(settled(bed.api))

    done = kvobs(*REUSE, "--kubeconfig", config, env=bed.environment(), code=3)
    assert "delete ConfigMap in namespace theirs" in done.stderr
    assert versions(snapshot(bed.api)) == before


# --- refusals ---


@contextmanager
def applied(bed: Bed, *objects: Object, refuses: str, namespace: str = "default") -> Iterator[None]:
    """Have objects on the cluster that refuse a ConfigMap labelled as a dashboard: from when they do until they no
    longer do. The API server takes up and drops a policy a moment after its object comes and goes.
    """
    bed.api.apply(*objects)
    probe = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "probe", "namespace": namespace, "labels": {"grafana_dashboard": "1"}},
    }

    def refused() -> bool:
        try:
            bed.api.apply(probe)
        except ApiError as error:
            return refuses in str(error)
        bed.api.delete("v1", "ConfigMap", "probe", namespace)
        return False

    eventually(refused)
    try:
        yield
    finally:
        for each in reversed(objects):
            bed.api.delete(
                each["apiVersion"], each["kind"], each["metadata"]["name"], each["metadata"].get("namespace")
            )
        eventually(lambda: not refused())


POLICY = [
    {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-dashboards"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "!has(object.metadata.labels) || !('grafana_dashboard' in object.metadata.labels)",
                    "message": "dashboards are kept in git here",
                }
            ],
        },
    },
    {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-dashboards"},
        "spec": {"policyName": "no-dashboards", "validationActions": ["Deny"]},
    },
]
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few", "namespace": "theirs"},
    "spec": {"hard": {"count/configmaps": "1"}},
}


def test_a_policy_refuses(bed: Bed) -> None:
    """An admission policy's own words are in the error, with the object that it refused; then it can be finished."""
    with applied(bed, *POLICY, refuses="kept in git"):
        done = kvobs(*REUSE, env=bed.environment(), code=3)
    assert "ConfigMap theirs/kvobs-dashboard-kvobs-dcgm" in done.stderr
    assert "dashboards are kept in git here" in done.stderr
    kvobs(*REUSE, env=bed.environment())


def test_a_quota_refuses(bed: Bed) -> None:
    """A quota that is used up is named as the API server names it."""
    with applied(bed, QUOTA, refuses="exceeded quota", namespace="theirs"):
        done = kvobs(*REUSE, env=bed.environment(), code=3)
    assert "exceeded quota: few" in done.stderr


PROBE = {"kvobs.dev/probe": "yes"}


@contextmanager
def silent_webhook(bed: Bed, *, timeout_s: int) -> Iterator[None]:
    """Have a webhook asked about monitors that takes connections and says nothing: from when it is asked until it no
    longer is. The API server takes up and drops a configuration, all of it at once, a moment after the object comes and
    goes; another webhook of the same, which is soon given up, tells when.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:

        def webhook(name: str, group: str, resource: str, **more: Any) -> Object:
            rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": [resource]}
            return {
                "name": name,
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": f"https://127.0.0.1:{server.getsockname()[1]}/"},
                "rules": [rule],
                **more,
            }

        webhooks = [
            webhook("silent.example.com", "monitoring.coreos.com", "servicemonitors", timeoutSeconds=timeout_s),
            webhook("probe.example.com", "", "configmaps", timeoutSeconds=1, objectSelector={"matchLabels": PROBE}),
        ]
        kind = "ValidatingWebhookConfiguration"
        bed.api.apply({"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": "silent"}, "webhooks": webhooks})
        try:
            eventually(lambda: _asked(bed))
            yield
        finally:
            bed.api.delete(ADMISSION, kind, "silent")
            eventually(lambda: not _asked(bed))


def _asked(bed: Bed) -> bool:
    """Whether the API server asks the webhooks now."""
    probe = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "probe", "namespace": "default", "labels": PROBE},
    }
    try:
        bed.api.request("POST", "/api/v1/namespaces/default/configmaps", probe, dryRun="All")
    except ApiError as error:
        if "probe.example.com" in str(error):
            return True
        raise
    return False


def test_a_webhook_that_does_not_answer(bed: Bed) -> None:
    """The API server's word on a webhook that timed out is passed on: which object, which webhook, where to look."""
    with silent_webhook(bed, timeout_s=1):
        done = kvobs(*REUSE, env=bed.environment(), code=3).stderr
    assert "ServiceMonitor theirs/kvobs-vllm" in done
    assert 'failed calling webhook "silent.example.com"' in done
    assert "kubectl get validatingwebhookconfigurations" in done


def test_a_webhook_slower_than_we_wait(bed: Bed) -> None:
    """Where the API server waits for a webhook longer than we wait for it, the time-out says what may be wrong."""
    settings = library.Settings(kubeconfig=str(bed.kubeconfig), wait=False, request_timeout_s=4)
    with silent_webhook(bed, timeout_s=30):
        began = time.monotonic()
        with pytest.raises(ActionError) as late:
            library.install(settings)
        assert time.monotonic() - began < 30
    error = late.value
    assert error.exit_code == 3
    assert "did not answer within 4 s" in str(error)
    assert "what was done until then stands" in str(error)
    assert "admission webhook" in str(error.hint)


# --- dashboards ---


def panel(datasource: object) -> Object:
    """Return a panel with one query."""
    return {"type": "timeseries", "title": "p", "datasource": datasource, "targets": [{"expr": "up", "refId": "A"}]}


def dashboard(name: str, **more: Any) -> Object:
    """Return a small dashboard."""
    source = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
    inputs = [{"name": "DS_PROMETHEUS", "type": "datasource", "pluginId": "prometheus"}]
    return {"uid": name, "title": name, "schemaVersion": 39, "__inputs": inputs, "panels": [panel(source)], **more}


LOKI = dashboard(
    "logs",
    __inputs=[{"name": "DS_LOKI", "type": "datasource", "pluginId": "loki"}],
    panels=[panel({"type": "loki", "uid": "${DS_LOKI}"})],
)
BAD: Mapping[str, tuple[str | None, str]] = {
    "missing.json": (None, "does not exist"),
    "malformed.json": ('{"title": ', "line 1"),
    "list.json": ("[1, 2]", "dashboard"),
    "v2.json": (json.dumps({"apiVersion": "dashboard.grafana.app/v2", "kind": "Dashboard", "metadata": {"name": "v"},
                            "spec": {"title": "v", "elements": {}, "layout": {}}}), "sidecar"),
    "large.json": (json.dumps(dashboard("large", description="x" * 1_100_000)), "1,048,576"),
}  # fmt: skip


def test_bad_dashboards_among_good_ones(bed: Bed, tmp_path: Path) -> None:
    """Each bad file is reported with the reason and exit 1; every good one is loaded all the same."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, (text, _) in BAD.items():
        if text is not None:
            (folder / name).write_text(text)
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(json.dumps(dashboard(name)))
    given = ("--dashboard", folder, "--dashboard", folder / "missing.json")

    done = kvobs(*REUSE, *given, "-o", "json", env=bed.environment(), code=1)
    report = json.loads(done.stdout)
    assert report["exit_code"] == 1
    assert {each["uid"] for each in report["dashboards"]} == {*(f"kvobs-{name}" for name in SHIPPED), "one", "two"}
    refused = {Path(source).name: why for source, why in report["refused"]}
    assert refused.keys() == BAD.keys()
    for name, (_, says) in BAD.items():
        assert says in refused[name], (name, refused[name])
    for name in ("one", "two"):
        assert bed.api.find("v1", "ConfigMap", f"kvobs-dashboard-{name}", "theirs") is not None

    text = kvobs(*REUSE, *given, env=bed.environment(), code=1).stdout
    assert all(str(folder / name) in text for name in BAD)


def test_an_input_that_nothing_was_given_for(bed: Bed, tmp_path: Path) -> None:
    """A Loki input without a Loki is left, reported, and exit 1; given its UID it is resolved, and exit 0."""
    (tmp_path / "logs.json").write_text(json.dumps(LOKI))
    given = ("--dashboard", tmp_path / "logs.json", "-o", "json")

    report = json.loads(kvobs(*REUSE, *given, env=bed.environment(), code=1).stdout)
    (logs,) = (each for each in report["dashboards"] if each["uid"] == "logs")
    assert any("DS_LOKI" in why for why in logs["unresolved"])

    report = json.loads(kvobs(*REUSE, *given, "--datasource", "loki=logs-uid", env=bed.environment()).stdout)
    (logs,) = (each for each in report["dashboards"] if each["uid"] == "logs")
    assert logs["unresolved"] == []
