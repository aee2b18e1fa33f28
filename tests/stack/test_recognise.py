"""From raw objects to facts: the cases are files, see `snapshots.py`."""

from __future__ import annotations

import pytest

from kvobs.settings import Settings
from kvobs.stack.applyset import applyset_id
from kvobs.stack.objects import MANAGED_BY, PART_OF_LABEL
from kvobs.stack.recognise import Snapshot, facts, sidecar_labels, told_grafana
from kvobs.stack.record import Record

from .clusters import parent_in
from .snapshots import DATA, Case, as_far_as, cases, load, plain


@pytest.mark.parametrize("case", cases("facts"), ids=lambda case: case.name)
def test_facts(case: Case) -> None:
    """The facts are what the case says."""
    expected = case.expected["facts"]
    actual = {key: plain(getattr(case.facts, key)) for key in expected}

    assert as_far_as(expected, actual) == expected


def test_every_folder_is_a_case() -> None:
    """Each folder says in one sentence what must hold, and expects something."""
    for folder in DATA.iterdir():
        if not folder.name.startswith("_"):
            expected = load(folder).expected
            assert expected["says"].endswith(".")
            assert {"facts", "vllm", "dcgm"} & set(expected), folder.name


def test_no_datasource_content_in_messages() -> None:
    """A datasource file that cannot be read is named without a word of its content."""
    unasked = load(DATA / "stack-kube-prometheus").facts.unasked

    assert unasked
    assert "hunter2" not in str(unasked)


OWN = {PART_OF_LABEL: applyset_id("kvobs", "mon")}


@pytest.mark.parametrize(
    ("parent", "labels", "namespace", "ours"),
    [
        ("mon", OWN, None, True),
        ("mon", OWN, "mon", True),
        ("mon", {}, None, False),
        ("mon", {MANAGED_BY: "kvobs"}, None, False),
        ("other", OWN, None, False),
        (None, OWN, None, True),
        (None, OWN, "other", False),
        (None, {MANAGED_BY: "kvobs"}, None, False),
    ],
    ids=[
        "member", "member, named", "nobody's", "rendered", "of another install", "the parent was deleted",
        "of another install whose parent was deleted", "rendered, nothing installed",
    ],
)  # fmt: skip
def test_what_is_ours(parent: str | None, labels: dict[str, str], namespace: str | None, ours: bool) -> None:
    """Members of this install's ApplySet are ours, also when its parent is lost; what others apply is theirs."""
    monitor = {"metadata": {"name": "m", "namespace": "mon", "labels": labels}, "spec": {}}
    objects = {
        "Prometheus.monitoring.coreos.com": [{"metadata": {"name": "p", "namespace": "mon"}}],
        "ServiceMonitor.monitoring.coreos.com": [monitor],
        "ConfigMap": [parent_in(parent)] if parent else [],
    }
    found = facts(
        Snapshot(server_version="", kinds=frozenset(objects), objects=objects), settings=Settings(namespace=namespace)
    )

    assert [each.ours for each in found.monitors] == [ours]


@pytest.mark.parametrize(
    ("asked", "recorded", "named"),
    [
        (None, None, None),
        ("mon/x", None, "mon/x"),
        ("mon/x", "mon/y", "mon/x"),
        (None, "mon/y", "mon/y"),
        (None, "none", None),
        ("none", "mon/y", None),
    ],
)
def test_grafana_that_is_told(asked: str | None, recorded: str | None, named: str | None) -> None:
    """What the user calls Grafana is taken as told, in this run and in later ones."""
    parents = [parent_in("mon", Record(settings={"grafana": recorded}))] if recorded else []

    assert told_grafana(parents, Settings(grafana=asked)) == named


def _grafana(name: str, *containers: dict[str, object], init: tuple[dict[str, object], ...] = ()) -> dict[str, object]:
    spec = {"containers": [{"name": "grafana", "image": "grafana/grafana"}, *containers], "initContainers": list(init)}
    return {"metadata": {"name": name, "namespace": "mon"}, "spec": {"template": {"spec": spec}}}


def _sidecar(name: str, image: str = "kiwigrid/k8s-sidecar:1", **env: str) -> dict[str, object]:
    return {"name": name, "image": image, "env": [{"name": key, "value": value} for key, value in env.items()]}


def test_sidecar_labels() -> None:
    """What is listed is what the sidecars of all Grafanas look for: by the chart's names, or by the label itself."""
    deployments = [
        _grafana("chart", _sidecar("x-sc-dashboard", image="mirror/sc", LABEL="dash"), _sidecar("y", LABEL="other")),
        _grafana("hand", _sidecar("watcher", LABEL="my-dashboards", LABEL_VALUE="yes")),
        _grafana("init", init=(_sidecar("grafana-init-sc-datasources", LABEL="src", LABEL_VALUE="1"),)),
        _grafana("no-sidecar", {"name": "dashboard", "image": "acme/tool", "env": [{"name": "LABEL", "value": "no"}]}),
    ]

    found = sidecar_labels(deployments, [])

    assert found.dashboards == ("dash", "my-dashboards=yes")
    assert found.datasources == ("src=1",)
    assert found.mounted == ()


def test_sidecar_namespaces() -> None:
    """A sidecar watches all namespaces, a list of them, or its own."""
    from kvobs.stack.grafana import grafanas

    deployments = [
        _grafana(str(text), _sidecar("g-sc-dashboard", LABEL="l", **({} if text is None else {"NAMESPACE": text})))
        for text in ("ALL", "a, b", None)
    ]
    found = grafanas(deployments, [], raw_services=[], services=[], config_maps=[], secrets=[], unread={})

    assert [each.sidecar.namespaces for each in found if each.sidecar] == [None, ("a", "b"), ("mon",)]
