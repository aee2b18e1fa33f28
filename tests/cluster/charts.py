"""The charts that the tests install, made from the folders under ``tests/data/charts``.

The small kube-prometheus-stack is kept without its CRDs, which come from the operator's Go module, so a chart
that Helm can install has to be put together first. What is put together lies in the cache, under a name with
the hash of everything in it: made once, shared by parallel runs, made again when a file changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.build import KUBERNETES_VERSION, binary, crd_files, made

Object = dict[str, Any]

CHARTS = Path(__file__).parent.parent / "data" / "charts"
"""The charts of our own, as they lie in the repository."""

CASES = sorted((CHARTS / "cases").glob("*.yaml"))
"""Values for kube-prometheus-stack, one case a file; each begins with a sentence on what it is."""

STACK = "kube-prometheus-stack"
REAL_CHART = "KVOBS_TEST_CHART"
"""The environment variable that names an assembled, real kube-prometheus-stack to test with instead."""

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML has it: the real chart renders to 600 kB, and tests render it many times."""


def small_chart() -> Path:
    """Return the folder of the small kube-prometheus-stack, with the operator's CRDs in it."""
    source = CHARTS / STACK
    crds = crd_files("prometheus-operator")

    def assemble(into: Path) -> None:
        shutil.copytree(source, into / STACK)
        folder = into / STACK / "charts" / "crds" / "crds"
        folder.mkdir()
        for crd in crds:
            shutil.copy(crd, folder)

    return made(f"chart-{_digest([*_files(source), *crds])}", assemble) / STACK


def real_chart() -> Path | None:
    """Return the folder that ``KVOBS_TEST_CHART`` names, or None where it is not set."""
    named = os.environ.get(REAL_CHART)
    if not named:
        return None
    folder = Path(named).resolve()
    if not (folder / "Chart.yaml").is_file():
        raise FileNotFoundError(f"{REAL_CHART} names {folder}, which holds no Chart.yaml")
    return folder


def chart_under_test() -> Path:
    """Return the kube-prometheus-stack that this run installs: the real one where it is given."""
    return real_chart() or small_chart()


def package(chart: Path) -> Path:
    """Return *chart* as the archive that ``helm package`` makes of it."""

    def pack(into: Path) -> None:
        helm("helm4", "package", chart, "--destination", into)

    (archive,) = made(f"archive-{_digest(_files(chart))}", pack).glob("*.tgz")
    return archive


def rendered(chart: Path, *arguments: str | Path, release: str = "kps", name: str = "helm4") -> list[Object]:
    """Return the objects that ``helm template`` makes of a chart, in namespace ``monitoring``."""
    # Without a cluster Helm guesses Kubernetes' version from what it was built with: 1.20 for a plain Helm 3.
    fixed = ("--namespace", "monitoring", "--kube-version", KUBERNETES_VERSION)
    text = helm(name, "template", release, chart, *fixed, *arguments)
    return [document for document in yaml.load_all(text, Loader) if document]


def helm(name: str, *arguments: str | Path, environment: dict[str, str] | None = None) -> str:
    """Run ``helm4`` or ``helm3`` and return what it prints; the error holds what it says when it fails."""
    done = subprocess.run([binary(name), *arguments], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} {arguments[0]} failed: {done.stderr}")
    return done.stdout


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _digest(files: list[Path]) -> str:
    """Name a set of files by what is in them and in which folder each lies."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.parent.name}/{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
