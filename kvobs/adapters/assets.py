"""The files that kvobs ships: dashboards, monitors, and the catalogue of known upstream dashboards.

They stand at the top of the repository, where a reader looks for them. A wheel carries them inside the
package, under `kvobs/_assets`; a checkout and an editable install read them where they stand. Nothing is
written, nothing is cached.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import yaml

from ..errors import ActionError

MonitorName = Literal["dcgm", "dcgm-podmonitor", "vllm", "vllm-podmonitor"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Upstream:
    """A dashboard for the same metrics that somebody else publishes: where it is, how to know it again."""

    name: str
    """Unique in the catalogue."""
    topic: Literal["dcgm", "vllm"]
    repository: str
    """owner/repo in which `path` at `revision` has exactly the bytes of `sha256`."""
    path: str
    revision: str
    """The full commit."""
    sha256: str
    licence: str
    """SPDX identifier."""
    title: str
    uid: str | None = None
    """None: the file has no uid, and Grafana makes one up when it is loaded."""
    upstream: str | None = None
    """owner/repo of the project itself, where `repository` is a fork that carries its revision."""
    grafana_com: int | None = None
    """Its number on Grafana.com."""


def shipped_dashboards() -> list[tuple[str, bytes]]:
    """Return the file name and the bytes of every dashboard of ours, by name; in export form, unpatched."""
    shipped = [entry for entry in _folder("dashboards").iterdir() if entry.name.endswith(".json")]
    return [(entry.name, entry.read_bytes()) for entry in sorted(shipped, key=lambda entry: entry.name)]


def shipped_monitor(name: MonitorName) -> dict[str, Any]:
    """Return a fresh copy of a monitor; its namespace and labels are for the caller to fill in."""
    entry = _folder("servicemonitors") / f"{name}.yaml"
    if not entry.is_file():
        raise _incomplete(f"servicemonitors/{name}.yaml")
    document = yaml.safe_load(entry.read_bytes())
    assert isinstance(document, dict)  # Ours, and tested.
    return document


def catalog() -> list[Upstream]:
    """Return every upstream dashboard that kvobs knows, in the order of the file."""
    entry = _folder("dashboards") / "catalog.toml"
    if not entry.is_file():
        raise _incomplete("dashboards/catalog.toml")
    return [Upstream(**row) for row in tomllib.loads(entry.read_text(encoding="utf-8"))["dashboard"]]


def _folder(name: str) -> Traversable:
    installed = files("kvobs") / "_assets" / name
    if installed.is_dir():
        return installed
    # Only beside pyproject.toml: the folder above an installed package is shared with every other package.
    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise _incomplete(f"{name}/")


def _incomplete(path: str) -> ActionError:
    return ActionError(
        f"this installation of kvobs lacks its own {path}",
        hint="install it again: python -m pip install --force-reinstall kvobs (in a checkout: git status)",
    )
