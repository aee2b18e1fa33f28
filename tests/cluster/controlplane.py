"""etcd, API server, controller-manager and scheduler: their flags, in the order in which they start."""

from __future__ import annotations

import json
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.cluster import build
from tests.cluster.api import Api, ApiError, Unreachable
from tests.cluster.certificates import Authority, Pair, signing_key
from tests.cluster.processes import ProcessError, Processes, free_port

ADVERTISED = "10.2.255.1"
"""The address by which the cluster knows its API server: loopback addresses are refused in EndpointSlices."""
START_TIMEOUT_S = 120


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane."""

    url: str
    port: int
    authority: Authority
    admin_token: str

    def kubeconfig(self, path: Path, user: str, *, token: str | None = None, pair: Pair | None = None) -> Path:
        """Write a kubeconfig for *user*, with a token or a certificate pair beside it, and return its path."""
        ca = path.with_suffix(".ca.crt")
        ca.write_bytes(self.authority.certificate)
        credentials: dict[str, str] = {} if token is None else {"token": token}
        if pair is not None:
            certificate, key = path.with_suffix(".crt"), path.with_suffix(".key")
            certificate.write_bytes(pair.certificate)
            key.touch(mode=0o600)
            key.write_bytes(pair.key)
            credentials = {"client-certificate": str(certificate), "client-key": str(key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bed",
            "clusters": [{"name": "bed", "cluster": {"server": self.url, "certificate-authority": str(ca)}}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": user}}],
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        return path


def start(processes: Processes, proxy_socket: Path) -> ControlPlane:
    """Start the four servers in the folder of *processes*, and return once the API server is ready.

    A port that somebody took between its choice and its use is answered by choosing again.
    """
    for attempt in range(3):
        try:
            return _start(processes, proxy_socket)
        except ProcessError as error:
            if attempt == 2 or "address already in use" not in str(error):
                raise
            for name in ("etcd", "kube-apiserver"):
                processes.stop(name)
                processes.log(name).unlink(missing_ok=True)
    raise AssertionError("unreachable")


def _start(processes: Processes, proxy_socket: Path) -> ControlPlane:
    program = str(build.binary("controlplane"))
    folder = processes.folder
    plane = _files(folder, proxy_socket)
    client, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    processes.start(
        "etcd",
        [
            program, "etcd", "--unsafe-no-fsync", f"--data-dir={folder / 'etcd'}", "--name=bed",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=bed={peer}", "--log-level=warn",
        ],
    )  # fmt: skip
    # The API server waits a second after each refused connection: look for etcd more often than that.
    _until_listening(processes, "etcd", int(client.rpartition(":")[2]))
    processes.start(
        "kube-apiserver",
        [
            program, "kube-apiserver", f"--etcd-servers={client}",
            "--bind-address=127.0.0.1", f"--secure-port={plane.port}", f"--advertise-address={ADVERTISED}",
            f"--tls-cert-file={folder / 'server.crt'}", f"--tls-private-key-file={folder / 'server.key'}",
            f"--client-ca-file={folder / 'ca.crt'}", f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC,Node", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'accounts.key'}",
            f"--service-account-signing-key-file={folder / 'accounts.key'}",
            "--service-cluster-ip-range=10.0.0.0/16", "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
            "--disable-admission-plugins=ServiceAccount", "--shutdown-delay-duration=0s",
            # Webhooks are dialled at their pod, whose address the pod network knows, not at a Service's.
            "--enable-aggregator-routing=true", f"--egress-selector-config-file={folder / 'egress.yaml'}",
        ],
    )  # fmt: skip
    admin = plane.kubeconfig(folder / "admin.kubeconfig", "admin", token=plane.admin_token)
    _until_ready(processes, admin)
    alike = [
        "--leader-elect=false",
        *(f"--{flag}={admin}" for flag in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")),
    ]
    processes.start(
        "kube-controller-manager",
        [
            program, "kube-controller-manager", *alike, "--secure-port=0", f"--root-ca-file={folder / 'ca.crt'}",
            f"--service-account-private-key-file={folder / 'accounts.key'}",
        ],
    )  # fmt: skip
    processes.start("kube-scheduler", [program, "kube-scheduler", *alike, "--secure-port=0"])
    return plane


def _files(folder: Path, proxy_socket: Path) -> ControlPlane:
    """Write what the servers read: certificates, keys, tokens, and the way to the pod network."""
    authority = Authority("bed")
    pair = authority.server("127.0.0.1", "localhost", ADVERTISED, "kubernetes.default.svc")
    token = secrets.token_hex(16)
    connection = {
        "proxyProtocol": "HTTPConnect",
        # A unix socket: without TLS, 1.36.3 does not start with the TCP form of this.
        "transport": {"uds": {"udsName": str(proxy_socket)}},
    }
    egress = {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }
    texts = {
        "ca.crt": authority.certificate,
        "server.crt": pair.certificate,
        "server.key": pair.key,
        "accounts.key": signing_key(),
        "tokens.csv": f'{token},admin,admin,"system:masters"\n'.encode(),
        "egress.yaml": json.dumps(egress).encode(),
    }
    for name, text in texts.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(text)
    port = free_port()
    return ControlPlane(f"https://127.0.0.1:{port}", port, authority, token)


def _until_listening(processes: Processes, name: str, port: int) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        processes.check(name)
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise ProcessError(f"{name} does not listen after {START_TIMEOUT_S} s:\n{processes.tail(name)}")


def _until_ready(processes: Processes, admin: Path) -> None:
    api = Api(admin)
    end = time.monotonic() + START_TIMEOUT_S
    try:
        while time.monotonic() < end:
            processes.check("etcd")
            processes.check("kube-apiserver")
            try:
                api.request("GET", "/readyz")
                return
            except (ApiError, Unreachable):
                time.sleep(0.1)
    finally:
        api.close()
    raise ProcessError(f"the API server is not ready after {START_TIMEOUT_S} s:\n{processes.tail('kube-apiserver')}")
