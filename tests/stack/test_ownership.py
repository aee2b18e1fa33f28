"""Whose an object of our name is, and how a field that somebody else has is named."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.facts import Object
from kvobs.stack.objects import PART_OF_LABEL
from kvobs.stack.ownership import fields_named, looked_after_by, may_be_taken


def live(kind: str = "ConfigMap", **metadata: Any) -> Object:
    """Return somebody's object."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "mon", **metadata}}


HELM = {"meta.helm.sh/release-name": "boards", "meta.helm.sh/release-namespace": "obs"}
ARGO_CD = {"argocd.argoproj.io/tracking-id": "obs:/ConfigMap:mon/x"}
FLUX = {"helm.toolkit.fluxcd.io/name": "boards", "helm.toolkit.fluxcd.io/namespace": "flux"}


@pytest.mark.parametrize(
    ("found", "owner", "taken"),
    [
        (live(), None, True),
        (live(labels={"app.kubernetes.io/managed-by": "kvobs"}), None, True),
        (live(annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"}), None, True),
        (live(ownerReferences=[{"kind": "Team", "name": "t"}]), None, True),
        (live("Secret"), None, False),
        (live(annotations=HELM), "Helm release obs/boards", False),
        (live(annotations=HELM, labels=FLUX), "Flux HelmRelease flux/boards", False),
        (live(annotations=ARGO_CD), "Argo CD application obs", False),
        (live(labels={PART_OF_LABEL: "applyset-x-v1"}), "another ApplySet (applyset-x-v1)", False),
        (live(ownerReferences=[{"kind": "Team", "name": "t", "controller": True}]), "Team t", False),
    ],
    ids=[
        "nobody's", "rendered", "by kubectl", "owned, not controlled", "a Secret", "Helm", "Flux", "Argo CD",
        "another ApplySet", "an operator",
    ],
)  # fmt: skip
def test_who_looks_after_it(found: Object, owner: str | None, taken: bool) -> None:
    """What somebody looks after is never taken, nor is a Secret; everything else is, where the user says so."""
    assert looked_after_by(found) == owner
    assert may_be_taken(found) is taken


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".metadata.labels.a.b/c", 'has it at "1"'),
        (".data.board.json", 'has it at "{'),
        (".spec.endpoints", 'has it at [{"port": "web"}]'),
        ('.spec.ports[name="web"].port', 'manager "x"'),
        (".spec.gone", 'manager "x"'),
    ],
)
def test_field_and_value(path: str, shown: str) -> None:
    """A value is named by the path that the API server writes, with dots in keys; long ones are shortened."""
    there = live(labels={"a.b/c": "1", "a": "2"}) | {
        "data": {"board.json": "{" + "x" * 99},
        "spec": {"endpoints": [{"port": "web"}], "ports": [{"name": "web", "port": 1}]},
    }
    said = fields_named([(path, "x")], there)

    assert said.startswith(f'{path} belongs to field manager "x"')
    assert said.partition(path)[2].rpartition(shown)[1] == shown
    assert len(said) < 150
