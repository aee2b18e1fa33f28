"""The tests that need no cluster, on every Python that kvobs is for: `python -m tests.pythons`.

Each gets a venv of its own with what the lock pins and the wheel, as a user would install it. A Python that this
machine does not have is named, not passed over in silence.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
LOCK = ROOT / "tests" / "requirements.lock"
UV = Path(sysconfig.get_path("scripts"), "uv")
ELSEWHERE = (
    *("tests/cluster", "tests/oracle", "tests/report/test_html.py", "tests/health/test_dark.py"),
    *("tests/health/test_recordings.py", "tests/use_cases/test_dark_on_vllm.py", "tests/test_wheel.py"),
)
"""What mostly waits for programs that are no Python: once a run is enough; the same code has tests of its own here."""
TESTS = (*(f"--ignore={each}" for each in ELSEWHERE), "-p", "no:cacheprovider", "-q", "tests", "kvobs")


def found(version: str) -> str | None:
    """The interpreter of that version on this machine, if there is one; pyenv's count where it has not chosen them."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [*os.get_exec_path(), *map(str, pyenv.glob(f"versions/{version}.*/bin"))]
    command = [UV, "python", "find", "--no-python-downloads", version]
    env = os.environ | {"PATH": os.pathsep.join(folders)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", env=env)
    return done.stdout.strip() if done.returncode == 0 else None


def tested(interpreter: str, wheel: Path, folder: Path) -> bool:
    """Install the wheel for *interpreter*, run its command from elsewhere, then the tests; whether all passed."""
    python = folder / "bin" / "python"
    quiet = [UV, "pip", "install", "--quiet", "--python", python]
    commands: list[tuple[list[str | Path], Path]] = [
        ([UV, "venv", "--quiet", "--no-python-downloads", "--python", interpreter, folder], ROOT),
        ([*quiet, "--require-hashes", "--requirement", LOCK], ROOT),
        ([*quiet, "--no-deps", wheel], ROOT),
        ([folder / "bin" / "kvobs", "--version"], folder),
        ([folder / "bin" / "kubectl-kvobs", "render", "--dir", folder / "rendered"], folder),
        ([python, "-m", "pytest", *TESTS], ROOT),
    ]
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return all(subprocess.run(command, cwd=cwd, env=env, check=False).returncode == 0 for command, cwd in commands)


def main() -> int:
    """Test on every Python that is here but the one that runs this, which `make test` has; 1 where one failed."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreters = {version: found(version) for version in VERSIONS if version != own}
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = (folder / "dist").glob("*.whl")
        for version, interpreter in interpreters.items():
            if interpreter is not None:
                print(f"Python {version}: {interpreter}", flush=True)
                failed += [] if tested(interpreter, wheel, folder / version) else [version]
    absent = [version for version, interpreter in interpreters.items() if interpreter is None]
    passed = [version for version in interpreters if version not in (*absent, *failed)]
    print(f"Pythons: passed on {' '.join(passed) or 'none'}; failed on {' '.join(failed) or 'none'};", end=" ")
    print(f"not on this machine: {' '.join(absent) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
