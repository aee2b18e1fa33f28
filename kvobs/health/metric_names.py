"""Why a server has no series of a metric: its name, its scrape, or the time range. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import replace

from .causes import found
from .evidence import DarkQuery, SelectorEvidence
from .gpu_names import gpu_finding
from .label_values import ALERTS
from .patterns import alternatives
from .promql import Selector
from .relabelled import dropped_finding, renamed_finding
from .scrape import in_vain, scrape_finding
from .scrape_kinds import KINDS, Family, family_of
from .spellings import Why, other_spellings, prefix_of
from .texts import duration
from .verdict import Finding
from .vllm_names import vllm_finding

_SPELLED: dict[Why, str] = {"plain": "KVO-501", "escaped": "KVO-501", "ray": "KVO-511", "release": "KVO-511"}
"""Cause by who writes the name otherwise: who stores it so, or, where it is stored plainly, whom the query means."""

_NEAR = 0.85
"""How alike two names have to be, for one to be taken for the other."""


def metric_finding(dark: DarkQuery, evidence: SelectorEvidence) -> Finding | None:
    """Return why the selector's metric has no series in the time range; None where it has, or nobody knows."""
    if evidence.present is not False:
        return None
    selector, names = evidence.selector, dark.server.names or frozenset()
    family = _family(selector)
    if selector.name is None:
        return _of_pattern(dark, evidence, family)
    if selector.name in ALERTS:
        said = f"no alert is pending or fires in this range: {selector.name} has series only while one does"
        return found("KVO-703", subject="alerts", said=said)
    then = _at_another_time(dark, selector)
    return (
        renamed_finding(dark, selector)
        or _spelled_otherwise(selector.name, names)
        or dropped_finding(dark, selector)
        or (then if dark.server.past else None)
        or (None if family is None else _of_family(dark, selector, family, names))
        or _scraped_in_vain(dark, selector.name)
        or then
        or (_nothing_scraped() if selector.name == "up" else None)
        or _recorded(dark, selector.name, names)
        or _never_there(selector.name, names)
    )


def _nothing_scraped() -> Finding:
    return found(
        "KVO-405",
        subject="no target at all",
        said="Prometheus has scraped nothing in this range: up is there for each of its targets, and it is not there",
        fix="kvobs install   # applies monitors that Prometheus reads\nkvobs verify --wait 2m",
    )


def _family(selector: Selector) -> Family | None:
    if selector.name is not None:
        return family_of(selector.name)
    patterns = " ".join(each.value for each in selector.matchers if each.label == "__name__" and each.op in ("=", "=~"))
    return "vllm" if "vllm" in patterns else "dcgm" if "DCGM" in patterns else None


def _members(family: Family, names: Collection[str]) -> frozenset[str]:
    return frozenset(each for each in names if family_of(each) == family)


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


def _of_family(dark: DarkQuery, selector: Selector, family: Family, names: Collection[str]) -> Finding | None:
    name = selector.name or ""
    members = _members(family, names)
    if members:
        return vllm_finding(dark, name, members) if family == "vllm" else gpu_finding(dark, name, members)
    if (scrape := scrape_finding(family, dark.cluster, dark.server)) is not None:
        return scrape
    if _at_another_time(dark, selector) is not None:
        return None
    what = KINDS[family].what
    return found(
        "KVO-510",
        subject=f"{what} metrics",
        said=f"this Prometheus has no metric of {what} at all, {name} among them",
        fix="kvobs install   # applies the monitors by which Prometheus scrapes it",
        evidence=(f"no metric's name begins as {what}'s do",),
    )


# --- of no family, or nothing known ---


def _of_pattern(dark: DarkQuery, evidence: SelectorEvidence, family: Family | None) -> Finding:
    selector = evidence.selector
    if family is not None and not _members(family, dark.server.names or ()):
        scrape = scrape_finding(family, dark.cluster, dark.server)
        if scrape is not None:
            return scrape
    told = [_named_in_a_pattern(dark, each, evidence) for each in names_listed(selector)]
    if known := sorted((each for each in told if each is not None), key=lambda each: each.cause == "KVO-510"):
        return known[0]
    return found(
        "KVO-510",
        subject=selector.metric,
        said=f"no metric's name fits {selector.metric}",
        fix="Scrape what exports such metrics, or correct the pattern in the query",
    )


def names_listed(selector: Selector) -> tuple[str, ...]:
    """The names that a pattern lists; none where it leaves any of them open."""
    listed = (alternatives(each.value) for each in selector.matchers if each.label == "__name__" and each.op == "=~")
    return next(listed, ())


def _named_in_a_pattern(dark: DarkQuery, name: str, evidence: SelectorEvidence) -> Finding | None:
    return metric_finding(dark, replace(evidence, selector=replace(evidence.selector, name=name)))


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
    return in_vain(down[0].labels.get("job") or down[0].pool, down)


def _at_another_time(dark: DarkQuery, selector: Selector) -> Finding | None:
    name = selector.name
    if name is None or name not in (dark.server.names_ever or ()):
        return None
    evidence = (f"{name} is among the names that the server holds",)
    if selector.offset_s > 0 or selector.at is not None:
        where = (
            f"{duration(selector.offset_s)} earlier, by its offset" if selector.at is None else "at the moment of its @"
        )
        return found(
            "KVO-705",
            subject=f"{name}, {where}",
            said=f"the query asks {name} {where}, and the server has no samples of it from then",
            fix="Choose a later range, or a shorter offset"
            if selector.at is None
            else "Choose a moment at which it ran",
            evidence=evidence,
        )
    return found(
        "KVO-705",
        subject=name,
        said=f"{name} has samples at another time, and none in this range: what exports it did not run then",
        fix="Choose a range in which it ran, or start what exports it",
        evidence=evidence,
    )


def _recorded(dark: DarkQuery, name: str, names: Collection[str]) -> Finding | None:
    """A name as recording rules have it (`level:metric:operation`), of which there is none like it."""
    if name.count(":") < 2 or difflib.get_close_matches(name, names, n=1, cutoff=_NEAR):
        return None
    fix = f"Load the PrometheusRule that records {name}, where this Prometheus reads it"
    if dark.cluster is not None:
        fix += f"\nkubectl get prometheusrules -A -o yaml | grep 'record: {name}'   # whether there is one"
    return found(
        "KVO-510",
        subject="recording rules",
        said=f"this server has no metric {name}, whose name is one of a recording rule's result",
        fix=fix,
        evidence=(f"{len(names)} names are there, and not this one",) if names else (),
    )


def _never_there(name: str, names: Collection[str]) -> Finding:
    near = difflib.get_close_matches(name, names, n=1, cutoff=_NEAR)
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
