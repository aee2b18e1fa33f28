"""Evidence in, verdicts out: each check with what it passes, and what it does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from kvobs.settings import Settings
from kvobs.stack.checks.crds import may_conflict
from kvobs.stack.checks.evidence import Crd, DryRun, Evidence, Permit, Quotas, Refusal, Slow, Trouble, Webhook
from kvobs.stack.checks.run import every_check, run_checks
from kvobs.stack.checks.verdict import Checked
from kvobs.stack.choice import choose
from kvobs.stack.facts import ClusterPolicy, Facts, Object, Ref, Release
from kvobs.stack.plan import make_plan
from kvobs.stack.record import Record, ReleaseRecord
from kvobs.stack.rights import Right
from tests.stack.clusters import SIDECAR, cluster, grafana, parent_in, prometheus, stack
from tests.stack.snapshots import TEMPLATES

EMPTY = cluster(kinds=frozenset(), namespaces={"default": {}, "monitoring": {}})
HOST = {"securityContext": {"runAsNonRoot": True}, "hostNetwork": True, "hostPID": True, "containers": []}
ROLE = Ref("ClusterRole.rbac.authorization.k8s.io", "", "operator")
RULE = Ref("PrometheusRule.monitoring.coreos.com", "m", "r")
BOARD = Ref("ConfigMap", "monitoring", "board")
POLICY = ClusterPolicy(
    name="cluster-policy",
    api_version="nvidia.com/v1",
    exporter_enabled=False,
    monitor_enabled=None,
    additional_labels={},
    managers={},
    release=("gpu-operator", "gpu-operator"),
)

OPERATED = stack(grafanas=(grafana(sidecar=None, operated={"dashboards": "g"}),))
"""A Grafana that the Grafana Operator runs."""
FIRST = Record(settings={"prometheus": "mon/k8s", "grafana": "mon/grafana", "uids": {"prometheus": "prom-uid"}})
FURTHER = stack(parents=(parent_in("kvobs", FIRST),))
"""A cluster on which kvobs is installed already."""


def evidence(facts: Facts = EMPTY, *, settings: Settings | None = None, **other: Any) -> Evidence:
    """Return what is known of a cluster once a plan for it is made."""
    settings = settings or Settings()
    target = choose(facts, settings)
    made = make_plan(facts, target, settings, dashboards=(), monitors=TEMPLATES)
    return Evidence(**({"server": "https://cluster", "facts": facts, "plan": made} | other))


def values(*expressions: str, **other: Any) -> Evidence:
    """Return what is known where the user sets values."""
    return evidence(settings=Settings(set_values=expressions), **other)


def workload(kind: str = "DaemonSet", name: str = "kps-node-exporter", **spec: Any) -> Object:
    """Return a workload of the chart."""
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "monitoring"},
        "spec": {"template": {"spec": spec}},
    }


def operator(tag: str) -> tuple[Object, ...]:
    """Return the chart's operator of a version."""
    image = f"quay.io/prometheus-operator/prometheus-operator:{tag}"
    return (workload("Deployment", "kps-operator", containers=[{"name": "operator", "image": image}]),)


def crd(version: str | None = "0.93.1", owner: str | None = None, *holders: str) -> Crd:
    """Return a CRD of the operator."""
    return Crd(name="prometheuses.monitoring.coreos.com", operator_version=version, owner=owner, holders=holders)


def installing(helm: str, *crds: Crd, settings: Settings | None = None) -> Evidence:
    """Return what is known before the first install of the chart of operator 0.93.1."""
    brought = {"prometheuses.monitoring.coreos.com": "0.93.1"}
    return evidence(
        settings=settings,
        helm=helm,
        first_release=True,
        crds=crds,
        rendered=operator("v0.93.1"),
        chart_crds=brought,
    )


def refused(kind: Any = "refused", at: Ref = BOARD, said: str = "cannot apply ConfigMap monitoring/board") -> DryRun:
    """Return a dry-run in which one object is refused."""
    return DryRun(taken=3, refusals=(Refusal(ref=at, kind=kind, said=said, hint="ask"),))


def webhook(*, refuses: bool, ready: bool, conditional: bool = False) -> Webhook:
    """Return a webhook that install has to pass."""
    return Webhook(
        configuration="validatingwebhookconfiguration/guard",
        name="guard.example.com",
        service="guard/guard",
        refuses=refuses,
        ready=ready,
        conditional=conditional,
    )


def enforcing(level: str) -> Facts:
    """Return a cluster whose namespace `monitoring` enforces a level of Pod Security."""
    labels = {"pod-security.kubernetes.io/enforce": level}
    return replace(EMPTY, namespaces={"default": {}, "monitoring": labels})


def released(status: str) -> Release:
    """Return our release in a state."""
    return Release(namespace="monitoring", name="kube-prometheus-stack", status=status, revision=2)


OURS = parent_in(
    "monitoring",
    Record(
        release=ReleaseRecord(namespace="monitoring", name="kube-prometheus-stack", chart="c", chart_version="88.5.3")
    ),
)
OPENSHIFT = stack(
    kinds=frozenset({"Prometheus.monitoring.coreos.com", "ClusterVersion.config.openshift.io"}),
    namespaces={"openshift-monitoring": {}, "mon": {}},
)
CLAIM = "prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec"
CLAIMING = f"{CLAIM}.resources.requests.storage=50Gi"
THEIRS = ("theirs", "theirs")
AWAY = Trouble("the API server refuses connections", "start it", asked=False)
LACKING = (Right("create", "ConfigMap", "monitoring"), Right("patch", "ConfigMap", "monitoring"))

Case = tuple[str, Evidence, str, tuple[str, ...]]
"""Id of the check, the evidence, the outcome, and what the answer has to say (in its text or its hint)."""

CASES: list[Case] = [
    ("kubeconfig", Evidence(kubeconfig=AWAY), "not asked", ("refuses connections", "start it")),
    ("kubeconfig", evidence(), "passed", ("https://cluster",)),
    ("api-server", Evidence(unreached=AWAY), "not asked", ("refuses connections",)),
    ("api-server", evidence(), "passed", ()),
    ("version", evidence(), "passed", ("v1.36.3",)),
    ("version", evidence(replace(EMPTY, server_version="v1.25.0")), "passed", ()),
    ("version", evidence(replace(EMPTY, server_version="v1.24.17-eks-1")), "failed", ("older than 1.25", "--context")),
    ("version", evidence(replace(EMPTY, server_version="unknown")), "not asked", ("unknown",)),
    ("readable", evidence(), "passed", ()),
    (
        "readable",
        evidence(replace(EMPTY, unasked={"Node": "no right", "Secret": "no right"})),
        "not asked",
        ("Node could not be read, and 1 more",),
    ),
    (
        "readable",
        evidence(replace(EMPTY, unasked={"Secret": "no right", "Secret mon/a": "no right"})),
        "warning",
        ("Secret could not be read, and 1 more", "--datasource prometheus=UID"),
    ),
    ("decided", evidence(), "passed", ("will be installed",)),
    ("decided", evidence(stack()), "passed", ("mon/k8s is reused",)),
    ("decided", Evidence(undecided=Trouble("two Prometheus objects", "--prometheus")), "failed", ("--prometheus",)),
    ("decided", Evidence(undecided=Trouble("no right", "ask", asked=False)), "not asked", ("no right",)),
    ("openshift", evidence(OPENSHIFT, settings=Settings(stack="reuse")), "passed", ("mon/k8s is used",)),
    (
        "openshift",
        evidence(
            replace(OPENSHIFT, prometheuses=(prometheus("k8s", "openshift-monitoring"),)),
            settings=Settings(prometheus="openshift-monitoring/k8s"),
        ),
        "warning",
        ("openshift-monitoring/k8s is OpenShift's own", "enableUserWorkload"),
    ),
    ("namespace", evidence(), "passed", ("monitoring",)),
    (
        "namespace",
        evidence(replace(EMPTY, terminating={"monitoring": "Some content in the namespace has finalizers remaining"})),
        "failed",
        ("monitoring is being deleted", "finalizers remaining", "kubectl get namespace monitoring"),
    ),
    ("namespace", evidence(stack(terminating={"elsewhere": "", "mon": ""})), "failed", ("namespace mon",)),
    ("release", evidence(), "passed", ()),
    (
        "release",
        evidence(replace(EMPTY, parents=(OURS,), releases=(released("pending-install"),))),
        "warning",
        ("monitoring/kube-prometheus-stack is pending-install at revision 2", "kvobs install"),
    ),
    ("other-release", evidence(stack()), "passed", ()),
    (
        "other-release",
        evidence(
            stack(
                prometheuses=(prometheus(release=THEIRS),),
                releases=(Release(namespace="theirs", name="theirs", status="pending-upgrade", revision=7),),
            )
        ),
        "warning",
        ("theirs/theirs is pending-upgrade at revision 7", "helm rollback theirs -n theirs"),
    ),
    ("rights", evidence(lacking=()), "passed", ()),
    (
        "rights",
        evidence(lacking=LACKING),
        "failed",
        ("create or patch ConfigMap in namespace monitoring", "missing_role"),
    ),
    ("rights", evidence(lacking=AWAY), "not asked", ("refuses connections",)),
    ("grants", evidence(dry_run=DryRun(taken=3), rendered=()), "passed", ()),
    ("grants", evidence(dry_run=DryRun(later=(ROLE,)), rendered=()), "passed", ("1 roles cannot be asked about",)),
    ("grants", evidence(dry_run=refused("no answer", ROLE, "not now"), rendered=()), "not asked", ("not now", "ask")),
    (
        "grants",
        evidence(rendered=(), dry_run=refused("grants", ROLE), ungranted=(Permit("get", "", "nodes/metrics", ""),)),
        "failed",
        ("ClusterRole operator would grant: get nodes/metrics",),
    ),
    ("grants", evidence(dry_run=DryRun(forbidden=(ROLE,)), rendered=()), "not asked", ("ClusterRole operator",)),
    ("proof", evidence(proof=True), "passed", ()),
    (
        "proof",
        evidence(stack(), proof=False),
        "warning",
        (
            "may not get services/proxy of prometheus-k8s:http-web in namespace mon, nor list pods and get and create"
            " pods/portforward there",
            "nor kvobs verify can prove that data arrives",
            "kubectl -n mon create role kvobs-prove --verb=get --resource=services/proxy"
            " --resource-name=prometheus-k8s:http-web",
        ),
    ),
    (
        "proof",
        evidence(stack(prometheuses=(prometheus(service=None),)), proof=False),
        "warning",
        (
            "Prometheus mon/k8s has no Service, and",
            "nor kvobs verify can",
            "get and create pods/portforward in namespace",
        ),
    ),
    ("helm", evidence(helm="4.3.1"), "passed", ("4.3.1",)),
    ("helm", evidence(helm=Trouble("no helm on PATH", "--helm PATH")), "failed", ("--helm PATH",)),
    ("chart", evidence(chart="88.5.3"), "passed", ("88.5.3",)),
    ("chart", evidence(chart=Trouble("no such chart", "--chart PATH")), "failed", ("--chart PATH",)),
    ("values", evidence(rendered=operator("v0.93.1")), "passed", ("1 objects",)),
    ("values", evidence(rendered=Trouble("wrong type for value", "")), "failed", ("wrong type",)),
    ("crds", evidence(crds=()), "passed", ("the chart brings them",)),
    ("crds", evidence(crds=(crd(),)), "passed", ("1 of the operator",)),
    ("crds", values("crds.enabled=false", crds=()), "failed", ("crds.enabled=false", "helm show crds oci://")),
    ("crds", evidence(crds=AWAY), "not asked", ("refuses connections",)),
    ("crds-owner", evidence(crds=(crd(),)), "passed", ()),
    (
        "crds-owner",
        evidence(crds=(crd(owner="Helm release theirs/crds"), crd())),
        "warning",
        ("1 of the", "belong to Helm release theirs/crds"),
    ),
    ("crds-age", evidence(crds=(crd("v0.93.1"),), rendered=operator("v0.93.1")), "passed", ("0.93.1",)),
    (
        "crds-age",
        evidence(crds=(crd("0.93.1"), crd("0.80.0")), rendered=operator("v0.93.1")),
        "warning",
        ("older than the chart's operator 0.93.1", "is of 0.80.0", "kubectl apply --server-side", "--version 88.5.3"),
    ),
    (
        "crds-age",
        evidence(crds=(crd("0.100.0"),), rendered=operator("v0.93.1@sha256:12ab")),
        "warning",
        ("0.100.0, newer than the chart's operator 0.93.1", "--chart-version"),
    ),
    ("crds-age", installing("4.3.1", crd("0.80.0")), "passed", ()),
    ("crds-age", installing("3.22.0", crd("0.80.0")), "warning", ("older than",)),
    ("crds-age", installing("3.22.0", crd(None)), "warning", ("no version that they name",)),
    ("crds-conflict", installing("4.3.1", crd("0.80.0")), "passed", ()),
    ("crds-conflict", installing("4.3.1", crd("0.93.1", None, "kubectl")), "passed", ()),
    (
        "crds-conflict",
        installing("4.3.1", crd("0.80.0", None, "kubectl", "argocd")),
        "failed",
        (
            "is of 0.80.0, the chart's of 0.93.1",
            "belong to field manager kubectl, argocd",
            "kubectl apply --server-side",
            "crds.enabled=false",
        ),
    ),
    ("webhooks", evidence(webhooks=()), "passed", ("none is asked",)),
    ("webhooks", evidence(webhooks=(webhook(refuses=True, ready=True),)), "passed", ("1 are asked",)),
    ("webhooks", evidence(webhooks=(webhook(refuses=False, ready=False),)), "passed", ()),
    (
        "webhooks",
        evidence(webhooks=(webhook(refuses=True, ready=False),)),
        "failed",
        ("guard.example.com", "guard/guard", "kubectl delete validatingwebhookconfiguration/guard"),
    ),
    (
        "webhooks",
        evidence(webhooks=(webhook(refuses=True, ready=False, conditional=True),)),
        "not asked",
        ("match conditions", "guard/guard", "kubectl delete validatingwebhookconfiguration/guard"),
    ),
    (
        "webhooks",
        evidence(webhooks=tuple(webhook(refuses=True, ready=False, conditional=each) for each in (True, False))),
        "failed",
        ("guard.example.com",),
    ),
    ("webhooks", evidence(webhooks=AWAY), "not asked", ("refuses connections",)),
    ("admission", evidence(dry_run=DryRun(taken=3, later=(BOARD,))), "passed", ("3 objects", "1 cannot be asked")),
    ("admission", evidence(dry_run=refused()), "failed", ("ConfigMap monitoring/board", "ask")),
    ("admission", evidence(dry_run=DryRun(forbidden=(BOARD,))), "not asked", ("may not make or read 1",)),
    (
        "admission",
        evidence(dry_run=refused("no answer", said="did not answer")),
        "not asked",
        ("did not answer", "ask"),
    ),
    ("answers", evidence(dry_run=DryRun(taken=3)), "passed", ()),
    (
        "answers",
        evidence(dry_run=DryRun(taken=1, slow=(Slow(ref=RULE, seconds=10.2),))),
        "warning",
        ("dry-run of PrometheusRule m/r took 10 s; each PrometheusRule", "webhook"),
    ),
    ("pod-security", evidence(enforcing("privileged"), rendered=(workload(**HOST),)), "passed", ()),
    ("pod-security", evidence(rendered=(workload(**HOST),)), "passed", ()),
    (
        "pod-security",
        evidence(enforcing("baseline"), rendered=(workload(**HOST),)),
        "failed",
        ("DaemonSet monitoring/kps-node-exporter", "baseline: hostNetwork, hostPID", "nodeExporter.enabled=false"),
    ),
    (
        "pod-security",
        evidence(enforcing("restricted"), rendered=(workload("Deployment", "g", containers=[{"name": "g"}]),)),
        "failed",
        ("Deployment monitoring/g", "runAsNonRoot", "allowPrivilegeEscalation", "enforce=privileged --overwrite"),
    ),
    ("quota", evidence(quotas=Quotas(hard={}, defaults=False)), "passed", ()),
    ("quota", evidence(quotas=Quotas(hard={"q": ("count/configmaps",)}, defaults=False)), "passed", ()),
    ("quota", evidence(quotas=Quotas(hard={"q": ("limits.cpu",)}, defaults=True)), "passed", ()),
    (
        "quota",
        evidence(quotas=Quotas(hard={"q": ("limits.cpu", "pods")}, defaults=False)),
        "warning",
        ("ResourceQuota monitoring/q limits limits.cpu,", "LimitRange"),
    ),
    ("quota", evidence(quotas=AWAY), "not asked", ("refuses connections",)),
    ("storage-class", values(CLAIMING, storage_classes={"standard": True}), "passed", ("Prometheus",)),
    (
        "storage-class",
        values(CLAIMING, storage_classes={"slow": False}),
        "failed",
        ("no default one (there: slow)", "is-default-class=true"),
    ),
    (
        "storage-class",
        values(f"{CLAIM}.storageClassName=fast", storage_classes={"slow": True}),
        "failed",
        ("StorageClass fast, which is not there (there: slow)",),
    ),
    ("storage-class", values(f"{CLAIM}.storageClassName=", storage_classes={}), "passed", ()),
    (
        "storage-class",
        values("grafana.persistence.enabled=true", storage_classes={}),
        "failed",
        ("Grafana asks", "there: none"),
    ),
    ("storage-class", values(CLAIMING, storage_classes=AWAY), "not asked", ("refuses connections",)),
    ("metrics-kept", values(CLAIMING), "passed", ()),
    ("metrics-kept", evidence(), "warning", ("Metrics are lost", "--set '")),
    ("grafana", evidence(), "passed", ("monitoring/kube-prometheus-stack-grafana",)),
    ("grafana", values("grafana.enabled=false"), "warning", ("grafana.enabled=false", "kvobs render")),
    ("grafana", evidence(stack(), settings=Settings(grafana="none")), "warning", ("no Grafana is used",)),
    ("sidecar", evidence(stack()), "passed", ("grafana_dashboard=1",)),
    ("sidecar", evidence(OPERATED), "passed", ("Grafana Operator",)),
    (
        "sidecar",
        values("grafana.sidecar.dashboards.enabled=false"),
        "warning",
        ("has no dashboard sidecar", "grafana.sidecar.dashboards.enabled=true"),
    ),
    ("sidecar-looks", evidence(stack()), "passed", ("in all namespaces, both",)),
    (
        "sidecar-looks",
        evidence(stack(grafanas=(grafana(sidecar=replace(SIDECAR, only_at_start=True)),))),
        "warning",
        ("only before Grafana starts",),
    ),
    (
        "sidecar-looks",
        evidence(stack(grafanas=(grafana(sidecar=replace(SIDECAR, namespaces=("gone",))),))),
        "warning",
        ("namespace gone only, which is not there",),
    ),
    ("gpu-exporter", evidence(replace(EMPTY, cluster_policies=(POLICY,))), "warning", ("switched off", "dcgmExporter")),
    ("gpu-exporter", evidence(replace(EMPTY, gpu_nodes=2)), "warning", ("2 of the nodes have GPUs",)),
    (
        "gpu-exporter",
        evidence(replace(EMPTY, cluster_policies=(replace(POLICY, exporter_enabled=True),))),
        "passed",
        (),
    ),
    ("control-plane", evidence(replace(EMPTY, control_plane="EKS")), "passed", ("EKS runs", "kubeScheduler")),
    (
        "control-plane",
        evidence(replace(EMPTY, control_plane="GKE"), settings=Settings(set_values=("kubeEtcd.enabled=true",))),
        "warning",
        ("GKE runs the control plane and shows kubeEtcd to nobody", "--set kubeEtcd.enabled=false"),
    ),
]


def answer(check: str, found: Evidence) -> Checked | None:
    """Return what one check says of the evidence."""
    return next((each for each in run_checks(found) if each.id == check), None)


@pytest.mark.parametrize(
    ("check", "found", "outcome", "says"),
    CASES,
    ids=[f"{number}-{check}-{outcome}" for number, (check, _, outcome, _) in enumerate(CASES)],
)
def test_check(check: str, found: Evidence, outcome: str, says: tuple[str, ...]) -> None:
    """A check answers by its evidence, and what is not well says what and what to do."""
    checked = answer(check, found)
    assert checked is not None
    assert checked.outcome == outcome, checked
    for words in says:
        assert words in f"{checked.said}\n{checked.hint}"


def test_every_check_has_a_case_of_either_kind() -> None:
    """No check is without a case that passes and one that does not."""
    ids = [check.id for _, check in every_check()]
    assert len(ids) == len(set(ids))
    for each in ids:
        outcomes = {outcome for check, _, outcome, _ in CASES if check == each}
        assert "passed" in outcomes, each
        assert outcomes - {"passed"}, each


@dataclass(frozen=True)
class Silent:
    """Evidence for which a question does not arise."""

    check: str
    found: Evidence


SILENT = [
    Silent("version", Evidence(unreached=AWAY)),
    Silent("openshift", evidence()),
    Silent("other-release", evidence()),
    Silent("release", evidence(stack())),
    Silent("grants", evidence(stack(), dry_run=DryRun())),
    Silent("grants", evidence(dry_run=DryRun(taken=3), rendered=Trouble("wrong type for value"))),
    Silent("answers", evidence(dry_run=DryRun(forbidden=(BOARD,)))),
    Silent("crds", evidence(stack(), crds=(crd(),))),
    Silent("crds-owner", evidence(crds=())),
    Silent("crds-age", evidence(crds=(crd("0.1.0"),), rendered=(workload(**HOST),))),
    Silent("crds-conflict", installing("3.22.0", crd("0.80.0", None, "kubectl"))),
    Silent("crds-conflict", evidence(helm="4.3.1", crds=(crd("0.1.0", None, "x"),), rendered=operator("v0.93.1"))),
    Silent(
        "crds-conflict",
        installing("4.3.1", crd("0.1.0", None, "x"), settings=Settings(set_values=("crds.enabled=false",))),
    ),
    Silent("storage-class", evidence()),
    Silent("gpu-exporter", evidence()),
    Silent("control-plane", evidence()),
    Silent("control-plane", evidence(stack(control_plane="EKS"))),
    Silent("sidecar", values("grafana.enabled=false")),
    Silent("sidecar", evidence(FURTHER, settings=Settings(namespace="team-b"))),
    Silent("grafana", evidence(FURTHER, settings=Settings(namespace="team-b"))),
]


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.check)
def test_a_question_that_does_not_arise(case: Silent) -> None:
    """What a cluster has no part of is not asked about it, nor what was not looked for."""
    assert answer(case.check, case.found) is None


OWN_TAG = replace(installing("4.3.1", crd("0.93.1", None, "kubectl")), rendered=operator("v0.95.0"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (installing("4.3.1", crd("0.93.1", None, "kubectl")), False),
        (installing("4.3.1", crd("0.80.0")), False),
        (installing("4.3.1", crd("0.80.0", None, "kubectl")), True),
        (installing("3.22.0", crd("0.80.0", None, "kubectl")), False),
        (OWN_TAG, True),
    ],
    ids=["as the chart's", "held by nobody", "older and held", "Helm 3", "the user's own operator image"],
)
def test_when_the_charts_own_crds_are_looked_at(found: Evidence, expected: bool) -> None:
    """A render of the chart's CRDs, which are large, is for those that may really conflict."""
    assert may_conflict(found) == expected


def test_an_operator_image_of_ones_own_is_no_conflict() -> None:
    """What decides are the CRDs that the chart brings, not the image that the values name."""
    checked = answer("crds-conflict", OWN_TAG)
    assert checked is not None
    assert checked.outcome == "passed"


def test_ignored() -> None:
    """A check that is to be left out is not among the answers, and changes none of the others."""
    every = run_checks(evidence())
    less = run_checks(evidence(), ignored=("metrics-kept",))

    assert [each for each in every if each.id != "metrics-kept"] == list(less)
    assert len(less) == len(every) - 1


def test_categories_in_order() -> None:
    """Answers come by category, those of one together: what others rest on first."""
    seen = [each.category for each in run_checks(evidence(lacking=(), dry_run=DryRun(), helm="4.3.1", crds=()))]
    assert list(dict.fromkeys(seen)) == sorted(set(seen), key=seen.index)
    assert seen[0] == "Kubernetes"
    assert seen.index("Permissions") < seen.index("Helm") < seen.index("Admission")
