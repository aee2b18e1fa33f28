"""The adapter over real HTTP: every kind of answer an API server gives, and every way not to answer."""

import socket
import ssl
import threading
import warnings
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta

import pytest
import urllib3

from kvobs.adapters import access_reviews
from kvobs.adapters.apiserver import UNWARNED
from kvobs.adapters.cluster import Cluster
from kvobs.errors import ApiError, ClusterUnreachable, Conflict, Forbidden, KubeconfigError, Unauthenticated
from tests.adapters.fake_api import GROUPS, TOKEN, Answer, aggregated, fake_api, status
from tests.cluster.certificates import Authority

CONFIG_MAPS = "/api/v1/namespaces/ns/configmaps"
ONE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}, "data": {"k": "v"}}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "ns"},
    "stringData": {"password": "hunter2"},
}


@pytest.fixture
def api():
    """A server of tables."""
    with fake_api() as server:
        yield server


@pytest.fixture
def pauses():
    """How long the adapter would have slept, each time."""
    return []


@pytest.fixture
def cluster(api, pauses, tmp_path):
    """The adapter, connected to it."""
    connected = Cluster.connect(api.kubeconfig(tmp_path), request_timeout_s=5, sleep=pauses.append)
    yield connected
    connected.close()


def _no_secret_in(error):
    shown = f"{error} {error.hint} {error!r}"
    assert TOKEN not in shown
    assert "hunter2" not in shown


# --- what is served ---


def test_the_server_says_its_version(api, cluster):
    """And is told who asks."""
    api.answers("GET", "/version", Answer({"gitVersion": "v1.36.3"}))

    assert cluster.server_version() == "v1.36.3"
    assert api.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert api.requests[0].headers["User-Agent"] == "kvobs"


def test_discovery_takes_two_requests(api, cluster):
    """Aggregated discovery: every kind with its group, in the version that the server lists first."""
    found = cluster.discover()

    assert [one.path for one in api.requests] == ["/api", "/apis"]
    assert "v=v2;as=APIGroupDiscoveryList" in api.requests[0].headers["Accept"]
    assert found.kinds == {
        "ConfigMap",
        "Secret",
        "Service",
        "Namespace",
        "ServiceMonitor.monitoring.coreos.com",
        "HorizontalPodAutoscaler.autoscaling",
    }
    assert found.resources["HorizontalPodAutoscaler.autoscaling"].api_version == "autoscaling/v2"
    assert found.resources["Namespace"].namespaced is False
    assert found.unavailable == frozenset()


def test_a_server_without_aggregation_is_asked_group_by_group(api, cluster):
    """Subresources are no kinds, the preferred version wins, and a group that is down does not hide the others."""
    api.answers("GET", "/api", Answer({"kind": "APIVersions", "versions": ["v1"]}))
    versions = [{"version": "v1alpha1"}, {"version": "v1"}]
    groups = [
        {"name": "monitoring.coreos.com", "versions": versions, "preferredVersion": {"version": "v1"}},
        {"name": "metrics.k8s.io", "versions": [{"version": "v1beta1"}]},
    ]
    api.answers("GET", "/apis", Answer({"kind": "APIGroupList", "groups": groups}))
    entry = {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["list"]}
    part = {**entry, "name": "configmaps/status"}
    api.answers("GET", "/api/v1", Answer({"kind": "APIResourceList", "resources": [entry, part]}))
    monitor = {"name": "servicemonitors", "kind": "ServiceMonitor", "namespaced": True}
    for version in ("v1", "v1alpha1"):
        path = f"/apis/monitoring.coreos.com/{version}"
        api.answers("GET", path, Answer({"kind": "APIResourceList", "resources": [monitor]}))
    api.answers("GET", "/apis/metrics.k8s.io/v1beta1", status(500, "InternalError"))

    found = cluster.discover()

    assert found.kinds == {"ConfigMap", "ServiceMonitor.monitoring.coreos.com"}
    assert found.resources["ServiceMonitor.monitoring.coreos.com"].version == "v1"
    assert found.unavailable == {"metrics.k8s.io"}


def test_a_kind_that_came_since_is_found(api, cluster):
    """After a chart brought its definitions, the old answer is asked for again: once."""
    api.answers("GET", "/apis", Answer(aggregated({})), Answer(GROUPS))
    api.answers("GET", "/apis/monitoring.coreos.com/v1/servicemonitors", Answer({"items": []}))
    cluster.discover()

    assert cluster.list("ServiceMonitor.monitoring.coreos.com") == []
    assert len(api.asked("/apis")) == 2
    assert len(api.asked("/apis/monitoring.coreos.com/v1/servicemonitors")) == 1


def test_what_is_not_served_is_not_there(api, cluster):
    """No objects, nothing to read, nothing to delete; and no request for them."""
    assert cluster.list("ClusterPolicy.nvidia.com") == []
    assert cluster.get("ClusterPolicy.nvidia.com", "x") is None
    assert cluster.delete("ClusterPolicy.nvidia.com", "x") is False
    assert {one.path for one in api.requests} == {"/api", "/apis"}


def test_a_group_that_does_not_answer_is_not_taken_for_empty(api, cluster):
    """Nobody knows what is in it."""
    stale = aggregated({"nvidia.com": {"v1": []}}, freshness="Stale")
    api.answers("GET", "/apis", Answer(stale))

    with pytest.raises(ApiError, match=r"group nvidia.com does not answer.*ClusterPolicy") as unknown:
        cluster.list("ClusterPolicy.nvidia.com")
    assert unknown.value.status == 503
    assert cluster.discover().unavailable == {"nvidia.com"}


def test_what_is_not_served_cannot_be_written(cluster):
    """The error names the kind and what is missing."""
    policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "x"}}

    with pytest.raises(
        ApiError, match=r"cannot apply ClusterPolicy x: .* does not serve ClusterPolicy.nvidia.com"
    ) as no:
        cluster.apply(policy)
    assert "CustomResourceDefinition" in no.value.hint


def test_something_else_that_speaks_json_is_no_api_server(api, cluster):
    """A wrong URL in a kubeconfig is named as that."""
    api.answers("GET", "/api", Answer({"hello": "world"}))

    with pytest.raises(ClusterUnreachable, match="not as a Kubernetes API server does"):
        cluster.discover()


# --- reading ---


def test_a_long_list_comes_in_pages(api, cluster):
    """Every page is asked with the place of the last; each object says what it is."""
    api.answers(
        "GET",
        "/api/v1/configmaps",
        Answer({"metadata": {"continue": "p2"}, "items": [{"metadata": {"name": "a"}}]}),
        Answer({"metadata": {}, "items": [{"metadata": {"name": "b"}, "data": {"k": "v"}}]}),
    )

    found = cluster.list("ConfigMap", labels="a=b", fields="metadata.name!=c")

    assert found == [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"k": "v"}},
    ]
    first, second = (one.query for one in api.asked("/api/v1/configmaps"))
    assert first == {"limit": "500", "labelSelector": "a=b", "fieldSelector": "metadata.name!=c"}
    assert second == {**first, "continue": "p2"}


def test_a_list_whose_place_was_forgotten_begins_again(api, cluster):
    """410 in the middle: what came so far is dropped, not doubled."""
    page = Answer({"metadata": {"continue": "p2"}, "items": [{"metadata": {"name": "a"}}]})
    end = Answer({"metadata": {}, "items": [{"metadata": {"name": "b"}}]})
    api.answers("GET", CONFIG_MAPS, page, status(410, "Expired"), page, end)

    assert [one["metadata"]["name"] for one in cluster.list("ConfigMap", namespace="ns")] == ["a", "b"]


def test_a_list_is_not_begun_for_ever(api, cluster):
    """After three tries the server's word is passed on."""
    api.answers("GET", CONFIG_MAPS, status(410, "Expired", "too old"))

    with pytest.raises(ApiError, match="cannot list ConfigMap in namespace ns: too old") as gone:
        cluster.list("ConfigMap", namespace="ns")
    assert gone.value.status == 410
    assert len(api.asked(CONFIG_MAPS)) == 3


def test_a_secrets_content_does_not_travel(api, cluster):
    """Metadata is asked for, and no more is kept whatever comes; the real kind is put in."""
    item = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "s"}}
    api.answers("GET", "/api/v1/secrets", Answer({"items": [{**item, "data": {"password": "aHVudGVyMg=="}}]}))

    found = cluster.list("Secret", metadata_only=True)

    assert found == [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]
    accept = api.asked("/api/v1/secrets")[0].headers["Accept"]
    assert accept == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def test_an_object_is_read_or_is_not_there(api, cluster):
    """404 is an answer."""
    api.answers("GET", f"{CONFIG_MAPS}/a", Answer(ONE))

    assert cluster.get("ConfigMap", "a", "ns") == ONE
    assert cluster.get("ConfigMap", "b", "ns") is None


def test_a_404_of_something_else_is_no_answer(api, cluster):
    """Only the API server can say that an object is not there; a proxy's 404 says nothing."""
    api.answers("GET", f"{CONFIG_MAPS}/a", Answer(b"<html>not found</html>", 404))

    with pytest.raises(ApiError, match="answered HTTP 404, and not as a Kubernetes API server does"):
        cluster.get("ConfigMap", "a", "ns")


def test_names_are_quoted_in_paths(api, cluster):
    """A name cannot lead to another path."""
    cluster.get("ConfigMap", "../../x?y", "ns")

    assert api.requests[-1].path == f"{CONFIG_MAPS}/..%2F..%2Fx%3Fy"
    assert api.requests[-1].query == {}


def test_a_namespaced_kind_needs_a_namespace(cluster):
    """Without one the path would name something else."""
    with pytest.raises(ValueError, match="ConfigMap a needs a namespace"):
        cluster.get("ConfigMap", "a")
    with pytest.raises(ValueError, match="ConfigMap a needs a namespace"):
        cluster.apply({**ONE, "metadata": {"name": "a"}})


def test_a_namespace_has_none(api, cluster):
    """A namespace given with a cluster-wide kind is left out."""
    api.answers("GET", "/api/v1/namespaces/x", Answer({"kind": "Namespace"}))

    assert cluster.get("Namespace", "x", "ns") == {"kind": "Namespace"}


# --- writing ---


def test_apply_is_server_side(api, cluster):
    """With our field manager, and strictly, unless told otherwise: a field that the kind does not know is refused."""
    api.answers("PATCH", f"{CONFIG_MAPS}/a", Answer({**ONE, "metadata": {"resourceVersion": "7"}}))

    assert cluster.apply(ONE)["metadata"]["resourceVersion"] == "7"
    assert cluster.apply(ONE, dry_run=True, force=True, field_manager="other")
    assert cluster.apply(ONE, strict=False)
    first, second, third = api.asked(f"{CONFIG_MAPS}/a")
    assert third.query == {"fieldManager": "kvobs", "fieldValidation": "Ignore"}
    assert first.query == {"fieldManager": "kvobs", "fieldValidation": "Strict"}
    assert second.query == {"fieldManager": "other", "fieldValidation": "Strict", "force": "true", "dryRun": "All"}
    assert first.headers["Content-Type"] == "application/apply-patch+yaml"
    assert first.body == ONE


def test_an_object_goes_to_its_own_version(api, cluster):
    """Not to the one that the server prefers: its fields are of that version."""
    path = "/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers/a"
    api.answers("PATCH", path, Answer(ONE))

    cluster.apply({**ONE, "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"})

    assert len(api.asked(path)) == 1


def test_a_conflict_names_manager_and_field(api, cluster):
    """And how to see them all; more than five are counted."""
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "helm" using v1', "field": f".data.k{n}"}
        for n in range(7)
    ]
    api.answers("PATCH", f"{CONFIG_MAPS}/a", status(409, "Conflict", "Apply failed with 7 conflicts", causes))

    with pytest.raises(Conflict, match="cannot apply ConfigMap ns/a") as conflict:
        cluster.apply(ONE)
    assert '.data.k0 belongs to field manager "helm"; .data.k1' in str(conflict.value)
    assert str(conflict.value).endswith('.data.k4 belongs to field manager "helm" and 2 more')
    assert "get configmap/a -n ns -o yaml --show-managed-fields" in conflict.value.hint


def test_create_says_that_it_is_already_there(api, cluster):
    """By its reason, so that the caller can tell."""
    api.answers("POST", CONFIG_MAPS, Answer(ONE, 201), status(409, "AlreadyExists", 'configmaps "a" already exists'))

    assert cluster.create(ONE) == ONE
    with pytest.raises(Conflict, match=r"cannot create ConfigMap ns/a: .*already exists") as there:
        cluster.create(ONE)
    assert there.value.reason == "AlreadyExists"
    assert "get configmap/a -n ns shows what is there" in there.value.hint
    assert api.asked(CONFIG_MAPS)[0].query == {"fieldManager": "kvobs"}


@pytest.mark.parametrize("fails", ["reset", "cut"])
def test_a_create_whose_reply_was_lost(api, cluster, fails):
    """What is there by the next try is what was asked for if it says all of it, additions of the server aside."""
    live = {**ONE, "metadata": {**ONE["metadata"], "uid": "u1"}}
    api.answers("POST", CONFIG_MAPS, Answer(live, fails=fails), status(409, "AlreadyExists", "already exists"))
    api.answers("GET", f"{CONFIG_MAPS}/a", Answer(live))

    assert cluster.create(ONE) == live


@pytest.mark.parametrize("live", [{**ONE, "data": {"k": "w"}}, {**ONE, "data": None}], ids=["another", "less"])
def test_another_was_created_meanwhile(api, cluster, live):
    """One that says anything else is somebody else's."""
    api.answers("POST", CONFIG_MAPS, Answer(ONE, fails="reset"), status(409, "AlreadyExists", "already exists"))
    api.answers("GET", f"{CONFIG_MAPS}/a", Answer(live))

    with pytest.raises(Conflict, match="already exists"):
        cluster.create(ONE)


def test_replace_meets_an_object_that_moved_on(api, cluster):
    """The server compares resourceVersions."""
    api.answers("PUT", f"{CONFIG_MAPS}/a", Answer(ONE), status(409, "Conflict", "the object has been modified"))

    assert cluster.replace(ONE) == ONE
    with pytest.raises(Conflict, match="cannot replace ConfigMap ns/a: the object has been modified") as moved:
        cluster.replace(ONE)
    assert "run the command again" in moved.value.hint


def test_delete_says_whether_it_was_there(api, cluster):
    """Under the condition that it is the object that was meant."""
    api.answers(
        "DELETE",
        f"{CONFIG_MAPS}/a",
        Answer({"kind": "Status", "status": "Success"}),
        status(404, "NotFound"),
        status(409, "Conflict", "the UID in the precondition does not match"),
    )

    assert cluster.delete("ConfigMap", "a", "ns", uid="u1", resource_version="7") is True
    assert cluster.delete("ConfigMap", "a", "ns", propagation="Orphan") is False
    with pytest.raises(Conflict, match="cannot delete ConfigMap ns/a: the UID"):
        cluster.delete("ConfigMap", "a", "ns", uid="u2")
    first, second, _ = (one.body for one in api.asked(f"{CONFIG_MAPS}/a"))
    assert first["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert first["propagationPolicy"] == "Background"
    assert second["preconditions"] == {}
    assert second["propagationPolicy"] == "Orphan"


# --- through the API server ---

PROXY = "/api/v1/namespaces/ns/services/prom:http-web/proxy/api/v1/query"


@pytest.mark.parametrize("answer", [Answer(b"up 1"), Answer(b'{"error":"no"}', 400), Answer(b"", 302)])
def test_a_services_answer_comes_back_as_it_is(api, cluster, answer):
    """Whatever its status: it is the Service's, not the API server's."""
    api.answers("GET", PROXY, answer)

    assert cluster.proxy_get("ns", "prom", "http-web", "/api/v1/query", [("query", 'up{a="b"}')]) == (
        answer.status,
        answer.body,
    )
    assert api.asked(PROXY)[0].query == {"query": 'up{a="b"}'}


@pytest.mark.parametrize(
    ("answer", "error", "want"),
    [
        (status(503, "ServiceUnavailable", "no endpoints available"), ApiError, "no endpoints available"),
        (status(404, "NotFound", 'services "prom" not found'), ApiError, "not found"),
        (
            status(
                403,
                "Forbidden",
                'services "prom" is forbidden: User "eve" cannot get resource "services/proxy" '
                'in API group "" in the namespace "ns"',
            ),
            Forbidden,
            "user eve may not get services/proxy in namespace ns",
        ),
    ],
    ids=["no endpoints", "no service", "no right"],
)
def test_the_api_servers_own_refusal_is_raised(api, cluster, pauses, answer, error, want):
    """It says that the Service was not reached; asking again is the caller's choice."""
    api.answers("GET", PROXY, answer)

    with pytest.raises(error, match=f"cannot reach Service ns/prom, port http-web: {want}|{want}"):
        cluster.proxy_get("ns", "prom", "http-web", "/api/v1/query")
    assert pauses == []


# --- refusals ---

RIGHTS = {
    "in a namespace": (
        'configmaps is forbidden: User "eve" cannot list resource "configmaps" in API group "" in the namespace "ns"',
        "user eve may not list configmaps in namespace ns",
        "auth can-i list configmaps -n ns",
    ),
    "anywhere, in a group": (
        'x is forbidden: User "system:serviceaccount:a:b" cannot patch resource "servicemonitors" in API group '
        '"monitoring.coreos.com" at the cluster scope',
        "user system:serviceaccount:a:b may not patch servicemonitors.monitoring.coreos.com anywhere",
        "auth can-i patch servicemonitors.monitoring.coreos.com -A",
    ),
    "of a path": (
        'forbidden: User "eve" cannot get path "/metrics"',
        "user eve may not get /metrics",
        "auth can-i get /metrics",
    ),
}


@pytest.mark.parametrize(("message", "want", "hint"), RIGHTS.values(), ids=RIGHTS.keys())
def test_a_missing_right_is_named(api, cluster, message, want, hint):
    """Who may not do what, where; and the command that says when it is granted."""
    api.answers("GET", CONFIG_MAPS, status(403, "Forbidden", message))

    with pytest.raises(Forbidden, match=f"cannot list ConfigMap in namespace ns: {want}") as forbidden:
        cluster.list("ConfigMap", namespace="ns")
    assert hint in forbidden.value.hint
    assert "--context test" in forbidden.value.hint


GOING = [{"reason": "NamespaceTerminating", "message": "namespace ns is being terminated"}]


@pytest.mark.parametrize(
    ("message", "causes", "hint"),
    [
        ("exceeded quota: q", [], "a rule of the cluster forbids it (a quota, "),
        ("unable to create new content", GOING, "run the command again once the namespace is gone"),
    ],
    ids=["a quota", "a namespace that is going"],
)
def test_a_403_for_another_reason_keeps_its_words(api, cluster, message, causes, hint):
    """A quota or a namespace that is going away is no missing right, and the hint says what to do about it."""
    api.answers("POST", CONFIG_MAPS, status(403, "Forbidden", message, causes))

    with pytest.raises(Forbidden, match=f"cannot create ConfigMap ns/a: {message}") as forbidden:
        cluster.create(ONE)
    assert hint in forbidden.value.hint


@pytest.mark.parametrize(
    "answer",
    [
        status(401, "Unauthorized", "Unauthorized"),
        Answer(b"login first", 401),
        status(403, "Forbidden", 'x: User "system:anonymous" cannot get path "/version"'),
    ],
    ids=["Status", "a proxy's", "taken for nobody"],
)
def test_credentials_that_are_not_accepted(api, cluster, answer):
    """Expired or wrong, or never sent: log in again; the token is not shown."""
    api.answers("GET", "/version", answer)

    with pytest.raises(Unauthenticated, match=f"{api.url} does not accept the credentials") as refused:
        cluster.server_version()
    assert "--context test auth whoami" in refused.value.hint
    _no_secret_in(refused.value)


def test_a_long_message_is_cut(api, cluster):
    """Validation may quote a whole dashboard; a terminal's control characters do not come through."""
    api.answers("PATCH", f"{CONFIG_MAPS}/a", status(422, "Invalid", "bad:\n\x1b[31m" + "x" * 5000))

    with pytest.raises(ApiError) as invalid:
        cluster.apply(ONE)
    assert len(str(invalid.value)) < 300
    assert str(invalid.value).startswith("cannot apply ConfigMap ns/a: bad: [31mxxx")
    assert str(invalid.value).endswith("x…")
    assert invalid.value.status == 422
    assert invalid.value.reason == "Invalid"


SECRET_REFUSALS = {
    "invalid": status(
        422, "Invalid", 'data: Invalid value: "hunter2"', [{"field": "data.password", "message": "hunter2"}]
    ),
    "a webhook": status(403, "Forbidden", "admission webhook denied: password hunter2 is weak"),
    "a bad request": status(400, "BadRequest", 'json: cannot unmarshal "hunter2"'),
    "a conflict": status(409, "Conflict", "hunter2 has been modified"),
    "a page": Answer(b"hunter2", 500),
}


@pytest.mark.parametrize("answer", SECRET_REFUSALS.values(), ids=SECRET_REFUSALS.keys())
@pytest.mark.parametrize("verb", ["apply", "create", "replace"])
def test_no_refusal_of_a_secret_quotes_it(api, cluster, verb, answer):
    """The reason and the names of fields are kept, the server's text is not."""
    for method, path in (("PATCH", "/s"), ("PUT", "/s"), ("POST", "")):
        api.answers(method, f"/api/v1/namespaces/ns/secrets{path}", answer)

    with pytest.raises(ApiError, match=f"cannot {verb} Secret ns/s") as refused:
        getattr(cluster, verb)(SECRET)
    _no_secret_in(refused.value)


def test_the_field_of_an_invalid_secret_is_named(api, cluster):
    """That much can be said."""
    api.answers("PATCH", "/api/v1/namespaces/ns/secrets/s", SECRET_REFUSALS["invalid"])

    with pytest.raises(ApiError, match=r"cannot apply Secret ns/s: Invalid at data.password"):
        cluster.apply(SECRET)


def test_a_missing_right_on_secrets_is_named(api, cluster):
    """The message of RBAC holds no content."""
    message = 'User "eve" cannot patch resource "secrets" in API group "" in the namespace "ns"'
    api.answers("PATCH", "/api/v1/namespaces/ns/secrets/s", status(403, "Forbidden", message))

    with pytest.raises(Forbidden, match="user eve may not patch secrets in namespace ns"):
        cluster.apply(SECRET)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(b"<html>Sign in</html>", 200, {"Content-Type": "text/html"}), ClusterUnreachable),
        (Answer(b"", 302, {"Location": "https://login.example.com/"}), ClusterUnreachable),
        (Answer(b"[]", 200), ClusterUnreachable),
        (Answer(b"Bad Gateway", 502), ApiError),
        (Answer({"message": "denied by the gateway"}, 403), Forbidden),
        (Answer(b"conflict", 409), Conflict),
    ],
    ids=["login page", "redirect", "other JSON", "gateway", "a gateway's refusal", "a gateway's conflict"],
)
def test_an_answer_of_something_in_between(api, cluster, answer, error):
    """It is named, not quoted, and a redirect is not followed with the token."""
    api.answers("GET", "/version", answer)

    with pytest.raises(error, match=f"HTTP {answer.status}, and not as a Kubernetes API server does") as between:
        cluster.server_version()
    assert "cluster-info" in between.value.hint
    assert "gateway" not in str(between.value).lower()
    assert len(api.requests) == 1


# --- trouble on the way ---


def test_an_overloaded_server_is_given_the_time_it_asks_for(api, cluster, pauses):
    """Retry-After in the header, or in the Status; without either the pause doubles."""
    api.answers(
        "GET",
        "/version",
        Answer(b"", 429, {"Retry-After": "2"}),
        status(500, "ServerTimeout", retryAfterSeconds=1),
        status(503, "ServiceUnavailable"),
        Answer({"gitVersion": "v1"}),
    )

    assert cluster.server_version() == "v1"
    assert pauses == [2.0, 1.0, 1.0]


def test_patience_ends(api, cluster, pauses):
    """Five tries, then the server's own word."""
    api.answers("GET", "/version", status(429, "TooManyRequests", "slow down"))

    with pytest.raises(ApiError, match="slow down") as busy:
        cluster.server_version()
    assert busy.value.status == 429
    assert len(api.requests) == 5
    assert pauses == [0.25, 0.5, 1.0, 2.0]


def test_a_long_pause_is_not_waited_for(api, cluster, pauses):
    """An hour is no answer to a command line."""
    api.answers("GET", "/version", Answer(b"", 503, {"Retry-After": "3600"}))

    with pytest.raises(ApiError, match="503"):
        cluster.server_version()
    assert pauses == []


def test_a_failure_that_names_no_pause_is_final(api, cluster, pauses):
    """An internal error will not go away by itself."""
    api.answers("GET", "/version", status(500, "InternalError", "etcd is on fire"))

    with pytest.raises(ApiError, match="etcd is on fire"):
        cluster.server_version()
    assert pauses == []


def test_what_may_be_repeated_is_repeated(api, cluster, pauses):
    """Every request of our own: done twice it does no more than done once, or the second time is refused."""
    busy = status(429, "TooManyRequests")
    api.answers("PATCH", f"{CONFIG_MAPS}/a", busy, Answer(fails="reset"), Answer(ONE))
    api.answers("DELETE", f"{CONFIG_MAPS}/a", Answer(fails="cut", body=ONE), Answer({"kind": "Status"}))
    api.answers("POST", CONFIG_MAPS, Answer(fails="reset"), busy, Answer(ONE, 201))
    api.answers("PUT", f"{CONFIG_MAPS}/a", Answer(fails="reset"), Answer(ONE))

    assert cluster.apply(ONE) == ONE
    assert cluster.delete("ConfigMap", "a", "ns") is True
    assert cluster.create(ONE) == ONE
    assert cluster.replace(ONE) == ONE
    assert len(pauses) == 6


@pytest.mark.parametrize("answer", [status(429, "TooManyRequests"), Answer(fails="reset")], ids=["busy", "reset"])
def test_what_a_service_is_asked_is_not_repeated(api, cluster, pauses, answer):
    """It is asked for what nobody needs to know at any price."""
    path = "/api/v1/namespaces/ns/services/grafana:80/proxy/api/health"
    api.answers("GET", path, answer)

    with pytest.raises((ApiError, ClusterUnreachable)):
        cluster.proxy_get("ns", "grafana", 80, "/api/health")
    assert len(api.asked(path)) == 1
    assert pauses == []


@pytest.mark.parametrize("fails", ["reset", "cut"])
def test_a_broken_connection_is_tried_again(api, cluster, fails):
    """A read loses nothing by it."""
    api.answers("GET", "/version", Answer({"gitVersion": "v1"}, fails=fails), Answer({"gitVersion": "v1"}))

    assert cluster.server_version() == "v1"
    assert len(api.requests) == 2


@pytest.mark.parametrize("fails", ["reset", "cut"])
def test_a_connection_that_always_breaks(api, cluster, fails):
    """After five tries the reader is told."""
    api.answers("GET", "/version", Answer({"gitVersion": "v1"}, fails=fails))

    with pytest.raises(ClusterUnreachable, match=f"{api.url} broke the connection$") as broken:
        cluster.server_version()
    assert len(api.requests) == 5
    assert "--context test cluster-info" in broken.value.hint


def test_after_a_cut_write_nothing_is_claimed(api, cluster):
    """It may have been done or not; a second run settles it."""
    api.answers("POST", CONFIG_MAPS, Answer(ONE, fails="cut"))

    with pytest.raises(ClusterUnreachable, match="whether the change was made is not known"):
        cluster.create(ONE)


def test_a_question_that_is_cut_changes_nothing(api, cluster):
    """Asking for a right is a POST, and a dry run a PATCH: nobody need wonder whether they were done."""
    api.answers("POST", access_reviews.PATH, Answer({}, fails="cut"))
    api.answers("PATCH", f"{CONFIG_MAPS}/a", Answer({}, fails="cut"))

    for ask in (lambda: cluster.may("get", "ConfigMap"), lambda: cluster.apply(ONE, dry_run=True)):
        with pytest.raises(ClusterUnreachable, match=r"broke the connection$"):
            ask()


def test_what_the_credentials_may_do(api, cluster):
    """Each question is one review, which a refusal leaves unanswered."""
    allowed, denied = (
        Answer({"kind": "SelfSubjectAccessReview", "status": {"allowed": each}}) for each in (True, False)
    )
    api.answers("POST", access_reviews.PATH, allowed, denied, status(403, "Forbidden"))

    assert cluster.allows_everything()
    assert not cluster.may("get", "ConfigMap", "ns")
    assert cluster.allows("get", "", "configmaps", "ns") is None
    assert [each.body["kind"] for each in api.requests if each.method == "POST"] == ["SelfSubjectAccessReview"] * 3


def test_a_silent_server_is_not_waited_for(api, tmp_path):
    """Every request has a time-out, and no second try of it."""
    cluster = Cluster.connect(api.kubeconfig(tmp_path), request_timeout_s=0.3)
    api.answers("GET", "/version", Answer(fails="silence"))

    with pytest.raises(ClusterUnreachable, match=f"{api.url} did not answer within 0.3 s"):
        cluster.server_version()
    assert len(api.requests) == 1


def test_nobody_listens(api, pauses, tmp_path):
    """Said at once: a server that never answered is not waited for."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        api.url = f"http://admin:{TOKEN}@127.0.0.1:{unused.getsockname()[1]}/k8s/?token={TOKEN}"
    cluster = Cluster.connect(api.kubeconfig(tmp_path), sleep=pauses.append)

    with pytest.raises(ClusterUnreachable, match=r"http://127.0.0.1:\d+/k8s refuses connections") as nobody:
        cluster.server_version()
    assert pauses == []
    _no_secret_in(nobody.value)


def test_a_server_that_went_away_may_come_back(tmp_path, pauses):
    """Once it has answered, a refused connection is tried again: an API server restarts in seconds."""
    with fake_api() as api:
        api.answers("GET", "/version", Answer({"gitVersion": "v1"}, headers={"Connection": "close"}))
        cluster = Cluster.connect(api.kubeconfig(tmp_path), sleep=pauses.append)
        cluster.server_version()

    with pytest.raises(ClusterUnreachable, match="refuses connections"):
        cluster.server_version()
    assert len(pauses) == 4


def test_a_name_that_does_not_resolve(api, tmp_path):
    """The name is in the message."""
    api.url = "https://no-such-host.invalid:6443"
    cluster = Cluster.connect(api.kubeconfig(tmp_path))

    with pytest.raises(ClusterUnreachable, match=r"the name of https://no-such-host.invalid:6443 cannot be resolved"):
        cluster.server_version()


def test_a_token_that_cannot_be_a_header(api, tmp_path):
    """A line break in the middle is refused without showing it."""
    cluster = Cluster.connect(api.kubeconfig(tmp_path, user={"token": f"{TOKEN}\nmore"}))

    with pytest.raises(KubeconfigError, match="the credentials hold characters that cannot be sent") as bad:
        cluster.server_version()
    _no_secret_in(bad.value)
    assert bad.value.__cause__ is None


# --- TLS ---


@pytest.fixture
def authority():
    """Who signs here."""
    return Authority("test")


@pytest.fixture
def tls_api(authority, tmp_path):
    """A server with a certificate of that authority, which also asks for one."""
    pair = authority.server("127.0.0.1")
    (tmp_path / "server.pem").write_bytes(pair.certificate + pair.key)
    (tmp_path / "ca.pem").write_bytes(authority.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    context.load_verify_locations(tmp_path / "ca.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    with fake_api(tls=context) as server:
        server.answers("GET", "/version", Answer({"gitVersion": "v1"}))
        yield server


def test_tls_with_files_beside_the_kubeconfig(tls_api, authority, tmp_path):
    """Paths count from the kubeconfig's folder, as kubectl has it."""
    pair = authority.client("eve")
    (tmp_path / "client.pem").write_bytes(pair.certificate)
    (tmp_path / "client.key").write_bytes(pair.key)
    user = {"client-certificate": "client.pem", "client-key": "client.key"}
    kubeconfig = tls_api.kubeconfig(tmp_path, cluster={"certificate-authority": "ca.pem"}, user=user)

    assert Cluster.connect(kubeconfig).server_version() == "v1"


@pytest.mark.parametrize(
    ("cluster", "want"),
    [({}, "self-signed|unable to get local issuer"), ({"tls-server-name": "other"}, "Hostname mismatch|match")],
    ids=["unknown authority", "another name"],
)
def test_a_certificate_that_does_not_fit(tls_api, tmp_path, cluster, want):
    """The message says that it is TLS, and what OpenSSL found."""
    if cluster:
        cluster = {**cluster, "certificate-authority": str(tmp_path / "ca.pem")}
    connected = Cluster.connect(tls_api.kubeconfig(tmp_path, cluster=cluster))

    with pytest.raises(ClusterUnreachable, match=f"TLS with {tls_api.url} failed: .*({want})") as failed:
        connected.server_version()
    assert "certificate" in failed.value.hint


@pytest.mark.parametrize(("shift_days", "want"), [(3, "not yet valid"), (-3, "has expired")], ids=["late", "early"])
def test_a_clock_that_is_off(tmp_path, shift_days, want):
    """Dates of a certificate that do not fit may be this machine's fault: the message says what its clock says."""
    authority = Authority("test")
    pair = authority.server("127.0.0.1", shift=timedelta(days=shift_days))
    (tmp_path / "server.pem").write_bytes(pair.certificate + pair.key)
    (tmp_path / "ca.pem").write_bytes(authority.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    days = {f"{datetime.now(UTC):%Y-%m-%d}"}
    with fake_api(tls=context) as api, pytest.raises(ClusterUnreachable, match=f"TLS with .*{want}") as failed:
        Cluster.connect(api.kubeconfig(tmp_path, cluster={"certificate-authority": "ca.pem"})).server_version()
    days.add(f"{datetime.now(UTC):%Y-%m-%d}")  # it may be midnight
    assert any(f"this machine's clock says {day}" in failed.value.hint for day in days)


@pytest.mark.parametrize("answered", [True, False])
def test_a_server_that_goes_away_amid_the_handshake(answered, tmp_path, pauses):
    """As a load balancer does that restarts: tried again where it has answered before, else said to be about TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:
        api = stack.enter_context(fake_api())
        api.answers("GET", "/version", Answer({"gitVersion": "v1"}, headers={"Connection": "close"}))
        connected = Cluster.connect(api.kubeconfig(tmp_path), request_timeout_s=5, sleep=pauses.append)
        if answered:
            connected.server_version()
        connected._access.configuration.host = f"https://127.0.0.1:{listening.getsockname()[1]}"

        def hang_up():
            with suppress(OSError):
                while True:
                    peer, _ = listening.accept()
                    peer.recv(1)
                    peer.shutdown(socket.SHUT_WR)
                    peer.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        with pytest.raises(ClusterUnreachable, match="broke the connection" if answered else "TLS with"):
            connected.server_version()
        assert len(pauses) == (4 if answered else 0)
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("cluster", "insecure"),
    [({"insecure-skip-tls-verify": True}, False), ({}, True), ({"tls-server-name": "other"}, True)],
    ids=["by the kubeconfig", "by the user", "by the user, for another name"],
)
def test_a_cluster_that_is_not_to_be_verified(tls_api, tmp_path, cluster, insecure):
    """insecure-skip-tls-verify is taken at its word, without a warning at each request."""
    kubeconfig = tls_api.kubeconfig(tmp_path, cluster=cluster)

    assert Cluster.connect(kubeconfig, insecure=insecure).server_version() == "v1"


def test_requests_that_overlap_on_a_cluster_that_is_not_to_be_verified():
    """While one of two is under way nobody is warned; after the last one the process' filters are what they were."""
    before = list(warnings.filters)
    first, second = ExitStack(), ExitStack()
    first.enter_context(UNWARNED)
    second.enter_context(UNWARNED)
    first.close()
    warnings.warn("of the second", urllib3.exceptions.InsecureRequestWarning, stacklevel=1)
    second.close()

    assert warnings.filters == before


def test_http_where_tls_is_spoken(tls_api, tmp_path):
    """A kubeconfig with the wrong scheme ends in a plain error too."""
    tls_api.url = tls_api.url.replace("https", "http")

    with pytest.raises(ClusterUnreachable, match="broke the connection"):
        Cluster.connect(tls_api.kubeconfig(tmp_path), sleep=lambda _: None).server_version()


def test_tls_where_http_is_spoken(api, tmp_path):
    """And the other way round."""
    api.url = api.url.replace("http", "https")

    with pytest.raises(ClusterUnreachable, match=r"TLS with .* failed: "):
        Cluster.connect(api.kubeconfig(tmp_path)).server_version()


# --- what is shown ---


def test_the_repr_shows_where_and_not_who(cluster, api):
    """No credential in it."""
    assert repr(cluster) == f"Cluster('{api.url}', context='test')"
    assert TOKEN not in repr(vars(cluster))
    assert cluster.server == api.url


def test_nothing_is_left_on_disk(api, cluster, tmp_path, monkeypatch):
    """Discovery is kept in memory only."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("TMPDIR", str(empty))
    monkeypatch.setenv("HOME", str(empty))

    cluster.discover()

    assert list(empty.iterdir()) == []
