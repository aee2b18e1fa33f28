"""What a server says of its targets and of itself, read from the JSON of its status pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import yaml

from ..health.answers import Exposed, Relabelings, ScrapeTarget, Server
from .prometheus_series import Unreadable

Kind = Literal["prometheus", "thanos", "mimir", "victoriametrics", "unknown"]
Targets = tuple[tuple[ScrapeTarget, ...], tuple[ScrapeTarget, ...]]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdwy])")
_LOWEST = re.compile(rb"^prometheus_tsdb_lowest_timestamp_seconds ([0-9.eE+-]+)$", re.MULTILINE)
_NEVER_S = 1e12
"""A server without a sample says a time beyond all times."""


def duration_s(text: object) -> float | None:
    """Return a duration as Prometheus writes it, in seconds; None for what begins with none.

    >>> duration_s("1h30m"), duration_s("15d or 512MB"), duration_s("10GiB"), duration_s("0s")
    (5400.0, 1296000.0, None, 0.0)
    """
    words = str(text or "").split()
    if not words or not re.fullmatch(rf"(?:{_PART.pattern})+", words[0]):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(words[0]))


def targets_of(data: Any) -> Targets:
    """Return (active, dropped) targets of `/api/v1/targets`; raise `Unreadable` for what is none."""
    try:
        active = tuple(_active(each) for each in data.get("activeTargets") or ())
        return active, tuple(_dropped(each) for each in data.get("droppedTargets") or ())
    except (AttributeError, TypeError, KeyError) as error:
        raise Unreadable("no list of targets") from error


def _active(each: Mapping[str, Any]) -> ScrapeTarget:
    health = str(each.get("health"))
    discovered = _texts(each.get("discoveredLabels"))
    interval = each.get("scrapeInterval") or discovered.get("__scrape_interval__")
    return ScrapeTarget(
        pool=str(each.get("scrapePool") or discovered.get("job", "")),
        labels=_texts(each.get("labels")),
        url=str(each.get("scrapeUrl") or ""),
        health="up" if health == "up" else "down" if health == "down" else "unknown",
        error=str(each.get("lastError") or ""),
        interval_s=duration_s(interval),
        discovered=discovered,
    )


def _dropped(each: Mapping[str, Any]) -> ScrapeTarget:
    discovered = _texts(each.get("discoveredLabels"))
    scheme, path = discovered.get("__scheme__", "http"), discovered.get("__metrics_path__", "/metrics")
    return ScrapeTarget(
        # Before 3.x it is not said; the job of a scrape config is its name until relabelling.
        pool=str(each.get("scrapePool") or discovered.get("job", "")),
        labels=discovered,
        url=f"{scheme}://{discovered.get('__address__', '')}{path}",
        health="unknown",
        interval_s=duration_s(discovered.get("__scrape_interval__")),
        discovered=discovered,
    )


def exposed_of(data: Any) -> tuple[Exposed, ...]:
    """Return the targets of `/api/v1/targets/metadata`; raise `Unreadable` for what is none."""
    try:
        return tuple(Exposed(labels=_texts(each.get("target")), type=str(each["type"])) for each in data)
    except (AttributeError, TypeError, KeyError) as error:
        raise Unreadable("no metadata of targets") from error


_KEYS = {"source_labels": "sourceLabels", "target_label": "targetLabel"}
"""Keys of a relabelling that a monitor spells otherwise."""
_EMPTY = "(?:)"
"""What fits an empty text alone; a monitor that names an empty expression means the default one."""


def relabelings_of(data: Any) -> Relabelings:
    """Return each scrape config's steps for metrics, of `/api/v1/status/config`; raise `Unreadable` for what is none.

    Nothing else of the configuration is kept.
    """
    try:
        # A configuration may have a megabyte, for which the loader in Python takes seconds; and Go writes texts without
        # quotes that are a date, or nothing at all, for the loaders that tell kinds of values: here, all are texts.
        config = yaml.load(data["yaml"], Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)) or {}
        return {
            str(job["job_name"]): tuple(_step(each) for each in job["metric_relabel_configs"])
            for job in config.get("scrape_configs") or ()
            if job.get("metric_relabel_configs")
        }
    except (AttributeError, TypeError, KeyError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise Unreadable("no configuration") from error


def _step(each: Mapping[str, Any]) -> dict[str, Any]:
    """A step as a monitor writes it. Prometheus 2.x leaves an empty replacement out, and writes null for a regex."""
    step = {"replacement": "", **{_KEYS.get(key, key): value for key, value in each.items()}}
    return {**step, "regex": _EMPTY} if step.get("regex") in ("", "null") else step


def _texts(labels: Mapping[str, Any] | None) -> dict[str, str]:
    return {str(name): str(value) for name, value in (labels or {}).items()}


def server_of(
    build: Mapping[str, Any] | None,
    flags: Mapping[str, Any] | None,
    runtime: Mapping[str, Any] | None,
    *,
    victoria: bool,
    oldest_s: float | None,
) -> Server:
    """Return what a server is, by its pages `buildinfo`, `flags` and `runtimeinfo`, as far as it has them."""
    build, flags, runtime = build or {}, flags or {}, runtime or {}
    kind = _kind(build, flags, victoria)
    version = build.get("version")
    return Server(
        # VictoriaMetrics tells the version of the Prometheus that it stands in for.
        version=str(version) if version and kind != "victoriametrics" else None,
        kind=kind,
        retention_s=duration_s(runtime.get("storageRetention")) or duration_s(flags.get("storage.tsdb.retention.time")),
        oldest_s=oldest_s,
        lookback_s=duration_s(flags.get("query.lookback-delta")) or 300.0,
    )


def _kind(build: Mapping[str, Any], flags: Mapping[str, Any], victoria: bool) -> Kind:
    if "mimir" in str(build.get("application", "")).lower():
        return "mimir"
    if victoria:
        return "victoriametrics"
    if "query.replica-label" in flags or "grpc-address" in flags:
        return "thanos"
    return "prometheus" if build.get("version") and build.get("goVersion") else "unknown"


def oldest_of(exposition: bytes) -> float | None:
    """Return the time of the oldest sample, from the server's own metrics; None where they do not say."""
    match = _LOWEST.search(exposition)
    if match is None:
        return None
    seconds = float(match[1])
    return seconds if 0 < seconds < _NEVER_S else None
