"""What is asked about the credentials, and what is made of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kvobs.adapters.access_reviews import PATH, AccessReviews
from kvobs.adapters.discovery import Catalog
from kvobs.adapters.refusals import Attempt
from kvobs.errors import ApiError
from tests.adapters.fake_api import CORE, GROUPS

ALLOWED = {"status": {"allowed": True}}
DENIED = {"status": {"allowed": False}}
UNSAID: Mapping[str, Any] = {"kind": "SelfSubjectAccessReview"}
REFUSED = None


class Server:
    """Gives one answer to every review; `REFUSED`: none."""

    def __init__(self, answer: Mapping[str, Any] | None) -> None:
        self._answer = answer
        self.asked: list[Mapping[str, Any]] = []
        self.reviews = AccessReviews(self._post, Catalog(lambda path, _: CORE if path == "/api" else GROUPS))

    def _post(self, path: str, attempt: Attempt, review: Mapping[str, Any]) -> Mapping[str, Any]:
        assert (path, review["kind"]) == (PATH, "SelfSubjectAccessReview")
        self.asked.append(review["spec"])
        if self._answer is None:
            raise ApiError(f"{attempt}: no", status=403, reason="Forbidden")
        return self._answer


def of_resource(verb: str, group: str, resource: str, subresource: str, namespace: str) -> Mapping[str, Any]:
    """Return what is asked about a resource."""
    where = {"group": group, "resource": resource, "subresource": subresource, "namespace": namespace}
    return {"resourceAttributes": {"verb": verb, **where}}


@pytest.mark.parametrize(
    ("right", "spec"),
    [
        (("get", "", "nodes/metrics"), of_resource("get", "", "nodes", "metrics", "")),
        (("create", "apps", "deployments", "mon"), of_resource("create", "apps", "deployments", "", "mon")),
        (("get", "", "/metrics"), {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}),
    ],
    ids=["subresource", "in a namespace", "no resource"],
)
def test_a_right_is_asked_about_as_the_rule_of_a_role_has_it(right: tuple[str, ...], spec: Mapping[str, Any]) -> None:
    """A subresource is named apart from its resource, and a path is none."""
    server = Server(ALLOWED)
    assert server.reviews.allows(*right) is True
    assert server.asked == [spec]


@pytest.mark.parametrize(
    ("answer", "allows", "everything", "may"),
    [
        (ALLOWED, True, True, True),
        (DENIED, False, False, False),
        (UNSAID, None, False, True),
        (REFUSED, None, False, True),
    ],
    ids=["allowed", "denied", "not said", "refused"],
)
def test_what_an_answer_means(
    answer: Mapping[str, Any] | None, allows: bool | None, everything: bool, may: bool
) -> None:
    """A server that does not say makes nobody an administrator, and keeps nobody from trying."""
    server = Server(answer)
    reviews = server.reviews
    assert reviews.allows("get", "", "configmaps") is allows
    assert reviews.allows_everything() is everything
    assert reviews.may("get", "ConfigMap", "mon") is may
    everything_asked, may_asked = server.asked[1:]
    assert everything_asked == of_resource("*", "*", "*", "", "")
    assert may_asked == of_resource("get", "", "configmaps", "", "mon")


def test_one_object_of_a_kind() -> None:
    """A rule may name objects: whether it allows one of them is asked about by its name."""
    server = Server(ALLOWED)
    assert server.reviews.allows("get", "", "services/proxy", "mon", name="k8s:http-web") is True
    (asked,) = server.asked
    assert asked["resourceAttributes"]["name"] == "k8s:http-web"


def test_a_kind_that_is_not_served_is_not_asked_about() -> None:
    """Its request would say so itself."""
    server = Server(DENIED)
    assert server.reviews.may("get", "Unheard.of")
    assert server.asked == []
