"""The Prometheus adapter through a real API server: proxy and port-forward, the rights to them, a pod that goes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Prometheus
from kvobs.adapters.prometheus_proxied import OverCluster
from kvobs.dashboard.board import Query
from kvobs.health.answers import Answer, Names, NoAnswer, Refused, Result, Server
from kvobs.settings import Reach
from kvobs.stack import facts
from kvobs.stack.facts import Selector
from kvobs.use_cases.verifying.connect_prometheus import connect_prometheus
from tests.cluster.api import Object, eventually
from tests.cluster.bed import Bed
from tests.cluster.test_monitoring import OPERATOR, PROMETHEUS, SERVICE


@pytest.fixture(scope="module", autouse=True)
def prometheus(bed: Bed) -> None:
    """Give the bed an operator and a Prometheus."""
    bed.apply_crds("prometheus-operator")
    bed.api.apply(OPERATOR, PROMETHEUS, SERVICE)
    eventually(lambda: isinstance(_ask(_connected(bed)), Result))


def _connected(bed: Bed, kubeconfig: str | None = None, **more: float) -> Prometheus:
    cluster = Cluster.connect(kubeconfig or str(bed.kubeconfig))
    return Prometheus(_behind(cluster, "main"), timeout_s=10.0, patience_s=more.get("patience_s", 0.0))


def _behind(cluster: Cluster, service: str) -> OverCluster:
    return OverCluster(cluster.services, namespace="default", service=service, port="http-web")


def _forwarded(bed: Bed, kubeconfig: str | None = None, patience_s: float = 0.0) -> Prometheus:
    """The Prometheus of the bed, as it were without a Service."""
    cluster = Cluster.connect(kubeconfig or str(bed.kubeconfig))
    nothing: Selector = {}
    found = facts.Prometheus(
        namespace="default",
        name="main",
        service_monitor_selector=nothing,
        service_monitor_namespace_selector=nothing,
        pod_monitor_selector=nothing,
        pod_monitor_namespace_selector=nothing,
        keeps_metrics=False,
        release=None,
        tracked_by=None,
    )
    reach = Reach(timeout_s=10.0, patience_s=patience_s)
    return connect_prometheus(reach, {}, cluster=cluster, prometheus=found)


def _grant(bed: Bed, user: str, *rules: Object) -> None:
    """Let a user do what *rules* say, in namespace default."""
    group = "rbac.authorization.k8s.io"
    metadata = {"name": user, "namespace": "default"}
    bed.api.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": [""], **each} for each in rules],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"kind": "Role", "name": user, "apiGroup": group},
            "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
        },
    )


def _ask(prometheus: Prometheus, expr: str = "vector(1)") -> Answer:
    now = time.time()
    return prometheus.query(Query(expr=expr, instant=False, start_s=now - 60, end_s=now, step_s=15, source="x"))


def test_it_is_asked_through_the_api_server(bed: Bed) -> None:
    """Queries short and long, names, targets, and what the server is; a refusal comes through as it is."""
    prometheus = _connected(bed, patience_s=60.0)
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
    _grant(bed, "asker", {"resources": ["services/proxy"], "verbs": ["get"]})
    prometheus = _connected(bed, str(bed.kubeconfig_for("asker")))
    eventually(lambda: isinstance(_ask(prometheus), Result))
    assert isinstance(_ask(prometheus, "vector(1)" + " + vector(0)" * 2000), Result)


def test_a_prometheus_without_a_service(bed: Bed) -> None:
    """Its pod is found by the operator's labels and asked by a port-forward: queries at once, and long ones."""
    prometheus = _forwarded(bed, patience_s=60.0)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: _ask(prometheus), range(40)))
    assert all(isinstance(each, Result) for each in answers)
    assert isinstance(_ask(prometheus, "vector(1)" + " + vector(0)" * 2000), Result)
    assert isinstance(_ask(prometheus, "vector("), Refused)
    server = prometheus.server()
    assert isinstance(server, Server)
    assert server.version == "3.16.0"
    assert prometheus.place == "Prometheus (pod default/prometheus-main-0, port 9090, by port-forward)"


@pytest.mark.parametrize("verb", ["get", "create"])
def test_a_port_forward_needs_two_rights(bed: Bed, verb: str) -> None:
    """To get pods/portforward, as a WebSocket is opened with a GET, and to create it, which Kubernetes asks for too."""
    user = f"half-{verb}"
    _grant(bed, user, {"resources": ["pods"], "verbs": ["list"]}, {"resources": ["pods/portforward"], "verbs": [verb]})
    prometheus = _forwarded(bed, str(bed.kubeconfig_for(user)))
    answer = eventually(lambda: _not_forwarded(_ask(prometheus)))
    assert "get and create pods/portforward" in str(answer.hint)
    assert answer.denied


def test_no_such_service_and_no_ready_pod(bed: Bed) -> None:
    """A Service that is not there, or that has no pod, is told so, with where to look."""
    cluster = Cluster.connect(str(bed.kubeconfig))
    missing = Prometheus(_behind(cluster, "nowhere"), patience_s=0.0)
    answer = _ask(missing)
    assert isinstance(answer, NoAnswer)
    assert "not found" in answer.said
    assert "get services" in str(answer.hint)

    bed.api.apply({**SERVICE, "metadata": {"name": "hollow", "namespace": "default"}})
    bed.api.merge({**SERVICE, "metadata": {"name": "hollow", "namespace": "default"}}, _SELECTS_NOTHING)
    hollow = Prometheus(_behind(cluster, "hollow"), patience_s=0.0)
    answer = eventually(lambda: _without_pod(_ask(hollow)))
    assert answer.lasting
    assert "endpointslices" in str(answer.hint)


def test_a_pod_that_goes(bed: Bed) -> None:
    """While it is away there is no answer, and once it is back there is: the patience bridges it."""
    bed.api.merge(PROMETHEUS, {"spec": {"replicas": 0}})
    gone = eventually(lambda: _none(_ask(_connected(bed))))
    assert gone.hint
    bed.api.merge(PROMETHEUS, {"spec": {"replicas": 1}})
    assert isinstance(_ask(_connected(bed, patience_s=240.0)), Result)


def test_a_forwarded_pod_that_goes(bed: Bed) -> None:
    """The connections to it end; the next question waits for its successor within the patience, and is told."""
    prometheus = _forwarded(bed, patience_s=240.0)
    assert isinstance(_ask(prometheus), Result)
    first = _uid(bed)
    bed.api.delete("v1", "Pod", "prometheus-main-0", "default")
    eventually(lambda: _uid(bed) not in (None, first))
    assert isinstance(_ask(prometheus), Result)


_SELECTS_NOTHING = {"spec": {"selector": {"app": "nothing"}}}


def _without_pod(answer: Answer) -> NoAnswer | None:
    return answer if isinstance(answer, NoAnswer) and "no ready pod" in answer.said else None


def _not_forwarded(answer: Answer) -> NoAnswer | None:
    said = "cannot forward to pod default/prometheus-main-0, port 9090: "
    return answer if isinstance(answer, NoAnswer) and said in answer.said else None


def _none(answer: Answer) -> NoAnswer | None:
    return answer if isinstance(answer, NoAnswer) else None


def _uid(bed: Bed) -> str | None:
    pod = bed.api.find("v1", "Pod", "prometheus-main-0", "default")
    return str(pod["metadata"]["uid"]) if pod is not None else None
