"""Every object of a cluster at one moment, and what is different at another."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.cluster.api import Api, ApiError, Object, eventually
from tests.cluster.unfinished import unfinished

Key = tuple[str, str, str]
"""Kind with its group (`Deployment.apps`), namespace (or ""), name."""
Snapshot = Mapping[Key, Object]

RESTLESS = frozenset({"Event", "Event.events.k8s.io", "Lease.coordination.k8s.io", "ComponentStatus"})
"""Kinds that change on a cluster on which nobody does anything; the last one is not stored at all."""

QUIET_S = 0.5
"""How long nothing may have changed on a cluster that is at rest."""


def snapshot(api: Api) -> dict[Key, Object]:
    """Return every object of every kind that can be listed, the restless kinds aside."""
    found: dict[Key, Object] = {}
    for root, kind, resource in _listable(api):
        for each in api.request("GET", f"{root}/{resource}")["items"]:
            metadata = each["metadata"]
            found[kind, metadata.get("namespace", ""), metadata["name"]] = each
    return found


def settled(api: Api, *, timeout_s: float = 180) -> dict[Key, Object]:
    """Return a snapshot of a cluster that has come to rest: two looks, a moment apart, found the same versions.

    A moment says little on a machine that has other things to do, so what is still to come (`unfinished`) is waited for
    by name. A kind that is about to come or go (429, 404) is waited for, too.
    """

    missing: list[str] = []

    def look() -> dict[Key, Object] | None:
        try:
            before = snapshot(api)
            time.sleep(QUIET_S)
            now = snapshot(api)
        except ApiError as error:
            if error.status not in (404, 429):
                raise
            return None
        missing[:] = unfinished(now)
        return now if versions(before) == versions(now) and not missing else None

    try:
        return eventually(look, timeout_s=timeout_s)
    except AssertionError as error:
        raise AssertionError(f"no rest within {timeout_s} s; still to come: {missing}") from error


def come_to(
    api: Api, before: Snapshot, wanted: Callable[[dict[Key, str]], object], *, timeout_s: float = 180
) -> dict[Key, str]:
    """Return how a cluster at rest differs from *before*, as soon as that is as *wanted*, or at the latest when time
    is up: what operators and the garbage collector make of a change comes when they have come to it.
    """
    end = time.monotonic() + timeout_s
    while True:
        found = differences(before, settled(api))
        if wanted(found) or time.monotonic() > end:
            return found


def versions(objects: Snapshot) -> dict[Key, str]:
    """Return the resourceVersion of each object."""
    return {key: each["metadata"]["resourceVersion"] for key, each in objects.items()}


def differences(before: Snapshot, after: Snapshot) -> dict[Key, str]:
    """Say of each object whether it is new, gone or changed; an equal one is not named.

    What the server counts and dates (resourceVersion, generation, when a manager wrote) and the status are not
    compared; who owns which field is.
    """
    told: dict[Key, str] = {}
    for key in sorted({*before, *after}):
        if key not in before or key not in after:
            told[key] = "new" if key in after else "gone"
        elif (was := _lasting(before[key])) != (now := _lasting(after[key])):
            told[key] = "changed: " + "; ".join(_paths(was, now))
    return told


def _listable(api: Api) -> Iterable[tuple[str, str, str]]:
    """Yield (path of the group version, kind with group, resource) of what can be listed, one version a group."""
    groups = api.request("GET", "/apis")["groups"]
    roots = [("/api/v1", ""), *((f"/apis/{each['preferredVersion']['groupVersion']}", each["name"]) for each in groups)]
    for root, group in roots:
        for each in api.request("GET", root)["resources"]:
            kind = f"{each['kind']}.{group}" if group else each["kind"]
            if "list" in each["verbs"] and "/" not in each["name"] and kind not in RESTLESS:
                yield root, kind, each["name"]


def _lasting(obj: Object) -> Object:
    kept = copy.deepcopy({key: value for key, value in obj.items() if key != "status"})
    for counted in ("resourceVersion", "generation"):
        kept["metadata"].pop(counted, None)
    entries = kept["metadata"].pop("managedFields", ())
    owners = [{key: value for key, value in each.items() if key != "time"} for each in entries]
    # Who wrote a status is no more compared than the status.
    kept["metadata"]["managedFields"] = sorted(
        (each for each in owners if each.get("subresource") != "status"), key=lambda each: str(each["manager"])
    )
    return kept


def _paths(was: Any, now: Any, path: str = "") -> Iterable[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            if was.get(key) != now.get(key):
                yield from _paths(was.get(key), now.get(key), f"{path}.{key}" if path else str(key))
    else:
        yield f"{path} {was!r} -> {now!r}"
