"""Which versions of kube-prometheus-stack take the values that kvobs sets. Pure.

`tests/data/values/chart-paths.yaml` says for each value path since when a chart has it.
"""

from __future__ import annotations

import re

from ..errors import UsageError
from ..settings import CHART_VERSION
from .chart import CHART_NAME
from .notes import Note

OLDEST = 70
"""The oldest major version whose values were read."""

_NEWEST = int(CHART_VERSION.partition(".")[0])
_EXACT = re.compile(r"v?(\d+)(?:\.\d+){0,2}(?:[-+].*)?")
"""One version, or the beginning of one; what else Helm takes (`^75`, `>=70`) is a range, and Helm's to resolve."""


def refuse_too_old(chart: str, version: str | None) -> None:
    """Raise `UsageError` where *version* of *chart* (its name, or a place that ends in it) is older than any known.

    A chart of another name has versions of its own, of which nothing is known.
    """
    major = _major(chart, version)
    if major is not None and major < OLDEST:
        raise UsageError(
            f"{CHART_NAME} {version} is older than the charts that kvobs knows the values of ({OLDEST} to"
            f" {CHART_VERSION})",
            hint=f"take a newer chart (--chart-version {CHART_VERSION}), or keep that stack and use it: --stack reuse",
        )


def newer_than_known(chart: str, version: str | None) -> tuple[Note, ...]:
    """Say where *version* of *chart* is newer than any that kvobs was tested with."""
    major = _major(chart, version)
    if major is None or major <= _NEWEST:
        return ()
    return (
        Note(
            "chart-newer",
            f"{CHART_NAME} {version} is newer than {CHART_VERSION}, the newest that this kvobs is tested with; a value"
            " that kvobs sets may mean something else there. A newer kvobs may know it: pip install --upgrade kvobs",
        ),
    )


def _major(chart: str, version: str | None) -> int | None:
    if chart.rstrip("/").rpartition("/")[2] != CHART_NAME:
        return None
    exact = _EXACT.fullmatch(version or "")
    return int(exact[1]) if exact else None
