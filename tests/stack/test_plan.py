"""Facts and a target in, steps with their exact objects out."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from kvobs.errors import ActionError
from kvobs.settings import Settings
from kvobs.stack.applyset import PART_OF_LABEL, applyset_id
from kvobs.stack.choice import choose
from kvobs.stack.facts import ClusterPolicy, Facts, LoadedDashboard, Ref
from kvobs.stack.objects import ref
from kvobs.stack.plan import Plan, make_plan
from kvobs.stack.record import ABSENT, ForeignField, Record, ReleaseRecord

from .clusters import SIDECAR, cluster, grafana, parent_in, prometheus, source, stack
from .snapshots import TEMPLATES

EMPTY = cluster(kinds=frozenset(), namespaces={"default": {}})
POLICY = Ref("ClusterPolicy.nvidia.com", "", "cluster-policy")
ENABLED = ("spec", "dcgmExporter", "serviceMonitor", "enabled")
LABEL = ("spec", "dcgmExporter", "serviceMonitor", "additionalLabels", "team")


def board(uid: str | None = "b", title: str | None = "B", **other: Any) -> dict[str, Any]:
    """Return a dashboard with one panel whose datasource is an input."""
    panel = {"type": "stat", "title": "p", "datasource": {"type": "prometheus", "uid": "${DS_P}"}}
    inputs = [{"name": "DS_P", "type": "datasource", "pluginId": "prometheus"}]
    document = {"uid": uid, "title": title, "__inputs": inputs, "panels": [panel], "schemaVersion": 39, **other}
    return {key: value for key, value in document.items() if value is not None}


def plan(
    facts: Facts, settings: Settings | None = None, *dashboards: tuple[str, Any], templates: Any = TEMPLATES
) -> Plan:
    """Return the plan for a cluster, with the target that is chosen for it."""
    settings = settings or Settings()
    return make_plan(facts, choose(facts, settings), settings, dashboards=dashboards, monitors=templates)


def policy(*, enabled: bool | None, managers: dict[str, tuple[str, ...]], labels: dict[str, str]) -> ClusterPolicy:
    """Return a ClusterPolicy whose exporter runs."""
    return ClusterPolicy(
        name=POLICY.name,
        api_version="nvidia.com/v1",
        exporter_enabled=True,
        monitor_enabled=enabled,
        additional_labels=labels,
        managers=managers,
        release=("gpu-operator", "gpu-operator"),
    )


def test_steps_for_an_empty_cluster() -> None:
    """What others need comes first: namespace, Secret, release, monitors, dashboards; each step has one thing to do."""
    made = plan(EMPTY, None, ("b.json", board()))

    assert [step.id for step in made.steps] == ["namespace", "secret", "release", "monitors", "dashboards"]
    assert all(sum(map(bool, (s.objects, s.secret, s.release, s.fields))) == 1 for s in made.steps)
    assert made.record.settings["namespace_created"] is True
    assert made.record.settings["crds_created"] is True


def test_steps_for_a_stack_that_is_there() -> None:
    """A reused stack gets monitors and dashboards, and neither a Secret nor a release."""
    made = plan(stack(), None, ("b.json", board()))

    assert [step.id for step in made.steps] == ["monitors", "dashboards"]
    assert made.record == Record(
        settings={"prometheus": "mon/k8s", "grafana": "mon/grafana", "uids": {"prometheus": "prom-uid"}}
    )


def test_a_step_without_anything_to_do_is_none() -> None:
    """A Prometheus that reads none of the monitors that we could make gets none, and no step for them."""
    not_ours = {"matchExpressions": [{"key": "app.kubernetes.io/managed-by", "operator": "DoesNotExist"}]}
    picky = prometheus(service_monitor_selector=not_ours, pod_monitor_selector=None)
    made = plan(stack(prometheuses=(picky,)))

    assert made.steps == ()
    assert "no-generic-monitor" in {note.id for note in made.notes}


def test_everything_is_ours() -> None:
    """Every object carries the label of our ApplySet and the manager's, and pruning keeps exactly these."""
    made = plan(EMPTY, None, ("b.json", board()))
    labels = [each["metadata"]["labels"] for each in made.objects]

    assert {each[PART_OF_LABEL] for each in labels} == {applyset_id("kvobs", "monitoring")}
    assert {each["app.kubernetes.io/managed-by"] for each in labels} == {"kvobs"}
    assert made.refs == {ref(each) for each in made.objects} | {
        Ref("Secret", "monitoring", "kube-prometheus-stack-grafana-admin")
    }
    assert Ref("Namespace", "", "monitoring") not in made.refs


def test_dashboard_is_patched_and_packed() -> None:
    """The reference gets the UID of the live datasource; the ConfigMap has the label of the live sidecar."""
    theirs = replace(SIDECAR, label="dash", label_value=None, folder_annotation="folder")
    graph = grafana(sidecar=theirs, datasources=(source("real"),))
    made = plan(stack(grafanas=(graph,)), None, ("b.json", board()))
    (dashboard,) = made.dashboards
    (config_map,) = [each for each in made.objects if each["kind"] == "ConfigMap"]

    assert dashboard.patched.document["panels"][0]["datasource"] == {"type": "prometheus", "uid": "real"}
    assert (dashboard.uid, dashboard.title, dashboard.source) == ("b", "B", "b.json")
    assert config_map["metadata"]["labels"]["dash"] == "1"
    assert config_map["metadata"]["annotations"]["folder"] == "kvobs"
    assert '"uid":"real"' in config_map["data"]["kvobs-dashboard-b.json"]


@pytest.mark.parametrize(
    ("searched", "namespace"),
    [(None, "mon"), (("mon", "x"), "mon"), (("gone", "team"), "team"), (("gone",), "gone")],
)
def test_dashboards_go_where_the_sidecar_looks(searched: tuple[str, ...] | None, namespace: str) -> None:
    """In our namespace if the sidecar looks there, else in the first of its namespaces that exists."""
    graph = grafana(sidecar=replace(SIDECAR, namespaces=searched))
    made = plan(stack(grafanas=(graph,), namespaces={"mon": {}, "team": {}}), None, ("b.json", board()))

    assert [each.config_map.namespace for each in made.dashboards] == [namespace]


def test_without_a_sidecar_no_dashboard_is_refused() -> None:
    """Where dashboards are not loaded, none is looked at."""
    made = plan(stack(), Settings(grafana="none"), ("b.json", {"apiVersion": "dashboard.grafana.app/v2"}))

    assert (made.dashboards, made.refused) == ((), {})


V2 = {"apiVersion": "dashboard.grafana.app/v2", "kind": "Dashboard", "spec": {"title": "V", "elements": {}}}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (V2, "v2"),
        (board(uid=None, title=None), "title"),
        (board(description="x" * 1_100_000), "bytes"),
        ({"a": 1}, "dashboard"),
        ([], "dashboard"),
    ],
    ids=["v2", "no title", "too large", "no dashboard", "a list"],
)
def test_one_bad_dashboard_among_many(document: Any, why: str) -> None:
    """What cannot be loaded is named with its reason, and the others are done."""
    made = plan(stack(), None, ("bad.json", document), ("good.json", board()))

    assert made.refused.keys() == {"bad.json"}
    assert why in made.refused["bad.json"]
    assert [each.source for each in made.dashboards] == ["good.json"]


def test_dashboard_without_uid_gets_a_lasting_one() -> None:
    """A dashboard without uid gets one from its title, the same in every run, so that a link to it lasts."""
    first, second = (plan(stack(), None, ("x.json", board(uid=None))).dashboards[0].uid for _ in range(2))

    assert first == second
    assert first.startswith("kvobs-")


@pytest.mark.parametrize(
    ("facts", "settings", "mends"),
    [
        (stack(grafanas=(grafana(sidecar=replace(SIDECAR, resource="secret")),)), Settings(), "values of its release"),
        (
            EMPTY,
            Settings(set_values=("grafana.sidecar.dashboards.resource=secret",)),
            "and --set grafana.sidecar.dashboards.resource=both",
        ),
    ],
    ids=["reused", "ours"],
)
def test_sidecar_that_reads_secrets_only(facts: Facts, settings: Settings, mends: str) -> None:
    """No dashboard is put where nothing reads it: each is refused with the reason and the setting that mends it."""
    made = plan(facts, settings, ("a.json", board()), ("b.json", board("c", "C")))

    assert (made.dashboards, made.refused.keys()) == ((), {"a.json", "b.json"})
    assert all("reads Secrets only" in why and mends in why for why in made.refused.values())
    assert "dashboards" not in {step.id for step in made.steps}


@pytest.mark.parametrize("early", [True, False])
def test_sidecar_that_runs_at_the_start_only(early: bool) -> None:
    """Where dashboards wait for Grafana's next start it is said, with the command."""
    graph = grafana(sidecar=replace(SIDECAR, only_at_start=early))
    notes = [note.text for note in plan(stack(grafanas=(graph,)), None, ("b.json", board())).notes]

    assert any("kubectl -n mon rollout restart deployment/grafana" in text for text in notes) is early


def loaded(uid: str, title: str, *, ours: bool = False) -> Facts:
    """Return a stack whose Grafana loads a dashboard already."""
    return stack(dashboards=(LoadedDashboard(uid=uid, title=title, where="mon/theirs[x.json]", ours=ours),))


@pytest.mark.parametrize(
    ("facts", "dashboards", "says"),
    [
        (loaded("b", "Other"), [board()], ("uid 'b'", "mon/theirs[x.json]", "0.json")),
        (loaded("other", "b "), [board()], ("title 'B'", "mon/theirs[x.json]")),
        (stack(), [board(), board(title="C")], ("uid 'b'", "0.json", "1.json")),
        (stack(), [board(), board(uid="c")], ("title 'B'", "0.json", "1.json")),
    ],
    ids=["uid on the cluster", "title on the cluster", "uid twice", "title twice"],
)
def test_clashing_dashboards(facts: Facts, dashboards: list[Any], says: tuple[str, ...]) -> None:
    """Two dashboards with one uid or one title are refused before anything is done; both places are named."""
    with pytest.raises(ActionError) as refused:
        plan(facts, None, *((f"{i}.json", each) for i, each in enumerate(dashboards)))

    assert all(part in str(refused.value) for part in says), str(refused.value)
    assert "leave one of them out" in (refused.value.hint or "")
    assert "--grafana none" in (refused.value.hint or "")


def test_our_own_dashboard_does_not_clash_with_itself() -> None:
    """What an earlier run loaded is replaced, not refused."""
    assert plan(loaded("b", "B", ours=True), None, ("b.json", board())).dashboards[0].uid == "b"


# --- the record ---


def test_record_of_a_release() -> None:
    """The record names the release, what it will leave behind, and what this run made first; it forgets a reuse."""
    reused = Record(settings={"stack": "reuse", "prometheus": "a/b", "grafana": "none", "namespace_created": True})
    facts = cluster(namespaces={"monitoring": {}}, parents=(parent_in("monitoring", reused),))
    settings = Settings(stack="install", release="kps", chart="./chart", set_values=("fullnameOverride=full",))
    made = plan(facts, settings)

    assert made.record.release == ReleaseRecord(namespace="monitoring", name="kps", chart="./chart", chart_version="")
    assert made.record.settings == {
        "namespace_created": True,
        "chart": "./chart",
        "prometheus": "monitoring/full-prometheus",
        "grafana": "monitoring/kps-grafana",
        "uids": {"prometheus": "prometheus"},
        "names": [
            {
                "full_name": "full",
                "stack_namespace": "monitoring",
                "kubelet_service": ["kube-system", "full-kubelet"],
                "admission_secret": ["monitoring", "full-admission"],
                "grafana": ["monitoring", "kps-grafana"],
            }
        ],
    }


def test_crds_that_are_not_ours() -> None:
    """CRDs that were there at the first install, and are gone now, do not become ours by that."""
    release = ReleaseRecord(namespace="monitoring", name="kps", chart="c", chart_version="1")
    facts = replace(EMPTY, parents=(parent_in("monitoring", Record(release=release)),))

    assert "crds_created" not in plan(facts).record.settings


def recorded(*fields: ForeignField) -> Facts:
    """Return a stack on which an earlier run set *fields* of the ClusterPolicy."""
    return stack(parents=(parent_in("mon", Record(foreign_fields=fields)),))


def enabled_before(value: Any, after: Any = True) -> ForeignField:
    """Return the record of the monitor's switch."""
    return ForeignField(ref=POLICY, path=ENABLED, before=value, after=after, owner="helm")


@pytest.mark.parametrize(
    ("facts", "now", "managers", "before"),
    [
        (stack(), None, {}, ABSENT),
        (stack(), False, {}, False),
        (stack(), False, {"enabled": ("helm",)}, False),
        (recorded(enabled_before(ABSENT)), True, {"enabled": ("kvobs",)}, ABSENT),
        (recorded(enabled_before(ABSENT)), False, {"enabled": ("helm",)}, False),
    ],
    ids=["absent", "off, nobody's", "off, somebody's", "set by an earlier run", "changed since that run"],
)
def test_earlier_value_of_a_foreign_field(
    facts: Facts, now: bool | None, managers: dict[str, tuple[str, ...]], before: Any
) -> None:
    """The record keeps the value that was there before us, and a newer one that somebody gave since."""
    facts = replace(facts, cluster_policies=(policy(enabled=now, managers=managers, labels={}),))
    made = plan(facts, Settings(dcgm="operator"))

    assert [(each.path, each.before, each.after) for each in made.record.foreign_fields] == [(ENABLED, before, True)]
    assert made.give_back == ()
    assert made.final_record == made.record


def test_foreign_field_that_gets_another_value() -> None:
    """A label that the Prometheus now wants differently is recorded as it is set now, with its first value before."""
    earlier = ForeignField(ref=POLICY, path=LABEL, before=ABSENT, after="old", owner=None)
    managers = {"enabled": ("helm",), "additionalLabels.team": ("kvobs",)}
    facts = replace(
        recorded(earlier),
        prometheuses=(prometheus(service_monitor_selector={"matchLabels": {"team": "new"}}),),
        cluster_policies=(policy(enabled=True, managers=managers, labels={"team": "old"}),),
    )

    assert plan(facts).record.foreign_fields == (replace(earlier, after="new"),)


def test_field_that_is_no_longer_wanted() -> None:
    """It stays in the record until it was given back, so that an interrupted run can still do that."""
    earlier = enabled_before(False)
    facts = recorded(earlier)
    policies = (policy(enabled=True, managers={"enabled": ("kvobs",)}, labels={}),)
    made = plan(replace(facts, cluster_policies=policies), Settings(dcgm="none"))

    assert made.give_back == (earlier,)
    assert made.record.foreign_fields == (earlier,)
    assert made.final_record.foreign_fields == ()


# --- notes ---


@pytest.mark.parametrize(
    ("facts", "settings", "says"),
    [
        (stack(prometheuses=(prometheus(keeps_metrics=False),)), Settings(), ("mon/k8s", "values of its release")),
        (EMPTY, Settings(), ("kvobs install --set ",)),
        (stack(), Settings(), None),
    ],
    ids=["reused", "ours", "kept"],
)
def test_metrics_not_kept(facts: Facts, settings: Settings, says: tuple[str, ...] | None) -> None:
    """Where metrics die with the pod it is said, and how to keep them."""
    notes = [note.text for note in plan(facts, settings).notes if note.id == "metrics-not-kept"]

    assert len(notes) == (1 if says else 0)
    assert all(part in notes[0] for part in says or ())


def test_command_that_keeps_metrics() -> None:
    """The command that the note prints is taken by a shell and by Helm's syntax as it stands, and mends it."""
    (note,) = [note.text for note in plan(EMPTY).notes if note.id == "metrics-not-kept"]
    command = note.partition("to keep them: ")[2].partition(", together")[0]
    words = shlex.split(command)
    given = tuple(value for flag, value in pairwise(words) if flag == "--set")

    assert words[:2] == ["kvobs", "install"]
    assert plan(EMPTY, Settings(set_values=given)).target.prometheus.keeps_metrics
    assert "{" not in re.sub(r"'[^']*'", "", command), "a shell would expand it"


def test_what_could_not_be_asked_is_said() -> None:
    """A right that is missing is a note of its own, not an empty answer."""
    notes = plan(stack(unasked={"Node": "list Node: not allowed"})).notes

    assert [note.text for note in notes if note.id == "not-asked"] == ["Node could not be read: list Node: not allowed"]
