"""What is secret is found in Secrets only: on no screen, in no report, in no argument list, in no other object."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.cluster.bed import Bed
from tests.cluster.commands import LIMIT_S, Running, stack_arguments
from tests.cluster.snapshots import settled

RELEASE = "kube-prometheus-stack"
IN_FILE = "Wren-from-the-values-file-9"
IN_SET = "Wren-from-the-set-flag-9"
LEAN = [word for part in ("alertmanager", "nodeExporter") for word in ("--set", f"{part}.enabled=false")]


@dataclass
class Heard:
    """Everything that runs of kvobs gave away."""

    screens: list[str] = field(default_factory=list)
    """stdout and stderr."""
    children: set[str] = field(default_factory=set)
    """Command lines of what kvobs started."""
    password: str = ""
    """What kvobs made up for Grafana's administrator."""

    def run(self, *arguments: str | Path, bed: Bed) -> int:
        """Run kvobs, and watch what it starts all the while; return its exit code."""
        running = Running(*arguments, env=bed.environment())
        # A child has its parent's arguments until it becomes another program; what stands there the user wrote.
        own = "".join(f"{word}\0" for word in running.arguments)
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.01):
                self.children |= {_command_line(pid) for pid in running.descendants()} - {own}

        watcher = threading.Thread(target=watch)
        watcher.start()
        out, err = running.process.communicate(timeout=LIMIT_S)
        ended.set()
        watcher.join()
        self.screens += [out, err]
        return running.process.returncode


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has ended meanwhile


@pytest.fixture(scope="module")
def heard(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Heard:
    """Install with kvobs' own password, upgrade to one of the user's, fail, look, in every form of output."""
    values = tmp_path_factory.mktemp("values") / "values.yaml"
    values.write_text(yaml.safe_dump({"grafana": {"adminPassword": IN_FILE}}))
    theirs = ("--values", values, "--set", f"extra.password={IN_SET}")
    install = ("install", *stack_arguments(), *LEAN)
    everything = Heard()
    assert everything.run(*install, "-v", bed=bed) == 0
    assert everything.run("status", "-o", "json", bed=bed) in (0, 1)
    own = bed.api.get("v1", "Secret", f"{RELEASE}-grafana-admin", "monitoring")["data"]["admin-password"]
    everything.password = base64.b64decode(own).decode()
    assert everything.run(*install, *theirs, "-v", "-o", "json", bed=bed) == 0
    assert everything.run(*install, *theirs, "--set", "prometheus.prometheusSpec.replicas=many", bed=bed) == 3
    assert everything.run(*install, *theirs, "-o", "yaml", bed=bed) == 0
    return everything


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A cluster with nothing on it."""
    with Bed(gpu=False) as empty:
        yield empty


def secrets_of(heard: Heard, bed: Bed) -> dict[str, str]:
    """Return every secret of these runs, by what it is."""
    (user,) = yaml.safe_load(bed.kubeconfig.read_text())["users"]
    return {
        "kvobs' password": heard.password,
        "the values file's password": IN_FILE,
        "the flag's password": IN_SET,
        "the token": user["user"]["token"],
    }


def test_no_screen_shows_a_secret(heard: Heard, bed: Bed) -> None:
    """Neither stdout nor stderr holds one, with -v, as text, JSON or YAML, in success and in failure."""
    shown = "\n".join(heard.screens)
    assert "monitoring/kube-prometheus-stack" in shown
    for what, secret in secrets_of(heard, bed).items():
        assert secret not in shown, what


def test_no_argument_list_holds_a_secret(heard: Heard, bed: Bed) -> None:
    """No process that kvobs starts has one among its arguments, where every user of the machine could read it."""
    assert any("upgrade" in line for line in heard.children)
    for what, secret in secrets_of(heard, bed).items():
        assert [line for line in heard.children if secret in line] == [], what


def test_no_object_but_a_secret_holds_one(heard: Heard, bed: Bed) -> None:
    """The ApplySet parent and everything else on the cluster, Secrets aside, is without."""
    objects = {key: json.dumps(each) for key, each in settled(bed.api).items() if key[0] != "Secret"}
    assert ("ConfigMap", "monitoring", "kvobs") in objects
    for what, secret in secrets_of(heard, bed).items():
        encoded = base64.b64encode(secret.encode()).decode()
        held = [key for key, text in objects.items() if secret in text or encoded in text]
        assert held == [], what


def test_the_secrets_are_where_they_belong(heard: Heard, bed: Bed) -> None:
    """The test could fail: the password of the user is in Grafana's own Secret, that of kvobs in kvobs' Secret."""
    grafana = bed.api.get("v1", "Secret", f"{RELEASE}-grafana", "monitoring")["data"]["admin-password"]
    assert base64.b64decode(grafana).decode() == IN_FILE
