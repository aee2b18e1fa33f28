"""The JSON of a result, read one series at a time: what its samples were like, not the samples themselves.

An answer of 32 MB would take eight times as much as Python objects. Pure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..health.answers import Result, Series

_SERIES = b'{"metric":'
"""Begins each series. Within a JSON text its quotes would be escaped, so that it is found nowhere else."""
_DECODER = json.JSONDecoder()


class Unreadable(ValueError):
    """The body is no JSON, or not the JSON that Prometheus writes."""


def read_document(body: bytes) -> dict[str, Any]:
    """Return a JSON object; raise `Unreadable` for anything else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unreadable("no JSON") from error
    if not isinstance(document, dict):
        raise Unreadable("no JSON object")
    return document


def read_result(body: bytes) -> tuple[dict[str, Any], tuple[Series, ...]]:
    """Return the answer to a query without its series, and these; raise `Unreadable` for what is none."""
    try:
        in_pieces = _read_in_pieces(body)
        if in_pieces is not None:
            return in_pieces
        document = read_document(body)
        return document, _series_of(document)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise error if isinstance(error, Unreadable) else Unreadable("no result of a query") from error


def _read_in_pieces(body: bytes) -> tuple[dict[str, Any], tuple[Series, ...]] | None:
    """As `read_result`; None for what is spaced or ordered in another way than Prometheus writes it."""
    start = body.find(_SERIES)
    if start < 0 or not body[:start].rstrip().endswith(b"["):
        return None
    head, series = body[:start], []
    while True:
        following = body.find(_SERIES, start + 1)
        text = body[start : following if following >= 0 else len(body)].decode()
        one, end = _DECODER.raw_decode(text)
        series.append(_one(one))
        rest = text[end:]
        if following < 0:
            break
        if rest.strip() != ",":
            return None
        start = following
    if not rest.lstrip().startswith("]"):
        return None
    return read_document(head + rest.encode()), tuple(series)


def result_of(document: Mapping[str, Any], series: tuple[Series, ...]) -> Result:
    """Return the result that a successful answer holds; raise `Unreadable` where it holds none."""
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    if kind not in ("vector", "matrix", "scalar", "string") or not isinstance(data, dict) or data.get("result") is None:
        raise Unreadable("no result of a query")
    return Result(type=kind, series=series, warnings=warnings_of(document))


def warnings_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the warnings of an answer, infos left out; that a cluster answered in part only is one."""
    said = document.get("warnings")
    warnings = [str(each) for each in said] if isinstance(said, list) else []
    if document.get("isPartial") is True:  # VictoriaMetrics
        warnings.append("the answer is partial: a storage node did not answer")
    return tuple(warnings)


def _series_of(document: Mapping[str, Any]) -> tuple[Series, ...]:
    """The series of an answer that was read whole: none, a scalar, or one that is spaced in another way."""
    data = document.get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(data, dict) or result is None:
        return ()
    match data.get("resultType"):
        case "scalar":
            return (_measured({}, [result], ()),)
        case "string":
            at = float(result[0])
            return (Series(labels={}, samples=1, numbers=0, nonzero=0, last=math.nan, first_s=at, last_s=at),)
        case _:
            return tuple(_one(each) for each in result)


def _one(each: Mapping[str, Any]) -> Series:
    samples = each["values"] if "values" in each else [each["value"]] if "value" in each else ()
    histograms = each["histograms"] if "histograms" in each else [each["histogram"]] if "histogram" in each else ()
    labels = {str(name): str(value) for name, value in each["metric"].items()}
    return _measured(labels, samples, histograms)


def _measured(
    labels: Mapping[str, str], samples: Sequence[Sequence[Any]], histograms: Sequence[Sequence[Any]]
) -> Series:
    values = [float(value) for _, value in samples]
    numbers = len(values) - sum(map(math.isnan, values))
    counts = [float(histogram["count"]) for _, histogram in histograms]
    times = [float(each[0]) for group in (samples, histograms) if group for each in (group[0], group[-1])]
    newest_is_histogram = bool(histograms) and (not samples or float(histograms[-1][0]) > float(samples[-1][0]))
    return Series(
        labels=labels,
        samples=len(values) + len(counts),
        numbers=numbers + len(counts),
        nonzero=numbers - values.count(0.0) + len(counts) - counts.count(0.0),
        last=math.nan if newest_is_histogram or not values else values[-1],
        first_s=min(times, default=0.0),
        last_s=max(times, default=0.0),
    )
