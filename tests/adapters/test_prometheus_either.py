"""Which way leads to the cluster's Prometheus: the API server's proxy or a port-forward, and what is sent where."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.adapters.prometheus_either import EitherWay
from kvobs.adapters.prometheus_forwarded import OverPod
from kvobs.adapters.prometheus_proxied import OverCluster
from kvobs.dashboard.board import Query
from kvobs.health.answers import NoAnswer, Result
from kvobs.stack.prometheus_pods import PodPort

from .fake_api import Answer, fake_api, status
from .fake_kubelet import Kubelet
from .test_prometheus_forwarded import address_of

PATH = "/api/v1/query"
AT = f"/api/v1/namespaces/monitoring/services/k8s:http-web/proxy{PATH}"
FORWARD = "/api/v1/namespaces/monitoring/pods/k8s-0/portforward"
ONE = Answer({"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "1"]}]}})
SECRET = "sekrit-prometheus-0815"


def no_right(verb: str, resource: str) -> Answer:
    """A refusal for want of a right."""
    said = f'User "eve" cannot {verb} resource "{resource}" in API group "" in the namespace "monitoring"'
    return status(403, "Forbidden", f"it is forbidden: {said}")


NO_PROXY = no_right("get", "services/proxy")
NO_FORWARD = no_right("get", "pods/portforward")
LOCKED = Answer(b"who are you?", 401)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What answers on either way, and what is asked."""

    proxied: Sequence[Answer]
    pod: Answer | None = ONE
    """What the Prometheus in the pod answers; None: there is no right to get there."""
    ready: bool = True
    token: str | None = None
    expr: str = "up"
    lit: bool = True
    place: str = "pod monitoring/k8s-0"
    asked: Sequence[str]
    """What goes to the API server, in order, then what goes to the pod."""
    says: Sequence[str] = ()
    hints: Sequence[str] = ()


CASES = {
    "the proxy is open": Case(proxied=[ONE], place="Service monitoring/k8s", asked=["proxy", "proxy"]),
    "no right to the proxy": Case(proxied=[NO_PROXY], asked=["proxy", "forward", "pod", "pod"]),
    "no right to post, but to get": Case(
        proxied=[ONE],
        expr="up" + " or up" * 2000,
        place="Service monitoring/k8s",
        asked=["proxy", "proxy", "proxy"],
    ),
    "no right to post, nor to get": Case(
        proxied=[NO_PROXY],
        expr="up" + " or up" * 2000,
        asked=["proxy", "proxy", "forward", "pod", "pod"],
    ),
    "neither right": Case(
        proxied=[NO_PROXY],
        pod=None,
        lit=False,
        place="Service monitoring/k8s",
        asked=["proxy", "forward"] * 2,
        says=[
            "user eve may not get services/proxy in namespace monitoring",
            "user eve may not get pods/portforward in namespace monitoring",
        ],
        hints=[
            "get services/proxy (Role kvobs-prove of kvobs render --rbac)",
            "list pods and get and create pods/portforward",
            "kubectl -n monitoring port-forward service/k8s 9090:9090, then --prometheus http://127.0.0.1:9090",
        ],
    ),
    "no right, and no pod": Case(
        proxied=[NO_PROXY],
        ready=False,
        lit=False,
        place="Service monitoring/k8s",
        asked=["proxy", "proxy"],
        says=["may not get services/proxy", "no pod of it is ready"],
        hints=["get pods -l operator.prometheus.io/name=k8s"],
    ),
    "a restart behind the proxy is none of it": Case(
        proxied=[status(503, "ServiceUnavailable", 'no endpoints available for service "k8s"')],
        lit=False,
        place="Service monitoring/k8s",
        asked=["proxy", "proxy"],
        says=["the Service has no ready pod"],
    ),
    "credentials that nobody asks for": Case(
        proxied=[ONE], token=SECRET, place="Service monitoring/k8s", asked=["proxy", "proxy"]
    ),
    "credentials that are asked for": Case(
        proxied=[LOCKED], token=SECRET, asked=["proxy", "forward", "pod", "pod"]
    ),
    "credentials that there are none of": Case(
        proxied=[LOCKED],
        lit=False,
        place="Service monitoring/k8s",
        asked=["proxy", "proxy"],
        says=["does not accept the credentials"],
        hints=["the API server's proxy passes none on; a port-forward does", "KVOBS_PROMETHEUS_TOKEN"],
    ),
    "credentials, and no right to bring them": Case(
        proxied=[LOCKED],
        pod=None,
        token=SECRET,
        lit=False,
        place="Service monitoring/k8s",
        asked=["proxy", "forward"] * 2,
        says=["does not accept the credentials"],
        hints=["with the right to list pods and get and create pods/portforward"],
    ),
    "credentials that do not let in": Case(
        proxied=[LOCKED],
        pod=LOCKED,
        token=SECRET,
        lit=False,
        asked=["proxy", "forward", "pod", "pod"],
        says=["does not accept the credentials"],
        hints=["may have expired"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_way_that_is_taken(name: str, tmp_path: Path) -> None:
    """Two questions: which way each goes, what is said, and that credentials go to who asked for them."""
    case = CASES[name]
    with fake_api() as api, fake_api() as pod:
        api.answers("GET", AT, *case.proxied)
        api.answers("POST", AT, no_right("create", "services/proxy"))
        if case.pod is None:
            api.answers("GET", FORWARD, NO_FORWARD)
        else:
            api.upgrades[FORWARD] = Kubelet(to=address_of(pod))
            pod.answers("POST", PATH, case.pod)
            pod.answers("GET", PATH, case.pod)
        cluster = Cluster.connect(api.kubeconfig(tmp_path), request_timeout_s=5)
        prometheus = connected(cluster, case)
        answers = [
            prometheus.query(Query(expr=case.expr, instant=True, start_s=0, end_s=1, step_s=0, source="x"))
            for _ in range(2)
        ]
        prometheus.close()
        cluster.close()

    went = [{AT: "proxy", FORWARD: "forward"}[each.path] for each in api.requests] + ["pod"] * len(pod.requests)
    assert went == list(case.asked)
    assert [isinstance(each, Result) for each in answers] == [case.lit] * 2
    assert case.place in prometheus.place
    for answer in answers if not case.lit else ():
        assert isinstance(answer, NoAnswer)
        assert all(words in answer.said for words in case.says), answer.said
        assert all(words in str(answer.hint) for words in case.hints), answer.hint
        assert SECRET not in repr(answer)
    assert all(SECRET not in str(each.headers) for each in api.requests)
    assert all((SECRET in str(each.headers)) == (case.token is not None) for each in pod.requests)


@pytest.mark.parametrize(
    ("proxied", "token"), [(NO_PROXY, None), (LOCKED, SECRET)], ids=["no right to the proxy", "credentials"]
)
def test_eight_questions_at_once(proxied: Answer, token: str | None, tmp_path: Path) -> None:
    """Whichever of them finds the proxy closed first, each is answered, and asked at most once there."""
    with fake_api() as api, fake_api() as pod:
        api.answers("GET", AT, proxied)
        api.upgrades[FORWARD] = Kubelet(to=address_of(pod))
        pod.answers("POST", PATH, ONE)
        pod.answers("GET", PATH, ONE)
        cluster = Cluster.connect(api.kubeconfig(tmp_path), request_timeout_s=20)
        prometheus = connected(cluster, Case(proxied=[proxied], token=token, asked=[]))
        asked = [Query(expr=f"up + {n}", instant=True, start_s=0, end_s=1, step_s=0, source="x") for n in range(40)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(prometheus.query, asked))
        prometheus.close()
        cluster.close()
    assert all(isinstance(each, Result) for each in answers)
    assert len(pod.requests) == len(asked)
    assert 1 <= len(api.asked(AT)) <= 8
    assert 1 <= len(api.asked(FORWARD)) <= 8
    assert prometheus.place.startswith("Prometheus (pod monitoring/k8s-0")


def connected(cluster: Cluster, case: Case) -> Prometheus:
    """Ours, behind Service monitoring/k8s and in pod monitoring/k8s-0."""
    to = PodPort(namespace="monitoring", pod="k8s-0", port=9090) if case.ready else None
    token = case.token
    way = EitherWay(
        OverCluster(cluster.services, namespace="monitoring", service="k8s", port="http-web"),
        OverPod(
            cluster.pods,
            lambda: to,
            namespace="monitoring",
            name="k8s",
            credentials=Address(url="", read_token=(lambda: token) if token is not None else None),
            connections=8,
        ),
        credentials=token is not None,
    )
    return Prometheus(way, timeout_s=5.0, patience_s=0.0)
