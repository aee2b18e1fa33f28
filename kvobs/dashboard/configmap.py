"""A dashboard as the ConfigMap that Grafana's sidecar looks for, and the clashes that Grafana punishes."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import DocumentError
from .document import title_of
from .jsontext import write_json

MAX_BYTES = 1024 * 1024
"""The most that the API server accepts as the data of one ConfigMap; etcd's own limit of 1.5 MiB a request
lies above it."""

_NAME_LIMIT = 253  # of a DNS-1123 subdomain, which the name of a ConfigMap is, and of a key in it
# Kubernetes takes no key that begins with "..": it becomes a file name wherever a ConfigMap is mounted.
_KEY = re.compile(r"(?!\.\.)[-._a-zA-Z0-9]{1,253}")
_DIGEST_CHARS = 8


class Loaded(NamedTuple):
    """A dashboard that Grafana loads or would load."""

    uid: str | None
    title: str | None
    where: str
    """The file or the object that it comes from, for people."""
    folder: str | None = None
    """None: not known."""


def dashboard_name(document: Mapping[str, Any], *, prefix: str = "kvobs-dashboard-") -> str:
    """Return a name for the dashboard's objects, from its uid, else its title; no two share one by chance.

    >>> dashboard_name({"uid": "kvobs-vllm", "title": "vLLM"})
    'kvobs-dashboard-kvobs-vllm'
    >>> dashboard_name({"title": "GPU über alles"})
    'kvobs-dashboard-gpu-ber-alles-9ebd7499'
    """
    uid = document.get("uid")
    source = uid if isinstance(uid, str) and uid.strip() else title_of(document)
    if not source:
        raise DocumentError(
            "the dashboard has neither a uid nor a title", hint="Grafana loads no dashboard without a title"
        )
    plain = re.sub(r"[^a-z0-9]+", "-", source.lower()).strip("-")
    room = _NAME_LIMIT - len(prefix) - len(".json") - _DIGEST_CHARS - 1
    if plain == source and len(plain) <= room:
        return prefix + plain
    # Something was lost: the digest keeps "GPU A" apart from "gpu-a".
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return prefix + "-".join(filter(None, (plain[:room].strip("-"), digest)))


def with_uid(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dashboard that has a uid: its own, else one made from its title.

    Without one Grafana makes up another uid on each installation, and no link to it can be given.

    >>> with_uid({"title": "vLLM"})
    {'title': 'vLLM', 'uid': 'kvobs-eae0788c45723861'}
    """
    uid = document.get("uid")
    if isinstance(uid, str) and uid.strip():
        return dict(document)
    digest = hashlib.sha256(title_of(document).encode("utf-8", "surrogatepass")).hexdigest()
    return {**document, "uid": f"kvobs-{digest[:16]}"}


def dashboard_configmap(
    document: Mapping[str, Any],
    *,
    name: str,
    namespace: str,
    label: str,
    label_value: str,
    folder_annotation: str | None = None,
    folder: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Return the ConfigMap that makes a Grafana sidecar load one dashboard.

    The key is the file that the sidecar writes, in one folder for all namespaces; it is made from the
    object's name, hence unique. The folder is noted only where the sidecar reads an annotation for it. The
    JSON is compact and goes in as it is: nothing on its way may treat it as a template.

    Raise DocumentError for a dashboard without title, one that JSON cannot hold, or one over the size limit.
    """
    if not title_of(document):
        raise DocumentError("the dashboard has no title", hint="Grafana refuses it: Dashboard title cannot be empty")
    key = f"{name}.json" if key is None else key
    if not key.endswith(".json") or not _KEY.fullmatch(key):
        raise DocumentError(
            f"{key!r} cannot be the key of a dashboard in a ConfigMap",
            hint="letters, digits, '-', '_' and '.', at most 253, no .. at its start, ending in .json",
        )
    text = write_json(document)
    size = len(text.encode())
    if size > MAX_BYTES:
        raise DocumentError(
            f"dashboard {title_of(document)!r} has {size:,} bytes as compact JSON; "
            f"a ConfigMap holds {MAX_BYTES:,} at most",
            hint="split it into several dashboards, or load it through Grafana's API",
        )
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": {label: label_value}}
    if folder_annotation is not None and folder is not None:
        metadata["annotations"] = {folder_annotation: folder}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}}


def conflicts(ours: Iterable[Loaded], theirs: Iterable[Loaded] = ()) -> list[str]:
    """Return one sentence for each uid, and each title in a folder, that two dashboards claim.

    Grafana takes the right to save from a whole provider then, and later dashboards are not loaded either.
    Clashes among `theirs` alone are not ours to report. An unknown folder may be any. A uid is told apart
    by its letters' case; a title is not, as in Grafana.
    """
    ours, theirs = list(ours), list(theirs)
    by_uid: dict[str, list[int]] = defaultdict(list)
    by_title: dict[str, list[int]] = defaultdict(list)
    everyone = ours + theirs
    for number, each in enumerate(everyone):
        if each.uid:
            by_uid[each.uid].append(number)
        if each.title and each.title.strip():
            by_title[each.title.strip().casefold()].append(number)
    found = []
    for uid, numbers in by_uid.items():
        if len(numbers) > 1 and numbers[0] < len(ours):
            found.append(f"uid {uid!r} is claimed by {_listed(everyone[number].where for number in numbers)}")
    for numbers in by_title.values():
        clashing = [
            number
            for number in numbers
            if any(other != number and _may_share_folder(everyone[number], everyone[other]) for other in numbers)
        ]
        # Two with one uid are reported once, by that.
        uids = {everyone[number].uid or number for number in clashing}
        if len(uids) > 1 and clashing[0] < len(ours):
            title = everyone[clashing[0]].title
            found.append(f"title {title!r} is claimed by {_listed(everyone[number].where for number in clashing)}")
    return found


def _may_share_folder(one: Loaded, other: Loaded) -> bool:
    return one.folder is None or other.folder is None or one.folder == other.folder


def _listed(places: Iterable[str]) -> str:
    several = list(places)
    return ", ".join(several[:-1]) + f" and {several[-1]}"
