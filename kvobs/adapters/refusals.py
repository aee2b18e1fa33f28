"""An API server's refusal as an error of ours: what, where, what next, and never a secret.

Only a `Status` object is believed; whatever else comes back (a proxy's page) is named, not quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ApiError, ClusterUnreachable, Conflict, Forbidden, KvobsError, Unauthenticated
from .kubeconfig import Access

_KEPT = 256
"""Characters kept of a server's message: webhooks and validation may quote whole objects."""

_NAMED = 5
"""Fields named in a conflict; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the request did what it asked."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str:
        """A header by its name in any case; "" where it is not there."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")


@dataclass(frozen=True, slots=True)
class Status:
    """The API server's own account of a failure."""

    reason: str
    message: str
    causes: tuple[Mapping[str, Any], ...]
    retry_after_s: float | None


def status_of(reply: Reply) -> Status | None:
    """The `Status` object in the reply; None where it is something else."""
    try:
        document = json.loads(reply.body)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.get("kind") != "Status":
        return None
    details = document.get("details")
    details = details if isinstance(details, dict) else {}
    seconds = details.get("retryAfterSeconds")
    causes = details.get("causes")
    return Status(
        reason=str(document.get("reason") or ""),
        message=str(document.get("message") or ""),
        causes=tuple(one for one in causes if isinstance(one, dict)) if isinstance(causes, list) else (),
        retry_after_s=float(seconds) if isinstance(seconds, int) and seconds > 0 else None,
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was tried, in words that begin an error message."""

    verb: str
    what: str
    secret: bool = False
    """Whether the request carries a Secret: what the server says about it may quote it."""
    kubectl_name: str = ""
    """The object as kubectl takes it: `configmap/x -n ns`."""

    def __str__(self) -> str:
        return f"cannot {self.verb} {self.what}"


def refusal(reply: Reply, attempt: Attempt, access: Access) -> KvobsError:
    """The error that a reply which is not `ok` stands for."""
    status = status_of(reply)
    if status is None:
        return _not_from_kubernetes(reply, attempt, access)
    right = _missing_right(status.message)
    if reply.status == 401 or (right is not None and right["user"] == "system:anonymous"):
        return Unauthenticated(f"{access.server} does not accept the credentials", hint=access.relogin)
    said = _kept_text(status, attempt)
    if reply.status == 403:
        if right is None:
            why = _going_hint(status, access) or _RULE_HINT
            return Forbidden(f"{attempt}: {said}", status=403, reason=status.reason, hint=why)
        return Forbidden(
            f"{attempt}: {_right_text(right)}",
            status=403,
            reason=status.reason,
            hint=f"ask the cluster's administrator for it; {access.kubectl} auth can-i {_can_i(right)}",
        )
    if reply.status == 409:
        return _conflict(status, attempt, access, said)
    hint = WEBHOOK_HINT if _WEBHOOK in status.message else _HINTS.get(reply.status)
    return ApiError(f"{attempt}: {said}", status=reply.status, reason=status.reason, hint=hint)


_WEBHOOK = "failed calling webhook"

WEBHOOK_HINT = (
    "an admission webhook whose service does not answer holds up every change that it is asked about:"
    " kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
)

_HINTS = {
    410: "the API server no longer has what it was asked for; run the command again",
    413: "the object is larger than the API server takes",
    429: "the API server is overloaded; run the command again",
    500: "something within the API server went wrong, which its own log names; run the command again",
    503: "a part of the API server is not ready; run the command again",
    504: "the API server took too long; run the command again",
}


_RULE_HINT = (
    "a rule of the cluster forbids it (a quota, an admission policy, a role with rights that the credentials lack):"
    " mend what it names, then run the command again"
)


def _going_hint(status: Status, access: Access) -> str | None:
    """What to do about a namespace that is being deleted; None where it is not that."""
    if all(cause.get("reason") != "NamespaceTerminating" for cause in status.causes):
        return None
    holds = "-o jsonpath='{.status.conditions[*].message}'"
    shown = f"{access.kubectl} get namespace NAME {holds}"
    return f"run the command again once the namespace is gone; {shown} says what holds it up"


def _not_from_kubernetes(reply: Reply, attempt: Attempt, access: Access) -> KvobsError:
    """Something between us and the API server answered, or something that is no API server."""
    if reply.status == 401:
        return Unauthenticated(f"{access.server} does not accept the credentials", hint=access.relogin)
    message = f"{attempt}: {access.server} answered HTTP {reply.status}, and not as a Kubernetes API server does"
    hint = f"{access.kubectl} cluster-info; a proxy or a login page may stand in between"
    if reply.status == 403:
        return Forbidden(message, status=403, hint=hint)
    if reply.status == 409:
        return Conflict(message, status=409, hint=hint)
    if 300 <= reply.status < 400 or reply.ok:
        return ClusterUnreachable(message, hint=hint)
    return ApiError(message, status=reply.status, hint=hint)


def unreadable(reply: Reply, attempt: Attempt, access: Access) -> KvobsError:
    """The error for a success whose content is not what Kubernetes sends."""
    return _not_from_kubernetes(reply, attempt, access)


_RIGHT = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>[\w*]+) '
    r'(?:resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"|path "(?P<path>[^"]+)")'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)


def _missing_right(message: str) -> Mapping[str, str | None] | None:
    match = _RIGHT.search(message)
    return match.groupdict() if match else None


def _resource(right: Mapping[str, str | None]) -> str:
    if right["path"]:
        return right["path"]
    resource, slash, subresource = str(right["resource"]).partition("/")
    return (f"{resource}.{right['group']}" if right["group"] else resource) + slash + subresource


def _right_text(right: Mapping[str, str | None]) -> str:
    where = "" if right["path"] else f" in namespace {right['namespace']}" if right["namespace"] else " anywhere"
    return f"user {right['user']} may not {right['verb']} {_resource(right)}{where}"


def _can_i(right: Mapping[str, str | None]) -> str:
    where = "" if right["path"] else f" -n {right['namespace']}" if right["namespace"] else " -A"
    return f"{right['verb']} {_resource(right)}{where} says when it is there"


def _kept_text(status: Status, attempt: Attempt) -> str:
    if attempt.secret:
        # The message of a webhook or a validation may quote the values; reason and field names cannot.
        fields = [str(cause["field"]) for cause in status.causes if cause.get("field")]
        return f"{status.reason or 'refused'}{' at ' + ', '.join(fields[:_NAMED]) if fields else ''}"
    text = "".join(char for char in " ".join(status.message.split()) if char.isprintable()) or status.reason
    text = text.rstrip(": ")  # an authorizer may give no reason behind "is forbidden: "
    return text if len(text) <= _KEPT else text[: _KEPT - 1] + "…"


_MANAGER = re.compile(r'conflict with "([^"]*)"')


def _conflict(status: Status, attempt: Attempt, access: Access, said: str) -> Conflict:
    fields: list[tuple[str, str]] = []
    for cause in status.causes:
        manager = _MANAGER.search(str(cause.get("message") or ""))
        if cause.get("reason") == "FieldManagerConflict" and manager:
            fields.append((str(cause.get("field")), manager.group(1)))
    if not fields:
        there = f"{access.kubectl} get {attempt.kubectl_name} shows what is there"
        hint = there if status.reason == "AlreadyExists" else "somebody was faster; run the command again"
        return Conflict(f"{attempt}: {said}", status=409, reason=status.reason, hint=hint)
    owners = [f'{path} belongs to field manager "{manager}"' for path, manager in fields]
    more = f" and {len(owners) - _NAMED} more" if len(owners) > _NAMED else ""
    return Conflict(
        f"{attempt}: {'; '.join(owners[:_NAMED])}{more}",
        status=409,
        reason=status.reason,
        hint=f"{access.kubectl} get {attempt.kubectl_name} -o yaml --show-managed-fields shows who set what",
        fields=tuple(fields),
    )
