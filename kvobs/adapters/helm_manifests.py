"""Helm's manifests as objects: YAML read as Helm itself sends it to the API server, and fast, since a stack's is large.

libyaml is taken where PyYAML has it: kube-prometheus-stack renders to 650 kB, which pure Python reads for seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from ..stack.facts import Object

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # which of the two it is, is known at run time only
    """Reads scalars as Helm's YAML library does: a date is text, `=` too, and `1e+06` a number."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":value"))]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def manifest_objects(text: str | bytes) -> tuple[Object, ...]:
    """Return the objects of a manifest in their order; those of a `List` one by one, as Helm takes them.

    An object in the release's own namespace may name none. Raises `yaml.YAMLError`, `ValueError` where it is none.
    """
    return tuple(each for document in yaml.load_all(text, _Loader) for each in _objects(document))


def _objects(document: Any) -> Iterator[Object]:
    if document is None:
        # Nothing but comments: a template that these values switch off.
        return
    if not isinstance(document, dict) or not document.get("kind"):
        raise ValueError("a document of the manifest is no Kubernetes object")
    if str(document["kind"]).endswith("List") and isinstance(document.get("items"), list):
        for each in document["items"]:
            yield from _objects(each)
    else:
        yield document
