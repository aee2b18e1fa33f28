"""Why a server has no series of a metric: its name, its scrape, or the time range. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import replace

from .causes import found
from .evidence import DarkQuery, SelectorEvidence
from .features import Feature, feature_of
from .gpu_fields import (
    MIG_DROPS,
    MIG_INSTEAD,
    MIG_LABELS,
    PROFILING,
    WITHOUT_PROFILING,
    Field,
    gpu_field,
    to_export,
)
from .promql import Selector
from .renames import meant, of_vllm, standing
from .running_version import version_range
from .scrape import scrape_finding
from .scrape_kinds import KINDS, Family
from .spellings import Why, other_spellings, prefix_of
from .verdict import Finding
from .versions import Version, read_version

_SPELLED: dict[Why, str] = {"plain": "KVO-501", "escaped": "KVO-501", "ray": "KVO-511", "release": "KVO-511"}
"""Cause by who writes the name otherwise: who stores it so, or, where it is stored plainly, whom the query means."""


def metric_finding(dark: DarkQuery, evidence: SelectorEvidence) -> Finding | None:
    """Return why the selector's metric has no series in the time range; None where it has, or nobody knows."""
    if evidence.present is not False:
        return None
    selector, names = evidence.selector, dark.server.names or frozenset()
    family = _family(selector)
    if selector.name is None:
        return _of_pattern(dark, selector, family)
    return (
        _spelled_otherwise(selector.name, names)
        or (None if family is None else _of_family(dark, selector.name, family, names))
        or _scraped_in_vain(dark, selector.name)
        or _at_another_time(dark, selector.name)
        or _never_there(selector.name, names)
    )


def _family(selector: Selector) -> Family | None:
    if selector.name is not None:
        return "vllm" if of_vllm(selector.name) else "dcgm" if selector.name.startswith("DCGM_") else None
    patterns = " ".join(each.value for each in selector.matchers if each.label == "__name__" and each.op in ("=", "=~"))
    return "vllm" if "vllm" in patterns else "dcgm" if "DCGM" in patterns else None


def _members(family: Family, names: Collection[str]) -> frozenset[str]:
    return frozenset(each for each in names if (of_vllm(each) if family == "vllm" else each.startswith("DCGM_")))


# --- the same metric, spelled otherwise ---


def _spelled_otherwise(name: str, names: Collection[str]) -> Finding | None:
    for spelling in other_spellings(name):
        if spelling.name in names:
            asked = prefix_of(name)
            return found(
                _SPELLED[asked.why if asked is not None and spelling.why == "plain" else spelling.why],
                subject=f"{name.partition(_root(name))[0]}… for {spelling.name.partition(_root(name))[0]}…",
                said=f"{name} is stored as {spelling.name}: {spelling.said}",
                fix=_respell(spelling.why, name, spelling.name),
                evidence=(f"the server has {spelling.name}, and no {name}",),
            )
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    other = next(
        (each for each in sorted(names) if each != name and re.sub(r"[^a-zA-Z0-9_]", "_", each) == plain), None
    )
    if other is None:
        return None
    return found(
        "KVO-501",
        subject=name,
        said=f"{name} is stored as {other}: one of the two has characters escaped",
        fix=_respell("escaped", name, other),
        evidence=(f"the server has {other}, and no {name}",),
    )


def _root(name: str) -> str:
    """The part of a name that all its spellings share."""
    return name.rpartition(":")[2] if ":" in name else re.sub(r"^(ray_)?(vllm|sglang|llm_d(_router)?_epp)_", "", name)


def _respell(why: Why, asked: str, stored: str) -> str:
    in_query = f"In the query: {stored} instead of {asked}"
    if why == "escaped" or (":" in asked and ":" not in stored and why != "ray"):
        return (
            f"{in_query}; or store names as they are: kubectl -n NAMESPACE patch prometheus NAME --type merge"
            ' -p \'{"spec":{"nameValidationScheme":"UTF8","nameEscapingScheme":"AllowUTF8"}}\''
        )
    return f"{in_query}; or in both: {asked} or {stored}"


# --- of a family that kvobs knows ---


def _of_family(dark: DarkQuery, name: str, family: Family, names: Collection[str]) -> Finding | None:
    members = _members(family, names)
    if members:
        return _of_vllm(dark, name, members) if family == "vllm" else _of_dcgm(dark, name, members)
    if (scrape := scrape_finding(family, dark.cluster, dark.server.targets, dark.server.dropped)) is not None:
        return scrape
    if _at_another_time(dark, name) is not None:
        return None
    what = KINDS[family].what
    return found(
        "KVO-510",
        subject=f"{what} metrics",
        said=f"this Prometheus has no metric of {what} at all, {name} among them",
        fix="kvobs install   # applies the monitors by which Prometheus scrapes it",
        evidence=(f"no metric's name begins as {what}'s do",),
    )


def _of_vllm(dark: DarkQuery, name: str, members: frozenset[str]) -> Finding | None:
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
            fix=stands.advice,
            evidence=(how,),
        )
    if feature is not None and optional:
        return _feature_off(name, feature, members, how)
    if stands.state == "uncertain" and instead:
        return found(
            "KVO-502",
            subject=name,
            said=f"{stands.said}; the server has {instead[0]}",
            fix=f"In the query: {instead[0]} instead of {name}",
            evidence=(how,),
        )
    return None


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


def _of_dcgm(dark: DarkQuery, name: str, members: frozenset[str]) -> Finding | None:
    field = gpu_field(name)
    if field is None:
        return None
    if name in MIG_DROPS and _mig(dark):
        return found(
            "KVO-508",
            subject=name,
            said=f"the GPUs are sliced by MIG, and a slice has no {name}",
            fix=f"In the query: {MIG_INSTEAD[name]} * 100 instead of {name}" if name in MIG_INSTEAD else "",
            evidence=(f"DCGM series carry {' and '.join(MIG_LABELS)}",),
        )
    if field.group == "profiling" and (cards := _consumer_cards(dark)):
        said = f"{cards} has no profiling fields ({PROFILING}…): they need a data centre GPU of Volta or newer"
        # No list of fields brings them, so that there is nothing to mend.
        return replace(found("KVO-507", subject=f"profiling on {cards}", said=said, fix=""), severity="expected")
    return found(
        "KVO-507",
        subject=name,
        said=_why_not_exported(field, members),
        fix=_how_to_export(field),
        evidence=(f"the server has {len(members)} other metrics of DCGM",),
    )


def _mig(dark: DarkQuery) -> bool:
    by_labels = bool(set(MIG_LABELS) & (dark.server.dcgm_labels or frozenset()))
    return by_labels or bool(dark.cluster and dark.cluster.facts.mig_nodes)


def _consumer_cards(dark: DarkQuery) -> str:
    """The models of the GPUs, where all of them are consumer cards; "" where one is not, or they are not known."""
    models = sorted(dark.server.gpu_models or ())
    return " and ".join(models) if all(any(word in each for word in WITHOUT_PROFILING) for each in models) else ""


def _how_to_export(field: Field) -> str:
    if field.default:
        return (
            f"Look whether {field.name} is in the exporter's list of counters (its argument -f, or"
            " DCGM_EXPORTER_COLLECTORS), and what its log says about the field"
        )
    how = to_export(field)
    return how[:1].upper() + how[1:]


def _why_not_exported(field: Field, members: frozenset[str]) -> str:
    if field.group == "profiling" and not any(each.startswith(PROFILING) for each in members):
        return (
            f"{field.name} is a profiling field, and none of them is exported: the GPU has none (they need a data"
            " centre GPU of the Volta generation or newer), or the exporter may not read them"
        )
    if not field.default:
        return f"{field.name} is not among the fields that the DCGM exporter exports by default"
    return f"the DCGM exporter exports other fields, and not {field.name}: its list leaves it out, or the GPU has none"


# --- of no family, or nothing known ---


def _of_pattern(dark: DarkQuery, selector: Selector, family: Family | None) -> Finding:
    if family is not None and not _members(family, dark.server.names or ()):
        scrape = scrape_finding(family, dark.cluster, dark.server.targets, dark.server.dropped)
        if scrape is not None:
            return scrape
    return found(
        "KVO-510",
        subject=selector.metric,
        said=f"no metric's name fits {selector.metric}",
        fix="Scrape what exports such metrics, or correct the pattern in the query",
    )


def _scraped_in_vain(dark: DarkQuery, name: str) -> Finding | None:
    """A target that is down, and is named as the metric is."""
    word = re.split(r"[_:]", name)[0].lower()
    if len(word) < 4:
        return None
    own = [
        each
        for each in dark.server.targets or ()
        if any(word in text.lower() for text in (each.pool, each.labels.get("job", ""), each.labels.get("pod", "")))
    ]
    down = [each for each in own if each.health == "down"]
    if not down or len(down) < len(own):
        return None
    error = down[0].error or "it gives no reason"
    return found(
        "KVO-406",
        subject=down[0].pool,
        said=f"Prometheus scrapes {down[0].labels.get('job') or down[0].pool} in vain: {error}",
        evidence=tuple(f"{each.labels.get('instance', each.pool)}: {each.error}" for each in down[:5]),
    )


def _at_another_time(dark: DarkQuery, name: str) -> Finding | None:
    if name not in (dark.server.names_ever or ()):
        return None
    return found(
        "KVO-705",
        subject=name,
        said=f"{name} has samples at another time, and none in this range: what exports it did not run then",
        fix="Choose a range in which it ran, or start what exports it",
        evidence=(f"{name} is among the names that the server holds",),
    )


def _never_there(name: str, names: Collection[str]) -> Finding:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.85)
    first = re.match(r"[a-zA-Z0-9]+[_:]", name)
    alone = not near and first is not None and not any(each.startswith(first[0]) for each in names)
    if alone and first is not None and names:
        return found(
            "KVO-510",
            subject=f"{first[0]}… metrics",
            said=f"this server has no metric {name}, nor any other whose name begins with {first[0]}",
            fix=f"Scrape what exports the metrics that begin with {first[0]}, where that runs here",
            evidence=(f"{len(names)} names are there, and none of them begins with {first[0]}",),
        )
    return found(
        "KVO-510",
        subject=name,
        said=f"this server has no metric {name}" + (f"; the nearest name is {near[0]}" if near else ""),
        fix=(f"In the query: {near[0]}, if that is meant; else scrape" if near else "Scrape")
        + f" what exports {name}, or load the rule that records it",
        evidence=(f"{len(names)} names are there, and not this one",) if names else (),
    )
