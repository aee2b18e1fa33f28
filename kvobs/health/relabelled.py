"""Metrics that targets expose, and that the relabelling of their scrape drops or renames. Pure.

Two things have to be known for it: that a target which is up exposes the metric, which Prometheus notes before it
relabels; and that the steps of its scrape config, as they are loaded, do not store it so. A rule that fits the name of
a metric that the server does not have, by its version or its options, is not to blame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..dashboard.origins import shown
from ..stack.relabel import fate
from .answers import Relabelings, ScrapeTarget
from .causes import found
from .evidence import DarkQuery
from .promql import Selector
from .relabel_rules import Rule, place_of
from .scrape import in_words
from .verdict import Finding

_PARTS: Mapping[str, frozenset[str]] = {
    "_total": frozenset({"counter"}),
    "_bucket": frozenset({"histogram", "gaugehistogram"}),
    "_sum": frozenset({"histogram", "summary"}),
    "_count": frozenset({"histogram", "summary"}),
    "_created": frozenset({"counter", "histogram", "summary"}),
    "_info": frozenset({"info"}),
}
"""What the names of a metric's series end in -> the types of metric that have such."""
_MANY = 3
"""How many rules or targets are listed."""


# --- what is to be asked ---


def families(name: str) -> tuple[tuple[str, frozenset[str] | None], ...]:
    """Return the names under which a target may declare what has series called *name*, each with the types that it
    then has to be of; None: any.

    >>> [family for family, _ in families("vllm:e2e_request_latency_seconds_bucket")]
    ['vllm:e2e_request_latency_seconds_bucket', 'vllm:e2e_request_latency_seconds']
    """
    parts = ((name.removesuffix(end), types) for end, types in _PARTS.items() if name.endswith(end))
    return (name, None), *parts


def is_touched(name: str, relabelings: Relabelings) -> bool:
    """Whether any scrape config stores a metric of this name otherwise, or not at all."""
    fates = (fate(name, steps) for steps in relabelings.values())
    return any(each is not None and each.stored != name for each in fates)


def is_of_now(dark: DarkQuery, selector: Selector) -> bool:
    """Whether a selector asks for what is scraped now, about which the loaded configuration says something."""
    return not dark.server.past and selector.offset_s <= 0 and selector.at is None


# --- what is to be said ---


def renamed_finding(dark: DarkQuery, selector: Selector) -> Finding | None:
    """Return that the scrapes of the selector's metric store it under another name, which is there."""
    rules = _rules(dark, selector)
    stored = {each.stored for each in rules if each.stored is not None}
    return _finding(dark, selector, rules) if stored and stored <= (dark.server.names or frozenset()) else None


def dropped_finding(dark: DarkQuery, selector: Selector) -> Finding | None:
    """Return that no scrape of the selector's metric stores it under its name."""
    rules = _rules(dark, selector)
    return _finding(dark, selector, rules) if rules else None


def _finding(dark: DarkQuery, selector: Selector, rules: tuple[Rule, ...]) -> Finding:
    name, first = selector.metric, rules[0]
    places = [place_of(each, dark.cluster) for each in rules]
    targets = _exposing(dark, selector)
    there = next((each.stored for each in rules if each.stored in (dark.server.names or ())), None)
    becomes = "drops it" if first.stored is None else f"stores it as {first.stored}"
    others = len(rules) - 1
    more = f"; so it is with {others} more scrape config{'s' if others > 1 else ''}" if others else ""
    return found(
        "KVO-408",
        subject=places[0].where,
        said=f"{in_words(targets)} exposes {name}, and {places[0].where} {becomes} ({first.in_words}){more}",
        fix="\n".join(
            [
                *([f"In the query: {there} instead of {name}; or in the scrape:"] if there else ()),
                *dict.fromkeys(each.fix for each in places[:_MANY]),
            ]
        ),
        evidence=tuple(_evidence(name, targets, rules)),
    )


def _evidence(name: str, targets: list[ScrapeTarget], rules: tuple[Rule, ...]) -> Iterator[str]:
    for each in targets[:_MANY]:
        yield f"/api/v1/targets/metadata has {name} of {shown(each.url)}, which is up"
    for rule in rules[:_MANY]:
        yield f"/api/v1/status/config: metric_relabel_configs[{rule.number}] of {rule.pool}: {rule.in_words}"


def _rules(dark: DarkQuery, selector: Selector) -> tuple[Rule, ...]:
    """What drops or renames the metric, one rule of each scrape config through which a target exposes it; none where
    one of these stores it as it is, or where that cannot be told."""
    name, known = selector.name, dark.server.relabelings
    if name is None or known is None or not is_of_now(dark, selector):
        return ()
    rules: list[Rule] = []
    for pool in dict.fromkeys(each.pool for each in _exposing(dark, selector)):
        becomes = fate(name, known.get(pool, ()))
        if becomes is None or becomes.step is None or becomes.stored == name:
            return ()
        rules.append(Rule(pool, becomes.step, known[pool][becomes.step], becomes.stored))
    return tuple(rules)


def _exposing(dark: DarkQuery, selector: Selector) -> list[ScrapeTarget]:
    """The targets that are up and expose the selector's metric."""
    labels = {frozenset(each.labels.items()) for each in dark.server.exposed.get(selector.name or "", ())}
    targets = [each for each in dark.server.targets or () if each.health == "up"] if labels else []
    return [each for each in targets if frozenset(each.labels.items()) in labels]
