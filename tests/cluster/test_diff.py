"""See before you do: what a diff, a dry run and a status say of a cluster, and that they change nothing.

One bed with a lean stack, seen before its install and after it. Each test leaves the install as it found it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

import kvobs as library
from kvobs import DiffReport, DryRunReport, Settings
from kvobs.adapters.helm import Helm
from kvobs.errors import Unanswered
from kvobs.report import to_document, to_json, to_text, to_yaml
from kvobs.stack.changes import ObjectChange
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.commands import kvobs, stack_arguments
from tests.cluster.lean import LEAN, lasting
from tests.cluster.snapshots import Key, Snapshot, settled, versions
from tests.cluster.workloads import gpu_operator

NAMESPACE = "monitoring"
RELEASE = "kube-prometheus-stack"
MONITORS = "monitoring.coreos.com/v1"
RBAC = "rbac.authorization.k8s.io"
CHART = stack_arguments()[:2]
TOKEN = "Wren-that-nobody-may-see-7"
ENFORCE = "pod-security.kubernetes.io/enforce"
PROMETHEUS = ("Prometheus.monitoring.coreos.com", NAMESPACE, f"{RELEASE}-prometheus")
GRAFANA = ("Deployment.apps", NAMESPACE, f"{RELEASE}-grafana")
POLICY = ("ClusterPolicy.nvidia.com", "", "cluster-policy")
OWN_BOARD = "kvobs-dashboard-kvobs-vllm"

Changes = dict[Key, ObjectChange]
"""What a report says of each object that it names."""


def told(bed: Bed, *, more: Sequence[str] = (), values: bool = True, **other: Any) -> dict[str, Any]:
    """Return what a library call is told: the options of the install, and *more* `--set`."""
    helm = Helm(executable="helm", kubeconfig=str(bed.kubeconfig), environment=bed.environment())
    set_values = (*LEAN, *more) if values else ()
    settings = Settings(
        kubeconfig=str(bed.kubeconfig), chart=CHART[1] if values else None, set_values=set_values, wait=False, **other
    )
    return {"settings": settings, "helm": helm}


def changes(report: DiffReport | DryRunReport) -> Changes:
    """Return what a report says, by object."""
    found = [each for step in report.steps for each in step.objects]
    assert len({each.ref for each in found}) == len(found)
    return {(each.ref.kind, each.ref.namespace, each.ref.name): each for each in found}


def differences(bed: Bed, **options: Any) -> Changes:
    """Return what a diff says; its exit code tells whether an install would do anything."""
    report = library.diff(**told(bed, **options))
    found = changes(report)
    assert report.exit_code == any(each.verdict != "theirs" for each in found.values())
    return found


def verdicts(found: Changes) -> dict[str, str]:
    """Return the verdict on each object that does not stay as it is, by its name."""
    named = {f"{kind.partition('.')[0]} {name}": each.verdict for (kind, _, name), each in found.items()}
    return {name: verdict for name, verdict in named.items() if verdict != "unchanged"}


def fields(change: ObjectChange) -> dict[str, tuple[Any, Any]]:
    """Return the live and the wanted value of each field that would change."""
    return {each.path: (each.live, each.wanted) for each in change.fields}


def theirs(change: ObjectChange) -> dict[str, tuple[tuple[str, ...], Any, Any]]:
    """Return the managers, the live and the wanted value of each field that is somebody else's."""
    return {each.path: (each.managers, each.live, each.wanted) for each in change.theirs}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A cluster before and after its install, and what was said before."""

    bed: Bed
    before: Snapshot
    after_asking: Snapshot
    """After both were asked, and before the install."""
    diff: Changes
    dry_run: Changes
    installed: Snapshot


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    """Ask what an install on an empty cluster would do, then do it."""
    with Bed(gpu=False) as bed:
        before = settled(bed.api)
        diff = differences(bed)
        dry_run = changes(library.dry_run(**told(bed)))
        after_asking = settled(bed.api)
        library.install(**told(bed))
        yield Seen(
            bed=bed,
            before=before,
            after_asking=after_asking,
            diff=diff,
            dry_run=dry_run,
            installed=settled(bed.api),
        )


@pytest.fixture
def bed(seen: Seen) -> Bed:
    """The bed after its install, as every test leaves it."""
    return seen.bed


# --- before the install ---


def test_asking_changes_nothing(seen: Seen) -> None:
    """Neither a diff nor a dry run leaves anything on the cluster, nor a newer version of anything, nor a Lease."""
    assert versions(seen.after_asking) == versions(seen.before)
    assert seen.bed.api.list("coordination.k8s.io/v1", "Lease", NAMESPACE) == []


def test_an_install_is_foretold_object_by_object(seen: Seen) -> None:
    """What a dry run and a diff say would be made is what the install makes, but for what others make after it."""
    made = {key for key in lasting(seen.installed) if key not in seen.before}

    assert {each.verdict for each in seen.dry_run.values()} == {"create"}
    assert set(seen.dry_run) == {key for key in made if not _made_by_another(key, seen)}
    assert set(seen.diff) == set(seen.dry_run)


def _made_by_another(key: Key, seen: Seen) -> bool:
    """Whether Kubernetes, one of its controllers or a hook of the chart made it."""
    by_kubernetes = {("ConfigMap", NAMESPACE, "kube-root-ca.crt"), ("ServiceAccount", NAMESPACE, "default")}
    by_a_hook = key[2].startswith(f"{RELEASE}-admission") and key[0] == "Secret"
    kinds = ("Endpoints", "APIService.apiregistration.k8s.io")
    return key in by_kubernetes or by_a_hook or key[0] in kinds or "ownerReferences" in seen.installed[key]["metadata"]


def test_what_cannot_be_validated_says_with_which_step_it_arrives(seen: Seen) -> None:
    """The namespace comes with step 1, the kinds of the Prometheus Operator with the release; the rest was asked."""
    arrives = {key: each.unvalidated for key, each in seen.dry_run.items()}

    assert arrives["ConfigMap", NAMESPACE, OWN_BOARD] == "arrives with step 1"
    assert arrives["Secret", NAMESPACE, f"{RELEASE}-grafana-admin"] == "arrives with step 1"
    assert arrives["ServiceMonitor.monitoring.coreos.com", NAMESPACE, "kvobs-vllm"] == "arrives with step 3"
    assert arrives[PROMETHEUS] == "arrives with step 3"
    assert arrives["Namespace", "", NAMESPACE] is None
    assert arrives["ClusterRole.rbac.authorization.k8s.io", "", f"{RELEASE}-operator"] is None


# --- after it ---


def test_after_an_install_there_is_no_difference(bed: Bed) -> None:
    """Not with the same options and not with none; a dry run says of every object that it stays."""
    done = kvobs("diff", "-q", *CHART, *(word for value in LEAN for word in ("--set", value)), env=bed.environment())

    assert (done.stdout, done.stderr) == ("No differences.\n", "")
    assert differences(bed, values=False) == {}
    again = library.dry_run(**told(bed))
    assert (verdicts(changes(again)), again.exit_code, again.stopped) == ({}, 0, None)
    status = library.status(told(bed)["settings"])
    assert (status.missing, status.drifted) == ((), ())


def test_who_may_only_read_is_told_that_there_is_no_difference(bed: Bed) -> None:
    """Where all stands as it is to be nothing has to be asked by a dry run, and an install needs no right to write."""
    reads = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reads"}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": "reader"}]
    at: Object = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "reads"}}
    binding = {**at, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects}
    bed.api.apply({**at, "kind": "ClusterRole", "rules": [reads]}, binding)
    options = told(bed)
    options["settings"] = replace(options["settings"], kubeconfig=str(bed.kubeconfig_for("reader")))

    def looked() -> DiffReport | None:
        try:
            return library.diff(**options)
        except Unanswered:
            return None

    # A role is in force a moment after it is bound.
    assert eventually(looked).exit_code == 0
    assert not library.install(**options).changed
    bed.api.delete(f"{RBAC}/v1", "ClusterRoleBinding", "reads")


def test_what_others_did_is_named_by_object_field_and_manager(bed: Bed) -> None:
    """Objects that are gone, fields that changed, and fields that are somebody else's now; what is added is theirs."""
    api = bed.api
    board = api.get("v1", "ConfigMap", OWN_BOARD, NAMESPACE)
    (key,) = board["data"]
    edited = json.dumps(json.loads(board["data"][key]) | {"title": "mine"})
    grafana = api.get("apps/v1", "Deployment", f"{RELEASE}-grafana", NAMESPACE)
    monitor = api.get(MONITORS, "ServiceMonitor", "kvobs-vllm", NAMESPACE)
    api.delete(MONITORS, "PodMonitor", "kvobs-vllm-pods", NAMESPACE)
    api.delete("v1", "ConfigMap", f"{RELEASE}-grafana-datasource", NAMESPACE)
    api.apply(_only(board, {"data": {key: edited}}), manager="kubectl-edit")
    api.merge(grafana, {"metadata": {"labels": {"app.kubernetes.io/name": None, "team": "theirs"}}})
    api.merge(monitor, {"metadata": {"labels": {"team": "theirs"}, "annotations": {"seen": "by others"}}})
    before = settled(api)

    report = library.diff(**told(bed))
    found = changes(report)
    foretold = library.dry_run(**told(bed))
    status = library.status(told(bed)["settings"])

    assert verdicts(found) == {
        "PodMonitor kvobs-vllm-pods": "create",
        f"ConfigMap {RELEASE}-grafana-datasource": "create",
        f"ConfigMap {OWN_BOARD}": "refused",
        f"Deployment {RELEASE}-grafana": "change",
    }
    assert verdicts(changes(foretold)) == verdicts(found)
    assert (report.exit_code, foretold.exit_code, status.exit_code) == (1, 3, 1)
    mine = found["ConfigMap", NAMESPACE, OWN_BOARD]
    assert theirs(mine) == {f'data."{key}"': (("kubectl-edit",), edited, board["data"][key])}
    assert "--take-ownership" in (mine.hint or "")
    assert verdicts(differences(bed, take_ownership=True))[f"ConfigMap {OWN_BOARD}"] == "change"
    assert fields(found[GRAFANA]) == {'metadata.labels."app.kubernetes.io/name"': (None, "grafana")}
    assert 'title: "mine" -> "vLLM serving (kvobs)"' in to_text(report)
    assert edited not in to_text(report)
    assert sorted(each.name for each in status.missing) == [f"{RELEASE}-grafana-datasource", "kvobs-vllm-pods"]
    assert sorted(each.ref.name for each in status.drifted) == [f"{RELEASE}-grafana", OWN_BOARD]
    assert versions(settled(api)) == versions(before)

    # As the hint says; the rest an install mends by itself.
    library.install(**told(bed, take_ownership=True))
    assert differences(bed) == {}


def test_a_field_of_the_release_that_others_manage_is_left_to_them(bed: Bed) -> None:
    """It is shown, and no difference; where Helm has to upgrade for something else, it would stop at it."""
    grafana = bed.api.get("apps/v1", "Deployment", f"{RELEASE}-grafana", NAMESPACE)
    bed.api.apply(_only(grafana, {"spec": {"replicas": 3}}), manager="autoscaler")

    kept = differences(bed)
    upgrade = differences(bed, more=("prometheus.prometheusSpec.replicas=2",))
    status = library.status(told(bed)["settings"])
    bed.api.apply(_only(grafana, {"spec": {"replicas": 1}}), manager="autoscaler")

    scaled = {"spec.replicas": (("autoscaler",), 3, 1)}
    assert verdicts(kept) == {f"Deployment {RELEASE}-grafana": "theirs"}
    assert theirs(kept[GRAFANA]) == scaled
    assert verdicts(upgrade) == {
        f"Deployment {RELEASE}-grafana": "refused",
        f"Prometheus {RELEASE}-prometheus": "change",
    }
    assert theirs(upgrade[GRAFANA]) == scaled
    assert [each.verdict for each in status.drifted] == ["theirs"]
    assert differences(bed) == {}


def _only(obj: Object, part: Object) -> Object:
    """Return what an apply of this part of an object sends."""
    at = {"name": obj["metadata"]["name"], "namespace": obj["metadata"]["namespace"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": at, **part}


def test_other_values_are_shown_by_the_fields_that_they_change(bed: Bed) -> None:
    """An upgrade's changes, and what it would delete; and nothing of what stays."""
    found = differences(bed, more=("prometheus.prometheusSpec.replicas=2", "kubeScheduler.enabled=false"))

    told_of = verdicts(found)
    assert told_of.pop(f"Prometheus {RELEASE}-prometheus") == "change"
    # The real chart has its rules and its dashboard for the scheduler too.
    assert {f"Service {RELEASE}-kube-scheduler", f"ServiceMonitor {RELEASE}-kube-scheduler"} <= set(told_of)
    assert set(told_of.values()) == {"delete"}
    assert all("scheduler" in each for each in told_of)
    assert fields(found[PROMETHEUS]) == {"spec.replicas": (1, 2)}


def test_no_secret_is_shown(bed: Bed) -> None:
    """Of a Secret its keys, of the values what changes by them: a secret's text itself in no form of output."""
    secret = bed.api.get("v1", "Secret", f"{RELEASE}-grafana-admin", NAMESPACE)
    made = library.diff(**told(bed, more=(f"grafana.adminPassword={TOKEN}",)))
    foretold = library.dry_run(**told(bed, more=(f"grafana.adminPassword={TOKEN}",)))

    said = ""
    for report in (made, foretold):
        document = to_document(report)
        said += repr(report) + to_text(report, verbose=True) + to_json(document) + to_yaml(document)
    assert verdicts(changes(made))[f"Secret {RELEASE}-grafana"] == "create"
    for hidden in (TOKEN, base64.b64encode(TOKEN.encode()).decode(), secret["data"]["admin-password"]):
        assert hidden not in said


def test_a_dry_run_names_what_the_server_would_refuse(bed: Bed) -> None:
    """A namespace whose PodSecurity takes no such pod: exit 3, the workload by its name, and nothing changed."""
    namespace = bed.api.get("v1", "Namespace", NAMESPACE)
    bed.api.merge(namespace, {"metadata": {"labels": {ENFORCE: "restricted"}}})
    before = settled(bed.api)

    def refused() -> DryRunReport | None:
        # Without the second, the pod of the real chart is one that is taken.
        other = ("grafana.adminPassword=other", "grafana.securityContext.runAsNonRoot=false")
        report = library.dry_run(**told(bed, more=other))
        return report if changes(report)[GRAFANA].verdict == "refused" else None

    # PodSecurity hears of a label a moment after it is there.
    report = eventually(refused)
    after = settled(bed.api)
    bed.api.merge(namespace, {"metadata": {"labels": {ENFORCE: None}}})

    assert report.exit_code == 3
    assert "PodSecurity" in (changes(report)[GRAFANA].reason or "")
    assert versions(after) == versions(before)


# --- with Helm 3, beside a GPU Operator ---


@pytest.fixture(scope="module")
def beside() -> Iterator[Bed]:
    """A cluster with a GPU Operator, and nothing of kvobs yet."""
    with Bed() as bed:
        gpu_operator(bed, helm="3")
        yield bed


def test_names_that_are_taken_are_refused(beside: Bed) -> None:
    """Objects of somebody else's that have our names, the parent's too: said of each, before anything is done."""
    beside.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for name in ("kvobs", OWN_BOARD):
        at = {"name": name, "namespace": NAMESPACE}
        beside.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": at, "data": {"a": "theirs"}})

    found = differences(beside)

    for name in ("kvobs", OWN_BOARD):
        change = found["ConfigMap", NAMESPACE, name]
        assert (change.verdict, change.fields) == ("refused", ())
        assert change.hint
        beside.api.delete("v1", "ConfigMap", name, NAMESPACE)


def test_fields_of_others_are_shown_before_they_are_taken_and_given_back(beside: Bed) -> None:
    """Helm 3: a fresh install has no difference either; a ClusterPolicy's field is shown both ways."""
    enabled = "spec.dcgmExporter.serviceMonitor.enabled"
    helm_3 = Helm(kubeconfig=str(beside.kubeconfig), environment=beside.environment(helm="3"))
    library.install(told(beside, dcgm="exporter")["settings"], helm=helm_3)

    assert differences(beside, values=False) == {}
    taken = differences(beside, dcgm="operator")
    assert fields(taken[POLICY])[enabled] == (False, True)
    assert [each.ref.name[:10] for each in taken.values() if each.verdict == "delete"] == ["kvobs-dcgm"]

    library.install(told(beside, dcgm="operator")["settings"], helm=helm_3)
    assert differences(beside, values=False) == {}
    assert fields(differences(beside, dcgm="none")[POLICY])[enabled] == (True, False)
