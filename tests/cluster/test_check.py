"""`kvobs check` on clusters that are fine and on clusters that are not: what it says, how it exits, and no change."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.charts import chart_under_test, small_chart
from tests.cluster.commands import Running, kvobs
from tests.cluster.lean import HOOK, INSTALL, empty_cluster, pending
from tests.cluster.snapshots import settled, snapshot, versions
from tests.cluster.workloads import gpu_operator, helm_run

ADMISSION = "admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io"
EVERY = ("check", "--chart", str(chart_under_test()))
CHECK = (*EVERY, "--ignore-check", "answers")
"""How long an answer takes is no matter of the cluster on a machine that has other work too."""
LIMIT_S = 120
"""How long a role, a policy or a webhook may take until the API server goes by it, and a check until it says so."""
Checks = Mapping[str, Mapping[str, Any]]
"""Id of a check -> what the report says of it."""


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A cluster with nothing on it but CRDs."""
    with empty_cluster() as empty:
        yield empty


def checked(bed: Bed, *arguments: str | Path, code: int) -> Checks:
    """Run a check, see that its report agrees with its exit code; return the report's checks by id."""
    done = kvobs(*CHECK, *arguments, "-o", "json", env=bed.environment(), code=code)
    report = json.loads(done.stdout)
    assert (report["kind"], report["version"], report["exit_code"]) == ("CheckReport", 1, code)
    failed = [each["id"] for each in report["checks"] if each["outcome"] == "failed"]
    assert bool(failed) == (code == 1), failed
    return {"": report, **{each["id"]: each for each in report["checks"]}}


def outcomes(checks: Checks, outcome: str) -> set[str]:
    """Return the ids of the checks that ended so."""
    return {each for each, told in checks.items() if told.get("outcome") == outcome}


def namespace(bed: Bed, name: str, labels: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Make a namespace; return the arguments that send an install there."""
    bed.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
    return ("-n", name)


# --- a cluster that is fine ---


def test_all_is_well_and_nothing_is_changed(bed: Bed) -> None:
    """On a clean cluster all holds but that metrics are not kept, which is exit 0; no object is touched."""
    before = versions(settled(bed.api))
    checks = checked(bed, code=0)

    assert outcomes(checks, "warning") == {"metrics-kept"}
    assert outcomes(checks, "not asked") == set()
    assert {"rights", "grants", "helm", "chart", "values", "crds-age", "admission", "webhooks"} <= checks.keys()
    assert versions(snapshot(bed.api)) == before


def test_as_text(bed: Bed) -> None:
    """Each check is a line under its category; where the stream has no such marks, others stand for them."""
    env = bed.environment() | {"PYTHONIOENCODING": "utf-8"}
    said = kvobs(*CHECK, env=env).stdout
    assert "\nPermissions\n  √ the credentials may do all that install does\n" in said
    assert "\n  ‼ metrics outlive the pod\n      Metrics are lost" in said
    assert said.rstrip().endswith("nothing keeps kvobs install from its work.")

    plain = kvobs(*CHECK, "--ignore-check", "metrics-kept", env=env | {"PYTHONIOENCODING": "ascii"}).stdout
    assert "\nPermissions\n  + the credentials may do all that install does\n" in plain
    assert "metrics outlive" not in plain


def test_the_list(bed: Bed) -> None:
    """The list says which checks there are; to leave out one that is not there is wrong usage."""
    assert "no such check" in kvobs(*CHECK, "--ignore-check", "nonsense", env=bed.environment(), code=2).stderr
    listed = kvobs("check", "--list", env=bed.environment()).stdout
    assert any(line.split()[:2] == ["metrics-kept", "warning"] for line in listed.splitlines())


def test_who_cannot_ask(bed: Bed, tmp_path: Path) -> None:
    """No kubeconfig, and credentials that have expired: exit 4, and a report that says what could not be asked."""
    assert outcomes(checked(bed, "--kubeconfig", tmp_path / "none", code=4), "not asked") == {"kubeconfig"}
    expired = bed.kubeconfig_for("late", "system:masters", expired=True)
    checks = checked(bed, "--kubeconfig", expired, code=4)
    assert outcomes(checks, "not asked") == {"api-server"}
    assert "does not accept the credentials" in checks["api-server"]["said"]


# --- rights ---


def grant(bed: Bed, user: str, role: Object) -> None:
    """Have an administrator make a role, and bind a user to it."""
    name = role["metadata"]["name"]
    bed.api.apply(
        role,
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{user}-{name}"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
        },
    )


def lacking(said: str) -> dict[str, set[str]]:
    """Return the verbs that are said to be missing, by kind and place."""
    parts = [part.split(" ") for part in said.removeprefix("the credentials may not ").split("; ")]
    found: dict[str, set[str]] = {}
    for words in parts:
        last = max((at for at, word in enumerate(words) if word == "or"), default=-1)
        found[" ".join(words[last + 2 :])] = {word for word in words[: last + 2] if word != "or"}
    return found


def test_few_rights(bed: Bed) -> None:
    """Who may only read is told each verb that is missing, and gets a role that has them: with it, all is well."""
    reads = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "reads"}, "rules": reads}
    grant(bed, "few", role)
    few = ("--kubeconfig", bed.kubeconfig_for("few"))
    checks = eventually(lambda: _once(bed, few, "rights"), timeout_s=LIMIT_S)
    missing = lacking(checks["rights"]["said"])
    assert missing["any Namespace"] == {"patch", "create"}
    assert {"patch", "create"} <= missing["Service in namespace kube-system"]
    assert "get" not in set().union(*missing.values())
    assert outcomes(checks, "not asked") == {"grants", "admission"}

    grant(bed, "few", checks[""]["missing_role"])
    checks = eventually(lambda: _once(bed, few, "grants"), timeout_s=LIMIT_S)
    assert outcomes(checks, "failed") == {"grants"}
    assert "ClusterRole kube-prometheus-stack-operator" in checks["grants"]["said"]

    grant(bed, "few", {**checks[""]["missing_role"], "metadata": {"name": "granted"}})
    checks = eventually(lambda: _once(bed, few, None), timeout_s=LIMIT_S)
    assert outcomes(checks, "warning") == {"metrics-kept"}


def _once(bed: Bed, user: tuple[str | Path, ...], failing: str | None) -> Checks | None:
    """Return the checks once the one that is *failing* (None: none) is the only one that fails.

    The API server takes up a role a moment after it is made.
    """
    done = kvobs(*CHECK, *user, "-o", "json", env=bed.environment(), code=None)
    report = json.loads(done.stdout)
    failed = [each["id"] for each in report["checks"] if each["outcome"] == "failed"]
    return {"": report, **{e["id"]: e for e in report["checks"]}} if failed == [failing] * bool(failing) else None


# --- what refuses ---


def test_a_quota(bed: Bed) -> None:
    """A quota that is used up is the API server's own word; one on what pods do not say is a warning beforehand."""
    place = namespace(bed, "quota")
    hard = {"count/deployments.apps": "0", "limits.cpu": "4"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "quota"}}
    bed.api.apply({**quota, "spec": {"hard": hard}})
    checks = eventually(lambda: _once(bed, place, "admission"), timeout_s=LIMIT_S)

    assert "exceeded quota: few" in checks["admission"]["said"]
    assert checks["quota"]["outcome"] == "warning"
    assert "ResourceQuota quota/few limits limits.cpu" in checks["quota"]["said"]


def test_a_policy(bed: Bed) -> None:
    """What an admission policy will refuse of the chart is in the report, in the policy's words."""
    place = namespace(bed, "policed", {"policed": "yes"})
    rules = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
    validation = {"expression": "'owner' in object.metadata.labels", "message": "every Deployment has an owner here"}
    spec = {"matchConstraints": {"resourceRules": [rules]}, "validations": [validation]}
    binding = {
        "policyName": "owners",
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"policed": "yes"}}},
    }
    policy, bound = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
    bed.api.apply(
        {"apiVersion": ADMISSION, "kind": policy, "metadata": {"name": "owners"}, "spec": spec},
        {"apiVersion": ADMISSION, "kind": bound, "metadata": {"name": "owners"}, "spec": binding},
    )
    checks = eventually(lambda: _once(bed, place, "admission"), timeout_s=LIMIT_S)

    assert "every Deployment has an owner here" in checks["admission"]["said"]
    assert "Deployment policed/" in checks["admission"]["said"]


def test_pod_security(bed: Bed) -> None:
    """A level that refuses the node exporter's pods is found, though the API server takes the DaemonSet."""
    place = namespace(bed, "secured", {"pod-security.kubernetes.io/enforce": "baseline"})
    checks = checked(bed, *place, code=1)
    assert outcomes(checks, "failed") == {"pod-security"}
    assert "node-exporter breaks level baseline: hostNetwork" in checks["pod-security"]["said"]
    assert (
        "node-exporter"
        not in checked(bed, *place, "--set", "nodeExporter.enabled=false", code=0)["pod-security"]["said"]
    )

    done = kvobs("install", *place, "--chart", chart_under_test(), "--no-wait", env=bed.environment(), code=3)
    assert "breaks level baseline" in done.stderr
    assert "nodeExporter.enabled=false; to go on all the same: --ignore-check pod-security" in done.stderr
    assert bed.api.list("v1", "Secret", "secured") == []


def test_a_name_that_is_taken(bed: Bed) -> None:
    """Somebody's object of our name is said with the way out, and with that all is well, their fields included."""
    place = namespace(bed, "taken")
    metadata = {"name": "kvobs-dashboard-kvobs-vllm", "namespace": "taken", "labels": {"grafana_dashboard": "theirs"}}
    bed.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    checks = checked(bed, *place, code=1)
    assert "ConfigMap taken/kvobs-dashboard-kvobs-vllm is already there" in checks["admission"]["said"]
    assert "--take-ownership" in checks["admission"]["hint"]
    assert outcomes(checked(bed, *place, "--take-ownership", code=0), "warning") == {"metrics-kept"}


def webhook_configuration(name: str, client: Object, place: str, **more: Any) -> Object:
    """Return a webhook that is asked about the operator's rules in one namespace."""
    kind, group = "ValidatingWebhookConfiguration", "monitoring.coreos.com"
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": ["prometheusrules"]}
    webhook = {
        "name": f"{name}.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}},
        "rules": [rule],
        **more,
    }
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "webhooks": [webhook]}


@contextmanager
def webhook(bed: Bed, name: str, client: Object, place: str, **more: Any) -> Iterator[None]:
    """Have a webhook that is asked about the operator's rules in one namespace."""
    bed.api.apply(webhook_configuration(name, client, place, **more))
    try:
        yield
    finally:
        bed.api.delete(ADMISSION, "ValidatingWebhookConfiguration", name)


def test_a_webhook_whose_pods_are_gone(bed: Bed) -> None:
    """A webhook that refuses while nobody answers is named with its Service and the command; install stops too."""
    client = {"service": {"namespace": "guard", "name": "guard", "port": 443}}
    with webhook(bed, "gone", client, "monitoring"):
        checks = checked(bed, code=1)
        assert "webhooks" in outcomes(checks, "failed")
        assert "Service guard/guard" in checks["webhooks"]["said"]
        assert "kubectl delete validatingwebhookconfiguration/gone" in checks["webhooks"]["hint"]

        done = kvobs(*INSTALL, env=bed.environment(), code=3)
        assert "gone.example.com" in done.stderr
        assert "--ignore-check webhooks" in done.stderr
        assert bed.api.find("v1", "Namespace", "monitoring") is None


def test_a_webhook_that_is_silent(bed: Bed) -> None:
    """A webhook that takes connections and says nothing is found by how long an answer takes; it refuses nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = {"url": f"https://127.0.0.1:{server.getsockname()[1]}/"}
        place = namespace(bed, "patient")
        with webhook(bed, "silent", client, "patient", failurePolicy="Ignore", timeoutSeconds=6):
            checks = eventually(lambda: _warned(bed, place, "answers"), timeout_s=LIMIT_S)
    assert "PrometheusRule may cost an install that time" in checks["answers"]["said"]
    assert checks["admission"]["outcome"] == "passed"
    assert "kubectl get validatingwebhookconfigurations" in checks["answers"]["hint"]


def _warned(bed: Bed, place: tuple[str, str], check: str) -> Checks | None:
    """Return the checks once one of them warns: the API server takes up a webhook a moment after it is made."""
    report = json.loads(kvobs(*EVERY, *place, "-o", "json", env=bed.environment(), code=0).stdout)
    checks = {each["id"]: each for each in report["checks"]}
    said = checks[check]["outcome"] == "warning" and "PrometheusRule" in checks[check]["said"]
    return checks if said else None


# --- what is half done ---


def test_a_namespace_on_its_way_out(bed: Bed) -> None:
    """A namespace that a finalizer keeps is named with what holds it up, by check and by install."""
    place = namespace(bed, "going")
    held = {"name": "held", "namespace": "going", "finalizers": ["example.com/never"]}
    bed.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
    bed.api.delete("v1", "Namespace", "going")
    conditions = lambda found: "example.com/never" in json.dumps(found.get("status", {}))  # noqa: E731
    bed.api.until("v1", "Namespace", "going", None, conditions)

    checks = checked(bed, *place, code=1)
    assert "namespace going is being deleted" in checks["namespace"]["said"]
    assert "example.com/never" in checks["namespace"]["said"]
    done = kvobs("install", *place, "--chart", chart_under_test(), "--no-wait", env=bed.environment(), code=3)
    assert "namespace going is being deleted" in done.stderr
    bed.api.merge(bed.api.get("v1", "ConfigMap", "held", "going"), {"metadata": {"finalizers": None}})


def test_crds_of_somebody_else(bed: Bed) -> None:
    """CRDs of another release and older than the chart stop an install by Helm 4, and are left by Helm 3: both said."""
    crd = bed.api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "prometheuses.monitoring.coreos.com")
    before = crd["metadata"]["annotations"]
    theirs = {
        "operator.prometheus.io/version": "0.70.0",
        "meta.helm.sh/release-name": "crds",
        "meta.helm.sh/release-namespace": "platform",
    }
    bed.api.merge(crd, {"metadata": {"annotations": theirs}})
    checks = checked(bed, code=1)
    assert outcomes(checks, "failed") == {"crds-conflict"}
    assert "prometheuses.monitoring.coreos.com is of 0.70.0" in checks["crds-conflict"]["said"]
    assert "Helm release platform/crds" in checks["crds-owner"]["said"]
    done = kvobs(*INSTALL, env=bed.environment(), code=3)
    assert "helm show crds" in done.stderr
    assert bed.api.find("v1", "Namespace", "monitoring") is None

    checks = checked(bed, "--helm", bed.helm("3"), code=0)
    assert outcomes(checks, "warning") == {"metrics-kept", "crds-age", "crds-owner"}
    assert "is of 0.70.0" in checks["crds-age"]["said"]
    taken = dict.fromkeys(theirs) | {key: before[key] for key in theirs if key in before}
    bed.api.merge(crd, {"metadata": {"annotations": taken}})


def test_a_release_that_is_pending(bed: Bed) -> None:
    """Where a run was killed while Helm worked, check says how the release stands, and that install mends it.

    The last one here: it leaves what it made.
    """
    bed.hold(HOOK)
    running = Running(*INSTALL, env=bed.environment())
    eventually(lambda: pending(bed, "pending-install"))
    running.cut_power()
    bed.release(HOOK)

    checks = checked(bed, *INSTALL[4:], code=0)
    assert "monitoring/kube-prometheus-stack is pending-install at revision 1" in checks["release"]["said"]


# --- somebody else's stack ---


@pytest.fixture(scope="module")
def theirs() -> Iterator[Bed]:
    """A cluster with somebody's own stack, half upgraded, and a GPU Operator whose exporter is off."""
    with Bed() as cluster:
        gpu_operator(cluster, "--set", "dcgmExporter.enabled=false")
        parts = ("alertmanager", "kubeStateMetrics", "nodeExporter")
        lean = [word for part in parts for word in ("--set", f"{part}.enabled=false")]
        helm_run(cluster, "install", "theirs", str(small_chart()), "-n", "theirs", "--create-namespace", *lean)
        (secret,) = cluster.api.list("v1", "Secret", "theirs", labels="owner=helm")
        cluster.api.merge(secret, {"metadata": {"labels": {"status": "pending-upgrade"}}})
        yield cluster


def test_beside_somebody_elses_stack(theirs: Bed) -> None:
    """Their release is said to be half upgraded, the exporter to be off; Helm and CRDs are no question there."""
    checks = checked(theirs, code=0)

    assert "theirs/theirs is pending-upgrade" in checks["other-release"]["said"]
    assert "helm rollback theirs -n theirs" in checks["other-release"]["hint"]
    assert "DCGM exporter switched off" in checks["gpu-exporter"]["said"]
    assert "dcgmExporter.enabled=true" in checks["gpu-exporter"]["hint"]
    assert {"helm", "chart", "crds", "release", "storage-class"} & checks.keys() == set()
    assert outcomes(checks, "passed") >= {"decided", "rights", "admission", "sidecar", "sidecar-looks"}


def test_what_a_check_warns_of_is_a_note_of_an_install(theirs: Bed) -> None:
    """A warning that the plan does not know is said by install too, once, and no more when nothing is left to do."""
    install = ("install", "--no-wait", "-o", "json")
    first = json.loads(kvobs(*install, env=theirs.environment()).stdout)["notes"]
    assert [note["id"] for note in first if note["id"].startswith("check-")] == ["check-other-release"]
    assert len([note for note in first if "exporter switched off" in note["text"]]) == 1

    second = json.loads(kvobs(*install, env=theirs.environment()).stdout)["notes"]
    assert [note for note in second if note["id"].startswith("check-")] == []
