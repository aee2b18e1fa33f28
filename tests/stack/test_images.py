"""A registry of one's own reaches every image of the stack, and a list names them all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from kvobs.errors import UsageError
from kvobs.settings import Settings
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts
from kvobs.stack.images import image_places, image_values, images_of, without_image
from kvobs.stack.merge import deep_merge
from kvobs.stack.objects import kind_of
from kvobs.stack.values import given_values, stack_values
from tests.cluster.charts import Object, chart_under_test, real_chart, rendered

from .clusters import stack

REGISTRY = "registry.local:5000/mirror"
SECRETS = ("pull-a", "pull-b")
PARTS = """
grafana: {persistence: {enabled: true}}
thanosRuler: {enabled: true}
windowsMonitoring: {enabled: true}
prometheusOperator: {admissionWebhooks: {deployment: {enabled: true}}}
prometheus: {prometheusSpec: {thanos: {}}}
"""
"""Parts that are off by default; the small chart has not all of them, and passes over the rest."""
MORE = """
kube-state-metrics: {kubeRBACProxy: {enabled: true}}
prometheus-node-exporter: {kubeRBACProxy: {enabled: true}}
grafana:
  imageRenderer: {enabled: true}
  dashboards: {default: {one: {url: "http://example.com/one.json"}}}
  sidecar: {alerts: {enabled: true}, plugins: {enabled: true}, dashboards: {initDashboards: true}}
"""

LOOKS_LIKE_ONE = re.compile(r"(?:[a-z0-9.-]+\.[a-z]{2,}(?::\d+)?/)[a-z0-9._/-]+:v?\d[\w.-]*")
"""Host, path and tag: how the charts write every image."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mapping[str, Any]], list[Object]]:
    """Render the chart under test with all of its parts and *values*, CRDs aside."""
    known = yaml.safe_load(PARTS)
    if real_chart() is not None:
        known = deep_merge(known, yaml.safe_load(MORE))
    file = tmp_path_factory.mktemp("values") / "values.yaml"

    def render(values: Mapping[str, Any]) -> list[Object]:
        file.write_text(json.dumps(deep_merge(known, values)))
        return rendered(chart_under_test(), "--values", file)

    return render


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


def pods(value: Any) -> Iterator[Object]:
    """Yield every part that says how its pods pull images: pod specs, and the operator's objects that become some."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for each in value.values():
            yield from pods(each)
    elif isinstance(value, list):
        for each in value:
            yield from pods(each)


Made = Callable[[Mapping[str, Any]], list[Object]]


def outside(objects: list[Object]) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of all that looks like an image from anywhere but the registry, wherever it stands."""
    for each in objects:
        if kind_of(each) in ("ConfigMap", "PrometheusRule.monitoring.coreos.com"):
            continue
        for text in texts(each):
            for found in LOOKS_LIKE_ONE.findall(text.partition("=")[2] or text):
                if not found.startswith(f"{REGISTRY}/"):
                    yield kind_of(each), found


def test_a_registry_reaches_every_image(made: Made) -> None:
    """With a registry nothing looks like an image from elsewhere: in containers, arguments, custom objects."""
    before, after = made({}), made(image_values(REGISTRY, ()))

    assert len(list(outside(before))) >= 9
    assert list(outside(after)) == []
    assert without_image(after) == ()
    assert {image.removeprefix(f"{REGISTRY}/") for image in images_of(after)} == {
        image.partition("/")[2] for image in images_of(before)
    }


def test_the_list_holds_every_image(made: Made) -> None:
    """All that looks like an image, in any object, is listed."""
    objects = made({})

    assert {text for _, text in outside(objects)} <= set(images_of(objects))
    names = {image.rpartition("/")[2].partition(":")[0] for image in images_of(objects)}
    assert {
        *("prometheus", "alertmanager", "prometheus-operator", "prometheus-config-reloader", "thanos"),
        *("kube-webhook-certgen", "grafana", "k8s-sidecar", "kube-state-metrics", "node-exporter"),
    } <= names


def test_pull_secrets_reach_every_pod(made: Made) -> None:
    """Each pod template, and each object that the operator makes pods of, pulls with the Secrets."""
    wanted = [{"name": name} for name in SECRETS]
    objects = made(image_values(None, SECRETS))
    custom = [each["spec"] for each in objects if each["kind"] in ("Prometheus", "Alertmanager", "ThanosRuler")]
    templates = [pod for each in objects for pod in pods(each.get("spec")) if pod not in custom]

    assert len(custom) >= 2
    assert len(templates) >= 6
    assert [each for each in (*custom, *templates) if each.get("imagePullSecrets") != wanted] == []


CONTAINER = {"name": "a", "image": "quay.io/a/a:1"}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "want"),
    [
        ("v1", "Pod", {"containers": [CONTAINER], "initContainers": [{"image": "b:2"}]}, ["quay.io/a/a:1", "b:2"]),
        (
            "batch/v1",
            "CronJob",
            {"jobTemplate": {"spec": {"template": {"spec": {"containers": [CONTAINER]}}}}},
            ["quay.io/a/a:1"],
        ),
        ("v1", "Pod", {"containers": [], "volumes": [{"image": {"reference": "data:3"}}]}, ["data:3"]),
        ("monitoring.coreos.com/v1", "Prometheus", {"image": "p:1", "thanos": {"image": "t:1"}}, ["p:1", "t:1"]),
        ("monitoring.coreos.com/v1", "Prometheus", {"containers": [{"name": "x"}]}, []),
        ("apps/v1", "Deployment", {"template": {"spec": {"containers": [{"args": ["--x-base-image=t:2"]}]}}}, ["t:2"]),
        (
            "apps/v1",
            "Deployment",
            {"containers": [{"args": ["--prometheus-config-reloader=r:2", "--web=x:1"]}]},
            ["r:2"],
        ),
        ("v1", "Pod", {"containers": [{"command": ["run", "--image=c:4"]}, "odd"]}, ["c:4"]),
        ("v1", "ConfigMap", {"containers": [CONTAINER]}, []),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"containers": [CONTAINER]}, []),
        ("example.com/v1", "Odd", {"image": "no"}, []),
    ],
)
def test_where_images_are(api_version: str, kind: str, spec: Object, want: list[str]) -> None:
    """Pods of any kind of object name images, the operator's objects and arguments do, and nothing else."""
    each = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}

    assert [image for _, image in image_places([each])] == want
    assert images_of([each, each]) == tuple(sorted(want))


def test_an_object_without_image_is_named() -> None:
    """For a Prometheus that names no image the operator takes its own, which no list could know: it is named."""
    spec: Object = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "x"}}

    assert [str(at) for at in without_image([spec, {**spec, "spec": {"image": "p:1"}}])] == ["Prometheus x"]


@pytest.mark.parametrize("registry", ["r.io", "r.io:5000", "localhost:5000/a/b-c", "[::1]:5000/a", "R.io/a__b.c", ""])
def test_a_registry_that_can_be(registry: str) -> None:
    """A host, with a port, with a path; an empty text takes an earlier one back."""
    assert Settings(image_registry=registry).image_registry == registry


@pytest.mark.parametrize(
    "registry", ["https://r.io", "r.io/", "r.io//a", "r.io/A", "/a", "r.io/a b", "r.io/../x", "r.io:x", "r.io/a:1"]
)
def test_a_registry_that_cannot_be(registry: str) -> None:
    """What no image's name could begin with is refused at the edge, with an example."""
    with pytest.raises(UsageError, match="HOST") as refused:
        Settings(image_registry=registry)
    assert "registry.example.com/mirror" in (refused.value.hint or "")


@pytest.mark.parametrize("names", [("A",), ("a/b",), ("a", ""), ("-a",), ("a" * 254,)])
def test_pull_secrets_that_cannot_be(names: tuple[str, ...]) -> None:
    """What is no name of a Secret is refused at the edge; an empty one is, beside others."""
    with pytest.raises(UsageError, match="no name of a Secret"):
        Settings(image_pull_secrets=names)


def values_of(facts: Facts, **given: Any) -> Mapping[str, Any]:
    """Return the values of the release that is chosen for *facts*."""
    release = choose(facts, Settings(**given)).release
    assert release is not None
    return release.values


NOTHING = Facts(server_version="", kinds=frozenset())


def test_an_install_is_told() -> None:
    """The flags are in the values of a release of ours, over what a values file says of the same."""
    given = {"global": {"imageRegistry": "other.io", "rbac": {"create": True}}}
    told = values_of(NOTHING, values=(given,), image_registry=REGISTRY, image_pull_secrets=SECRETS)

    assert told["global"] == {
        "imageRegistry": REGISTRY,
        "imagePullSecrets": [{"name": name} for name in SECRETS],
        "rbac": {"create": True},
    }
    assert "global" not in values_of(NOTHING)


def test_a_reused_stack_has_its_own_images() -> None:
    """Beside somebody's stack kvobs runs nothing that has an image: the flags are refused, not passed over."""
    for given in ({"image_registry": REGISTRY}, {"image_pull_secrets": SECRETS}):
        with pytest.raises(UsageError, match="runs nothing that has an image"):
            choose(stack(), Settings(**given))
    choose(stack(), Settings(image_registry=""))


def test_a_later_run_takes_them_back_whole() -> None:
    """What the flags put into a release is not taken for a value of the user's by a run that keeps the values."""
    user = {"global": {"rbac": {"create": True}}, "a": 1}
    images = image_values(REGISTRY, SECRETS)
    stored = deep_merge(stack_values(user, admin_secret="s"), images)

    assert given_values(stored, admin_secret="s", images=images) == user
    assert (
        given_values(stored, admin_secret="s", images=image_values("r.io", ()))["global"]["imageRegistry"] == REGISTRY
    )
