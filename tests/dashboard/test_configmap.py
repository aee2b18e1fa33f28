"""A dashboard's ConfigMap is what the sidecar wants, and clashes are seen before Grafana sees them."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.dashboard.configmap import (
    MAX_BYTES,
    Loaded,
    conflicts,
    dashboard_configmap,
    dashboard_name,
    with_uid,
)
from kvobs.errors import DocumentError

PLACE = {"name": "kvobs-vllm", "namespace": "monitoring", "label": "grafana_dashboard", "label_value": "1"}
BOARD = {"title": "vLLM", "uid": "vllm", "panels": [{"expr": 'x{a="{{ .Release }}"}', "title": "Größe ${b}"}]}


def test_object():
    """Label, value, namespace and a key ending in .json; the JSON is compact and comes back equal."""
    configmap = dashboard_configmap(BOARD, **PLACE)

    text = configmap["data"].pop("kvobs-vllm.json")
    assert configmap == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kvobs-vllm", "namespace": "monitoring", "labels": {"grafana_dashboard": "1"}},
        "data": {},
    }
    assert json.loads(text) == BOARD
    assert "\n" not in text
    assert '": ' not in text
    assert "Größe ${b}" in text


@pytest.mark.parametrize(
    ("annotation", "folder", "want"),
    [("grafana_folder", "GPU", {"grafana_folder": "GPU"}), (None, "GPU", None), ("grafana_folder", None, None)],
)
def test_folder(annotation, folder, want):
    """A folder is noted only where the sidecar reads an annotation for it."""
    configmap = dashboard_configmap(BOARD, **PLACE, folder_annotation=annotation, folder=folder)

    assert configmap["metadata"].get("annotations") == want


def test_size_limit():
    """A dashboard is taken up to the API server's limit, and refused above it with its size."""
    frame = len(dashboard_configmap({"title": "x", "text": ""}, **PLACE)["data"]["kvobs-vllm.json"])
    fits = {"title": "x", "text": "x" * (MAX_BYTES - frame)}

    assert dashboard_configmap(fits, **PLACE)
    with pytest.raises(DocumentError, match=r"'x' has 1,048,577 bytes as compact JSON; .* 1,048,576 at most"):
        dashboard_configmap({**fits, "text": fits["text"] + "x"}, **PLACE)


@pytest.mark.parametrize("title", [None, "", "  ", 5])
def test_no_title(title):
    """A dashboard without a title is refused, as Grafana would."""
    with pytest.raises(DocumentError, match="no title"):
        dashboard_configmap({"title": title, "panels": []}, **PLACE)


BAD_KEYS = [
    "x.yaml",
    ".json/x",
    "a b.json",
    "ü.json",
    "x" * 250 + ".json",
    "../../x.json",
    "/etc/x.json",
    "..json",
    "a\0.json",
    "a.json\n",
    "a\\b.json",
]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_bad_key(key):
    """A key that Kubernetes or the sidecar would not take is refused."""
    with pytest.raises(DocumentError, match="cannot be the key"):
        dashboard_configmap(BOARD, **PLACE, key=key)


@pytest.mark.parametrize(
    "uid", ["../../x", "/etc/passwd", "..", "a\0b", "x" * 5000, "con", "💩", "a/b", "A\nB", "%2e%2e"]
)
def test_a_uid_is_never_a_path(uid):
    """Whatever a dashboard calls itself, the name of its object and its key are plain, and two uids keep two names."""
    name = dashboard_name({"uid": uid, "title": "t"})
    made = dashboard_configmap({"uid": uid, "title": "t"}, **(PLACE | {"name": name}))

    assert re.fullmatch(r"kvobs-dashboard-[a-z0-9-]*[a-z0-9]", name)
    assert len(name) <= 253
    assert list(made["data"]) == [f"{name}.json"]
    assert name != dashboard_name({"uid": uid + "-", "title": "t"})


def test_not_finite():
    """A value that JSON cannot hold is refused."""
    with pytest.raises(DocumentError, match="cannot be written as JSON"):
        dashboard_configmap({"title": "x", "a": float("nan")}, **PLACE)


@given(st.text(min_size=1).filter(str.strip))
def test_names_are_names(title):
    """Whatever the title, the name is one that Kubernetes takes, with room for .json."""
    name = dashboard_name({"title": title})

    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
    assert len(name) <= 248


def test_names_differ():
    """Titles that look alike once cleaned keep different names, and one title always has the same."""
    titles = ["GPU A", "gpu-a", "GPU  A", "GPU A!", "日本", "中国", "x" * 300, "x" * 301]

    assert len({dashboard_name({"title": title}) for title in titles}) == len(titles)
    assert dashboard_name({"title": "GPU A"}) == dashboard_name({"title": "GPU A", "uid": ""})


def test_no_name():
    """Without uid and title there is nothing to name."""
    with pytest.raises(DocumentError, match="neither a uid nor a title"):
        dashboard_name({"panels": []})


def test_uid_is_kept_or_made():
    """A dashboard keeps its uid; one without gets a lasting one that Grafana takes."""
    assert with_uid(BOARD) == BOARD
    made = with_uid({"title": "x" * 300})["uid"]
    assert re.fullmatch(r"[-_a-zA-Z0-9]{1,40}", made)
    assert with_uid({"title": "x" * 300, "uid": " "})["uid"] == made


ONE = Loaded("u1", "One", "one.json", "A")
CLASHES = {
    "nothing": ([ONE, Loaded("u2", "Two", "two.json", "A")], [], []),
    "one uid": ([ONE, Loaded("u1", "Two", "two.json", "B")], [], ["uid 'u1' is claimed by one.json and two.json"]),
    "one uid with the cluster": (
        [ONE],
        [Loaded("u1", "X", "ns/cm[x.json]")],
        ["uid 'u1' is claimed by one.json and ns/cm[x.json]"],
    ),
    "one title in a folder": (
        [ONE, Loaded("u2", " one", "two.json", "A")],
        [],
        ["title 'One' is claimed by one.json and two.json"],
    ),
    "one title in two folders": ([ONE, Loaded("u2", "One", "two.json", "B")], [], []),
    "one title in a folder that is not known": (
        [ONE],
        [Loaded("u2", "One", "cm")],
        ["title 'One' is claimed by one.json and cm"],
    ),
    "uid and title": ([ONE, ONE._replace(where="two.json")], [], ["uid 'u1' is claimed by one.json and two.json"]),
    "no uid, one title": (
        [Loaded(None, "T", "a"), Loaded(None, "T", "b"), Loaded("", "T", "c")],
        [],
        ["title 'T' is claimed by a, b and c"],
    ),
    "among theirs alone": ([ONE], [Loaded("u9", "T", "a"), Loaded("u9", "T", "b")], []),
    "no title": ([Loaded("a", None, "a"), Loaded("b", "", "b"), Loaded("c", " ", "c")], [], []),
}


@pytest.mark.parametrize("name", CLASHES)
def test_conflicts(name):
    """Each clash that concerns what we load is one sentence that names all who claim."""
    ours, theirs, want = CLASHES[name]

    assert conflicts(ours, theirs) == want
