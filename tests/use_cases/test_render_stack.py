"""A render with the stack: what Helm is asked for, what becomes of what it makes, and the files it is written to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.adapters.helm import ChartInfo
from kvobs.errors import ActionError, UsageError
from kvobs.settings import CHART, CHART_VERSION, KUBERNETES_VERSION, Settings
from kvobs.stack.facts import Object
from kvobs.stack.file_names import KUSTOMIZATION, MARK
from kvobs.stack.manifests import to_yaml
from kvobs.stack.objects import kind_of
from kvobs.use_cases.render import Rendered, images, rbac, render
from kvobs.use_cases.render_files import split, write

TOKEN = "c2VjcmV0LXRva2Vu"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "prometheuses.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "names": {"kind": "Prometheus", "plural": "prometheuses"},
        "scope": "Namespaced",
    },
}


class FakeHelm:
    """Renders a chart of four objects whose Secret and images say what the values say; notes what it was asked."""

    def __init__(self, version: str = CHART_VERSION) -> None:
        self.version = version
        self.asked: list[dict[str, Any]] = []

    def chart(self, ref: str, version: str | None = None) -> ChartInfo:
        """Say what the chart is."""
        return ChartInfo(name="kube-prometheus-stack", version=self.version)

    def template(self, name: str, chart: str, *, values: Mapping[str, Any], **given: Any) -> tuple[Object, ...]:
        """Render the chart."""
        self.asked.append({"name": name, "chart": chart, "values": values, **given})
        registry = values.get("global", {}).get("imageRegistry") or "quay.io"
        spec: Object = {"image": f"{registry}/prometheus/prometheus:v3"}
        extra = values.get("extra")
        if extra:
            spec["containers"] = [{"name": "extra", "image": extra}]
        held = {"config": values.get("alertmanager", {}).get("config", "ZGVmYXVsdA==")}
        role = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
        group = "rbac.authorization.k8s.io/v1"
        return (
            CRD,
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "alertmanager"}, "data": held},
            {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "p"}, "spec": spec},
            {"apiVersion": group, "kind": "ClusterRole", "metadata": {"name": "p"}, "rules": [role]},
        )


def kinds(rendered: Rendered) -> list[str]:
    """Return the kinds of what was rendered, in its order, each once."""
    return list(dict.fromkeys(kind_of(each).partition(".")[0] for each in rendered.objects))


def test_helm_is_asked_for_what_install_installs() -> None:
    """The chart, its version, the release's values and a Kubernetes that is always the same: no cluster is asked."""
    helm = FakeHelm()
    render(Settings(release="kps", namespace="obs", set_values=("a.b=1",)), with_stack=True, helm=helm)

    first = helm.asked[0]
    assert (first["name"], first["chart"], first["version"]) == ("kps", CHART, CHART_VERSION)
    assert (first["namespace"], first["kube_version"], first["include_crds"]) == ("obs", KUBERNETES_VERSION, True)
    assert first["values"]["a"] == {"b": 1}
    assert first["values"]["grafana"]["admin"]["existingSecret"] == "kps-grafana-admin"


def test_the_stack_and_ours_in_one_order() -> None:
    """The namespace is first, then definitions and what others need; our monitors and dashboards stand among them."""
    rendered = render(Settings(), with_stack=True, helm=FakeHelm())

    assert kinds(rendered) == [
        *("Namespace", "CustomResourceDefinition", "ClusterRole", "ConfigMap", "Secret"),
        *("PodMonitor", "Prometheus", "ServiceMonitor"),
    ]
    assert len(rendered.objects) == len(render().objects) + 5
    assert {each["metadata"].get("namespace") for each in rendered.objects} == {None, "monitoring"}


def test_without_the_stack_no_helm_is_asked() -> None:
    """A plain render asks no Helm, and holds no object of the chart."""
    helm = FakeHelm()

    assert kinds(render(helm=helm)) == ["ServiceMonitor", "PodMonitor", "ConfigMap"]
    assert helm.asked == []


def test_a_secret_of_the_users_is_nowhere() -> None:
    """A token in the values is in no object, no note and no repr; the Secret that would hold it is named."""
    rendered = render(Settings(set_values=(f"alertmanager.config={TOKEN}",)), with_stack=True, helm=FakeHelm())

    assert TOKEN not in to_yaml(rendered.objects, public=rendered.public)
    assert TOKEN not in repr(rendered)
    assert "Secret" not in kinds(rendered)
    assert [note.id for note in rendered.notes] == ["admin-secret", "secret-left-out"]
    assert rendered.exit_code == 0


def test_a_secret_of_the_chart_is_whole() -> None:
    """What the chart's own Secret holds is no secret: it is rendered as it is, so that Alertmanager can start."""
    rendered = render(Settings(set_values=("a=b",)), with_stack=True, helm=FakeHelm())

    assert "config: ZGVmYXVsdA==" in to_yaml(rendered.objects, public=rendered.public)
    assert "ZGVmYXVsdA==" not in to_yaml(rendered.objects)


@pytest.mark.parametrize("what", [lambda s, h: render(s, with_stack=True, helm=h), lambda s, h: images(s, helm=h)])
def test_an_old_chart_is_refused(what: Any) -> None:
    """A folder with a chart that is too old is found out by what it says itself."""
    with pytest.raises(UsageError, match=r"kube-prometheus-stack 62\.1\.0 is older"):
        what(Settings(chart="./kube-prometheus-stack"), FakeHelm("62.1.0"))


def test_reuse_has_no_stack_to_render() -> None:
    """There is no chart where a stack is reused."""
    with pytest.raises(UsageError, match="cannot reuse"):
        render(Settings(stack="reuse"), with_stack=True, helm=FakeHelm())


# --- images ---


def test_images_without_a_registry() -> None:
    """The images are listed as the chart names them, the chart itself like one of them."""
    listed = images(helm=FakeHelm())

    assert [(each.source, each.target) for each in listed.images] == [("quay.io/prometheus/prometheus:v3", None)]
    assert listed.chart_image is not None
    assert listed.chart_image.source == f"{CHART.removeprefix('oci://')}:{CHART_VERSION}"
    assert (listed.missed, listed.exit_code) == ((), 0)


@pytest.mark.parametrize("given", [(), ("global.imageRegistry=elsewhere.io",)], ids=["alone", "over the values'"])
def test_images_with_a_registry(given: tuple[str, ...]) -> None:
    """Each image is listed with what it is called in the registry; so is the chart."""
    listed = images(Settings(image_registry="r.io:5000/m", set_values=given), helm=FakeHelm())

    assert [(each.source, each.target) for each in listed.images] == [
        ("quay.io/prometheus/prometheus:v3", "r.io:5000/m/prometheus/prometheus:v3")
    ]
    assert listed.chart_image is not None
    assert listed.chart_image.target == (
        f"r.io:5000/m/prometheus-community/charts/kube-prometheus-stack:{CHART_VERSION}"
    )


def test_an_image_that_is_not_reached() -> None:
    """An image that the values name whole stays where it is: it is said, and the list is no promise any more."""
    listed = images(Settings(image_registry="r.io", set_values=("extra=docker.io/own/tool:1",)), helm=FakeHelm())

    assert listed.missed == ("docker.io/own/tool:1",)
    assert listed.exit_code == 1


@pytest.mark.parametrize(
    ("chart", "version", "source"),
    [
        ("oci://r.io/kube-prometheus-stack", "88.0.0+build.1", "r.io/kube-prometheus-stack:88.0.0_build.1"),
        ("prometheus-community/kube-prometheus-stack", "88.0.0", None),
        ("./kube-prometheus-stack", "88.0.0", None),
    ],
)
def test_where_the_chart_is(chart: str, version: str, source: str | None) -> None:
    """A chart from a registry is listed by its tag, in which a plus is an underscore; any other is at hand already."""
    listed = images(Settings(chart=chart), helm=FakeHelm(version))

    assert (listed.chart_image.source if listed.chart_image else None) == source
    assert listed.chart_version == version


# --- rbac ---


def roles(rendered: Rendered) -> dict[tuple[str, str], list[Object]]:
    """Return the rules of each role by its name and namespace."""
    return {
        (each["metadata"]["name"], each["metadata"].get("namespace", "")): each["rules"]
        for each in rendered.objects
        if each["kind"] in ("Role", "ClusterRole")
    }


def test_rights_of_a_reuse_take_no_helm() -> None:
    """Beside somebody's stack the account sees, and keeps kvobs' own objects; no Secret, no workload, no role."""
    helm = FakeHelm()
    found = roles(rbac(Settings(stack="reuse", namespace="obs"), helm=helm))

    assert helm.asked == []
    assert set(found) == {("kvobs-look", ""), ("kvobs-prove", "obs"), ("kvobs", ""), ("kvobs", "obs")}
    written = {
        resource
        for rules in found.values()
        for rule in rules
        if {*rule["verbs"]} & {"create", "update", "patch", "delete"}
        for resource in rule["resources"]
    }
    assert written == {"configmaps", "leases", "servicemonitors", "podmonitors", "clusterpolicies"}
    assert not [rule for rules in found.values() for rule in rules if "secrets" in rule["resources"]]


@pytest.mark.parametrize(
    ("settings", "namespace", "names"),
    [
        (Settings(namespace="obs"), "obs", ["kube-prometheus-stack-prometheus:http-web"]),
        (
            Settings(namespace="obs", release="kps", set_values=("prometheus.prometheusSpec.portName=web",)),
            "obs",
            ["kps-kube-prometheus-stack-prometheus:web"],
        ),
        (Settings(namespace="obs", stack="reuse"), "obs", None),
        (Settings(namespace="obs", stack="reuse", prometheus="theirs/k8s"), "theirs", None),
    ],
    ids=["ours", "ours, named otherwise", "somebody's", "somebody's, elsewhere"],
)
def test_the_right_to_ask_prometheus(settings: Settings, namespace: str, names: list[str] | None) -> None:
    """It is to get, of one Service with its port where that is known, else of those in Prometheus' namespace."""
    ((at, (rule,)),) = (each for each in roles(rbac(settings, helm=FakeHelm())).items() if each[0][0] == "kvobs-prove")

    assert at == ("kvobs-prove", namespace)
    assert (rule["resources"], rule["verbs"], rule.get("resourceNames")) == (["services/proxy"], ["get"], names)


def test_rights_without_a_cluster_policy() -> None:
    """Told to leave the GPU Operator's field alone, kvobs needs no right to it."""
    found = roles(rbac(Settings(stack="reuse", dcgm="exporter"), helm=FakeHelm()))

    assert ("kvobs", "") not in found


def test_rights_of_an_install() -> None:
    """For a stack of ours: the chart's kinds, what its roles grant and no escalation; never all of anything."""
    rendered = rbac(Settings(namespace="obs"), helm=FakeHelm())
    found = roles(rendered)

    assert rendered.objects[0]["kind"] == "Namespace"
    assert found["kvobs-grant", ""] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
    assert {resource for rule in found["kvobs-helm", ""] for resource in rule["resources"]} == {
        "customresourcedefinitions",
        "clusterroles",
    }
    everything = [rule for rules in found.values() for rule in rules]
    assert not [rule for rule in everything if {"*", "escalate", "bind", "impersonate"} & {*rule["verbs"]}]
    assert not [rule for rule in everything if "*" in (*rule["resources"], *rule["apiGroups"])]


def test_bindings_are_of_the_account() -> None:
    """Every role is bound, to the account and to nobody else."""
    rendered = rbac(Settings(namespace="obs"), helm=FakeHelm())
    bindings = [each for each in rendered.objects if each["kind"].endswith("Binding")]

    assert {(each["roleRef"]["name"], each["metadata"].get("namespace", "")) for each in bindings} == set(
        roles(rendered)
    )
    subject = {"kind": "ServiceAccount", "name": "kvobs", "namespace": "obs"}
    assert [each["subjects"] for each in bindings] == [[subject]] * len(bindings)


# --- files ---


def objects(*names: str) -> Rendered:
    """Return a render of ConfigMaps."""
    return Rendered(
        objects=tuple({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in names),
        refused=(),
    )


def content(folder: Path) -> dict[str, str]:
    """Return what stands in a folder."""
    return {each.name: each.read_text() for each in folder.iterdir()}


def test_a_folder_is_kept(tmp_path: Path) -> None:
    """A second split writes the same bytes; one with other objects takes away the files of those that are gone."""
    first = split(objects("a", "b"), str(tmp_path))
    before = content(tmp_path)
    assert first.removed == ()
    assert set(before) == {"configmap-a.yaml", "configmap-b.yaml", KUSTOMIZATION}
    assert yaml.safe_load(before[KUSTOMIZATION])["resources"] == ["configmap-a.yaml", "configmap-b.yaml"]

    assert split(objects("a", "b"), str(tmp_path)).removed == ()
    assert content(tmp_path) == before
    assert split(objects("b", "c"), str(tmp_path)).removed == (str(tmp_path / "configmap-a.yaml"),)
    assert yaml.safe_load(content(tmp_path)[KUSTOMIZATION])["resources"] == ["configmap-b.yaml", "configmap-c.yaml"]


@pytest.mark.parametrize("name", ["configmap-a.yaml", KUSTOMIZATION])
@pytest.mark.parametrize("text", ["", "mine", f"{MARK} ", f"\n{MARK}\n"])
def test_a_file_of_somebody_else_stays(tmp_path: Path, name: str, text: str) -> None:
    """A file that does not begin with our line is neither overwritten nor deleted, and nothing else is written."""
    (tmp_path / name).write_text(text)
    with pytest.raises(ActionError, match=rf"already has {name}"):
        split(objects("a"), str(tmp_path))

    assert content(tmp_path) == {name: text}


def test_what_else_is_in_the_folder_stays(tmp_path: Path) -> None:
    """Other people's files and folders, links, and a file of ours with another ending, are left alone."""
    (tmp_path / "own.yaml").write_text("mine")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "kept.txt").write_text(f"{MARK}\n")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "kept.txt")
    split(objects("a"), str(tmp_path))
    assert split(objects("b"), str(tmp_path)).removed == (str(tmp_path / "configmap-a.yaml"),)

    assert {each.name for each in tmp_path.iterdir()} == {
        *("own.yaml", "folder.yaml", "kept.txt", "link.yaml"),
        *("configmap-b.yaml", KUSTOMIZATION),
    }


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link in place of a file is not ours, whatever it leads to: nothing outside the folder is written."""
    outside = tmp_path / "outside"
    outside.write_text(f"{MARK}\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "configmap-a.yaml").symlink_to(outside)
    with pytest.raises(ActionError, match="already has"):
        split(objects("a"), str(folder))

    assert outside.read_text() == f"{MARK}\n"


def test_plain_files(tmp_path: Path) -> None:
    """Without --split each object is a file, and nothing else is touched or written."""
    (tmp_path / "configmap-old.yaml").write_text("mine")
    written = write(objects("a"), str(tmp_path))

    assert written.files == (str(tmp_path / "configmap-a.yaml"),)
    assert set(content(tmp_path)) == {"configmap-a.yaml", "configmap-old.yaml"}
    assert MARK not in content(tmp_path)["configmap-a.yaml"]


def test_a_name_that_leads_out_of_the_folder(tmp_path: Path) -> None:
    """An object whose name is a path is refused before a file is written."""
    with pytest.raises(ActionError, match="no API server takes"):
        split(objects("a", "../../evil"), str(tmp_path / "folder"))

    assert list(tmp_path.iterdir()) == []
