"""Every text of the corpus and every format, through Grafana's own interpolation and through kvobs'."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kvobs.dashboard.board import Value
from kvobs.dashboard.formats import FORMATS
from kvobs.dashboard.interpolation import held_by, interpolate

from . import scenes

CORPUS = Path(__file__).parents[3] / "shared" / "dashboards"
BROKEN = "confluentinc__jmx-monitoring-stacks__jmx-malformed.json"
DIFFERENCES = tomllib.loads((scenes.HERE / "differences.toml").read_text(encoding="utf-8"))["difference"]

pytestmark = pytest.mark.skipif(scenes.missing() is not None, reason=str(scenes.missing()))

HOSTILE = (
    "a.b:9100",
    "C:\\temp\\new",
    "it's",
    'say "hi"',
    "a|b,c",
    "(?i)[z]{2}$^*+/-#&;=@!~ %25",
    "späte ☃ 😀",
    "<b>&amp;</b>",
    "$v ${v} [[v]] $&",
    "two\nlines\tand a tab",
    "-5",
    " ",
    "1e5",
    "0x1F",
    "NaN",
    "Infinity",
    "1.",
)
"""Values that a careless format breaks on: signs of regular expressions, quotes, templates, numbers by JavaScript."""

KINDS: dict[str, Value] = {
    "one": Value(values=("node-1",), texts=("Node 1",)),
    "one, hostile": Value(values=("a.b:9100|C:\\x 'q' \"d\"",)),
    "none": Value(values=()),
    "one of a multi": Value(values=("a.b",), texts=("A",), multi=True, listed=True),
    "two of a multi": Value(values=("a.b:1", "c/d-2"), texts=("A", "C"), multi=True),
    "many, hostile": Value(values=HOSTILE, multi=True),
    "none of a multi": Value(values=(), multi=True),
    "one beside All": Value(values=("a.b",), texts=("A",), multi=True),
    "All": Value(values=("a.b", "c"), texts=("A", "C"), multi=True, all=True),
    "All of one": Value(values=("a.b",), texts=("A",), multi=True, all=True),
    "All of none": Value(values=(), multi=True, all=True),
    "All by its own text": Value(values=("a", "b"), multi=True, all=True, all_value=".*"),
    "All by a text with a variable": Value(values=("a", "b"), multi=True, all=True, all_value="$w-[0-9]+(a|b)"),
}

MOMENT = Value(values=("1700000000123",))
BUILT_IN = {
    "__interval": Value(values=("15s",)),
    "__interval_ms": Value(values=("15000",)),
    "__rate_interval": Value(values=("1m0s",)),
    "__range": Value(values=("3600s",)),
    "__range_s": Value(values=("3600",)),
    "__range_ms": Value(values=("3600000",)),
    "__from": MOMENT,
    "__to": MOMENT,
}
OTHER = Value(values=("x.y", "z"), multi=True)

WRITTEN = ("$v", "$v_", "$v.a", "${v}", "[[v]]", "a$v$v", "${v.0}", "${v[0]}", "${v.field}", "${v:}", "${ v }", "$$v")
ARGUMENTS = {
    "join": ("join", "join:;", "join::", "join: or "),
    "customqueryparam": ("customqueryparam", "customqueryparam:p", "customqueryparam:p&:x-", "customqueryparam::y"),
}
DATES = (
    "date",
    "date:iso",
    "date:seconds",
    "date:ms",
    "date:YYYY-MM-DD",
    "date:HH:mm:ss",
    "date:dddd, Do MMMM YY [at] h:mm a",
    "date:x X Q DDDD E W ddd D/M kk ss SSS Z ZZ A hh H m s",
    "date:Mo Qo Wo DDDo do dd d DDD MMM WW GGGG S SS k",
)


def formats() -> list[str]:
    """Return every format, as asked for by a variable."""
    named = [*sorted({*FORMATS, "text"} - {"urlstate", "date"}), "no_such_format"]
    return [asked for name in named for asked in ARGUMENTS.get(name, (name,))]


def texts_of(document: Any) -> Iterator[str]:
    """Yield every text of a document that may have a variable."""
    if isinstance(document, Mapping):
        for value in document.values():
            yield from texts_of(value)
    elif isinstance(document, list):
        for value in document:
            yield from texts_of(value)
    elif isinstance(document, str) and ("$" in document or "[[" in document):
        yield document


def variables_of(document: Any) -> Iterator[str]:
    """Yield the names of the variables that a document declares, in either schema."""
    if not isinstance(document, Mapping):
        return
    for key, value in document.items():
        if key in ("templating", "variables"):
            listed = value.get("list") if isinstance(value, Mapping) else value
            for each in listed or []:
                name = (each.get("spec") or each).get("name")
                if isinstance(name, str) and re.fullmatch(r"\w+", name):
                    yield name
        else:
            yield from variables_of(value)


def corpus() -> list[tuple[str, list[str], list[str]]]:
    """Return (file, names of its variables, texts) of every dashboard."""
    found = []
    for path in sorted(CORPUS.glob("*.json")):
        if path.name != BROKEN:
            document = json.loads(path.read_text(encoding="utf-8-sig"))
            found.append((path.name, sorted(set(variables_of(document))), sorted(set(texts_of(document)))))
    return found


def questions() -> dict[tuple[str, str], dict[str, Any]]:
    """Return everything that is asked, by what it is about."""
    asked: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, value in KINDS.items():
        for file, names, texts in corpus():
            scope = {**BUILT_IN, **dict.fromkeys(names, value), **({"w": OTHER} if "w" not in names else {})}
            asked[file, kind] = {"scope": scope, "texts": texts, "formats": [None, "regex"]}
        scope = {**BUILT_IN, "v": value, "w": OTHER}
        asked["formats", kind] = {
            "scope": scope,
            "texts": [*WRITTEN, *(f"<${{v:{name}}}>" for name in formats()), *(f"[[v:{name}]]" for name in formats())],
            "formats": [None, *formats(), "handed"],
        }
        paths = [f"${{v{path}:{name}}}" for name in formats() for path in (".0", ".9", ".field")]
        asked["paths", kind] = {"scope": scope, "texts": paths, "formats": [None]}
    dates = [f"${{{name}:{spelled}}}" for spelled in DATES for name in ("v", "__from")]
    asked["dates", "a moment"] = {"scope": {**BUILT_IN, "v": MOMENT}, "texts": dates, "formats": [None]}
    asked["dates", "no moment"] = {"scope": {"v": Value(values=("x",))}, "texts": ["${v:date}"], "formats": [None]}
    asked["dates", "many"] = {"scope": {"v": OTHER}, "texts": ["${v:date}"], "formats": [None]}
    return asked


@pytest.fixture(scope="module")
def compared() -> dict[tuple[str, str], list[tuple[str, str | None, str, str]]]:
    """Everything asked, once: what it is about -> (text, format, kvobs' answer, Grafana's)."""
    asked = questions()
    answers = scenes.asked([scenes.question(one["scope"], one["texts"], one["formats"]) for one in asked.values()])
    return {
        about: [
            (text, format, "" if format == "handed" else interpolate(text, one["scope"], format=format), theirs)
            for text, row in zip(one["texts"], answer, strict=True)
            for format, theirs in zip(one["formats"], row, strict=True)
        ]
        for (about, one), answer in zip(asked.items(), answers, strict=True)
    }


def differing(rows: list[tuple[str, str | None, str, str]]) -> list[tuple[str, str | None, str, str]]:
    """Return what the two say otherwise."""
    return [row for row in rows if row[1] != "handed" and row[2] != row[3]]


def unexplained(rows, kind):
    """Return what the two say otherwise, and no written difference excuses."""
    listed = isinstance(held_by(KINDS[kind]), tuple)
    excuses = [each["text"] for each in DIFFERENCES if listed or not each.get("of_a_list")]
    return [row for row in differing(rows) if not any(re.search(excuse, row[0]) for excuse in excuses)]


def handed_on(compared, kind):
    """Return what the formatter of a data source was given for `$v`."""
    return [row[3] for row in compared["formats", kind] if row[:2] == ("$v", "handed")]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus ../shared/dashboards is not beside this checkout")
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_of_the_corpus_reads_as_in_grafana(compared, kind):
    """Every text of every dashboard says the same through both, but for what differences.toml excuses."""
    rows = [row for (file, each), found in compared.items() if each == kind and file.endswith(".json") for row in found]
    assert len(rows) > 5000

    assert unexplained(rows, kind) == []


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus ../shared/dashboards is not beside this checkout")
@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference["text"])
def test_every_difference_that_is_written_down_is_one(compared, difference):
    """What the list of differences excuses does differ, and has a reason."""
    rows = [row for found in compared.values() for row in differing(found)]

    assert any(re.search(difference["text"], text) for text, *_ in rows)
    assert difference["reason"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("about", ["formats", "paths"])
def test_every_format_spells_every_value_as_grafana_does(compared, kind, about):
    """Each format, asked for in any syntax or as the default, gives what Grafana gives, for hostile values too."""
    assert unexplained(compared[about, kind], kind) == []


@pytest.mark.parametrize("kind", ["a moment", "no moment", "many"])
def test_dates_are_spelled_as_grafana_does(compared, kind):
    """`${__from:date:…}` gives what Grafana gives, in UTC."""
    assert differing(compared["dates", kind]) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not KINDS[kind].all_value])
def test_a_data_source_is_handed_the_same_value(compared, kind):
    """What Grafana gives a data source to format is what kvobs formats: the value, and whether it may be several."""
    handed = [json.loads(theirs) for theirs in handed_on(compared, kind)]

    held = held_by(KINDS[kind])
    assert handed == [[list(held) if isinstance(held, tuple) else held, KINDS[kind].multi]]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].all_value])
def test_no_data_source_formats_what_all_stands_for(compared, kind):
    """A text that the author wrote for All reaches Prometheus as it is, but for the variables in it."""
    assert handed_on(compared, kind) == [interpolate("$v", {"v": KINDS[kind], "w": OTHER})]
