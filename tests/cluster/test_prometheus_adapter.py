"""The Prometheus adapter through a real API server: the service proxy, the right to it, and a pod that goes."""

from __future__ import annotations

import time

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Prometheus
from kvobs.dashboard.board import Query
from kvobs.health.answers import Answer, Names, NoAnswer, Refused, Result, Server
from tests.cluster.api import eventually
from tests.cluster.bed import Bed
from tests.cluster.test_monitoring import OPERATOR, PROMETHEUS, SERVICE


@pytest.fixture(scope="module", autouse=True)
def prometheus(bed: Bed) -> None:
    """Give the bed an operator and a Prometheus."""
    bed.apply_crds("prometheus-operator")
    bed.api.apply(OPERATOR, PROMETHEUS, SERVICE)
    eventually(lambda: isinstance(_ask(_connected(bed)), Result), timeout_s=60)


def _connected(bed: Bed, kubeconfig: str | None = None, **more: float) -> Prometheus:
    cluster = Cluster.connect(kubeconfig or str(bed.kubeconfig))
    limits = {"timeout_s": 10.0, "patience_s": 0.0, **more}
    return Prometheus.of_service(cluster, namespace="default", service="main", port="http-web", **limits)


def _ask(prometheus: Prometheus, expr: str = "vector(1)") -> Answer:
    now = time.time()
    return prometheus.query(Query(expr=expr, instant=False, start_s=now - 60, end_s=now, step_s=15, source="x"))


def test_it_is_asked_through_the_api_server(bed: Bed) -> None:
    """Queries short and long, names, targets, and what the server is; a refusal comes through as it is."""
    prometheus = _connected(bed)
    for expr in ("vector(1)", "vector(1)" + " + vector(0)" * 2000):
        answer = _ask(prometheus, expr)
        assert isinstance(answer, Result)
        assert answer.numbers == 5
    assert isinstance(_ask(prometheus, "vector("), Refused)
    assert isinstance(prometheus.metric_names(None, None), Names)
    assert isinstance(prometheus.targets(), tuple)
    server = prometheus.server()
    assert isinstance(server, Server)
    assert (server.kind, server.version) == ("prometheus", "3.16.0")


def test_a_user_without_the_right(bed: Bed) -> None:
    """Who may not use the proxy is told which right is missing, and the way around it."""
    answer = _ask(_connected(bed, str(bed.kubeconfig_for("passer-by"))))
    assert isinstance(answer, NoAnswer)
    assert answer.lasting
    assert "user passer-by may not get services/proxy in namespace default" in answer.said
    assert "kubectl -n default port-forward service/main" in str(answer.hint)


def test_a_user_whose_credentials_have_expired(bed: Bed) -> None:
    """It is the API server that does not let him in."""
    answer = _ask(_connected(bed, str(bed.kubeconfig_for("late", expired=True))))
    assert isinstance(answer, NoAnswer)
    assert answer.lasting
    assert "does not accept the credentials" in answer.said


def test_a_user_who_may_only_get(bed: Bed) -> None:
    """The smaller right does, for a long question too."""
    role = {"kind": "Role", "name": "asks", "apiGroup": "rbac.authorization.k8s.io"}
    bed.api.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "asks", "namespace": "default"},
            "rules": [{"apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "asks", "namespace": "default"},
            "roleRef": role,
            "subjects": [{"kind": "User", "name": "asker", "apiGroup": "rbac.authorization.k8s.io"}],
        },
    )
    prometheus = _connected(bed, str(bed.kubeconfig_for("asker")))
    eventually(lambda: isinstance(_ask(prometheus), Result), timeout_s=20)
    assert isinstance(_ask(prometheus, "vector(1)" + " + vector(0)" * 2000), Result)


def test_no_such_service_and_no_ready_pod(bed: Bed) -> None:
    """A Service that is not there, or that has no pod, is told so, with where to look."""
    cluster = Cluster.connect(str(bed.kubeconfig))
    missing = Prometheus.of_service(cluster, namespace="default", service="nowhere", port=9090, patience_s=0.0)
    answer = _ask(missing)
    assert isinstance(answer, NoAnswer)
    assert "not found" in answer.said
    assert "get services" in str(answer.hint)

    bed.api.apply({**SERVICE, "metadata": {"name": "hollow", "namespace": "default"}})
    bed.api.merge({**SERVICE, "metadata": {"name": "hollow", "namespace": "default"}}, _SELECTS_NOTHING)
    hollow = Prometheus.of_service(cluster, namespace="default", service="hollow", port="http-web", patience_s=0.0)
    answer = eventually(lambda: _without_pod(_ask(hollow)), timeout_s=20)
    assert answer.lasting
    assert "endpointslices" in str(answer.hint)


def test_a_pod_that_goes(bed: Bed) -> None:
    """While it is away there is no answer, and once it is back there is: the patience bridges it."""
    bed.api.merge(PROMETHEUS, {"spec": {"replicas": 0}})
    gone = eventually(lambda: _none(_ask(_connected(bed))), timeout_s=60)
    assert gone.hint
    bed.api.merge(PROMETHEUS, {"spec": {"replicas": 1}})
    assert isinstance(_ask(_connected(bed, patience_s=60.0)), Result)


_SELECTS_NOTHING = {"spec": {"selector": {"app": "nothing"}}}


def _without_pod(answer: Answer) -> NoAnswer | None:
    return answer if isinstance(answer, NoAnswer) and "no ready pod" in answer.said else None


def _none(answer: Answer) -> NoAnswer | None:
    return answer if isinstance(answer, NoAnswer) else None
