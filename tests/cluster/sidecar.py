"""Grafana's real dashboard sidecar, run against the bed where ``KVOBS_TEST_SIDECAR`` says how to start one.

The variable holds two words, a Python that has the sidecar's requirements and the sidecar's script:
``KVOBS_TEST_SIDECAR="…/venv/bin/python …/k8s-sidecar/src/sidecar.py"`` (kiwigrid/k8s-sidecar).
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from tests.cluster.processes import free_port

SIDECAR = "KVOBS_TEST_SIDECAR"
RUN_TIMEOUT_S = 60

# In a pod the kubelet mounts this file, and the sidecar reads it before it looks at NAMESPACE. Here nobody
# mounts it, and what it would say is not used, because NAMESPACE is set.
OUTSIDE_A_POD = """
import builtins, io, runpy, sys
real_open = builtins.open
def open_outside_a_pod(file, *args, **kwargs):
    if file == "/var/run/secrets/kubernetes.io/serviceaccount/namespace":
        return io.StringIO("default")
    return real_open(file, *args, **kwargs)
builtins.open = open_outside_a_pod
script = sys.argv.pop(1)
sys.path.insert(0, script.rpartition("/")[0])
runpy.run_path(script, run_name="__main__")
"""


def sidecar_command() -> list[str] | None:
    """Return the command that starts a sidecar, or None where none was given."""
    return shlex.split(os.environ.get(SIDECAR, "")) or None


def files_written(
    kubeconfig: Path,
    folder: Path,
    *,
    label: str = "grafana_dashboard",
    label_value: str = "1",
    folder_annotation: str = "",
) -> dict[str, bytes]:
    """Let the sidecar look at the cluster once, as the chart configures it; return what it wrote, by path.

    The paths are relative to *folder*. A sidecar that fails is an error with its own words.
    """
    command = sidecar_command()
    assert command is not None, f"{SIDECAR} is not set"
    python, script = command
    environment = {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(kubeconfig),
        "METHOD": "LIST",
        "LABEL": label,
        "LABEL_VALUE": label_value,
        "FOLDER": str(folder),
        "RESOURCE": "both",
        "NAMESPACE": "ALL",
        "HEALTH_HOST": "127.0.0.1",
        "HEALTH_PORT": str(free_port()),
        "REQ_RETRY_TOTAL": "0",
    }
    if folder_annotation:
        environment["FOLDER_ANNOTATION"] = folder_annotation
    done = subprocess.run(
        [python, "-c", OUTSIDE_A_POD, script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    # It logs most of its own errors and goes on, so its exit code alone proves nothing.
    if done.returncode or '"level": "ERROR"' in done.stdout + done.stderr:
        raise RuntimeError(f"the sidecar failed: {done.stdout}{done.stderr}")
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
