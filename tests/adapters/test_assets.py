"""The files that kvobs ships, and the catalogue of what others publish."""

import tomllib
from pathlib import Path

import pytest

from kvobs.adapters.assets import catalog, shipped_dashboards, shipped_monitor
from kvobs.errors import ActionError

REPOSITORY = Path(__file__).parents[2]


def test_dashboards_are_the_files() -> None:
    """Every dashboard comes by its file name, byte for byte, in a stable order."""
    assert shipped_dashboards() == [
        (path.name, path.read_bytes()) for path in sorted((REPOSITORY / "dashboards").glob("*.json"))
    ]


def test_a_monitor_is_the_callers_own() -> None:
    """Filling in a monitor does not change what the next caller gets."""
    shipped_monitor("dcgm")["metadata"]["namespace"] = "mine"

    assert "namespace" not in shipped_monitor("dcgm")["metadata"]


def test_a_missing_file_is_told() -> None:
    """A monitor that an installation lacks is an error that names the file and the way out."""
    with pytest.raises(ActionError, match=r"servicemonitors/absent\.yaml") as raised:
        shipped_monitor("absent")  # type: ignore[arg-type]

    assert raised.value.hint is not None
    assert "install" in raised.value.hint


def test_the_catalogue_is_the_file() -> None:
    """Every entry of the file comes, in its order."""
    names = [
        row["name"] for row in tomllib.loads((REPOSITORY / "dashboards" / "catalog.toml").read_text())["dashboard"]
    ]

    assert [known.name for known in catalog()] == names
