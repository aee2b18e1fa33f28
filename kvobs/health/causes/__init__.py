"""Every cause of a dark panel, as data: what it is, how it is recognised, what mends it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..verdict import Finding
from .cause import Cause
from .dashboards import DASHBOARDS, DATASOURCES, VARIABLES
from .names import NAMES
from .queries import LABELS, QUERY, TIME, UNKNOWN
from .scraping import SCRAPING

CAUSES: Mapping[str, Cause] = MappingProxyType(
    {
        cause.id: cause
        for cause in (
            *DASHBOARDS,
            *DATASOURCES,
            *VARIABLES,
            *SCRAPING,
            *NAMES,
            *LABELS,
            *TIME,
            *QUERY,
            *UNKNOWN,
        )
    }
)
"""By id, in the order of their numbers."""


def found(cause: str, subject: str, said: str, *, fix: str | None = None, evidence: tuple[str, ...] = ()) -> Finding:
    """Return *cause* as it was met; without a *fix* the cause's own words stand for it."""
    known = CAUSES[cause]
    return Finding(
        cause=cause,
        severity=known.severity,
        subject=subject,
        said=said,
        fix=known.fix if fix is None else fix,
        evidence=evidence,
    )


__all__ = ["CAUSES", "Cause", "found"]
