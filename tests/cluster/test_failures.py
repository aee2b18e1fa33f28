"""What keeps kvobs from doing its work, before anything was changed: each a plain error that says what to do."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

import kvobs as library
from kvobs.errors import ClusterUnreachable, HelmError, Unauthenticated
from kvobs.use_cases.connect import helm_of
from tests.cluster.bed import Bed
from tests.cluster.certificates import Authority
from tests.cluster.charts import small_chart
from tests.cluster.commands import kvobs, stack_arguments
from tests.cluster.rights import until_in_force
from tests.cluster.snapshots import differences, settled

COMMANDS = (("install",), ("status",), ("uninstall", "--yes"))


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A cluster on which nothing is installed; whatever fails here leaves it as it was."""
    with Bed(gpu=False) as bare:
        before = settled(bare.api)
        yield bare
        changed = differences(before, settled(bare.api))
        assert {key: how for key, how in changed.items() if READER not in key} == {}


READER = "reader"
"""The one thing that the tests put on the cluster: a user who may only read."""


# --- the way to the cluster ---


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """Give the URL of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """Give the URL of a port on which nobody listens, and which nobody else takes meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"https://127.0.0.1:{held.getsockname()[1]}"


@contextlib.contextmanager
def web_page() -> Iterator[str]:
    """Give the URL of a server that answers everything with a page, over TLS that nobody vouches for."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html>Please log in</html>"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Page)
    pair = Authority("nobody knows it").server("127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    pem = Path(f"/tmp/kvobs-page-{os.getpid()}.pem")
    pem.touch(mode=0o600)
    pem.write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(pem)
    pem.unlink()
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def kubeconfig(path: Path, server: str, *, verify: bool = True) -> Path:
    """Write a kubeconfig whose one context leads to *server*."""
    cluster = {"server": server, **({} if verify else {"insecure-skip-tls-verify": True})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "there",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "very-secret-token"}}],
        "contexts": [{"name": "there", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize(
    ("server", "verify", "says"),
    [
        (refusing, True, "refuses connections"),
        (web_page, True, "TLS with"),
        (web_page, False, "not as a Kubernetes API server does"),
    ],
    ids=["refused", "untrusted", "a page"],
)
def test_no_api_server(
    server: Callable[[], contextlib.AbstractContextManager[str]],
    verify: bool,
    says: str,
    tmp_path: Path,
    bed: Bed,
) -> None:
    """What answers (or does not) in the API server's place is named in one sentence, and the exit code is 4."""
    with server() as url:
        config = kubeconfig(tmp_path / "config", url, verify=verify)
        done = kvobs("install", "--kubeconfig", config, env=bed.environment(), code=4)
    assert says in done.stderr
    assert url in done.stderr
    assert "what to do: " in done.stderr
    assert "very-secret-token" not in done.stderr + done.stdout


@pytest.mark.parametrize("call", [library.install, library.status, library.uninstall], ids=lambda call: call.__name__)
def test_a_silent_api_server(call: Callable[[library.Settings], object], tmp_path: Path) -> None:
    """A server that accepts and says nothing costs one request's time-out, and is named."""
    with (
        silent() as url,
        pytest.raises(ClusterUnreachable, match=r"did not answer|does not answer") as late,
    ):
        call(library.Settings(kubeconfig=str(kubeconfig(tmp_path / "config", url)), request_timeout_s=0.5))
    assert url in str(late.value)
    assert late.value.hint


def test_a_silent_api_server_and_a_command(tmp_path: Path, bed: Bed) -> None:
    """`--request-timeout` says how long one request is waited for, by every command that asks the API server."""
    with silent() as url:
        config = kubeconfig(tmp_path / "config", url)
        for command in COMMANDS:
            one = (*command, "--kubeconfig", config, "--request-timeout", "1s")
            done = kvobs(*one, env=bed.environment(), code=4)
            assert f"kvobs: {url} " in done.stderr
            assert "within 1 s" in done.stderr
    done = kvobs("status", "--request-timeout", "soon", env=bed.environment(), code=2)
    assert "--request-timeout 'soon' is not a duration" in done.stderr


BROKEN = [
    ("{", "is not YAML"),
    ("- a list", "not a kubeconfig"),
    ("kind: Config\n", "no current context"),
    ("current-context: gone\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n", "there are: here"),
    ("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n", "names the cluster 'c', which is not there"),
]


@pytest.mark.parametrize(("text", "says"), BROKEN, ids=[says for _, says in BROKEN])
def test_a_broken_kubeconfig(text: str, says: str, tmp_path: Path, bed: Bed) -> None:
    """A kubeconfig that cannot be used is named with what is wrong in it."""
    config = tmp_path / "config"
    config.write_text(text)
    done = kvobs("install", env=bed.environment() | {"KUBECONFIG": str(config)}, code=4)
    assert says in done.stderr
    assert str(config) in done.stderr


def test_no_kubeconfig(tmp_path: Path, bed: Bed) -> None:
    """Without a kubeconfig the places where it was looked for are named."""
    bare = {key: value for key, value in bed.environment().items() if key != "KUBECONFIG"}
    done = kvobs("install", env=bare | {"HOME": str(tmp_path)}, code=4)
    assert str(tmp_path / ".kube" / "config") in done.stderr
    assert "--kubeconfig" in done.stderr


def test_a_context_that_does_not_exist(bed: Bed) -> None:
    """A context that is not there is answered with those that are."""
    done = kvobs("uninstall", "--yes", "--context", "production", env=bed.environment(), code=4)
    assert "no context 'production'" in done.stderr
    assert "there are: bed" in done.stderr


def test_expired_credentials(bed: Bed) -> None:
    """Credentials that the API server no longer takes are exit 4, with what to do, as a command and in a script."""
    expired = bed.kubeconfig_for("late", "system:masters", expired=True)
    for command in COMMANDS:
        done = kvobs(*command, "--kubeconfig", expired, env=bed.environment(), code=4)
        assert "does not accept the credentials" in done.stderr
        assert "get fresh credentials" in done.stderr
    with pytest.raises(Unauthenticated):
        library.status(library.Settings(kubeconfig=str(expired)))


# --- Helm ---


@pytest.mark.parametrize("helm", ["3", "4"])
def test_a_certificate_that_nobody_vouches_for(helm: str, bed: Bed, tmp_path: Path) -> None:
    """A server without its authority is not trusted; told to go on all the same, kvobs and Helm do, and it is said."""
    document = yaml.safe_load(bed.kubeconfig.read_text())
    for each in document["clusters"]:
        for key in ("certificate-authority", "certificate-authority-data"):
            each["cluster"].pop(key, None)
    config = tmp_path / "config"
    config.write_text(yaml.safe_dump(document))
    done = kvobs("status", "--kubeconfig", config, env=bed.environment(), code=4)
    assert "TLS with" in done.stderr

    done = kvobs("status", "--kubeconfig", config, "--insecure-skip-tls-verify", env=bed.environment(), code=1)
    assert "certificate is not verified" in done.stderr
    settings = library.Settings(kubeconfig=str(config), helm=str(bed.helm(helm)), insecure_skip_tls_verify=True)
    assert helm_of(settings).release("none", "default") is None


@pytest.fixture
def no_helm(bed: Bed, tmp_path: Path) -> dict[str, str]:
    """An environment with no helm on PATH."""
    return bed.environment() | {"PATH": str(tmp_path)}


def stand_in(folder: Path, version: str) -> Path:
    """Make a `helm` that only says which version it is."""
    path = folder / "helm"
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_no_helm_on_path(no_helm: dict[str, str], bed: Bed) -> None:
    """An install that needs Helm says so before it changes anything, and how to say where Helm is."""
    done = kvobs("install", *stack_arguments(), env=no_helm, code=3)
    assert "no helm on PATH" in done.stderr
    assert "--helm PATH" in done.stderr
    settings = library.Settings(kubeconfig=str(bed.kubeconfig), helm="/nonexistent/helm")
    with pytest.raises(HelmError, match="/nonexistent/helm does not exist"):
        library.install(settings)


@pytest.mark.parametrize(
    ("version", "says"),
    [("v4.3", "no complete version"), ("v3.22", "no complete version"), ("v3.9.4", "needs 3.13"), ("", "no complete")],
)
def test_a_helm_that_cannot_be_used(version: str, says: str, no_helm: dict[str, str], tmp_path: Path) -> None:
    """A helm built without its version, or too old a one, is named with what it says and with what to take."""
    path = stand_in(tmp_path, version)
    env = no_helm | {"PATH": f"{tmp_path}{os.pathsep}/bin"}
    done = kvobs("install", *stack_arguments(), env=env, code=3)
    assert str(path) in done.stderr
    assert says in done.stderr
    assert "https://helm.sh/docs/intro/install" in done.stderr


CHARTS: list[tuple[list[str], int, str]] = [
    (["--chart", "oci://127.0.0.1:9/charts/kube-prometheus-stack"], 3, "connection refused"),
    (["--chart", "/nonexistent/chart"], 3, "not found"),
    (["--chart", "nowhere/kube-prometheus-stack"], 3, "not found"),
    (["--chart", str(small_chart()), "--chart-version", "88.0.0"], 2, "is version 88.5.3, not 88.0.0"),
    (["--chart", str(Path(__file__).parent)], 3, "Chart.yaml"),
]


@pytest.mark.parametrize(("arguments", "code", "says"), CHARTS, ids=[says for _, _, says in CHARTS])
def test_a_chart_that_cannot_be_had(arguments: list[str], code: int, says: str, bed: Bed) -> None:
    """A chart that is not there is Helm's own last line, before a namespace or a Secret was made."""
    done = kvobs("install", "--no-wait", *arguments, env=bed.environment(), code=code)
    assert says in done.stderr
    assert "what to do: " in done.stderr


# --- what the user gives ---


VALUES = [
    ("a: [", "values.yaml"),
    ("- a list", "values.yaml"),
    ("a: \x01", "values.yaml"),
    (None, "does not exist"),
]


@pytest.mark.parametrize(("text", "says"), VALUES, ids=["not YAML", "a list", "a control character", "missing"])
def test_bad_values(text: str | None, says: str, tmp_path: Path, bed: Bed) -> None:
    """A values file that Helm would not read is wrong usage, and is named."""
    path = tmp_path / "values.yaml"
    if text is not None:
        path.write_text(text)
    done = kvobs("install", *stack_arguments(), "--values", path, env=bed.environment(), code=2)
    assert says in done.stderr
    assert str(path) in done.stderr


@pytest.mark.parametrize("expression", ["a[x]=1", "a", "a.b[70000]=1", "a={b"])
def test_bad_set(expression: str, bed: Bed) -> None:
    """A `--set` that Helm would refuse is wrong usage, and is quoted."""
    done = kvobs("install", *stack_arguments(), "--set", expression, env=bed.environment(), code=2)
    assert expression.split("=")[0] in done.stderr


def test_an_error_is_a_document_too(bed: Bed) -> None:
    """`-o json` and `-o yaml` give an error as a document whose exit code is that of the process."""
    for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        done = kvobs("status", "--context", "x", "-o", form, env=bed.environment(), code=4)
        document = read(done.stdout)
        assert (document["kind"], document["error"], document["exit_code"]) == ("Error", "KubeconfigError", 4)


# --- rights ---


def test_a_user_without_any_right(bed: Bed) -> None:
    """Who may read nothing is told what could not be asked; "not installed" would be a guess."""
    nobody = bed.kubeconfig_for("nobody")
    for command in COMMANDS:
        done = kvobs(*command, "--kubeconfig", nobody, env=bed.environment(), code=4)
        assert "user nobody may not list configmaps" in done.stderr


@pytest.fixture(scope="module")
def reader(bed: Bed) -> Path:
    """The kubeconfig of a user who may read everything and change nothing."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    group = "rbac.authorization.k8s.io"
    bed.api.apply(
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": READER}, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": READER},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": READER},
            "subjects": [{"kind": "User", "name": READER, "apiGroup": group}],
        },
    )
    until_in_force(bed.api, READER, {"metadata": {}, "rules": rules})
    return bed.kubeconfig_for(READER)


def test_a_user_who_may_only_read(reader: Path, bed: Bed) -> None:
    """Who may change nothing learns of every missing right at once, before anything was tried."""
    done = kvobs("install", *stack_arguments(), "--kubeconfig", reader, env=bed.environment(), code=3)
    assert "nothing was changed" in done.stderr
    for right in (
        "create ConfigMap in namespace monitoring",
        "create any Namespace",
        "create Secret in namespace monitoring",
    ):
        assert right in done.stderr
    assert "not installed" in kvobs("status", "--kubeconfig", reader, env=bed.environment(), code=1).stdout
