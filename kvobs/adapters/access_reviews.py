"""What the credentials may do, as the API server says: one review a question, which changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ApiError
from .discovery import Catalog
from .refusals import Attempt

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

Review = Mapping[str, Any]
Post = Callable[[str, Attempt, Review], Review]
"""Posts a review to a path, and returns what the API server made of it."""


class AccessReviews:
    """Questions to one API server about the credentials of one user."""

    def __init__(self, post: Post, catalog: Catalog) -> None:
        self._post = post
        self._catalog = catalog

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool:
        """Whether the credentials allow *verb* on a kind, in a namespace or in all.

        True also where the API server does not say, or does not serve the kind: then the request itself will tell.
        """
        resource = self._catalog.find(kind)
        if resource is None:
            return True
        return self.allows(verb, resource.group, resource.plural, namespace) is not False

    def allows_everything(self) -> bool:
        """Whether the credentials are those of an administrator: every verb on every kind, everywhere."""
        return self.allows("*", "*", "*") is True

    def allows(
        self, verb: str, group: str, resource: str, namespace: str | None = None, *, name: str = ""
    ) -> bool | None:
        """Whether the credentials allow what a rule of a role says; None where the API server does not say.

        `resource` is a plural, with its subresource (`nodes/metrics`), or a path that is none (`/metrics`). Without a
        `name` it is about all of the kind.
        """
        if resource.startswith("/"):
            spec = {"nonResourceAttributes": {"verb": verb, "path": resource}}
        else:
            plural, _, subresource = resource.partition("/")
            where = {"group": group, "resource": plural, "subresource": subresource, "namespace": namespace or ""}
            where |= {"name": name} if name else {}
            spec = {"resourceAttributes": {"verb": verb, **where}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        try:
            answer = self._post(PATH, Attempt("ask", f"whether {verb} {resource} is allowed"), review)
        except ApiError:
            return None
        allowed = (answer.get("status") or {}).get("allowed")
        return allowed if isinstance(allowed, bool) else None
