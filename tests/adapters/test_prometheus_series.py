"""Results read one series at a time say what a reader of the whole would say."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvobs.adapters.prometheus_series import Unreadable, read_result, result_of
from kvobs.health.answers import Result, Series

texts = st.text(max_size=8) | st.sampled_from(['{"metric":', '"},{"metric":{}}', "\\", '"', "]}", "\u2028"])
values = st.sampled_from(["1", "0", "-0", "NaN", "+Inf", "-Inf", "1e-300", "0.5"])
samples = st.lists(st.tuples(st.integers(0, 10**10) | st.floats(0, 1e10), values), max_size=5)
histograms = st.lists(st.tuples(st.integers(0, 10**10), st.fixed_dictionaries({"count": values})), max_size=2)
series = st.fixed_dictionaries(
    {"metric": st.dictionaries(texts, texts, max_size=3), "values": samples}, optional={"histograms": histograms}
)


def document(result: Any, kind: str = "matrix", **more: Any) -> dict[str, Any]:
    """An answer as Prometheus writes it."""
    return {"status": "success", "data": {"resultType": kind, "result": result}, **more}


def read(body: bytes) -> Result:
    """What ours makes of it."""
    envelope, found = read_result(body)
    return result_of(envelope, found)


@given(st.lists(series, max_size=4), st.lists(texts, max_size=2), st.booleans())
def test_reading_in_pieces_is_reading(result: list[dict[str, Any]], warnings: list[str], spaced: bool) -> None:
    """Whatever stands in labels and warnings, and however it is spaced."""
    body = json.dumps(document(result, warnings=warnings), separators=None if spaced else (",", ":")).encode()
    got = read(body)
    assert got.warnings == tuple(warnings)
    assert [dict(each.labels) for each in got.series] == [each["metric"] for each in result]
    for one, wanted in zip(got.series, result, strict=True):
        numbers = [float(value) for _, value in wanted["values"]]
        counts = [float(histogram["count"]) for _, histogram in wanted.get("histograms", ())]
        real = [value for value in numbers if not math.isnan(value)]
        assert one.samples == len(numbers) + len(counts)
        assert one.numbers == len(real) + len(counts)
        assert one.nonzero == sum(value != 0 for value in real) + sum(count != 0 for count in counts)


@given(st.lists(series, min_size=1, max_size=3), st.data())
def test_a_body_that_is_cut_is_never_read(result: list[dict[str, Any]], data: st.DataObject) -> None:
    """Half of an answer is no answer, wherever it ends."""
    body = json.dumps(document(result), separators=(",", ":")).encode()
    cut = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(Unreadable):
        read(body[:cut])


@pytest.mark.parametrize(
    "body",
    [
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{}}{"metric":{}}]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1]]}]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":[],"values":[]}]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"x"]]}]}}',
        b'{"status":"success","data":{"resultType":"scalar","result":[]}}',
        b'{"status":"success","data":{"resultType":"string","result":["x"]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":7}}',
        b'{"status":"success","data":{"resultType":"matrix","result":null}}',
        b"\xff\xfe",
        b"null",
    ],
)
def test_what_is_no_result_is_never_read(body: bytes) -> None:
    """Nothing is guessed of what Prometheus does not write."""
    with pytest.raises(Unreadable):
        read(body)


def test_the_last_sample_may_be_a_histogram() -> None:
    """A series that became a native histogram has no last number."""
    mixed = {"metric": {}, "values": [[1, "5"]], "histograms": [[2, {"count": "3"}]]}
    assert read(json.dumps(document([mixed])).encode()).series[0].samples == 2
    assert math.isnan(read(json.dumps(document([mixed])).encode()).series[0].last)


def test_a_partial_answer_warns() -> None:
    """VictoriaMetrics says so in a field of its own; infos of Prometheus are no warnings."""
    body = json.dumps(document([], isPartial=True, warnings=["w"], infos=["i"])).encode()
    assert read(body) == Result(type="matrix", warnings=("w", "the answer is partial: a storage node did not answer"))


def test_a_scalar_is_one_series() -> None:
    """Without labels."""
    one = Series(labels={}, samples=1, numbers=1, nonzero=0, last=0.0, first_s=7.5, last_s=7.5)
    assert read(json.dumps(document([7.5, "0"], "scalar")).encode()) == Result(type="scalar", series=(one,))
