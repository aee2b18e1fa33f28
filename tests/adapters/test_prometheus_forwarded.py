"""A Prometheus by a port-forward: a real WebSocket and a real server behind it, and what goes wrong with either."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websocket import ABNF

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.adapters.prometheus_forwarded import OverPod
from kvobs.dashboard.board import Query
from kvobs.health.answers import NoAnswer, Refused, Result
from kvobs.stack.prometheus_pods import PodPort
from tests.cluster.certificates import Authority

from .fake_api import TOKEN, Answer, FakeApi, fake_api, status
from .fake_kubelet import Cut, Kubelet, crumbs, frame, whole
from .site import Proxy, Site, ok

FORWARD = "/api/v1/namespaces/monitoring/pods/{}/portforward"
AT = "/api/v1/query"
ONE = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "1"]}]}}
SECRET = "sekrit-prometheus-0815"
SANDBOX = "3f4b9c1d" * 8
REFUSED = (
    f"\x01error forwarding port 9090 to pod {SANDBOX}, uid : failed to execute portforward in network namespace"
    ' "/var/run/netns/cni-5bb2b6a4-0c5e-7a0c-9e05-2b1f4c1d9f60": failed to connect to localhost:9090 inside namespace'
    f' "{SANDBOX}", IPv4: dial tcp4 127.0.0.1:9090: connect: connection\nrefused IPv6 dial tcp6 [::1]:9090: connect:'
    " connection refused "
).encode()
ANSWERED = b"\x00HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
GONE = status(404, "NotFound", 'pods "k8s-0" not found')


def query(expr: str = "up") -> Query:
    """An instant query."""
    return Query(expr=expr, instant=True, start_s=0, end_s=1700000000, step_s=15, source="x")


@dataclass
class World:
    """An API server, a Prometheus in a pod that it leads to, and who is ready."""

    api: FakeApi
    pod: FakeApi
    opened: ExitStack
    folder: Path
    ready: list[str] = field(default_factory=lambda: ["k8s-0"])
    """Pods in the order in which they are chosen; the last one stays."""

    def choose(self) -> PodPort | None:
        """The next pod that is ready."""
        if not self.ready:
            return None
        name = self.ready.pop(0) if len(self.ready) > 1 else self.ready[0]
        return PodPort(namespace="monitoring", pod=name, port=9090)

    def leads(self, kubelet: Kubelet, pod: str = "k8s-0") -> Kubelet:
        """Let the API server hand connections to a pod over to *kubelet*."""
        self.api.upgrades[FORWARD.format(pod)] = kubelet
        return kubelet

    def cluster(self, **more: Any) -> Cluster:
        """Connect to the API server, as a kubeconfig says."""
        cluster = Cluster.connect(self.api.kubeconfig(self.folder, **more), request_timeout_s=20)
        self.opened.callback(cluster.close)
        return cluster

    def prometheus(
        self, *, cluster: Cluster | None = None, address: Address | None = None, https: bool = False, **limits: Any
    ) -> Prometheus:
        """Ours, in a pod of monitoring/k8s."""
        way = OverPod(
            (cluster or self.cluster()).pods,
            self.choose,
            namespace="monitoring",
            name="k8s",
            credentials=address or Address(url=""),
            prefix="/prom" if https else "",
            https=https,
            connections=8,
        )
        asked = Prometheus(way, **{"timeout_s": 20.0, "patience_s": 0.0, **limits})
        self.opened.callback(asked.close)
        return asked


def address_of(server: FakeApi) -> tuple[str, int]:
    """Where a server listens."""
    host, _, port = server.url.rpartition("/")[2].partition(":")
    return host, int(port)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Both servers; the pod's answers one sample."""
    with fake_api() as api, fake_api() as pod, ExitStack() as opened:
        pod.answers("POST", AT, Answer(ONE))
        yield World(api=api, pod=pod, opened=opened, folder=tmp_path)


@pytest.mark.parametrize("cut", [whole, crumbs])
def test_a_question_goes_to_the_pod(world: World, cut: Cut) -> None:
    """However the far end cuts its messages; the API server gets the cluster's credentials, Prometheus its own."""
    kubelet = world.leads(Kubelet(to=address_of(world.pod), cut=cut))
    user = {"token": TOKEN, "as": "eve", "as-groups": ["ops"]}
    address = Address(url="", read_token=lambda: SECRET, tenant="blue")
    answer = world.prometheus(cluster=world.cluster(user=user), address=address).query(query())

    assert isinstance(answer, Result)
    assert answer.numbers == 1
    (opened,) = world.api.asked(FORWARD.format("k8s-0"))
    assert opened.query == {"ports": "9090"}
    assert opened.headers["authorization"] == f"Bearer {TOKEN}"
    assert (opened.headers["Impersonate-User"], opened.headers["Impersonate-Group"]) == ("eve", "ops")
    (asked,) = world.pod.asked(AT)
    assert asked.body["query"] == "up"
    assert (asked.headers["Authorization"], asked.headers["X-Scope-OrgID"]) == (f"Bearer {SECRET}", "blue")
    assert asked.headers["Host"] == "localhost"
    assert set(kubelet.pongs) == ({b"are you there"} if cut is crumbs else set())


def test_connections_are_kept_and_closed(world: World) -> None:
    """One after another goes over one connection, eight at once over eight at most, and none is left behind."""
    kubelet = world.leads(Kubelet(to=address_of(world.pod)))
    prometheus = world.prometheus()
    for _ in range(3):
        assert isinstance(prometheus.query(query()), Result)
    assert len(world.api.asked(FORWARD.format("k8s-0"))) == 1

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: prometheus.query(query("up" + " or up" * 20_000)), range(40)))
    assert all(isinstance(each, Result) for each in answers)
    opened = len(world.api.asked(FORWARD.format("k8s-0")))
    assert opened <= 8
    prometheus.close()
    assert all(kubelet.ended.acquire(timeout=10) for _ in range(opened))


def test_a_server_that_ends_the_connection(world: World) -> None:
    """What it has said is read to its end, and the next question opens another connection."""
    world.pod.answers("POST", AT, Answer(ONE, headers={"Connection": "close"}))
    world.leads(Kubelet(to=address_of(world.pod)))
    prometheus = world.prometheus()
    for _ in range(2):
        assert isinstance(prometheus.query(query()), Result)
    assert len(world.api.asked(FORWARD.format("k8s-0"))) == 2


def test_a_connection_that_ends_while_nothing_is_asked(world: World) -> None:
    """A kubelet ends what is idle for long: the next question notices, and opens another."""
    kubelet = world.leads(Kubelet(to=address_of(world.pod)))
    prometheus = world.prometheus()
    for number in range(1, 3):
        assert isinstance(prometheus.query(query()), Result)
        assert len(kubelet.serves) == number
        kubelet.serves[-1].shutdown(socket.SHUT_RDWR)
        assert kubelet.ended.acquire(timeout=10)


def test_tls_within(world: World, tmp_path: Path) -> None:
    """A Prometheus that serves TLS, under a path of its own; the API server vouches for it, and no authority need."""
    with Site(tmp_path) as site:
        site.play(ok(b'{"status":"success","data":{"resultType":"vector","result":[]}}'), at=f"/prom{AT}")
        world.leads(Kubelet(to=("127.0.0.1", site.port)))
        prometheus = world.prometheus(https=True)
        for _ in range(3):
            assert isinstance(prometheus.query(query()), Result)
        assert len(world.api.asked(FORWARD.format("k8s-0"))) == 1


def test_an_expired_token_is_renewed(world: World, tmp_path: Path) -> None:
    """As for any other request to the API server."""
    file = tmp_path / "token"
    file.write_text("old")
    cluster = world.cluster(user={"tokenFile": str(file)})
    file.write_text(TOKEN)
    kubelet = Kubelet(to=address_of(world.pod))
    path = FORWARD.format("k8s-0")
    world.api.answers("GET", path, status(401, "Unauthorized", "Unauthorized"))

    def once(handler: Any) -> None:
        if handler.headers["Authorization"] == f"Bearer {TOKEN}":
            kubelet(handler)
        else:
            handler.close_connection = False
            handler.send_error(401)

    world.api.upgrades[path] = once
    assert isinstance(world.prometheus(cluster=cluster).query(query()), Result)
    assert len(world.api.asked(path)) == 2


EVE = {"client-certificate": "client.pem", "client-key": "key.pem"}


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """TLS of an API server that wants eve's certificate; what takes part in it lies beside the kubeconfig."""
    authority = Authority("the cluster's")
    server, client = authority.server("127.0.0.1"), authority.client("eve")
    files = {"ca": authority.certificate, "server": server.certificate + server.key, "client": client.certificate}
    for name, content in {**files, "key": client.key}.items():
        (tmp_path / f"{name}.pem").write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    context.load_verify_locations(tmp_path / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_the_kubeconfig_holds_on_this_way_too(world: World, tls: ssl.SSLContext) -> None:
    """Its authority, its client certificate, its proxy."""
    with fake_api(tls=tls) as api, Proxy(address_of(api)[1]) as proxy:
        world.api = api
        world.leads(Kubelet(to=address_of(world.pod)))
        cluster = world.cluster(user=EVE, cluster={"certificate-authority": "ca.pem", "proxy-url": proxy.url})
        prometheus = world.prometheus(cluster=cluster)
        assert isinstance(prometheus.query(query()), Result)
        assert len(proxy.asked) == 1
        prometheus.close()
        cluster.close()


@pytest.mark.parametrize("https", [False, True])
def test_the_api_servers_tls_breaks(world: World, tls: ssl.SSLContext, https: bool) -> None:
    """It is the connection that broke, and no fault of Prometheus' own TLS."""
    with fake_api(tls=tls) as api:
        world.api = api
        world.leads(Kubelet(beneath=b"no record of TLS", stays=True))
        cluster = world.cluster(user=EVE, cluster={"certificate-authority": "ca.pem"})
        prometheus = world.prometheus(cluster=cluster, https=https)
        answer = prometheus.query(query())
        prometheus.close()
        cluster.close()
    assert isinstance(answer, NoAnswer)
    assert "broke the connection" in answer.said
    assert "get pods" in str(answer.hint)


def huge(size: int) -> bytes:
    """The beginning of a frame that says to be *size* bytes long."""
    return b"\x82\x7f" + size.to_bytes(8, "big")


FAULTS: dict[str, tuple[Kubelet | Answer, str, str]] = {
    "nobody listens": (Kubelet(sends=(frame(REFUSED),)), "connect: connection refused", "get pods"),
    "the pod ends": (Kubelet(), "broke the connection", "get pods"),
    "a close": (Kubelet(sends=(frame(b"\x03\xe8", ABNF.OPCODE_CLOSE),)), "broke the connection", "get pods"),
    "the end amid a frame": (Kubelet(sends=(frame(b"\x00HTTP/1.1 200 OK")[:9],)), "broke the connection", "get pods"),
    "text": (Kubelet(sends=(frame(b"hello", ABNF.OPCODE_TEXT),), stays=True), "broke the connection", "get pods"),
    "no WebSocket": (Kubelet(sends=(b"HTTP/1.1 200 OK\r\n" * 9,), stays=True), "broke the connection", "get pods"),
    "no HTTP": (Kubelet(sends=(frame(b"\x00SSH-2.0-x\r\n"),), stays=True), "broke the connection", "get pods"),
    "a wrong key": (Kubelet(accept="bm8="), "not as it was asked to", "a proxy may stand in between"),
    "no connection behind it": (Kubelet(connection="close"), "HTTP 101, and not as a Kubernetes", "get pods"),
    "a wrong protocol": (Kubelet(protocol="v5.channel.k8s.io"), "not as it was asked to", "a proxy may stand"),
    "no WebSockets": (Answer(b"<html>", 200), "HTTP 200, and not as a Kubernetes API server", "a proxy or a login"),
    "no right": (
        status(
            403,
            "Forbidden",
            'pods "k8s-0" is forbidden: User "eve" cannot get resource "pods/portforward" in API group "" in the'
            ' namespace "monitoring"',
        ),
        "user eve may not get pods/portforward in namespace monitoring",
        "get and create pods/portforward",
    ),
    "no right to create": (
        status(403, "Forbidden", 'pods "k8s-0" is forbidden: '),
        'cannot forward to pod monitoring/k8s-0, port 9090: pods "k8s-0" is forbidden',
        "get and create pods/portforward",
    ),
    "gone": (GONE, "not found", "kubectl -n monitoring get pods"),
    "a node that is away": (status(500, "", "error dialing backend: dial tcp: i/o timeout"), "i/o timeout", "get pods"),
    "not let in": (status(401, "Unauthorized", "Unauthorized"), "does not accept the credentials", ""),
    "the API server breaks off": (Answer(fails="reset"), "broke the connection", ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_fails_is_no_answer(world: World, name: str) -> None:
    """Each fault is told in a sentence with the place and what next, and no credential in it."""
    fault, words, hint = FAULTS[name]
    if isinstance(fault, Kubelet):
        world.leads(fault)
    else:
        world.api.answers("GET", FORWARD.format("k8s-0"), fault)
    answer = world.prometheus(address=Address(url="", read_token=lambda: SECRET)).query(query())
    assert isinstance(answer, NoAnswer)
    assert words in answer.said
    assert not answer.said.endswith((":", " "))
    assert answer.said.startswith("Prometheus (pod monitoring/k8s-0, port 9090, by port-forward)")
    assert hint in str(answer.hint)
    assert answer.denied is name.startswith("no right")
    assert answer.lasting is (words != "broke the connection" or isinstance(fault, Answer))
    assert TOKEN not in repr(answer)
    assert SECRET not in repr(answer)


@pytest.mark.parametrize(
    "kubelet",
    [
        Kubelet(stays=True),
        Kubelet(sends=(frame(b"", ABNF.OPCODE_PING),) * 1000, stays=True),
        Kubelet(sends=(huge(2**40),), stays=True),
        Answer(fails="silence"),
    ],
    ids=["silence", "pings only", "a frame that does not come", "the API server's silence"],
)
def test_silence_is_bounded(world: World, kubelet: Kubelet | Answer) -> None:
    """A question's own time-out counts, and what is no answer does not put it off."""
    if isinstance(kubelet, Kubelet):
        world.leads(kubelet)
    else:
        world.api.answers("GET", FORWARD.format("k8s-0"), kubelet)
    begin = time.monotonic()
    answer = world.prometheus(timeout_s=0.4).query(query())
    assert time.monotonic() - begin < 20
    assert isinstance(answer, NoAnswer)
    assert "did not answer within 0.4 s" in answer.said
    assert not answer.lasting
    assert not isinstance(kubelet, Kubelet) or kubelet.ended.acquire(timeout=10), "the connection is still open"


@pytest.mark.parametrize("https", [False, True])
def test_nothing_is_waited_for_that_is_not_taken(world: World, https: bool) -> None:
    """A question that nobody reads is given up in its time, the first of a connection too."""
    kubelet = world.leads(Kubelet(deaf=True))
    begin = time.monotonic()
    answer = world.prometheus(timeout_s=0.4, https=https).query(query("up" + " or up" * 4_000_000))
    kubelet.done.set()
    assert time.monotonic() - begin < 30
    assert isinstance(answer, NoAnswer)
    assert kubelet.ended.acquire(timeout=10)


def test_a_slow_handshake_is_bounded(world: World) -> None:
    """A byte now and then of Prometheus' own TLS puts nothing off."""
    record = b"\x00\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"  # the beginning of 16 KiB of handshake
    kubelet = world.leads(Kubelet(sends=(frame(record),), drips=b"\x00\x00"))
    begin = time.monotonic()
    answer = world.prometheus(timeout_s=0.4, https=True).query(query())
    kubelet.done.set()
    assert time.monotonic() - begin < 30
    assert isinstance(answer, NoAnswer)
    assert "within 0.4 s" in answer.said
    assert kubelet.ended.acquire(timeout=10)


def test_each_read_has_its_own_time(world: World) -> None:
    """And not that of the request which opened the connection."""
    world.leads(Kubelet(stays=True))
    pod = world.cluster().pods.connect(PodPort(namespace="monitoring", pod="k8s-0", port=9090), timeout_s=30.0)
    with closing(pod):
        pod.settimeout(0.1)
        assert pod.gettimeout() == 0.1
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            pod.recv(1)
        assert time.monotonic() - begin < 10


def test_a_frame_beyond_the_limit(world: World) -> None:
    """Nobody fills our memory by the size of a frame."""
    world.leads(Kubelet(sends=(frame(ANSWERED), huge(2**30), b" " * (33 * 2**20)), stays=True))
    answer = world.prometheus().query(query())
    assert isinstance(answer, NoAnswer)
    assert "broke the connection" in answer.said


@pytest.mark.parametrize(("rest", "whole_answer"), [(b"", True), (frame(b"\x00 and more")[:5], False)])
def test_an_answer_without_a_length(world: World, rest: bytes, whole_answer: bool) -> None:
    """It ends with the connection, but not amid a frame."""
    world.leads(Kubelet(sends=(frame(ANSWERED + json.dumps(ONE).encode()), rest)))
    assert isinstance(world.prometheus().query(query()), Result) is whole_answer


def test_an_answer_beyond_the_limit(world: World) -> None:
    """The limit of an answer holds on this way too."""
    world.pod.answers("POST", AT, Answer(b" " * 2_000_000))
    world.leads(Kubelet(to=address_of(world.pod)))
    answer = world.prometheus(max_bytes=1_000_000).query(query())
    assert isinstance(answer, Refused)
    assert answer.kind == "too expensive"


@pytest.mark.parametrize(("fails", "words"), [("cut", "broke the connection"), ("reset", "connection reset by peer")])
def test_a_server_that_breaks_off(world: World, fails: str, words: str) -> None:
    """Half an answer is none."""
    world.pod.answers("POST", AT, Answer(ONE, fails=fails))
    world.leads(Kubelet(to=address_of(world.pod)))
    answer = world.prometheus().query(query())
    assert isinstance(answer, NoAnswer)
    assert words in answer.said


@pytest.mark.parametrize(
    "goes",
    [
        lambda world: world.api.answers("GET", FORWARD.format("k8s-0"), GONE),
        lambda world: world.leads(Kubelet(sends=(frame(b"\x01no running task"),))),
        lambda world: world.leads(Kubelet()),
    ],
    ids=["gone", "not running", "ends"],
)
def test_a_pod_that_ends_has_a_successor(world: World, goes: Callable[[World], object]) -> None:
    """Within the patience the next one that is ready is asked, and named."""
    goes(world)
    world.ready = ["k8s-0", "k8s-1"]
    world.leads(Kubelet(to=address_of(world.pod)), pod="k8s-1")
    prometheus = world.prometheus(patience_s=10.0)
    assert isinstance(prometheus.query(query()), Result)
    assert prometheus.place == "Prometheus (pod monitoring/k8s-1, port 9090, by port-forward)"


def test_no_pod_is_ready(world: World) -> None:
    """It is said, with where to look; one that becomes ready is asked."""
    world.ready = []
    answer = world.prometheus().query(query())
    assert isinstance(answer, NoAnswer)
    assert "a pod of monitoring/k8s, by port-forward): no pod of it is ready" in answer.said
    assert "get pods -l operator.prometheus.io/name=k8s" in str(answer.hint)
    assert not answer.denied
