"""What a rendered object's file is called, and the kustomization that lists the files. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from ..errors import ActionError
from .facts import Object, Ref
from .objects import ref

KUSTOMIZATION = "kustomization.yaml"
MARK = "# Written by `kvobs render --split`, which overwrites it, and deletes it when it is no longer rendered."
"""The first line of each file that a later render may overwrite or delete; a file without it is somebody else's."""

_LONGEST = 200
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")


def file_names(objects: Sequence[Object]) -> list[str]:
    """Return a file name for each object, in their order, no two alike, upper and lower case being the same.

    `kind-name.yaml`; where that is not the name of one object alone, or not a plain file name, with a short hash of
    all that identifies the object. Raises `ActionError` for a name that no API server takes.

    >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    >>> file_names([pod, {"apiVersion": "v1", "kind": "Role", "metadata": {"name": "system:a"}}])
    ['pod-a.yaml', 'role-system-a-4f575b56.yaml']
    """
    refs = [_checked(ref(each)) for each in objects]
    plain = [_plain(at) for at in refs]
    count = Counter(plain)
    return [
        f"{name}.yaml"
        if count[name] == 1 and name == f"{_short(at)}-{at.name}"
        else f"{name[: _LONGEST - 9]}-{_hash(at)}.yaml"
        for at, name in zip(refs, plain, strict=True)
    ]


def kustomization(names: Sequence[str]) -> str:
    """Return the kustomization that applies the files of these *names* in this order."""
    lines = [
        MARK,
        "apiVersion: kustomize.config.k8s.io/v1beta1",
        "kind: Kustomization",
        "resources:",
        *(f"- {name}" for name in names),
    ]
    return "\n".join(lines) + "\n"


def _checked(at: Ref) -> Ref:
    """*at*, unless its name or kind would lead out of a folder: what a chart renders is not what a server accepted."""
    parts = (at.name, at.namespace)
    if any(part in (".", "..") or re.search(r"[/%\\\0-\x1f]", part) for part in parts) or not at.name:
        raise ActionError(
            f"{at.kind} {at.namespace}/{at.name!r} has a name that no API server takes",
            hint="correct the values or the chart that give this name",
        )
    if not _KIND.fullmatch(at.kind):
        raise ActionError(f"{at.kind!r} is no kind of Kubernetes' objects", hint="correct the chart that renders it")
    return at


def _short(at: Ref) -> str:
    return at.kind.partition(".")[0].lower()


def _plain(at: Ref) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", f"{_short(at)}-{at.name.lower()}").strip("-.")[:_LONGEST]


def _hash(at: Ref) -> str:
    return hashlib.sha256(f"{at.kind}/{at.namespace}/{at.name}".encode()).hexdigest()[:8]
