"""Why a part of a query leaves nothing of the data that it is given: windows, comparisons, joins, NaN. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .answers import Answer, Result, Series
from .causes import found
from .evidence import DarkQuery, Lost, SelectorEvidence
from .verdict import Finding

_ONE_SAMPLE = "_over_time"
"""Functions that need one sample in their window; all others over a window need two."""
_MOST_LABELS = 8


def loss_finding(dark: DarkQuery, lost: Lost) -> Finding | None:
    """Return why a part leaves nothing; None where that cannot be told."""
    read = [dark.selectors[each] for each in sorted(lost.part.selectors) if each < len(dark.selectors)]
    if lost.part.kind == "window":
        return _window(dark, lost, read)
    if lost.nan:
        return _nan(lost, read)
    if lost.part.kind == "comparison":
        return _comparison(dark, lost, read)
    if lost.part.name == "unless":
        return _nothing_left(lost, f"everything on the left of `unless` is on its right too: {_short(lost.part.expr)}")
    if lost.part.name.startswith("absent"):
        return _nothing_left(lost, f"{_short(lost.part.expr)} has data when something is missing, and nothing is")
    return _join(lost) if lost.part.kind == "join" else _function(lost)


# --- windows ---


def _window(dark: DarkQuery, lost: Lost, read: Sequence[SelectorEvidence]) -> Finding | None:
    if not read:
        return None
    evidence = read[0]
    selector, window_s, interval_s = evidence.selector, evidence.selector.window_s or 0.0, evidence.interval_s
    if lost.nan:
        return _nan(lost, read)
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
            said=f"{_short(lost.part.expr)} looks at {duration(window_s)}, and {selector.metric} has a sample each"
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
        return f"Set {setting}: [$__rate_interval] is four times as long" + (
            f" as that; it is {duration(known)} now" if known else ", and 15s while it is unset"
        )
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


def _nan(lost: Lost, read: Sequence[SelectorEvidence]) -> Finding:
    known = [each for each in read if each.zeroes is not None]
    counters = [each for each in known if counts(each)]
    idle = [each for each in counters or known if each.zeroes]
    if idle and (counters or len(idle) == len(known)):
        return no_traffic(idle)
    return found(
        "KVO-704",
        subject=_short(lost.part.expr),
        said=f"{_short(lost.part.expr)} has {_series(lost.answer)}, all NaN",
        evidence=tuple(f"{each.selector.metric} did change in this range" for each in counters),
    )


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
    if len(part.sides) == 2 and not _meet(lost.sides):
        return _join(lost)
    return _nothing_left(lost, f"nothing is {part.name} {part.bound or _short(part.sides[-1])} in {_short(part.expr)}")


def _nothing_left(lost: Lost, said: str) -> Finding:
    return found(
        "KVO-703",
        subject=_short(lost.part.expr),
        said=said,
        fix="To see 0 in place of no data: write `or vector(0)` behind it, or set the panel's text for no value",
        evidence=tuple(f"what it filters has {_series(each)}" for each in lost.sides[:1]),
    )


def _join(lost: Lost) -> Finding:
    part = lost.part
    apart = _apart(lost.sides)
    return found(
        "KVO-803",
        subject=_short(part.expr),
        said=f"both sides of `{part.name}` have series, and none of them meet" + (f": {apart}" if apart else ""),
        evidence=tuple(
            f"{_short(text)}: {_series(answer)}, labels {', '.join(sorted(_names(answer))) or '(none)'}"
            for text, answer in zip(part.sides, lost.sides, strict=False)
        ),
    )


def _function(lost: Lost) -> Finding:
    part = lost.part
    said = f"{_short(part.expr)} leaves nothing of {_series(lost.sides[0]) if lost.sides else 'its data'}"
    fix = None
    if part.name == "histogram_quantile" and lost.sides and "le" not in _names(lost.sides[0]):
        said = f"{part.name} needs the label `le`, and what it is given has lost it"
        fix = "In the query: name le too, as in sum by (le, …)"
    return found("KVO-803", subject=_short(part.expr), said=said, fix=fix)


def _meet(sides: Sequence[Answer]) -> bool:
    """Whether series of two sides have the same labels, so that only their values can keep them apart."""
    return len(sides) < 2 or bool(_keys(sides[0]) & _keys(sides[1]))


def _keys(answer: Answer) -> frozenset[tuple[tuple[str, str], ...]]:
    return frozenset(tuple(sorted(_plain(each.labels).items())) for each in _all(answer))


def _apart(sides: Sequence[Answer]) -> str:
    """Say which label keeps two sides apart."""
    if len(sides) < 2:
        return ""
    left, right = _names(sides[0]), _names(sides[1])
    only_left, only_right = sorted(left - right), sorted(right - left)
    if only_left or only_right:
        said = [
            f"{'only ' if index else ''}the {side} has {', '.join(f'`{each}`' for each in only[:_MOST_LABELS])}"
            for index, (side, only) in enumerate((("left one", only_left), ("right one", only_right)))
            if only
        ]
        return " and ".join(said)
    for name in sorted(left):
        one = {each.labels.get(name, "") for each in _all(sides[0])}
        other = {each.labels.get(name, "") for each in _all(sides[1])}
        if not one & other:
            return f'`{name}` is "{min(one)}" on the left and "{min(other)}" on the right'
    return ""


def _all(answer: Answer) -> tuple[Series, ...]:
    return answer.series if isinstance(answer, Result) else ()


def _names(answer: Answer) -> frozenset[str]:
    return frozenset(name for each in _all(answer) for name in _plain(each.labels))


def _plain(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name != "__name__" and value}


def _series(answer: Answer) -> str:
    number = len(_all(answer))
    return f"{number} series"


def _short(expr: str, most: int = 100) -> str:
    text = " ".join(expr.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def duration(seconds: float) -> str:
    """Return a duration as Prometheus writes one.

    >>> duration(90), duration(3600), duration(0.5)
    ('1m30s', '1h', '500ms')
    """
    rest, text = round(seconds * 1000), ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
