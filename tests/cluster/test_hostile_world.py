"""A full disk, a home that cannot be written, streams that are closed: kvobs works, or says what is in its way."""

from __future__ import annotations

import base64
import json
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.bed import Bed
from tests.cluster.charts import small_chart
from tests.cluster.commands import KVOBS, LIMIT_S, ROOT, kvobs
from tests.cluster.lean import INSTALL, LEAN, empty_cluster, remove
from tests.cluster.workloads import helm_run

NOWHERE = "/proc/nowhere"
"""A path at which nobody can make anything, root included."""
HOMES = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
HELM_HOMES = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "KUBECACHEDIR")
REUSE = ("install", "--no-wait")


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A cluster with somebody's own stack: quick to install beside."""
    with Bed(gpu=False) as cluster:
        lean = [word for value in LEAN for word in ("--set", value)]
        helm_run(cluster, "install", "theirs", str(small_chart()), "-n", "theirs", "--create-namespace", *lean)
        yield cluster


def in_shell(command: str, *arguments: str, bed: Bed) -> subprocess.CompletedProcess[str]:
    """Run kvobs in a shell, which does with its streams what *command* says."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {command}', "sh", *KVOBS, *arguments],
        env=bed.environment(), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_result_that_cannot_be_written(form: str, bed: Bed) -> None:
    """The work is done, and that its result got lost is exit 3 and one line."""
    done = in_shell(">/dev/full", *REUSE, "-q", "-o", form, bed=bed)
    assert done.returncode == 3
    assert done.stderr == "kvobs: the result cannot be written to stdout: No space left on device\n"
    again = json.loads(kvobs(*REUSE, "-o", "json", env=bed.environment()).stdout)
    assert {step["outcome"] for step in again["steps"]} == {"unchanged"}


@pytest.mark.parametrize("command", ["2>/dev/full", "2>&-", "<&-", "2>/dev/full <&-"])
def test_progress_that_cannot_be_written(command: str, bed: Bed) -> None:
    """What is said beside the result stops nothing: a log on a full disk does not stop an install in its midst."""
    done = in_shell(command, *REUSE, "-o", "json", bed=bed)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "InstallReport"


def test_a_closed_stdout(bed: Bed) -> None:
    """Who closes it wants no result."""
    done = in_shell(">&-", *REUSE, bed=bed)
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr


def test_no_home_at_all(bed: Bed) -> None:
    """Where a stack is reused nothing is written on this machine, and nothing is missed."""
    env = bed.environment() | dict.fromkeys((*HOMES, *HELM_HOMES), NOWHERE)
    kvobs(*REUSE, env=env)
    # No operator runs here that would say of its Prometheus that it is there.
    assert "the operator has not said Available yet" in kvobs("status", env=env, code=1).stdout
    kvobs("uninstall", "--yes", env=env)
    bare = {name: value for name, value in bed.environment().items() if name not in HOMES}
    kvobs(*REUSE, env=bare | {"LANG": "C", "LC_ALL": "C"})


def test_an_install_without_a_home() -> None:
    """Helm is given what it needs too: a chart from a folder is installed, and taken away again."""
    with empty_cluster() as bed:
        kvobs(*INSTALL, env=bed.environment() | dict.fromkeys((*HOMES, *HELM_HOMES), NOWHERE))
        remove(bed)


def test_a_disk_without_room(bed: Bed, tmp_path: Path) -> None:
    """Where not a byte can be written, a kubeconfig that holds its certificates is named, and no secret of it."""
    document = yaml.safe_load(bed.kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    certificate = Path(cluster.pop("certificate-authority")).read_bytes()
    cluster["certificate-authority-data"] = base64.b64encode(certificate).decode()
    embedded = tmp_path / "config"
    embedded.write_text(yaml.safe_dump(document))
    kvobs("status", "--kubeconfig", embedded, env=bed.environment(), code=None)

    done = subprocess.run(
        [*KVOBS, "install", "--kubeconfig", str(embedded)],
        env=bed.environment(), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        preexec_fn=_no_room,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert f"kubeconfig {embedded}: context 'bed' cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
    assert document["users"][0]["user"]["token"] not in done.stderr


def _no_room() -> None:
    # As a full disk, but for the word: no file may grow beyond nothing. Pipes and sockets may.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_file_without_room(bed: Bed, tmp_path: Path) -> None:
    """A file that cannot be written whole is not begun: the old one stays, no part of a new one lies beside it."""
    export = tmp_path / "dashboard.json"
    export.write_bytes((ROOT / "dashboards" / "vllm.json").read_bytes())
    before = export.read_bytes()
    done = subprocess.run(
        [*KVOBS, "patch", str(export), "--datasource", "prometheus=x", "--in-place"],
        env=bed.environment(), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        preexec_fn=_no_room,
    )  # fmt: skip
    assert done.returncode in (1, 3), done.stderr
    assert "cannot be written: File too large" in done.stderr + done.stdout
    assert export.read_bytes() == before
    assert list(tmp_path.iterdir()) == [export]


def test_a_device_is_written_to_and_not_replaced(bed: Bed) -> None:
    """`--file /dev/full` fails as it should, and it is the same device afterwards."""
    device = Path("/dev/full")
    before = device.stat().st_rdev
    patch = ("patch", ROOT / "dashboards" / "vllm.json", "--datasource", "prometheus=x", "--file")
    done = kvobs(*patch, device, env=bed.environment(), code=None)
    assert done.returncode in (1, 3)
    assert "/dev/full cannot be written: No space left on device" in done.stderr + done.stdout
    assert (device.is_char_device(), device.stat().st_rdev) == (True, before)
    assert '"uid": "kvobs-vllm"' in kvobs(*patch, "/dev/stdout", env=bed.environment()).stdout
