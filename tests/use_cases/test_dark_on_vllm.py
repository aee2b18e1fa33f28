"""The vLLM dashboards that are public, on a capture of vLLM 0.32 under load: verify against a list made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.dashboard.boards import board_of
from kvobs.health.verdict import BoardVerdict
from kvobs.settings import Reach, Verification
from kvobs.use_cases.patch import PatchSettings, patch
from kvobs.use_cases.verify import verify

from ..prometheus_server import BINARIES, PrometheusServer
from ..vllm_capture import END_S, SHARED, WHY_SKIPPED, under_load

LIST: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "data/vllm/dark-on-0.32.yaml").read_text())
BY_HAND: dict[str, Any] = LIST["dashboards"]

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=WHY_SKIPPED)


def by_hand(file: str) -> dict[str, str]:
    """Return each panel's title with what the list says of it: a cause, "lit", "partly" or "not checked"."""
    told = BY_HAND[file]
    titles = [each.title for each in board_of(document(file)).panels]
    assert len(titles) == len(set(titles)), "the list names panels by their titles"
    said = dict.fromkeys(titles, "lit")
    for group in told.get("dark", ()):
        assert group["because"]
        said.update(dict.fromkeys(titles if group["panels"] == "all" else group["panels"], group["cause"]))
    said.update(dict.fromkeys(told.get("unchecked", ()), "not checked"))
    said.update(dict.fromkeys(told.get("partly", ()), "partly"))
    assert said.keys() == set(titles), "the list names a panel that is not there"
    return said


def document(file: str) -> dict[str, Any]:
    """Return a dashboard of the corpus."""
    read: dict[str, Any] = json.loads((SHARED / "dashboards" / file).read_text())
    return read


def told(board: BoardVerdict) -> dict[str, str]:
    """Return each panel's title with what verify says of it, in the words of the list."""
    return {
        each.title: each.finding.cause
        if each.finding is not None
        else "partly"
        if each.state == "lit" and any(target.finding for target in each.targets)
        else each.state
        for each in board.panels
    }


@pytest.fixture(scope="module", params=BINARIES)
def verdicts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, BoardVerdict]:
    """Return what verify says of each dashboard, patched as an install would, on a Prometheus with the capture."""
    folder = tmp_path_factory.mktemp("dashboards")
    files = tuple(str(SHARED / "dashboards" / file) for file in BY_HAND)
    patch(
        PatchSettings(sources=files, datasources=("prometheus=prometheus",), remap_foreign=True, directory=str(folder))
    )
    with PrometheusServer(binary=request.param, om_text=under_load()) as server:
        report = verify(
            verification=Verification(
                sources=tuple(str(folder / file) for file in BY_HAND), reach=Reach(url=server.url), at=str(END_S)
            )
        )
    return {Path(each.source).name: each for each in report.boards}


@pytest.mark.parametrize("file", BY_HAND)
def test_what_is_dark_and_why(file: str, verdicts: dict[str, BoardVerdict]) -> None:
    """Every panel is lit or dark, and for the cause, that a careful person found by reading its queries."""
    assert told(verdicts[file]) == by_hand(file)


def test_the_list_is_complete() -> None:
    """It has every dashboard of the corpus with vllm in its name, or with a query to a metric of vLLM's."""
    files = {
        path.name
        for path in (SHARED / "dashboards").glob("*.json")
        if "vllm" in path.name or any(each in path.read_text() for each in ("vllm:", "ray_vllm_"))
    }
    assert set(BY_HAND) == files
