"""Which versions of vLLM can show the metrics that a server shows. Pure."""

from __future__ import annotations

from collections.abc import Collection

from .features import feature_of
from .metric import Metric
from .renames import METRICS, known
from .versions import Version, VersionRange, version

_V0_GONE = version("0.11.1")
"""The first version without the old engine, which lacks names that the new one has long had."""

_ONLY_V1 = frozenset({"vllm:gpu_prefix_cache_queries", "vllm:prefix_cache_queries"})

_UNKNOWN = VersionRange(None, None)


def version_range(names: Collection[str]) -> VersionRange:
    """Tell a server's version from the names of its metrics, in any spelling.

    A name that is there bounds it from below, and from above where it is gone since. A name that every newer version
    shows and that is not there bounds it from above too, but only where the names look complete: a scrape may drop
    some. Names of several versions at once (old and new servers side by side) tell nothing.
    """
    shown = {named.metric.name: named.metric for each in names if (named := known(each)) is not None}
    oldest = max((_earliest(each) for each in shown.values()), default=None)
    before = min((each.removed.by for each in shown.values() if each.removed is not None), default=None)
    if oldest is not None and before is not None and not oldest < before:
        return _UNKNOWN
    missing = _missed(shown)
    if missing is not None and oldest is not None and oldest < missing:
        before = missing if before is None else min(before, missing)
    return VersionRange(oldest, before)


def _earliest(metric: Metric) -> Version:
    """Return the oldest version that may have a metric."""
    after = metric.since.after
    if after is None:
        return metric.since.by
    major, minor, patch, _ = after.release
    return version(f"{major}.{minor}.{patch + 1}")


def _missed(shown: Collection[str]) -> Version | None:
    """Return the oldest version whose every server would show more than is shown; None where nothing is missed."""
    if not {each.name for each in _ALWAYS if each.since.by <= _BASE} <= set(shown):
        return None
    absent = [each.since.by for each in _ALWAYS if each.name not in shown]
    if not absent:
        return None
    return min(absent) if _ONLY_V1 & set(shown) else max(min(absent), _V0_GONE)


_BASE = version("0.8.5")
"""What every later version shows, a server's names must have, to be taken for complete."""

_ALWAYS = tuple(
    each
    for each in METRICS
    if each.removed is None
    and each.deprecated is None
    and ((feature := feature_of(each.name)) is None or feature.at_zero)
    and each.kind is not None
)
"""Metrics that every server shows, since they came, whatever its options."""
