"""What is foretold about the stack, held against what the charts really render."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from kvobs.settings import Settings
from kvobs.stack.chart import (
    datasource_of,
    grafana_of,
    names_of,
    prometheus_of,
    sidecar_of,
)
from kvobs.stack.facts import Facts
from kvobs.stack.recognise import Snapshot, facts
from kvobs.stack.values import read_values, stack_values
from tests.cluster import charts
from tests.cluster.charts import CASES, Object, rendered

NAMESPACE = "monitoring"
RELEASES = (
    "kube-prometheus-stack",
    "kps",
    # As long as a name may be: where the names are cut, and a dash at the cut.
    "a-release-with-quite-long-name",
    "a-release-name-of-25-chars-x",
    "grafana-and-kube-prometheus-stack-with-53-characters",
)
CHARTS = [charts.small_chart(), *([charts.real_chart()] if charts.real_chart() else [])]

NO_VALUES = Path("no-values.yaml")
MORE = sorted((Path(__file__).parent.parent / "data" / "values" / "stack").glob("*.yaml"))
"""Values beyond what the small chart has an interface for: compared with the real chart alone."""

GROUPS = {
    "Deployment": "Deployment.apps",
    "StatefulSet": "StatefulSet.apps",
    "Prometheus": "Prometheus.monitoring.coreos.com",
}


def values_of(case: Path) -> dict[str, Any]:
    """Return the values of a case."""
    return {} if case is NO_VALUES else read_values(case.read_text(), where=case.name)


@functools.cache
def objects(chart: Path, release: str, case: Path) -> tuple[Object, ...]:
    """Return what the chart renders, with the annotations that Helm adds when it installs."""
    arguments = [] if case is NO_VALUES else ["--values", case]
    made = rendered(chart, *arguments, release=release)
    for each in made:
        each["metadata"].setdefault("namespace", NAMESPACE)
        each["metadata"]["annotations"] = {
            **(each["metadata"].get("annotations") or {}),
            "meta.helm.sh/release-name": release,
            "meta.helm.sh/release-namespace": NAMESPACE,
        }
    return tuple(made)


def seen(chart: Path, release: str, case: Path) -> Facts:
    """Return what a look at a cluster would make of the rendered objects."""
    by_kind: dict[str, list[Object]] = {}
    for each in objects(chart, release, case):
        by_kind.setdefault(GROUPS.get(each["kind"], each["kind"]), []).append(each)
    return facts(Snapshot(server_version="", kinds=frozenset(by_kind), objects=by_kind), settings=Settings())


def named(chart: Path, release: str, case: Path, kind: str) -> set[tuple[str, str]]:
    """Return (namespace, name) of every rendered object of a kind."""
    return {
        (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in objects(chart, release, case)
        if each["kind"] == kind
    }


each_rendering = pytest.mark.parametrize(
    ("chart", "release", "case"),
    [
        pytest.param(chart, release, case, id=f"{'small' if chart == CHARTS[0] else 'real'}-{release}-{case.stem}")
        for chart in CHARTS
        for case in [NO_VALUES, *CASES, *(MORE if chart != CHARTS[0] else [])]
        for release in (RELEASES if case is NO_VALUES or "names" in case.stem else RELEASES[:2])
    ],
)


@each_rendering
def test_prometheus_and_grafana(chart: Path, release: str, case: Path) -> None:
    """A look at the cluster finds the Prometheus and the Grafana that were foretold, field by field."""
    values = values_of(case)
    found = seen(chart, release, case)
    prometheus, grafana = prometheus_of(release, NAMESPACE, values), grafana_of(release, NAMESPACE, values)

    assert found.prometheuses == ((prometheus,) if prometheus else ())
    assert [comparable(each) for each in found.grafanas] == ([comparable(grafana)] if grafana else [])


def comparable(grafana: Any) -> dict[str, Any]:
    """Return Grafana's facts without datasources that are not Prometheus' own; those are the user's to know."""
    fields = {name: getattr(grafana, name) for name in grafana.__dataclass_fields__}
    default = [each for each in grafana.datasources if each.type == "prometheus"][:1]
    return {
        **fields,
        "datasources": [(each.uid, each.name, each.url, each.is_default, each.time_interval) for each in default],
    }


@each_rendering
def test_names(chart: Path, release: str, case: Path) -> None:
    """Every name that is foretold is the name of what is rendered; None is said where there is nothing."""
    names = names_of(release, NAMESPACE, values_of(case))
    made = functools.partial(named, chart, release, case)
    deployments = made("Deployment") | made("StatefulSet")

    def there(namespace: str, name: str | None, among: set[tuple[str, str]], suffix: str) -> bool:
        return (namespace, name) in among if name else not any(each[1].endswith(suffix) for each in among)

    assert there(names.namespace, names.prometheus, made("Prometheus"), "")
    assert there(names.namespace, names.prometheus_service, made("Service"), "-prometheus")
    assert there(names.namespace, names.operator, deployments, "-operator")
    assert there(names.grafana_namespace, names.grafana, deployments, "-grafana")
    assert there(names.grafana_namespace, names.grafana_service, made("Service"), "-grafana")
    assert there(names.grafana_namespace, names.datasources, made("ConfigMap"), "-datasource")
    assert names.kubelet_service == kubelet_service(chart, release, case)
    assert names.admission_secret == admission_secret(chart, release, case)


def kubelet_service(chart: Path, release: str, case: Path) -> tuple[str, str] | None:
    """Return what the rendered operator is told of the kubelets' Service."""
    told = [
        argument.removeprefix("--kubelet-service=")
        for each in objects(chart, release, case)
        if each["kind"] == "Deployment"
        for argument in each["spec"]["template"]["spec"]["containers"][0].get("args", [])
        if argument.startswith("--kubelet-service=")
    ]
    if not told:
        return None
    namespace, _, name = told[0].partition("/")
    return namespace, name


def admission_secret(chart: Path, release: str, case: Path) -> str | None:
    """Return the Secret that the rendered hook Job is told to make."""
    told = {
        argument.removeprefix("--secret-name=")
        for each in objects(chart, release, case)
        if each["kind"] == "Job"
        for argument in each["spec"]["template"]["spec"]["containers"][0]["args"]
        if argument.startswith("--secret-name=")
    }
    return told.pop() if told else None


@pytest.mark.parametrize("chart", CHARTS, ids=["small", "real"][: len(CHARTS)])
def test_our_own_values(chart: Path, tmp_path: Path) -> None:
    """With kvobs' values the Secret is named, folders follow the annotation, and two renders are equal."""
    values = stack_values({}, admin_secret="made-by-kvobs")
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))

    found = seen(chart, "kps", file)

    sidecar = found.grafanas[0].sidecar
    assert sidecar is not None
    assert sidecar == sidecar_of(values, NAMESPACE)
    assert sidecar.folder_annotation == "grafana_folder"
    assert found.grafanas[0].admin_secret == "made-by-kvobs"
    assert rendered(chart, "--values", file) == rendered(chart, "--values", file)


@pytest.mark.parametrize(
    ("values", "source"),
    [
        ({}, ("prometheus", "Prometheus")),
        ({"grafana": {"sidecar": {"datasources": {"uid": "u", "name": "n"}}}}, ("u", "n")),
        ({"grafana": {"sidecar": {"datasources": {"defaultDatasourceEnabled": False}}}}, None),
        ({"grafana": {"sidecar": {"datasources": {"enabled": False}}}}, None),
        ({"grafana": {"enabled": False}}, None),
        ({"grafana": {"enabled": False, "forceDeployDatasources": True}}, ("prometheus", "Prometheus")),
    ],
)
def test_datasource(values: dict[str, Any], source: tuple[str, str] | None) -> None:
    """The datasource has the chart's uid and name, or the user's; or there is none."""
    assert datasource_of(values) == source


@pytest.mark.parametrize(
    ("searched", "namespaces"),
    [("ALL", None), ("a, b", ("a", "b")), (["a", "ALL"], None), (["a"], ("a",)), (None, (NAMESPACE,))],
)
def test_sidecar_namespaces(searched: Any, namespaces: tuple[str, ...] | None) -> None:
    """The sidecar looks in all namespaces, in those named, or in its own."""
    sidecar = sidecar_of({"grafana": {"sidecar": {"dashboards": {"searchNamespace": searched}}}}, NAMESPACE)

    assert sidecar is not None
    assert sidecar.namespaces == namespaces
