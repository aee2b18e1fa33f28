"""Asks Grafana's own interpolation: one Node process for a whole batch; its packages are installed once a machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from kvobs.dashboard.board import Value
from kvobs.dashboard.interpolation import held_by

from ..cluster.build import made

HERE = Path(__file__).parent
MANIFESTS = ("package.json", "package-lock.json")

INSTALL_TIMEOUT_S = 900
ANSWER_TIMEOUT_S = 300


def missing() -> str | None:
    """Say why Grafana's code cannot be asked here; None: it can."""
    without = [name for name in ("node", "npm") if shutil.which(name) is None]
    return f"no {' and no '.join(without)} on this machine" if without else None


def installed() -> Path:
    """Return the folder with the packages of the lock file; the first time it takes a minute and 450 MB."""
    key = hashlib.sha256(b"\0".join((HERE / name).read_bytes() for name in MANIFESTS)).hexdigest()[:12]

    def install(into: Path) -> None:
        for name in MANIFESTS:
            shutil.copyfile(HERE / name, into / name)
        _output(
            ["npm", "ci", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=into,
            timeout_s=INSTALL_TIMEOUT_S,
        )

    return made(f"grafana-scenes-{key}", install)


def asked(questions: list[dict[str, Any]]) -> list[Any]:
    """Return the answer to each question, as scenes.cjs says for each kind."""
    told = _output(
        ["node", str(HERE / "scenes.cjs"), str(installed())],
        cwd=HERE,
        timeout_s=ANSWER_TIMEOUT_S,
        stdin=json.dumps(questions),
    )
    answers: list[Any] = json.loads(told)
    return answers


def variable(name: str, value: Value) -> dict[str, Any]:
    """Return a value as the state of a variable of Grafana's."""
    held = held_by(value)
    texts = value.texts or value.values
    chosen: Any = list(held) if isinstance(held, tuple) else held
    shown: Any = list(texts) if isinstance(held, tuple) else "".join(texts)
    several = isinstance(held, tuple) and not value.all
    return {
        "name": name,
        "value": "$__all" if value.all else chosen,
        "text": "All" if value.all else shown,
        "isMulti": several,
        "includeAll": value.multi and not several,
        "allValue": value.all_value,
        "options": [{"label": text, "value": each} for text, each in zip(texts, value.values, strict=True)],
    }


def question(scope: dict[str, Value], texts: list[str], formats: list[str | None]) -> dict[str, Any]:
    """Return one question: these texts, each with these formats; names that start with `__` are built in."""
    return {
        "ask": "interpolated",
        "variables": [variable(name, value) for name, value in scope.items() if not name.startswith("__")],
        "builtins": {
            name: {"value": "".join(value.values), "text": "".join(value.values)}
            for name, value in scope.items()
            if name.startswith("__")
        },
        "texts": texts,
        "formats": formats,
    }


def _output(command: list[str], *, cwd: Path, timeout_s: int, stdin: str | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, "TZ": "UTC"},
    )
    if done.returncode:
        raise AssertionError(f"{command[0]} {command[1]} failed:\n{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout
