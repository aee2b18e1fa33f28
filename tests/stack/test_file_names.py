"""What the file of an object is called: readable, never twice, never outside the folder."""

from __future__ import annotations

import pytest
import yaml

from kvobs.errors import ActionError
from kvobs.stack.facts import Object
from kvobs.stack.file_names import MARK, file_names, kustomization


def thing(kind: str, name: str, namespace: str = "", api: str = "v1") -> Object:
    """Return an object by its identity."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
    }


def test_a_name_of_its_own() -> None:
    """An object whose kind and name are nobody else's is found under them, whatever stands beside it."""
    one = thing("ConfigMap", "a", "x")

    assert file_names([one]) == ["configmap-a.yaml"]
    assert file_names([thing("Role", "b"), one])[1] == "configmap-a.yaml"
    assert file_names([thing("CustomResourceDefinition", "a.b.com")]) == ["customresourcedefinition-a.b.com.yaml"]


@pytest.mark.parametrize(
    "pair",
    [
        (thing("Role", "a", "x"), thing("Role", "a", "y")),
        (thing("Service", "a"), thing("Service", "a", api="serving.knative.dev/v1")),
        (thing("ClusterRole", "A"), thing("ClusterRole", "a")),
        (thing("ClusterRole", "a:b"), thing("ClusterRole", "a-b")),
        (thing("ClusterRole", "a:b"), thing("ClusterRole", "a+b")),
        (thing("Role", "b-c", "a"), thing("Role", "c", "a-b")),
        (thing("Pod", "x" * 253), thing("Pod", "x" * 252)),
    ],
    ids=["namespace", "group", "case", "a sign", "two signs", "a dash", "length"],
)
def test_no_clash(pair: tuple[Object, Object]) -> None:
    """Two objects never share a file, upper and lower case being the same; the names do not hang on the order."""
    names = file_names(pair)

    assert len({name.casefold() for name in names}) == 2
    assert file_names(pair[::-1]) == names[::-1]
    assert all(len(name) <= 205 and name.endswith(".yaml") for name in names)


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".", "a%2fb", "a\\b", "a\nb", ""])
def test_a_name_that_leads_elsewhere(name: str) -> None:
    """What no API server takes as a name is refused, and no file is named after it."""
    with pytest.raises(ActionError, match="no API server takes"):
        file_names([thing("ConfigMap", name)])
    if name:
        with pytest.raises(ActionError, match="no API server takes"):
            file_names([thing("ConfigMap", "a", name)])


@pytest.mark.parametrize("kind", ["../Pod", "Pod/x", "", "."])
def test_a_kind_that_leads_elsewhere(kind: str) -> None:
    """A kind is refused likewise: what a chart renders, nobody has checked yet."""
    with pytest.raises(ActionError, match="no kind"):
        file_names([thing(kind, "a")])


def test_hidden_files_are_none() -> None:
    """A name that begins with a dot makes no hidden file."""
    assert not file_names([thing("ClusterRole", ".a")])[0].startswith(".")


def test_the_kustomization_lists_them_in_order() -> None:
    """It is marked as ours, and lists the files in the order in which to apply them."""
    text = kustomization(["b.yaml", "a.yaml"])

    assert text.splitlines()[0] == MARK
    assert yaml.safe_load(text) == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["b.yaml", "a.yaml"],
    }
