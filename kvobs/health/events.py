"""Events of Kubernetes, in the fields of either of their two API groups. Pure."""

from __future__ import annotations

from ..stack.facts import Object

_TO_THE_SECOND = len("2026-11-29T23:59:59")


def about(event: Object) -> tuple[str, str, str]:
    """(kind, namespace, name) of the object that it is about."""
    subject = event.get("regarding") or event.get("involvedObject") or {}
    return str(subject.get("kind") or ""), str(subject.get("namespace") or ""), str(subject.get("name") or "")


def said(event: Object) -> str:
    """What it says, in the words of whoever wrote it."""
    return str(event.get("note") or event.get("message") or event.get("reason") or "")


def when(event: Object) -> str:
    """When it was seen last, as a text that sorts by time; "" where nothing tells."""
    last = (event.get("series") or {}).get("lastObservedTime")
    told = (last, event.get("deprecatedLastTimestamp"), event.get("lastTimestamp"), event.get("eventTime"))
    made = (event.get("metadata") or {}).get("creationTimestamp")
    return max((str(each)[:_TO_THE_SECOND] for each in (*told, made) if each), default="")


def is_outdated(event: Object, live: Object | None) -> bool:
    """Whether the object that it is about is gone, is another one by now, or was changed since."""
    if live is None:
        return True
    subject = event.get("regarding") or event.get("involvedObject") or {}
    uid, own = subject.get("uid"), live["metadata"].get("uid")
    if uid and own and uid != own:
        return True
    entries = live["metadata"].get("managedFields") or ()
    changed = (str(each.get("time") or "")[:_TO_THE_SECOND] for each in entries if not each.get("subresource"))
    return bool(when(event)) and max(changed, default="") > when(event)
