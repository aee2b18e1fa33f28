"""Holds the small kube-prometheus-stack against the real chart, where ``KVOBS_TEST_CHART`` names one.

The rule: whatever the small chart says, the real chart says too, in the same object under the same name; and
of the kinds that kvobs reads and waits for, the small chart leaves out none. Each case is a values file that
both charts are rendered with, under a release that bears the chart's name and under one that does not.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import charts
from tests.cluster.charts import CASES, Loader, Object, rendered

REAL = charts.real_chart()
RELEASES = ("kube-prometheus-stack", "kps")

WHOLE_KINDS = {
    *("Alertmanager", "Prometheus"),
    *("DaemonSet", "Deployment", "Job"),
    *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    *("Role", "RoleBinding", "ClusterRoleBinding"),
    "Secret",
}
"""Of these kinds the small chart has every object that the real one has."""

HIDDEN = "(not compared)"

Identity = tuple[str, str, str]


def identified(objects: list[Object]) -> dict[Identity, Object]:
    """Return the objects by kind, namespace and name, without the chart's own tests."""
    return {
        (thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]): comparable(thing)
        for thing in objects
        if (thing["metadata"].get("annotations") or {}).get("helm.sh/hook") != "test"
    }


def comparable(thing: Object) -> Object:
    """Return a copy without what the small chart is free to say in its own words."""
    thing = copy.deepcopy(thing)
    kind, labels = thing["kind"], thing["metadata"].get("labels", {})
    if kind == "Secret":
        thing["data"] = dict.fromkeys(thing["data"], HIDDEN)
    elif kind == "PrometheusRule":
        thing["spec"] = HIDDEN
    elif kind == "ClusterRole" and "helm.sh/hook" not in thing["metadata"].get("annotations", {}):
        thing["rules"] = HIDDEN
    elif kind == "ConfigMap":
        thing["data"] = {key: read(key, text) for key, text in thing["data"].items()}
    elif kind in ("Deployment", "DaemonSet"):
        pod = thing["spec"]["template"]
        pod["metadata"].get("annotations", {}).update(
            {key: HIDDEN for key in pod["metadata"].get("annotations", {}) if key.startswith("checksum/")}
        )
        if labels.get("app.kubernetes.io/component") == "metrics":  # the two exporters are seen from outside
            pod["spec"]["containers"][0]["args"] = HIDDEN
    elif kind == "Job":
        pod = thing["spec"]["template"]
        pod["spec"]["containers"][0]["args"].sort()
    return thing


def read(key: str, text: str) -> Any:
    """Return what a ConfigMap's file says: provisioning as it is, of a dashboard only what identifies it."""
    if key.endswith(".json"):
        board = json.loads(text)
        return {"uid": board["uid"], "title": board["title"]}
    return yaml.load(text, Loader) if key.endswith(".yaml") else HIDDEN


def unsaid(small: Any, real: Any, path: str) -> Iterator[str]:
    """Name everything that *small* says and *real* does not; selectors and provisioning must be equal."""
    if isinstance(small, dict) and isinstance(real, dict):
        for key, value in small.items():
            if key.lower().endswith(("selector", ".yaml")) and value != real.get(key):
                yield f"{path}.{key} is {value!r}, in the real chart {real.get(key)!r}"
            elif key in real:
                yield from unsaid(value, real[key], f"{path}.{key}")
            elif value is not None:
                yield f"{path}.{key} is not in the real chart"
    elif isinstance(small, list) and isinstance(real, list) and has_names(small) and has_names(real):
        yield from unsaid({part["name"]: part for part in small}, {part["name"]: part for part in real}, path)
    elif isinstance(small, list) and isinstance(real, list) and len(small) == len(real):
        for index, (one, other) in enumerate(zip(small, real, strict=True)):
            yield from unsaid(one, other, f"{path}[{index}]")
    elif small != real:
        yield f"{path} is {small!r}, in the real chart {real!r}"


def parts_of(thing: Object) -> list[str]:
    """Return the names of what kvobs looks for in an object: selectors, ports, containers, webhooks."""
    spec = thing.get("spec", {})
    match thing["kind"]:
        case "Prometheus":
            return sorted(key for key in spec if key.endswith("Selector"))
        case "Service":
            return sorted(port["name"] for port in spec["ports"])
        case "DaemonSet" | "Deployment" | "Job":
            return sorted(container["name"] for container in spec["template"]["spec"]["containers"])
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            return sorted(webhook["name"] for webhook in thing["webhooks"])
        case _:
            return []


def has_names(parts: list[Any]) -> bool:
    """Whether this is one of Kubernetes' lists that are really maps, such as containers and ports."""
    return all(isinstance(part, dict) and "name" in part for part in parts)


def environments(objects: list[Object]) -> dict[str, Any]:
    """Return the environment of each of Grafana's sidecars, by container."""
    return {
        container["name"]: container["env"]
        for thing in objects
        if thing["kind"] == "Deployment"
        for container in thing["spec"]["template"]["spec"]["containers"]
        if container["name"].startswith("grafana-sc-")
    }


@functools.cache
def both(case: Path, release: str) -> tuple[list[Object], list[Object]]:
    """Return what a case makes of the small chart and of the real one."""
    assert REAL is not None
    small, real = (rendered(chart, "--values", case, release=release) for chart in (charts.small_chart(), REAL))
    return small, real


if REAL is not None:  # no such chart, no such tests: they would only be skipped

    @pytest.mark.parametrize("release", RELEASES)
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
    def test_small_chart_says_what_the_real_one_says(case: Path, release: str) -> None:
        """Everything in an object of the small chart is in the real chart's object of that name."""
        small, real = (identified(objects) for objects in both(case, release))

        assert [key for key in small if key not in real] == []
        assert [line for key in small for line in unsaid(small[key], real[key], "/".join(key))] == []

    @pytest.mark.parametrize("release", RELEASES)
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
    def test_small_chart_leaves_out_nothing_that_matters(case: Path, release: str) -> None:
        """What kvobs reads and waits for is all there: objects, their selectors, ports and containers."""
        small, real = (identified(objects) for objects in both(case, release))

        assert [key for key in real if key[0] in WHOLE_KINDS and key not in small] == []
        assert {key: parts_of(small[key]) for key in small} == {key: parts_of(real[key]) for key in small}

    @pytest.mark.parametrize("release", RELEASES)
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
    def test_sidecars_are_told_the_same(case: Path, release: str) -> None:
        """Grafana's sidecars get the same environment, no more and no less, in the same order."""
        small, real = (environments(objects) for objects in both(case, release))

        assert small == real
        assert len(real) == (0 if case.stem == "no-grafana" else 2)
