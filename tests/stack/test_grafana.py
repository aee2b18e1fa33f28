"""Grafana among the workloads of a cluster: by what it is recognised, which sidecar counts, who its admin is."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.facts import Grafana, Object
from kvobs.stack.grafana import grafanas, loaded_dashboards, sidecar_labels
from kvobs.stack.provisioned import read_datasources


def container(image: str, name: str = "main", **environment: str) -> dict[str, Any]:
    """Return a container that is told *environment*."""
    return {"name": name, "image": image, "env": [{"name": key, "value": text} for key, text in environment.items()]}


def workload(
    *containers: Object,
    name: str = "g",
    labels: dict[str, str] | None = None,
    template_labels: dict[str, str] | None = None,
    init: tuple[Object, ...] = (),
) -> Object:
    """Return a Deployment in namespace `mon`."""
    spec = {"containers": list(containers), "initContainers": list(init)}
    template = {"metadata": {"labels": template_labels or {}}, "spec": spec}
    return {"metadata": {"name": name, "namespace": "mon", "labels": labels or {}}, "spec": {"template": template}}


def recognised(*deployments: Object, told: str | None = None) -> tuple[Grafana, ...]:
    """Return the Grafanas among *deployments*."""
    return grafanas(
        deployments, [], raw_services=[], services=[], config_maps=[], secrets=[], unread={}, told=told
    )  # fmt: skip


BY_LABEL = {"app.kubernetes.io/name": "grafana"}


@pytest.mark.parametrize(
    ("candidate", "told", "is_one"),
    [
        (workload(container("docker.io/grafana/grafana:13.2.0")), None, True),
        (workload(container("grafana/grafana-enterprise")), None, True),
        (workload(container("rancher/mirrored-grafana-grafana:11", name="grafana")), None, True),
        (workload(container("grafana/grafana-oss-arm64", name="grafana")), None, True),
        (workload(container("openshift/origin-grafana"), labels=BY_LABEL), None, True),
        (workload(container("registry.local/team/dashboards"), template_labels=BY_LABEL), None, True),
        (workload(container("registry.local/team/dashboards")), None, False),
        (workload(container("registry.local/team/dashboards")), "mon/g", True),
        (workload(container("registry.local/team/dashboards")), "mon/other", False),
        (workload(container("grafana/loki", name="loki"), labels={"app.kubernetes.io/name": "loki"}), None, False),
        (workload(container("x"), labels={"app.kubernetes.io/name": "grafana-image-renderer"}), None, False),
        (workload(container("x"), init=(container("grafana/grafana", name="grafana"),)), None, False),
    ],
    ids=[
        "image", "enterprise", "mirror", "other architecture", "label", "label of its pods", "nothing says so",
        "the user says so", "the user names another", "another program of Grafana Labs", "its image renderer",
        "before another program",
    ],
)  # fmt: skip
def test_recognised(candidate: Object, told: str | None, is_one: bool) -> None:
    """By its image, by what it is called, or because the user names it; then its sidecar is looked for too."""
    assert bool(recognised(candidate, told=told)) is is_one

    watched = [*candidate["spec"]["template"]["spec"]["containers"], container("k8s-sidecar", LABEL="dashboard")]
    beside = workload(
        *watched,
        labels=candidate["metadata"]["labels"],
        template_labels=candidate["spec"]["template"]["metadata"]["labels"],
        init=tuple(candidate["spec"]["template"]["spec"]["initContainers"]),
    )
    assert sidecar_labels([beside], [], told=told).dashboards == (("dashboard",) if is_one else ())


SIDECAR = container("quay.io/kiwigrid/k8s-sidecar:2", name="g-sc-dashboard", LABEL="running")
EARLY = container("quay.io/kiwigrid/k8s-sidecar:2", name="g-init-sc-dashboard", LABEL="early")
NATIVE = {**container("quay.io/kiwigrid/k8s-sidecar:2", name="g-init-sc-dashboard", LABEL="native")} | {
    "restartPolicy": "Always"
}
MIRROR = container("rancher/mirrored-kiwigrid-k8s-sidecar:2", name="watch", LABEL="mirrored-dashboards")
GRAFANA = container("grafana/grafana", name="grafana")


@pytest.mark.parametrize(
    ("candidate", "label", "only_at_start"),
    [
        (workload(SIDECAR, GRAFANA), "running", False),
        (workload(GRAFANA, SIDECAR, init=(EARLY,)), "running", False),
        (workload(GRAFANA, init=(NATIVE,)), "native", False),
        (workload(GRAFANA, init=(EARLY, NATIVE)), "native", False),
        (workload(GRAFANA, init=(EARLY,)), "early", True),
        (workload(GRAFANA, MIRROR), "mirrored-dashboards", False),
    ],
    ids=["beside it", "both", "native sidecar", "native and early", "before it only", "mirrored image"],
)
def test_sidecar_that_counts(candidate: Object, label: str, only_at_start: bool) -> None:
    """One that runs beside Grafana comes first; one that only runs before it starts is known as such."""
    (found,) = recognised(candidate)

    assert found.sidecar is not None
    assert (found.sidecar.label, found.sidecar.only_at_start) == (label, only_at_start)


@pytest.mark.parametrize(("resource", "loads"), [("secret", False), ("both", True), ("configmap", True), (None, True)])
def test_dashboards_that_a_sidecar_loads(resource: str | None, loads: bool) -> None:
    """One that reads Secrets only loads no dashboard from a ConfigMap; without a word it reads ConfigMaps."""
    told = {"RESOURCE": resource} if resource else {}
    (found,) = recognised(
        workload(GRAFANA, container("k8s-sidecar", name="g-sc-dashboard", LABEL="d", NAMESPACE="ALL", **told))
    )
    config_map = {"metadata": {"name": "m", "namespace": "x", "labels": {"d": "1"}}, "data": {"a.json": '{"uid": "a"}'}}

    assert found.sidecar is not None
    loaded = loaded_dashboards([found.sidecar], [config_map], own_sets=())
    assert [each.uid for each in loaded] == (["a"] if loads else [])


def administrator(**variables: Any) -> Grafana:
    """Return a Grafana that is told of its administrator: a value, or the (Secret, key) that holds it."""
    env = [
        {"name": f"GF_SECURITY_ADMIN_{name}", "valueFrom": {"secretKeyRef": {"name": told[0], "key": told[1]}}}
        if isinstance(told, tuple)
        else {"name": f"GF_SECURITY_ADMIN_{name}", "value": told}
        for name, told in variables.items()
    ]
    (found,) = recognised(workload({**GRAFANA, "env": env}))
    return found


@pytest.mark.parametrize(
    ("variables", "user", "password"),
    [
        ({}, "admin", None),
        ({"PASSWORD": "hunter2"}, "admin", None),
        ({"PASSWORD": ("s", "admin-password")}, "admin", ("s", "admin-password")),
        ({"USER": "root", "PASSWORD": ("s", "pw")}, "root", ("s", "pw")),
        ({"USER": ("t", "u"), "PASSWORD": ("s", "pw")}, ("t", "u"), ("s", "pw")),
    ],
    ids=["Grafana's own", "a literal", "the password", "another name", "both"],
)
def test_administrator(variables: dict[str, Any], user: Any, password: tuple[str, str] | None) -> None:
    """Which Secret and which key hold the admin's name and password is read from the workload; no value is kept."""
    found = administrator(**variables)

    assert found.admin_user == user
    assert (found.admin_secret and (found.admin_secret, found.admin_password_key)) == password
    assert "hunter2" not in repr(found)


def test_a_file_of_datasources_with_a_date_that_is_none() -> None:
    """It is a file that cannot be read, as one that is no YAML: nothing is known of it, and the look goes on."""
    unread: dict[str, str] = {}
    assert list(read_datasources("datasources: [{name: a, made: 2021-13-45}]", "here", unread)) == []
    assert unread == {"here": "it is not YAML"}
