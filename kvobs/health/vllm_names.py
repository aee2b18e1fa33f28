"""Why a vLLM that is scraped lacks a metric: its version, its options, or how the name is written. Pure."""

from __future__ import annotations

from .causes import found
from .evidence import DarkQuery
from .features import Feature, feature_of
from .renames import Standing, meant, standing
from .running_version import version_range
from .verdict import Finding
from .versions import Version, read_version


def vllm_finding(dark: DarkQuery, name: str, members: frozenset[str]) -> Finding | None:
    """Return why the server lacks *name* beside its other vLLM metrics, *members*; None for what is not known."""
    told = dark.cluster.vllm_version if dark.cluster else None
    running = read_version(told) if told else None
    how = f"vLLM {running}, by its pods' image" if running else ""
    if running is None:
        running, how = _by_names(members)
    if endings := tuple(each for each in meant(name) if each in members):
        return found(
            "KVO-510",
            subject=name,
            said=f"there is no series {name}; the metric's series are {', '.join(endings)}",
            fix=f"In the query: {endings[0]} instead of {name}",
            evidence=(how,),
        )
    stands = standing(name, running)
    feature = feature_of(name)
    optional = feature is not None and not feature.at_zero
    if stands is None:
        # What serves metrics under the engine's prefix beside the engine is in no history of it.
        return _feature_off(name, feature, members, how) if feature is not None and optional else None
    instead = tuple(each for each in stands.instead if each in members)
    # A version that is known by its lower bound only may well be new enough.
    if stands.cause is not None and not (stands.state == "not yet" and optional and told is None):
        return found(
            stands.cause,
            subject=name.removesuffix(stands.named.suffix),
            said=stands.said
            + (f"; {' and '.join(instead)} {'is' if len(instead) == 1 else 'are'} there" if instead else ""),
            fix=stands.fix(),
            evidence=(how,),
        )
    if feature is not None and optional:
        return _feature_off(name, feature, members, how)
    if instead:
        return _replaced(name, stands, instead, how)
    return _of_several(name, stands, how) if running is None and feature is None else None


def _of_several(name: str, stands: Standing, how: str) -> Finding:
    """Of servers whose version cannot be told, as of several: a metric that every new one shows."""
    since = stands.named.metric.since
    return found(
        "KVO-505",
        subject=name.removesuffix(stands.named.suffix),
        said=f"{name} came in vLLM {since}, and no server here shows it: they are older, or their scrape drops it",
        fix=f"Run vLLM {since.by} or newer, or look at the monitor's metricRelabelings",
        evidence=(how,),
    )


def _replaced(name: str, stands: Standing, instead: tuple[str, ...], how: str) -> Finding:
    """Of a version that is known by its lower bound only, or may have the old name: the server shows the new one."""
    metric = stands.named.metric
    said = (
        stands.said
        if stands.state == "uncertain"
        else f"{name} is not there, deprecated as it is since {metric.deprecated}"
    )
    return found(
        "KVO-502",
        subject=name.removesuffix(stands.named.suffix),
        said=f"{said}; the server has {instead[0]}",
        fix=f"In the query: {instead[0]} instead of {name}" if stands.exact else stands.advice,
        evidence=(how,),
    )


def _feature_off(name: str, feature: Feature, members: frozenset[str], how: str) -> Finding:
    return found(
        "KVO-506",
        subject=feature.title,
        said=f"{name} comes with {feature.title} only, which is off",
        fix=f"Only if it is wanted: start vLLM with {feature.flag}" if feature.flag else "",
        evidence=(f"the server has {len(members)} other metrics of vLLM; {how}",),
    )


def _by_names(members: frozenset[str]) -> tuple[Version | None, str]:
    oldest, before = version_range(members)
    if oldest is None:
        return None, "the running version of vLLM is not known"
    until = f", older than {before}" if before else ""
    return oldest, f"vLLM {oldest} or newer{until}, by the metrics that are there"
