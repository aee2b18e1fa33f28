"""Why a part of a query leaves nothing of the data that it is given: windows, comparisons, joins, NaN. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .answers import Answer, Result
from .causes import found
from .evidence import DarkQuery, Lost, SelectorEvidence
from .joins import join_finding, label_names, meet, series_of
from .texts import duration, short
from .verdict import Finding

_ONE_SAMPLE = "_over_time"
"""Functions that need one sample in their window; all others over a window need two."""
LOOK = "Ask its parts by themselves in Prometheus, from the innermost on"
"""What to do where it is not known which part is to blame."""


def loss_finding(dark: DarkQuery, lost: Lost) -> Finding | None:
    """Return why a part leaves nothing; None where that cannot be told."""
    read = [dark.selectors[each] for each in sorted(lost.part.selectors) if each < len(dark.selectors)]
    if lost.part.kind == "window":
        return _window(dark, lost, read)
    if lost.part.name == "scalar" and lost.sides and len(series_of(lost.sides[0])) > 1:
        return _scalar(lost)
    if lost.nan:
        return _nan(lost.part.expr, lost.answer, read)
    if lost.part.kind == "comparison":
        return _comparison(dark, lost, read)
    if lost.part.name == "unless":
        return _nothing_left(lost, f"everything on the left of `unless` is on its right too: {short(lost.part.expr)}")
    if lost.part.name.startswith("absent"):
        return _nothing_left(lost, f"{short(lost.part.expr)} has data when something is missing, and nothing is")
    return join_finding(lost) if lost.part.kind == "join" else _function(lost, read)


# --- windows ---


def _window(dark: DarkQuery, lost: Lost, read: Sequence[SelectorEvidence]) -> Finding | None:
    if not read:
        return None
    evidence = read[0]
    selector, window_s, interval_s = evidence.selector, evidence.selector.window_s or 0.0, evidence.interval_s
    if lost.nan:
        return _nan(lost.part.expr, lost.answer, read)
    if evidence.young:
        young = found(
            "KVO-702",
            subject=selector.metric,
            said=f"{selector.metric} has one sample so far, and {lost.part.name} needs two",
            fix="kvobs verify --wait 2m",
        )
        return replace(young, passing=True)
    needed = 1 if lost.part.name.endswith(_ONE_SAMPLE) else 2
    holds = isinstance(lost.widened, Result) and lost.widened.numbers > 0
    if interval_s and holds and window_s < needed * interval_s * 1.05:
        return found(
            "KVO-701",
            subject=f"{duration(window_s)} for a scrape each {duration(interval_s)}",
            said=f"{short(lost.part.expr)} looks at {duration(window_s)}, and {selector.metric} has a sample each"
            f" {duration(interval_s)}: {'fewer than two' if needed == 2 else 'none'} in the window",
            fix=_longer(dark, interval_s),
            evidence=(
                f"with a longer window the same has data; samples are {duration(interval_s)} apart",
                *_source_interval(dark),
            ),
        )
    return _stopped(dark, evidence) if not holds or interval_s is not None else None


def _longer(dark: DarkQuery, interval_s: float) -> str:
    written = dark.target.expr or ""
    known = dark.server.datasource_interval_s
    setting = f"the data source's scrape interval (jsonData.timeInterval) to {duration(interval_s)}"
    if "__rate_interval" in written:
        monitor = f", or `interval: {duration(known)}` in the monitor" if known and known < interval_s else ""
        now = f"{duration(known)} now" if known else "15s while it is unset"
        return f"Set {setting}{monitor}: [$__rate_interval] is four times the data source's, and that is {now}"
    if known is not None and known >= interval_s:
        return "In the query: [$__rate_interval] for the window"
    return f"In the query: [$__rate_interval] for the window; and set {setting}"


def _source_interval(dark: DarkQuery) -> tuple[str, ...]:
    known = dark.server.datasource_interval_s
    return () if known is None else (f"timeInterval of the data source: {duration(known)}",)


def _stopped(dark: DarkQuery, evidence: SelectorEvidence) -> Finding | None:
    """The samples end before the window that is asked."""
    metric = evidence.selector.metric
    return found(
        "KVO-705",
        subject=metric,
        said=f"{metric} has samples near this range, and too few in any window of it: what exports it stopped, or"
        " has just begun",
        fix="Choose a range in which it ran",
    )


# --- not a number ---


def _all_nan(answer: Answer) -> bool:
    return isinstance(answer, Result) and answer.samples > 0 and answer.numbers == 0


def _nan(expr: str, answer: Answer, read: Sequence[SelectorEvidence]) -> Finding:
    known = [each for each in read if each.zeroes is not None]
    counters = [each for each in known if counts(each)]
    idle = [each for each in counters or known if each.zeroes]
    if idle and (counters or len(idle) == len(known)):
        return no_traffic(idle)
    return found(
        "KVO-704",
        subject=short(expr),
        said=f"{short(expr)} has {_series(answer)}, all NaN",
        evidence=tuple(f"{each.selector.metric} did change in this range" for each in counters),
    )


def _scalar(lost: Lost) -> Finding:
    given = short(lost.part.sides[0])
    finding = found(
        "KVO-704",
        subject=short(lost.part.expr),
        said=f"scalar() makes a number of one series alone, and {given} has {_series(lost.sides[0])}: that is NaN",
        fix=f"In the query: choose one of them, or put them together, as in scalar(sum({given}))",
    )
    # No traffic brings a number here: the query has to be mended.
    return replace(finding, severity="broken")


def no_traffic(idle: Sequence[SelectorEvidence]) -> Finding:
    """Return that what *idle* counts, or measures, has been 0 all the time."""
    names = list(dict.fromkeys(each.selector.metric for each in idle))
    verb = "did not grow in this range" if all(counts(each) for each in idle) else "has been 0 in this range"
    return found(
        "KVO-702",
        subject="no requests" if all("vllm" in each for each in names) else names[0],
        said=f"{' and '.join(names)} {verb}, so that there is nothing to divide",
        evidence=(f"there are series of {', '.join(names)}",),
    )


def counts(evidence: SelectorEvidence) -> bool:
    """Whether the selector reads a counter, by how it is read and called."""
    selector = evidence.selector
    reads = selector.function in ("rate", "increase", "irate", "resets")
    return reads or (selector.name or "").endswith(("_total", "_bucket", "_count", "_sum"))


# --- comparisons and joins ---


def _comparison(dark: DarkQuery, lost: Lost, read: Sequence[SelectorEvidence]) -> Finding:
    part = lost.part
    idle = [each for each in read if each.zeroes and counts(each)]
    if part.guard and idle:
        return no_traffic(idle)
    if (empty := next((number for number, each in enumerate(lost.sides) if _all_nan(each)), None)) is not None:
        return _nan(part.sides[empty], lost.sides[empty], read)
    if len(part.sides) == 2 and not meet(part, lost.sides):
        return join_finding(lost)
    return _nothing_left(lost, f"nothing is {part.name} {part.bound or short(part.sides[-1])} in {short(part.expr)}")


def _nothing_left(lost: Lost, said: str) -> Finding:
    return found(
        "KVO-703",
        subject=short(lost.part.expr),
        said=said,
        fix="To see 0 in place of no data: write `or vector(0)` behind it, or set the panel's text for no value",
        evidence=tuple(f"what it filters has {_series(each)}" for each in lost.sides[:1]),
    )


def _function(lost: Lost, read: Sequence[SelectorEvidence]) -> Finding:
    part, given = lost.part, lost.sides[0] if lost.sides else None
    said = f"{short(part.expr)} leaves nothing of {_series(given) if given is not None else 'its data'}"
    fix = f"In Prometheus, look at what it is given: {short(part.sides[-1])}" if part.sides else LOOK
    if part.name == "histogram_quantile" and given is not None and "le" not in label_names(given):
        names = dict.fromkeys(each.selector.name or "" for each in read)
        other = next((each for each in names if each.endswith(("_sum", "_count"))), None)
        said = f"{part.name} needs the label `le`, and what it is given has lost it"
        fix = "In the query: name le too, as in sum by (le, …)"
        if other is not None:
            said = f"{part.name} needs the buckets with their label `le`, and {other} has none"
            fix = f"In the query: {re.sub('_(sum|count)$', '_bucket', other)} instead of {other}"
    return found("KVO-803", subject=short(part.expr), said=said, fix=fix)


def _series(answer: Answer) -> str:
    return f"{len(series_of(answer))} series"
