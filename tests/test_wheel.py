"""What a user installs: the wheel, the sdist and an editable install, built and run without a network."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
ASSETS = sorted(
    f"{folder}/{path.name}" for folder in ("dashboards", "servicemonitors") for path in (REPOSITORY / folder).iterdir()
)
LOOK = """
import json, kvobs
from kvobs.adapters.assets import catalog, shipped_dashboards, shipped_monitor
print(json.dumps({
    "package": kvobs.__file__,
    "dashboards": [name for name, _ in shipped_dashboards()],
    "monitor": shipped_monitor("vllm")["kind"],
    "known": len(catalog()),
}))
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with none of the surrounding environment's Python or Kubernetes settings."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != "KUBECONFIG"
    }
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def empty_venv(folder: Path) -> Path:
    """Make a venv with none of its own packages and return its python.

    The test environment's packages stand in for the dependencies, which there is no network to install from;
    they come last on the path, so that kvobs itself is found in the venv.
    """
    venv.create(folder)
    python = folder / "bin" / "python"
    site_packages = next(folder.glob("lib/python*/site-packages"))
    (site_packages / "zz-dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def install(python: Path, *arguments: str | Path, cwd: Path) -> None:
    """Install with pip into the venv of *python*, from files alone."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install"]
    done = run(*pip, "--no-index", "--no-deps", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist, and the wheel made from it."""
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of a venv that holds the wheel."""
    folder = tmp_path_factory.mktemp("user")
    python = empty_venv(folder / "venv")
    install(python, wheel, cwd=folder)
    return python


def test_wheel_carries_the_data(wheel: Path) -> None:
    """Every data file is in the wheel, once, inside the package, and nothing else of the repository is."""
    names = zipfile.ZipFile(wheel).namelist()

    assert sorted(name for name in names if name.startswith("kvobs/_assets/")) == [
        f"kvobs/_assets/{path}" for path in ASSETS
    ]
    assert {name.split("/")[0] for name in names} == {"kvobs", wheel.name.split("-py3")[0] + ".dist-info"}
    assert "kvobs/py.typed" in names


def test_sdist_builds_and_tests_elsewhere(built: Path) -> None:
    """The sdist has the data, the tests and the licence, and no file that only this machine has."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    assert {*ASSETS, "tests/test_wheel.py", "LICENSE", "README.md", "Makefile"} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/")) or "__pycache__" in name]


def test_installed_package_finds_its_data(installed: Path, tmp_path: Path) -> None:
    """From any directory, the installed package reads the data that came with it."""
    done = run(installed, "-c", LOOK, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert Path(seen["package"]).is_relative_to(installed.parents[1])
    assert seen["dashboards"] == ["dcgm.json", "two-lenses.json", "vllm.json"]
    assert seen["monitor"] == "ServiceMonitor"
    assert seen["known"] > 0


def test_installed_command_renders(installed: Path, tmp_path: Path) -> None:
    """`python -m kvobs render` of the wheel prints both dashboards and the monitors, with no cluster."""
    done = run(installed, "-m", "kvobs", "render", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    objects = [document for document in yaml.safe_load_all(done.stdout) if document]
    dashboards = [
        json.loads(content)
        for manifest in objects
        if manifest["kind"] == "ConfigMap"
        for key, content in manifest.get("data", {}).items()
        if key.endswith(".json")
    ]
    assert {dashboard["uid"] for dashboard in dashboards} >= {"kvobs-dcgm", "kvobs-vllm"}
    assert "ServiceMonitor" in {manifest["kind"] for manifest in objects}


def test_editable_install_reads_the_checkout(tmp_path: Path) -> None:
    """An editable install uses the repository's own files, so that an edit is seen at once."""
    python = empty_venv(tmp_path / "venv")
    install(python, "--no-build-isolation", "--editable", REPOSITORY, cwd=tmp_path)

    done = run(python, "-c", LOOK, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert Path(seen["package"]) == REPOSITORY / "kvobs" / "__init__.py"
    assert seen["dashboards"] == ["dcgm.json", "two-lenses.json", "vllm.json"]


def test_a_stripped_installation_says_so(wheel: Path, tmp_path: Path) -> None:
    """Where the data was left out, the error says what is missing and how to get it."""
    python = empty_venv(tmp_path / "venv")
    install(python, wheel, cwd=tmp_path)
    (package,) = tmp_path.glob("venv/lib/python*/site-packages/kvobs")
    (package / "_assets").rename(tmp_path / "elsewhere")

    done = run(python, "-c", LOOK, cwd=tmp_path)

    assert done.returncode != 0
    assert "this installation of kvobs lacks its own dashboards/" in done.stderr
