"""What the patch hands back besides the document."""

import dataclasses

import pytest

import kvobs
from kvobs.dashboard.document import Shape
from kvobs.dashboard.patch import Datasource, PatchedDashboard, Reference, patch_dashboard

INPUT = {"name": "DS_P", "type": "datasource", "pluginId": "prometheus"}


def board(**more):
    """Return a dashboard with one input and one panel."""
    return {"__inputs": [INPUT], "title": "x", "panels": [{"datasource": "${DS_P}", "title": "${pod}"}], **more}


def test_public_names():
    """The names of the library are those of this module."""
    assert kvobs.patch_dashboard is patch_dashboard
    assert (kvobs.PatchedDashboard, kvobs.Reference, kvobs.Datasource) == (PatchedDashboard, Reference, Datasource)


def test_frozen():
    """The account cannot be changed by who reads it."""
    patched = patch_dashboard(board())

    with pytest.raises(dataclasses.FrozenInstanceError):
        patched.document = {}
    with pytest.raises(AttributeError):
        patched.references[0].now = "x"


SHAPES = {
    "classic": (board(), Shape.CLASSIC, True, ()),
    "rows": ({"title": "x", "rows": []}, Shape.OLD_ROWS, True, ()),
    "v2": ({"title": "x", "elements": {}}, Shape.V2, False, ()),
    "v2 resource": ({"apiVersion": "a/v2", "spec": {"title": "x", "elements": {}}}, Shape.V2, False, ()),
    "wrapper": ({"dashboard": board()}, Shape.CLASSIC, True, ("an answer of Grafana's HTTP API",)),
    "resource": ({"apiVersion": "a/v1", "spec": board()}, Shape.CLASSIC, True, ("a resource of a/v1",)),
    "wrapped resource": (
        {"dashboard": {"apiVersion": "a/v1", "spec": board()}},
        Shape.CLASSIC,
        True,
        ("an answer of Grafana's HTTP API", "a resource of a/v1"),
    ),
    "no title": ({"panels": []}, Shape.CLASSIC, False, ()),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    """Each shape is recognised, unwrapped, and judged as the sidecar would."""
    document, shape, loadable, wrapping = SHAPES[name]

    patched = patch_dashboard(document)

    assert (patched.shape, patched.loadable, patched.wrapping) == (shape, loadable, wrapping)


def test_own_uid_of_a_resource():
    """A resource's name becomes the uid only where the model has none."""
    metadata = {"name": "from-metadata"}
    for model, uid in (({}, "from-metadata"), ({"uid": ""}, "from-metadata"), ({"uid": "own"}, "own")):
        resource = {"apiVersion": "a/v1", "metadata": metadata, "spec": {"title": "x", "panels": [], **model}}
        assert patch_dashboard(resource).document["uid"] == uid


def test_many_variables_take_no_square_time():
    """A dashboard with very many variables and references is patched in a time that grows with its size."""
    variables = [{"name": f"v{n}", "type": "datasource", "query": "prometheus", "current": {}} for n in range(2000)]
    panels = [{"datasource": f"${{v{n}}}"} for n in range(2000)]

    patched = patch_dashboard(
        {"title": "x", "panels": panels, "templating": {"list": variables}}, datasources={"prometheus": "p"}
    )

    assert len(patched.references) == 4000
