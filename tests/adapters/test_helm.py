"""Helm through pyhelm3, over a stand-in executable that records what it is told; `chart()` over the real one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kvobs.adapters import processes
from kvobs.adapters.helm import ChartInfo, Helm, HelmRelease
from kvobs.adapters.helm_command import HelmCommand
from kvobs.adapters.helm_failures import translated
from kvobs.adapters.helm_output import last_lines, repeatable
from kvobs.errors import HelmError, UsageError
from tests.cluster.build import binary

DATA = Path(__file__).parent.parent / "data"
SECRET = "correct-horse-battery"
VALUES = {"grafana": {"adminPassword": SECRET, "ingress": {"hosts": ["grafana.example"]}}, "note": "fire 🔥"}

STATUS = {
    "name": "kps",
    "namespace": "monitoring",
    "version": 3,
    "info": {"status": "deployed", "last_deployed": "2026-11-29T10:00:00Z"},
    "manifest": f"password: {SECRET}",
}
UPGRADED = {**STATUS, "chart": {"metadata": {"name": "stack", "version": "88.5.3"}}, "config": VALUES}


class StandIn:
    """The stand-in in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "helm"
        self.path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{DATA / "helm" / "stand_in.py"}" "$@"\n')
        self.path.chmod(0o755)
        self.scenario: dict[str, dict[str, Any]] = {}
        self.answers("version", stdout="v4.3.1")

    def answers(self, words: str, **answer: Any) -> None:
        """Say what a command that begins with *words* is answered."""
        self.scenario[words] = answer
        (self.folder / "scenario.json").write_text(json.dumps(self.scenario))

    def helm(self, **given: Any) -> Helm:
        """Return Helm over the stand-in."""
        environment = {**os.environ, "STAND_IN": str(self.folder), **given.pop("environment", {})}
        return Helm(executable=str(self.path), environment=environment, **given)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every call but the question for the version, in order."""
        lines = (self.folder / "calls.jsonl").read_text().splitlines()
        return [call for call in map(json.loads, lines) if call["argv"][0] != "version"]

    def pids(self) -> list[int]:
        """Wait until a hanging command has started, and return its process and its child."""
        started = self.folder / "pids.json"
        wait_for(started.exists)
        pids: list[int] = json.loads(started.read_text())
        return pids


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    """A stand-in; whatever a failed test left of it is killed."""
    made = StandIn(tmp_path)
    yield made
    started = tmp_path / "pids.json"
    for pid in json.loads(started.read_text()) if started.exists() else []:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def wait_for(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def gone(pids: list[int]) -> None:
    """See that no process of these runs any more; the kernel takes a moment over what is killed."""
    wait_for(lambda: not any(map(alive, pids)))


def alive(pid: int) -> bool:
    """Say whether a process runs; a zombie that nobody has collected does not."""
    if Path("/proc/self/stat").exists():
        stat = Path(f"/proc/{pid}/stat")
        try:
            state = stat.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
    else:
        ps = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(ps, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def told(error: BaseException) -> str:
    """Return all that a user or a log could see of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(getattr(error, "hint", ""))


def install(helm: Helm, **given: Any) -> HelmRelease:
    """Install the release of these tests."""
    arguments: dict[str, Any] = {"version": "88.5.3", "namespace": "monitoring", "values": VALUES, "wait": True}
    return helm.install_or_upgrade("kps", "oci://registry.example/charts/stack", **{**arguments, **given})


class TestWhatHelmIsTold:
    """Command lines, input and environment."""

    def test_install_or_upgrade(self, stand_in: StandIn) -> None:
        """Installed or upgraded in one command, the values on stdin, the time-out with its unit."""
        stand_in.answers("upgrade", stdout=json.dumps(UPGRADED))

        release = install(stand_in.helm(kubeconfig="/kube/config", context="c"), timeout_s=300)

        assert release == HelmRelease(
            name="kps",
            namespace="monitoring",
            revision=3,
            status="deployed",
            chart_version="88.5.3",
            values=VALUES,
        )
        (call,) = stand_in.calls
        assert call["argv"] == [
            *("upgrade", "kps", "oci://registry.example/charts/stack", "--history-max", "10", "--install"),
            *("--output", "json", "--timeout", "300s", "--values", "-", "--namespace", "monitoring"),
            *("--reset-values", "--version", "88.5.3", "--wait", "--wait-for-jobs"),
            *("--kubeconfig", "/kube/config", "--kube-context", "c"),
        ]
        assert json.loads(call["stdin"]) == VALUES
        assert "🔥" in call["stdin"], "Helm reads YAML, which has no surrogate escapes"

    def test_integers_go_beside_the_values(self, stand_in: StandIn) -> None:
        """Integers that a document would turn into floats are set on the command line."""
        stand_in.answers("upgrade", stdout=json.dumps(UPGRADED))

        install(stand_in.helm(), set_integers=["a.limit=1000000"], wait=False, version=None)

        (call,) = stand_in.calls
        assert call["argv"][-2:] == ["--set", "a.limit=1000000"]
        assert not {"--wait", "--version", "--create-namespace"} & set(call["argv"])
        assert call["argv"][call["argv"].index("--timeout") + 1] == "600s"

    def test_lines_before_the_answer(self, stand_in: StandIn) -> None:
        """What Helm prints of a pull before its JSON does not matter."""
        stand_in.answers("upgrade", stdout=f"Pulled: registry.example/x:1\nDigest: y\n{json.dumps(UPGRADED)}")

        assert install(stand_in.helm()).revision == 3

    def test_template(self, stand_in: StandIn) -> None:
        """A chart is rendered for the cluster that is described; the values go on stdin, as in an install."""
        stand_in.answers("template", stdout="Pulled: x\nDigest: y\n---\nkind: A\n---\nkind: B\n")

        rendered = stand_in.helm().template(
            "kps",
            "oci://registry.example/charts/stack",
            version="88.5.3",
            namespace="monitoring",
            values=VALUES,
            set_integers=["a.limit=1000000"],
            kube_version="v1.36.3",
            api_versions=["monitoring.coreos.com/v1", "b/v1"],
            include_crds=True,
        )

        assert [each["kind"] for each in rendered] == ["A", "B"]
        (call,) = stand_in.calls
        assert call["argv"] == [
            *("template", "kps", "oci://registry.example/charts/stack", "--values", "-", "--namespace", "monitoring"),
            *("--include-crds", "--version", "88.5.3", "--set", "a.limit=1000000", "--kube-version", "v1.36.3"),
            *("--api-versions", "monitoring.coreos.com/v1", "--api-versions", "b/v1"),
        ]
        assert json.loads(call["stdin"]) == VALUES

    def test_template_of_a_chart_alone(self, stand_in: StandIn) -> None:
        """Without more to say nothing more is said, and a chart that renders to nothing has no objects."""
        rendered = stand_in.helm().template("kps", "./chart", version=None, namespace="m", values={})

        assert rendered == ()
        (call,) = stand_in.calls
        assert call["argv"] == ["template", "kps", "./chart", "--values", "-", "--namespace", "m", "--skip-crds"]

    @pytest.mark.parametrize("driver", ["", "secret", "secrets", "configmap", "sql", "memory"])
    def test_where_releases_are_kept(self, stand_in: StandIn, driver: str) -> None:
        """Helm keeps its releases in Secrets unless HELM_DRIVER names something else."""
        helm = stand_in.helm(environment={"HELM_DRIVER": driver})

        assert helm.keeps_secrets == (driver in ("", "secret", "secrets"))

    def test_release(self, stand_in: StandIn) -> None:
        """A release comes with its status, its chart and the user's values, all of the same revision."""
        stand_in.answers("status", stdout=json.dumps({**STATUS, "info": {"status": "pending-upgrade"}}))
        stand_in.answers("get all", stdout='apiVersion: v2\nname: "stack"\nversion: "88.5.3"\n')
        stand_in.answers("get values", stdout=json.dumps(VALUES))

        release = stand_in.helm().release("kps", "monitoring")

        assert release is not None
        assert (release.status, release.revision, release.chart_version) == ("pending-upgrade", 3, "88.5.3")
        assert release.values == VALUES
        assert SECRET not in repr(release)
        assert [call["argv"][:3] for call in stand_in.calls] == [
            ["status", "kps", "--output"],
            ["get", "all", "kps"],
            ["get", "values", "kps"],
        ]
        assert all(
            call["argv"][-4:] == ["--namespace", "monitoring", "--revision", "3"]
            or call["argv"][-4:] == ["--revision", "3", "--namespace", "monitoring"]
            for call in stand_in.calls[1:]
        )

    def test_no_values(self, stand_in: StandIn) -> None:
        """A release without values of the user has an empty document."""
        stand_in.answers("status", stdout=json.dumps(STATUS))
        stand_in.answers("get all", stdout='name: "stack"\nversion: "1.0.0"\n')
        stand_in.answers("get values", stdout="null")

        release = stand_in.helm().release("kps", "monitoring")

        assert release is not None
        assert release.values == {}

    def test_no_release(self, stand_in: StandIn) -> None:
        """No release is None, and there is nothing to uninstall."""
        for words in ("status", "uninstall"):
            stand_in.answers(words, stderr=f"Error: {words}: Release not loaded: kps: release: not found\n", exit=1)

        assert stand_in.helm().release("kps", "monitoring") is None
        assert stand_in.helm().uninstall("kps", "monitoring") is False

    def test_uninstall_and_rollback(self, stand_in: StandIn) -> None:
        """Uninstalling waits unless told otherwise; rolling back goes to the revision that is named."""
        assert stand_in.helm(timeout_s=60).uninstall("kps", "monitoring") is True
        stand_in.helm(timeout_s=60).uninstall("kps", "monitoring", wait=False, timeout_s=5)
        stand_in.helm(timeout_s=60).rollback("kps", "monitoring", revision=2)

        assert [call["argv"] for call in stand_in.calls] == [
            ["uninstall", "kps", "--timeout", "60s", "--namespace", "monitoring", "--wait"],
            ["uninstall", "kps", "--timeout", "5s", "--namespace", "monitoring"],
            ["rollback", "kps", "2", "--history-max", "10", "--timeout", "60s", "--namespace", "monitoring"],
        ]

    def test_the_same_cluster(self, stand_in: StandIn) -> None:
        """Variables that would send Helm to another cluster or user do not reach it; others do."""
        stand_in.answers("show chart", stdout="name: x\nversion: 1.0.0\n")
        environment = {"HELM_KUBECONTEXT": "other", "HELM_KUBETOKEN": SECRET, "HELM_CACHE_HOME": "/cache"}

        stand_in.helm(environment=environment).chart("oci://x/y", "1.0.0")

        (call,) = stand_in.calls
        assert call["environment"] == {"HELM_CACHE_HOME": "/cache"}
        assert call["argv"] == ["show", "chart", "oci://x/y", "--version", "1.0.0"]
        assert call["stdin"] == ""

    @pytest.mark.parametrize("word", ["-f", "--post-renderer=x", ""])
    def test_what_helm_would_take_for_a_flag(self, stand_in: StandIn, word: str) -> None:
        """A chart or release that begins with a dash never reaches Helm."""
        with pytest.raises(UsageError, match="names no release or chart"):
            stand_in.helm().chart(word)
        with pytest.raises(UsageError):
            stand_in.helm().release(word, "monitoring")

    def test_values_that_are_not_json(self, stand_in: StandIn) -> None:
        """Values that cannot be written as JSON are refused before Helm is started."""
        with pytest.raises(UsageError, match="values of release kps are not JSON"):
            install(stand_in.helm(), values={"a": {1, 2}})
        with pytest.raises(UsageError, match="values of release kps are not JSON"):
            install(stand_in.helm(), values={"a": float("nan")})


class TestSecrets:
    """Secrets reach Helm on stdin and nothing else."""

    def test_nowhere_in_success(self, stand_in: StandIn, caplog: pytest.LogCaptureFixture) -> None:
        """Neither a command line nor a log nor a repr holds a secret of the values."""
        stand_in.answers("upgrade", stdout=json.dumps(UPGRADED))
        caplog.set_level(logging.DEBUG)

        release = install(stand_in.helm())

        (call,) = stand_in.calls
        assert SECRET in call["stdin"]
        assert SECRET not in " ".join(call["argv"]) + caplog.text + repr(release)

    @pytest.mark.parametrize(
        "stderr",
        [
            f"Error: wrong type for value; expected string; got {SECRET}\n",
            f'level=WARN msg="cannot overwrite table with non table for grafana (map[adminPassword:{SECRET}])"\n',
            f"Error: GET https://user:{SECRET}@registry.example/v2/: denied\n",
        ],
    )
    def test_nowhere_in_failure(self, stand_in: StandIn, caplog: pytest.LogCaptureFixture, stderr: str) -> None:
        """A failure repeats what Helm said without the secrets in it, in the whole chain of errors."""
        stand_in.answers("upgrade", stdout=f"map[{SECRET}]", stderr=stderr, exit=1)
        caplog.set_level(logging.DEBUG)
        lines: list[str] = []

        with pytest.raises(HelmError, match="release monitoring/kps: ") as failed:
            install(stand_in.helm(), on_line=lines.append)

        assert SECRET not in told(failed.value) + caplog.text + "".join(lines)
        assert "…" in str(failed.value)
        assert lines

    def test_nowhere_in_an_answer_that_is_none(self, stand_in: StandIn) -> None:
        """An answer that cannot be read is said to be so, and not repeated."""
        stand_in.answers("upgrade", stdout=f"{{ not JSON {SECRET}")

        with pytest.raises(HelmError, match="Helm's answer cannot be read") as failed:
            install(stand_in.helm())

        assert SECRET not in told(failed.value)

    @pytest.mark.parametrize(
        ("said", "repeated"),
        [
            ('secrets "kps-grafana-admin" not found', 'secrets "kps-grafana-admin" not found'),
            ("Authorization: Bearer abc.def", "Authorization: Bearer …"),
            ("password: hunter22 token=t0ps3cret", "password:… token=…"),
            ("got map[a:b c:map[d:e]]", "got …"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n!", "…\n!"),
            ("sha256:" + "0a" * 32, "sha256:" + "0a" * 32),
            ("QWxhZGRpbjpvcGVuIHNlc2FtZTpvcGVuIDE5OTk=", "…"),
            (
                "/home/someone/projects/kubernetes/charts/kube/stack",
                "/home/someone/projects/kubernetes/charts/kube/stack",
            ),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "…"),
        ],
    )
    def test_what_looks_like_one(self, said: str, repeated: str) -> None:
        """What looks like a secret is left out; names of Secrets, digests and paths are not."""
        assert repeatable(said, {"admin": {"existingSecret": "kps-grafana-admin", "passwordKey": "admin"}}) == repeated

    def test_only_the_end_is_repeated(self) -> None:
        """An error repeats Helm's last lines, each to a bearable width."""
        lines = last_lines("\n".join(f"line {n}" for n in range(100)) + "\nError: " + "x" * 5000).splitlines()

        assert lines[0] == "line 93"
        assert len(lines) == 8
        assert len(lines[-1]) < 700


class TestVersion:
    """Which Helm can be used, and what is said of others."""

    @pytest.mark.parametrize(
        ("printed", "version"),
        [
            ("v4.3.1", "4.3.1"),
            ("v3.13.0\n", "3.13.0"),
            ("v3.22.0+gabc123", "3.22.0+gabc123"),
            ("4.0.0-rc.1", "4.0.0-rc.1"),
        ],
    )
    def test_usable(self, stand_in: StandIn, printed: str, version: str) -> None:
        """A whole version of Helm 3.13 or newer is taken; since 4 it goes on with what was applied server-side."""
        stand_in.answers("version", stdout=printed)

        assert stand_in.helm().version() == version
        assert stand_in.helm().applies() == version.startswith("4.")

    @pytest.mark.parametrize(
        ("printed", "said"),
        [
            ("v4.3", "says that its version is 'v4.3', which is no complete version"),
            ("v3.22", "says that its version is 'v3.22', which is no complete version"),
            ("", "says that its version is '', which is no complete version"),
            ("v3.12.3", "is Helm v3.12.3; kvobs needs 3.13 or newer"),
            ("v2.17.0", "is Helm v2.17.0; kvobs needs 3.13 or newer"),
        ],
    )
    def test_not_usable(self, stand_in: StandIn, printed: str, said: str) -> None:
        """Others are refused with what they printed and where to get one, before anything is done."""
        stand_in.answers("version", stdout=printed)

        with pytest.raises(HelmError, match=said) as refused:
            install(stand_in.helm())

        assert "https://helm.sh/docs/intro/install" in str(refused.value.hint)
        assert stand_in.calls == []

    def test_asked_once(self, stand_in: StandIn) -> None:
        """The version is asked for when it is needed, once."""
        helm = stand_in.helm()
        assert not (stand_in.folder / "calls.jsonl").exists()

        helm.version()
        helm.version()

        assert len((stand_in.folder / "calls.jsonl").read_text().splitlines()) == 1

    def test_no_helm(self, tmp_path: Path) -> None:
        """Without a helm on PATH the error says where it looked and how to get one."""
        with pytest.raises(HelmError, match=f"no helm on PATH: looked for 'helm' in {tmp_path}") as missing:
            Helm(environment={"PATH": str(tmp_path)}).version()

        assert "--helm PATH" in str(missing.value.hint)

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (lambda path: None, "does not exist"),
            (lambda path: path.write_text("#!/bin/sh\n"), "is not executable"),
            (lambda path: (path.write_bytes(b"\0\0\0\0"), path.chmod(0o755)), "cannot be run: Exec format error"),
            (lambda path: (path.write_text("#!/no/such/sh\n"), path.chmod(0o755)), "cannot be run: No such file"),
        ],
    )
    def test_a_helm_that_is_none(self, tmp_path: Path, make: Callable[[Path], Any], said: str) -> None:
        """A path that names no program that can run is said to be so."""
        path = tmp_path / "helm"
        make(path)

        with pytest.raises(HelmError, match=said):
            Helm(executable=str(path)).version()


@pytest.mark.parametrize(
    ("stderr", "hint"),
    [
        ("Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress\n", "helm history"),
        ("Error: release: already exists\n", "let it end"),
        ("Error: uninstall: Release not loaded: x: release: not found\n", "let it end"),
        ("Error: INSTALLATION FAILED: cannot re-use a name that is still in use\n", "let it end"),
        (
            "Error: resource Deployment/monitoring/x not ready. status: InProgress\ncontext deadline exceeded\n",
            "--timeout",
        ),
        ("Error: kubernetes cluster unreachable: dial tcp: connection refused\n", "kubectl version"),
        ('Error: secrets is forbidden: User "x" cannot list\n', "lack a right"),
        ('Error: conflict occurred while applying object: conflict with "x"\n', "names who"),
        ("Error: tls: failed to verify certificate: x509\n", "SSL_CERT_FILE"),
        ("Error: registry.example/x:1: not found\n", "oci://"),
        ("Error: lookup ghcr.io: no such host\n", "--chart PATH"),
    ],
)
def test_failures_say_what_next(stand_in: StandIn, stderr: str, hint: str) -> None:
    """Helm's own words are carried on, without its prefix, with what to do about them."""
    stand_in.answers("upgrade", stderr=stderr, exit=1)

    with pytest.raises(HelmError) as failed:
        install(stand_in.helm())

    assert stderr.splitlines()[-1].removeprefix("Error: ") in str(failed.value)
    assert hint in str(failed.value.hint)


def test_a_failure_without_a_word(stand_in: StandIn) -> None:
    """A Helm that says nothing at all is told by its exit status."""
    stand_in.answers("upgrade", exit=7)

    with pytest.raises(HelmError, match="exit status 7 without a word"):
        install(stand_in.helm())


def test_lines_come_as_they_are_said(stand_in: StandIn) -> None:
    """Each line of Helm's stderr reaches the callback, in the thread that called."""
    stand_in.answers("upgrade", stdout=json.dumps(UPGRADED), stderr="one\n\ntwo\nthree")
    lines: list[tuple[str, int]] = []

    install(stand_in.helm(), on_line=lambda line: lines.append((line, threading.get_ident())))

    assert lines == [(line, threading.get_ident()) for line in ("one", "two", "three")]


def test_inside_a_running_loop(stand_in: StandIn) -> None:
    """It can be called where an event loop is running, as in a notebook."""

    async def notebook() -> str:
        return stand_in.helm().version()

    assert asyncio.run(notebook()) == "4.3.1"


class TestNothingIsLeftRunning:
    """However it ends, Helm and what it started are gone."""

    def interrupted(self, stand_in: StandIn, *, twice: bool = False) -> tuple[list[int], float]:
        """Press Ctrl-C while Helm hangs, and once more when it was told to end and does not; return the processes that
        were running, and how long after the last press the call returned.
        """
        pids: list[int] = []
        pressed: list[float] = []

        def press() -> None:
            pids.extend(stand_in.pids())
            for number in range(1 + twice):
                if number:
                    wait_for((stand_in.folder / "told").exists)
                pressed.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)

        pressing = threading.Thread(target=press)
        pressing.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                install(stand_in.helm())
            returned = time.monotonic()
        finally:
            pressing.join()
        return pids, returned - pressed[-1]

    def test_interrupted(self, stand_in: StandIn) -> None:
        """Ctrl-C ends Helm and its child before the call returns."""
        stand_in.answers("upgrade", hang=True)

        pids, _ = self.interrupted(stand_in)
        gone(pids)

    def test_interrupted_twice(self, stand_in: StandIn) -> None:
        """A second Ctrl-C does not wait for a Helm that takes its time."""
        stand_in.answers("upgrade", hang=True, deaf=True)

        pids, took_s = self.interrupted(stand_in, twice=True)
        gone(pids)
        assert took_s < processes.GRACE_S / 2

    def test_a_callback_that_fails(self, stand_in: StandIn) -> None:
        """An error in the callback is raised as it is, once Helm is gone."""
        stand_in.answers("upgrade", hang=True, stderr="a line\n")

        def fail(line: str) -> None:
            stand_in.pids()
            raise BrokenPipeError(line)

        with pytest.raises(BrokenPipeError, match="a line"):
            install(stand_in.helm(), on_line=fail)
        gone(stand_in.pids())

    def test_out_of_time(self, stand_in: StandIn) -> None:
        """A Helm that outlasts its time is stopped, and the error says after how long."""
        stand_in.answers("upgrade", hang=True)
        command = HelmCommand(
            executable=str(stand_in.path),
            kubeconfig=None,
            context=None,
            environment={**os.environ, "STAND_IN": str(stand_in.folder)},
            limit_s=2,
        )

        with pytest.raises(HelmError, match="release x: Helm did not end within 2 s and was stopped"):
            asyncio.run(translated(command.run(["upgrade"]), "release x", command))
        gone(stand_in.pids())

    @pytest.mark.parametrize("deaf", [False, True])
    def test_killed_ourselves(self, stand_in: StandIn, deaf: bool) -> None:
        """When our own process is killed outright, Helm and its child end too, even a Helm that will not."""
        stand_in.answers("show chart", hang=True, deaf=deaf)
        script = f"from kvobs.adapters.helm import Helm; Helm(executable={str(stand_in.path)!r}).chart('x')"
        environment = {**os.environ, "STAND_IN": str(stand_in.folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        ours = subprocess.Popen([sys.executable, "-c", script], env=environment)
        pids = stand_in.pids()

        ours.kill()
        ours.wait()

        wait_for(lambda: not any(map(alive, pids)))

    def test_a_helm_that_does_not_read_its_input(self, tmp_path: Path) -> None:
        """A large document that Helm does not read to its end is no error of its own."""
        path = tmp_path / "helm"
        path.write_text('#!/bin/sh\n[ "$1" = version ] && echo v4.3.1 && exit 0\necho "Error: no" >&2\nexit 1\n')
        path.chmod(0o755)

        with pytest.raises(HelmError, match="release monitoring/kps: no"):
            install(Helm(executable=str(path)), values={"a": "x" * 5_000_000})


class TestTheRealHelm:
    """What needs no cluster, with the real executables."""

    @pytest.mark.parametrize("name", ["helm4", "helm3"])
    def test_chart(self, name: str) -> None:
        """A chart in a folder is told by its name and version."""
        helm = Helm(executable=str(binary(name)))

        assert helm.chart(str(DATA / "values" / "chart")) == ChartInfo(name="values", version="1.0.0")
        assert helm.version().startswith(name[-1])

    def test_no_chart(self, tmp_path: Path) -> None:
        """A folder that is no chart, or none at all, is refused in Helm's words."""
        helm = Helm(executable=str(binary("helm4")))

        with pytest.raises(HelmError, match=r"Chart\.yaml file is missing"):
            helm.chart(str(tmp_path))
        with pytest.raises(HelmError, match="not found") as missing:
            helm.chart(str(tmp_path / "none"))
        assert missing.value.hint

    def test_no_cluster(self, tmp_path: Path) -> None:
        """A cluster that does not answer is an error that says how to look at it, and not a missing release."""
        config = tmp_path / "config"
        cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
        context = {"name": "c", "context": {"cluster": "c", "user": ""}}
        config.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "c"}))

        with pytest.raises(HelmError, match="release monitoring/kps: ") as unreachable:
            Helm(executable=str(binary("helm4")), kubeconfig=str(config)).release("kps", "monitoring")
        assert "kubectl version" in str(unreachable.value.hint)
