"""From raw objects to facts: the cases are files, see `snapshots.py`."""

from __future__ import annotations

import pytest

from kvobs.stack.recognise import sidecar_labels

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
