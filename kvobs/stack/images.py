"""The images of a stack: from which registry they come, with which credentials, and which ones a render names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .facts import Object, Ref
from .objects import kind_of, ref

_PODS = ("containers", "initContainers", "ephemeralContainers")
_ARGUMENT = re.compile(r"--(?:[a-z0-9-]*image|prometheus-config-reloader)=(.+)")
"""How the Prometheus Operator is told of images: of the config reloader, and of those it takes where none is named."""

_DEFAULTED = ("Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler")
"""Objects for which the operator takes an image of its own choice where they name none."""
_GROUP = "monitoring.coreos.com"


def image_values(registry: str | None, pull_secrets: Sequence[str]) -> dict[str, Any]:
    """Return the values by which every image of the stack comes from *registry*, and is pulled with *pull_secrets*.

    The chart hands both on to each of its sub-charts. An empty text stands for none.

    >>> image_values("registry.local:5000/mirror", ["pull"])
    {'global': {'imageRegistry': 'registry.local:5000/mirror', 'imagePullSecrets': [{'name': 'pull'}]}}
    >>> image_values(None, [""])
    {}
    """
    told: dict[str, Any] = {}
    if registry:
        told["imageRegistry"] = registry
    if names := [name for name in pull_secrets if name]:
        told["imagePullSecrets"] = [{"name": name} for name in names]
    return {"global": told} if told else {}


def without_images(values: Mapping[str, Any], *, registry: bool, pull_secrets: bool) -> dict[str, Any]:
    """Return *values* without a *registry* for all images, or without *pull_secrets*: those that are told anew.

    >>> without_images({"global": {"imageRegistry": "r", "rbac": {}}, "a": 1}, registry=True, pull_secrets=False)
    {'a': 1, 'global': {'rbac': {}}}
    """
    told = {"imageRegistry"} if registry else set()
    told |= {"imagePullSecrets"} if pull_secrets else set()
    above = values.get("global")
    if not isinstance(above, Mapping) or told.isdisjoint(above):
        return dict(values)
    others = {key: value for key, value in values.items() if key != "global"}
    kept = {key: value for key, value in above.items() if key not in told}
    return {**others, "global": kept} if kept else others


def image_places(objects: Iterable[Object]) -> Iterator[tuple[Ref, str]]:
    """Yield each image that the objects name and where, in their order, any number of times.

    Those of pods, of custom resources, and those that the Prometheus Operator is told by argument.
    """
    for each in objects:
        kind = kind_of(each)
        if kind == "ConfigMap" or kind.startswith("CustomResourceDefinition."):
            continue
        for image in _images(each.get("spec"), custom=kind.endswith(f".{_GROUP}")):
            yield ref(each), image


def images_of(objects: Iterable[Object]) -> tuple[str, ...]:
    """Return the images that the objects name, sorted, each once."""
    return tuple(sorted({image for _, image in image_places(objects)}))


def without_image(objects: Iterable[Object]) -> tuple[Ref, ...]:
    """Return the objects that name no image, so that the Prometheus Operator takes the one that it was built with."""
    return tuple(
        ref(each)
        for each in objects
        if kind_of(each) in {f"{kind}.{_GROUP}" for kind in _DEFAULTED} and not (each.get("spec") or {}).get("image")
    )


def _images(value: Any, *, custom: bool) -> Iterator[str]:
    """Yield the images in a part of an object; in *custom* resources of the operator, at any key `image` too."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _PODS and isinstance(inner, list):
                for container in inner:
                    yield from _of_container(container)
            elif key == "image" and isinstance(inner, str) and custom:
                yield inner
            elif key == "image" and isinstance(inner, Mapping) and isinstance(inner.get("reference"), str):
                yield inner["reference"]  # a volume that is an image
            else:
                yield from _images(inner, custom=custom)
    elif isinstance(value, list):
        for inner in value:
            yield from _images(inner, custom=custom)


def _of_container(container: Any) -> Iterator[str]:
    if not isinstance(container, Mapping):
        return
    if isinstance(container.get("image"), str):
        yield container["image"]
    for word in (*(container.get("command") or ()), *(container.get("args") or ())):
        if told := _ARGUMENT.fullmatch(str(word)):
            yield told[1]
