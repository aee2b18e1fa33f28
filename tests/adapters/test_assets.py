"""The files that kvobs ships, and the catalogue of what others publish."""

import hashlib
import re
from pathlib import Path

import pytest

from kvobs.adapters.assets import Upstream, catalog, shipped_dashboards, shipped_monitor
from kvobs.errors import ActionError

REPOSITORY = Path(__file__).parents[2]
REAL_DASHBOARDS = REPOSITORY.parent / "shared" / "dashboards"

each_entry = pytest.mark.parametrize("known", catalog(), ids=lambda known: known.name)


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


@each_entry
def test_catalog_entry(known: Upstream) -> None:
    """An entry pins exact bytes at a public place, under a licence."""
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", known.repository)
    assert re.fullmatch(r"[0-9a-f]{40}", known.revision)
    assert re.fullmatch(r"[0-9a-f]{64}", known.sha256)
    assert known.path.endswith(".json")
    assert known.licence in {"Apache-2.0", "BSD-3-Clause", "MIT-0"}
    assert known.topic in {"dcgm", "vllm"}


def test_catalog_names_and_bytes_are_unique() -> None:
    """No name and no file stands twice in the catalogue."""
    known = catalog()

    assert len({entry.name for entry in known}) == len(known)
    assert len({entry.sha256 for entry in known}) == len(known)


def test_catalog_knows_12239() -> None:
    """The dashboard that most GPU clusters load is known by its number and by its copies' uid."""
    (entry,) = [entry for entry in catalog() if entry.grafana_com == 12239]

    assert entry.uid == "Oxed_c6Wz"


@pytest.mark.skipif(not REAL_DASHBOARDS.is_dir(), reason="the real dashboards are not beside this checkout")
def test_catalog_matches_the_real_files() -> None:
    """Every entry's checksum is that of a file as it was fetched."""
    fetched = {hashlib.sha256(path.read_bytes()).hexdigest() for path in REAL_DASHBOARDS.glob("*.json")}

    assert {entry.sha256 for entry in catalog()} <= fetched
