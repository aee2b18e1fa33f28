"""The files that kvobs ships: dashboards, monitors, and the catalogue of known upstream dashboards.

They stand at the top of the repository, where a reader looks for them. A wheel carries them inside the
package, under `kvobs/_assets`; a checkout and an editable install read them where they stand. Nothing is
written, nothing is cached.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import yaml

from ..dashboard.catalog import Catalog, read_catalog
from ..errors import ActionError

MonitorName = Literal["dcgm", "dcgm-podmonitor", "vllm", "vllm-podmonitor"]


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


def catalog() -> Catalog:
    """Return every upstream dashboard that kvobs knows."""
    entry = _folder("dashboards") / "catalog.toml"
    if not entry.is_file():
        raise _incomplete("dashboards/catalog.toml")
    return read_catalog(entry.read_text(encoding="utf-8"))


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
