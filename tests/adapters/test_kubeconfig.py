"""Which API server, and as whom: kubectl's files, contexts and login plugins, and what can be wrong with them."""

import base64
import os
import subprocess
import sys
import textwrap

import pytest
import yaml

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.kubeconfig import find_access, shown_url
from kvobs.errors import KubeconfigError, Unauthenticated
from tests.adapters.fake_api import TOKEN, Answer, fake_api, status
from tests.cluster.certificates import Authority

SERVER = "https://127.0.0.1:1"


def _write(path, *, contexts=("test",), current="test", server=SERVER, user=None, cluster=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in contexts],
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
    }
    if current:
        document["current-context"] = current
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def home(tmp_path):
    """An environment with a home folder and nothing else."""
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def api():
    """A server of tables that says its version."""
    with fake_api() as server:
        server.answers("GET", "/version", Answer({"gitVersion": "v1"}))
        yield server


# --- which file ---


def test_the_search_order_is_kubectls(tmp_path, home):
    """The given file, else $KUBECONFIG, else ~/.kube/config."""
    given = _write(tmp_path / "given", server="https://given:1")
    listed = _write(tmp_path / "listed", server="https://listed:1")
    _write(tmp_path / "home" / ".kube" / "config", server="https://home:1")

    assert find_access(str(given), environ={**home, "KUBECONFIG": str(listed)}).server == "https://given:1"
    assert find_access(environ={**home, "KUBECONFIG": str(listed)}).server == "https://listed:1"
    assert find_access(environ={**home, "KUBECONFIG": ""}).server == "https://home:1"


def test_of_several_files_the_first_to_speak_wins(tmp_path, home):
    """As in kubectl, for the current context too; a file that is missing is passed over."""
    first = _write(tmp_path / "1", contexts=("a",), current=None, server="https://first:1")
    second = _write(tmp_path / "2", contexts=("a", "b"), current="b", server="https://second:1")
    third = _write(tmp_path / "3", contexts=("c",), current="c", server="https://third:1")
    paths = os.pathsep.join(str(path) for path in (tmp_path / "none", first, second, third))

    access = find_access(environ={**home, "KUBECONFIG": paths})

    assert access.context == "b"
    assert access.server == "https://first:1"


@pytest.mark.parametrize(
    ("kubeconfig", "environ", "want"),
    [
        ("/none/given", {}, "/none/given"),
        (None, {"KUBECONFIG": "/none/1:/none/2"}, "/none/1 or /none/2"),
        (None, {}, r".*home/\.kube/config"),
    ],
    ids=["given", "listed", "home"],
)
def test_no_file_at_all(home, kubeconfig, environ, want):
    """Each place that was looked at is named."""
    with pytest.raises(KubeconfigError, match=f"there is no kubeconfig at {want}$") as missing:
        find_access(kubeconfig, environ={**home, **environ})
    assert "--kubeconfig" in missing.value.hint


def test_inside_a_pod_without_an_account(home):
    """The pod's own account is the last place to look, and may be switched off."""
    with pytest.raises(KubeconfigError, match="this pod has no service account to use") as missing:
        find_access(environ={**home, "KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert "automountServiceAccountToken" in missing.value.hint


# --- which context ---


def test_a_context_that_does_not_exist(tmp_path):
    """Those that do are named."""
    path = _write(tmp_path / "k", contexts=("prod", "dev"), current="dev")

    with pytest.raises(KubeconfigError, match="has no context 'stage'") as missing:
        find_access(str(path), "stage")
    assert "there are: dev, prod" in missing.value.hint
    assert find_access(str(path), "prod").context == "prod"


def test_no_current_context(tmp_path):
    """One has to be chosen."""
    path = _write(tmp_path / "k", current=None)

    with pytest.raises(KubeconfigError, match="has no current context") as missing:
        find_access(str(path))
    assert "there are: test" in missing.value.hint


@pytest.mark.parametrize(
    ("context", "want"),
    [
        ({"cluster": "gone", "user": "u"}, "names the cluster 'gone', which is not there"),
        ({"cluster": "c", "user": "gone"}, "names the user 'gone', which is not there"),
        ({"user": "u"}, "names the cluster None"),
    ],
)
def test_a_context_that_leads_nowhere(tmp_path, context, want):
    """What it names and the file lacks."""
    path = _write(tmp_path / "k")
    document = yaml.safe_load(path.read_text())
    document["contexts"][0]["context"] = context
    path.write_text(yaml.safe_dump(document))

    with pytest.raises(KubeconfigError, match=f"context 'test' {want}"):
        find_access(str(path))


@pytest.mark.parametrize("server", [None, "", "api.example.com:6443", 6443, "https://[::1", "https://x:port"])
def test_a_cluster_without_a_server(tmp_path, server):
    """A server is a URL."""
    with pytest.raises(KubeconfigError, match="cluster 'c' of context 'test' has no server URL"):
        find_access(str(_write(tmp_path / "k", server=server)))


# --- files that are none ---

BROKEN = {
    "not YAML": (f"users:\n- name: u\n  token: {TOKEN}: {TOKEN}\n", "is not YAML, line 3, column"),
    "a tab": (f"users:\n\t- token: {TOKEN}\n", "is not YAML, line 2"),
    "a list": (f"- {TOKEN}\n", "is YAML, but not a kubeconfig"),
    "entries without names": (f"users: [{{user: {{token: {TOKEN}}}}}]\n", "users must be a list of entries"),
    "entries that are text": (f"users: [{TOKEN}]\n", "users must be a list of entries"),
    "a section that is text": (f"users: {TOKEN}\n", "users must be a list of entries"),
    "an entry that is text": (f"users: [{{name: u, user: {TOKEN}}}]\n", "users must be a list of entries"),
    "empty": ("", "has no current context"),
}


@pytest.mark.parametrize(("text", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_no_kubeconfig(tmp_path, text, want):
    """The file and the place are named; its text, which holds keys, is not quoted, nor is the parser's."""
    path = tmp_path / "k"
    path.write_text(text)

    with pytest.raises(KubeconfigError, match=f"kubeconfig {path}.* ?{want}") as broken:
        find_access(str(path))
    assert TOKEN not in f"{broken.value} {broken.value.hint}"
    assert broken.value.__cause__ is None


def test_a_file_that_cannot_be_read(tmp_path):
    """A folder, or bytes that are no text."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(KubeconfigError, match="folder cannot be read: Is a directory"):
        find_access(str(tmp_path / "folder"))
    with pytest.raises(KubeconfigError, match="bytes is not YAML"):
        find_access(str(tmp_path / "bytes"))


@pytest.mark.parametrize(
    ("cluster", "user", "want"),
    [
        ({"certificate-authority": "none.pem"}, {}, "File does not exist: .*none.pem"),
        ({"certificate-authority-data": "x"}, {}, "padding|base64"),
        ({}, {"client-certificate": "none.pem", "client-key": "none.key"}, "File does not exist: .*none.pem"),
    ],
)
def test_certificates_that_are_not_there(tmp_path, cluster, user, want):
    """The file that is missing, or that the data is no base64."""
    with pytest.raises(KubeconfigError, match=f"context 'test' cannot be used: .*({want})"):
        find_access(str(_write(tmp_path / "k", cluster=cluster, user=user)))


@pytest.mark.parametrize("proxy", ["ftp://x:1", "socks5://x:1"])
def test_a_proxy_that_cannot_be_used(tmp_path, proxy):
    """A scheme that nobody here speaks."""
    with pytest.raises(KubeconfigError, match=f"no connection to {SERVER} can be made") as bad:
        Cluster.connect(str(_write(tmp_path / "k", cluster={"proxy-url": proxy})))
    assert "proxy-url" in bad.value.hint


# --- as whom ---


def _auth(api, kubeconfig):
    Cluster.connect(kubeconfig).server_version()
    return {key.lower(): value for key, value in api.requests[-1].headers.items()}


def test_name_and_password(api, tmp_path):
    """Basic authentication, where somebody still has it."""
    headers = _auth(api, api.kubeconfig(tmp_path, user={"username": "a", "password": "b"}))

    assert headers["authorization"] == "Basic " + base64.b64encode(b"a:b").decode()


def test_a_token_file(api, tmp_path):
    """It counts from the kubeconfig's folder, wins over a token, and may end with a line break."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")

    headers = _auth(api, api.kubeconfig(tmp_path, user={"tokenFile": "token", "token": "old"}))

    assert headers["authorization"] == f"Bearer {TOKEN}"


def test_a_token_file_that_is_gone(api, tmp_path):
    """Its path is named."""
    with pytest.raises(KubeconfigError, match=r"token file .*/gone of the kubeconfig cannot be read: No such file"):
        _auth(api, api.kubeconfig(tmp_path, user={"tokenFile": "gone"}))


def test_a_token_that_was_rotated_is_read_again(api, tmp_path):
    """A refused token is renewed once, and the request sent again."""
    (tmp_path / "token").write_text("old")
    api.answers("GET", "/version", status(401, "Unauthorized"), Answer({"gitVersion": "v1"}))
    cluster = Cluster.connect(api.kubeconfig(tmp_path, user={"tokenFile": "token"}))
    (tmp_path / "token").write_text("new")

    assert cluster.server_version() == "v1"
    assert [one.headers["authorization"] for one in api.requests] == ["Bearer old", "Bearer new"]


def test_impersonation(api, tmp_path):
    """Whom the kubeconfig says to act as is sent along."""
    user = {"token": TOKEN, "as": "eve", "as-uid": "7", "as-groups": ["g1", "g2"], "as-user-extra": {"why": ["x y"]}}

    headers = _auth(api, api.kubeconfig(tmp_path, user=user))

    assert headers["impersonate-user"] == "eve"
    assert headers["impersonate-uid"] == "7"
    assert headers["impersonate-group"] == "g1, g2"
    assert headers["impersonate-extra-why"] == "x y"


def test_nobody(api, tmp_path):
    """A context without credentials asks as nobody."""
    assert "authorization" not in _auth(api, api.kubeconfig(tmp_path, user={}))


def test_an_auth_provider_that_gives_nothing(tmp_path):
    """The legacy way to log in: its failure is a login that failed, whatever its library raises."""
    expired = base64.urlsafe_b64encode(b'{"exp": 1}').decode().rstrip("=")
    provider = {
        "name": "oidc",
        "config": {
            "id-token": f"a.{expired}.c",
            "idp-issuer-url": "http://127.0.0.1:1",
            "client-id": "x",
            "client-secret": TOKEN,
            "refresh-token": TOKEN,
            "idp-certificate-authority": "/none",
        },
    }

    with pytest.raises(Unauthenticated, match="the auth-provider of 'test' gave no token") as failed:
        find_access(str(_write(tmp_path / "k", user={"auth-provider": provider})))
    assert TOKEN not in str(failed.value)
    assert "auth whoami" in failed.value.hint


# --- login plugins ---


def _plugin(folder, body, name="plugin"):
    """A login plugin: an executable that says what `body` prints."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{textwrap.dedent(body)}\n")
    path.chmod(0o755)
    return {"apiVersion": "client.authentication.k8s.io/v1", "command": f"./{name}", "args": ["--x"]}


def _credential(status_text):
    return (
        'print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
        f'"status": {status_text}}}))'
    )


def test_a_plugin_gives_a_token(api, tmp_path):
    """It is found beside the kubeconfig and told its arguments and environment."""
    plugin = _plugin(tmp_path, _credential('{"token": sys.argv[1] + os.environ["E"] + "\\n"}'))
    plugin["env"] = [{"name": "E", "value": "-e"}]

    assert _auth(api, api.kubeconfig(tmp_path, user={"exec": plugin}))["authorization"] == "Bearer --x-e"


def test_a_plugin_is_asked_again_when_its_token_is_refused(api, tmp_path):
    """Long waits outlive short tokens."""
    counter = tmp_path / "count"
    plugin = _plugin(
        tmp_path,
        f"""
        n = open({str(counter)!r}, "a+")
        n.write("x"); n.seek(0)
        {_credential('{"token": "t%d" % len(n.read())}')}
        """,
    )
    api.answers("GET", "/version", status(401, "Unauthorized"), Answer({"gitVersion": "v1"}))

    assert Cluster.connect(api.kubeconfig(tmp_path, user={"exec": plugin})).server_version() == "v1"
    assert [one.headers["authorization"] for one in api.requests] == ["Bearer t1", "Bearer t2"]


def test_a_plugin_whose_fresh_token_is_refused_too(api, tmp_path):
    """Once is enough; the hint names the plugin."""
    plugin = _plugin(tmp_path, _credential(f'{{"token": "{TOKEN}"}}'), name="aws")
    api.answers("GET", "/version", status(401, "Unauthorized"))

    with pytest.raises(Unauthenticated, match="does not accept the credentials") as refused:
        Cluster.connect(api.kubeconfig(tmp_path, user={"exec": plugin})).server_version()
    assert len(api.requests) == 2
    assert "log in again: aws sso login" in refused.value.hint
    assert TOKEN not in f"{refused.value} {refused.value.hint}"


def test_a_plugin_gives_a_certificate(tmp_path):
    """Certificate and key, as PEM; they reach the configuration as files."""
    pair = Authority("test").client("eve")
    (tmp_path / "c").write_bytes(pair.certificate)
    (tmp_path / "k").write_bytes(pair.key)
    fields = (
        f'{{"clientCertificateData": open({str(tmp_path / "c")!r}).read(), '
        f'"clientKeyData": open({str(tmp_path / "k")!r}).read()}}'
    )
    access = find_access(str(_write(tmp_path / "config", user={"exec": _plugin(tmp_path, _credential(fields))})))

    with open(access.configuration.cert_file, "rb") as certificate, open(access.configuration.key_file, "rb") as key:
        assert certificate.read() == pair.certificate
        assert key.read() == pair.key
    assert access.renew() is False


def test_a_plugin_that_is_not_installed(tmp_path):
    """Its name, its user, and the hint that the kubeconfig brings for this case."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "no-such-login-plugin",
        "installHint": "install it\n  with your package manager",
    }

    with pytest.raises(
        KubeconfigError, match="plugin 'no-such-login-plugin' of kubeconfig user 'u' cannot be run"
    ) as no:
        find_access(str(_write(tmp_path / "k", user={"exec": plugin})))
    assert no.value.hint == "install it with your package manager"
    del plugin["installHint"]
    with pytest.raises(KubeconfigError) as no:
        find_access(str(_write(tmp_path / "k", user={"exec": plugin})))
    assert no.value.hint == "install it, so that it is on PATH"


FAILING = {
    "fails": ('sys.exit("SSO session expired\\nlog in")', Unauthenticated, "SSO session expired log in"),
    "fails at length": ('sys.exit("x" * 9999)', Unauthenticated, "x{100}"),
    "gives nothing": (_credential("{}"), Unauthenticated, "gave no credentials"),
    "gives a certificate without a key": (
        _credential('{"clientCertificateData": "x"}'),
        Unauthenticated,
        "gave no credentials",
    ),
    "gives no status": (_credential("None"), Unauthenticated, "gave no credentials"),
    "says no JSON": ('print("hello")', Unauthenticated, "failed to decode"),
    "says a number": ("print(1)", KubeconfigError, "is not set up as kubectl has it"),
}


@pytest.mark.parametrize(("body", "error", "want"), FAILING.values(), ids=FAILING.keys())
def test_a_plugin_that_gives_no_credentials(tmp_path, body, error, want):
    """A login that failed, with the plugin's first words; nobody goes on as an anonymous user."""
    plugin = _plugin(tmp_path, body, name="gke-gcloud-auth-plugin")

    with pytest.raises(error, match=f"gke-gcloud-auth-plugin' of kubeconfig user 'u' .*{want}|{want}") as failed:
        find_access(str(_write(tmp_path / "k", user={"exec": plugin})))
    assert len(str(failed.value)) < 500
    if error is Unauthenticated:
        assert "gcloud auth login" in failed.value.hint


def test_a_plugin_without_a_version(tmp_path):
    """kubectl would refuse it as well."""
    with pytest.raises(Unauthenticated, match="missing key 'apiVersion'"):
        find_access(str(_write(tmp_path / "k", user={"exec": {"command": "x"}})))


# --- what is shown ---


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api:6443", "https://api:6443"),
        (f"https://eve:{TOKEN}@api:6443/k8s/c-1/?x={TOKEN}#{TOKEN}", "https://api:6443/k8s/c-1"),
        ("https://[::1]:6443", "https://[::1]:6443"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url, shown):
    """Scheme, host, port and path."""
    assert shown_url(url) == shown


def test_an_access_shows_no_credentials(tmp_path):
    """Nor does a traceback that prints it."""
    access = find_access(str(_write(tmp_path / "k", user={"token": TOKEN, "as": "eve"})))

    assert TOKEN not in repr(access)
    assert "eve" not in repr(access)
    assert access.kubectl == f"kubectl --kubeconfig {tmp_path / 'k'} --context test"


def test_the_adapter_loads_kubernetes_late():
    """Until it connects, only ours and the HTTP library are there."""
    code = "import sys, kvobs.adapters.cluster; print('kubernetes' in sys.modules, 'pydantic' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False False\n"
