"""kvobs as a plugin: a real kubectl finds it, hands its flags on, keeps its exit code and completes it."""

from __future__ import annotations

import os
import subprocess
import sysconfig

import pytest

from tests.cluster.bed import Bed
from tests.cluster.build import binary
from tests.cluster.commands import LIMIT_S


def kubectl(bed: Bed, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run kubectl with this environment's scripts on PATH, as after `pip install kvobs`."""
    env = bed.environment()
    env["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), env["PATH"]])
    command = [str(binary("kubectl")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=LIMIT_S, check=False)


def test_kubectl_runs_the_plugin(bed: Bed) -> None:
    """`kubectl kvobs` takes kubectl's own flags, calls itself so in its help, and ends with kvobs' exit code."""
    flags = ("--kubeconfig", str(bed.kubeconfig), "--context", "bed", "-n", "nowhere")
    done = kubectl(bed, "kvobs", "status", *flags)
    assert done.returncode == 1, done.stderr
    assert "kvobs is not installed on this cluster" in done.stdout
    assert kubectl(bed, "kvobs", "status", "--context", "none").returncode == 4
    assert "Usage: kubectl kvobs status" in kubectl(bed, "kvobs", "status", "--help").stdout
    assert "kubectl-kvobs" in kubectl(bed, "plugin", "list").stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("un",), ["uninstall"]),
        (("install", "--dcgm", "op"), ["operator"]),
        (("install", "--chart-v"), ["--chart-version"]),
        (("status", "--kubeconfig", ""), []),
    ],
    ids=lambda value: " ".join(value),
)
def test_kubectl_completes_the_plugin(typed: tuple[str, ...], offered: list[str], bed: Bed) -> None:
    """Tab after `kubectl kvobs` offers what it offers after `kvobs`, and files where there is nothing to offer."""
    done = kubectl(bed, "__complete", "kvobs", *typed)
    assert done.returncode == 0, done.stderr
    *candidates, directive = done.stdout.split()
    assert candidates == offered
    assert directive == (":4" if offered else ":0")
