"""JSON text in and out: strict where Python's reader is lax, and exact about where a text goes wrong."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, NoReturn

from ..errors import DocumentError

# A string (skipped), or one of the words that Python takes for a number and JSON does not know.
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)
_INDENTED = re.compile(r"[\[{]\r?\n([ \t]+)")
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a JSON text is laid out, so that writing it back changes only what changed."""

    indent: int | str | None
    """None: all on one line."""
    final_newline: bool


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON text, read."""

    document: Any
    layout: Layout
    warnings: tuple[str, ...] = ()


def read_json(text: bytes | str) -> JsonText:
    """Read one JSON document; raise DocumentError for anything else, with line and column where there is one.

    A byte order mark is skipped. Of a key that stands twice in an object the last counts, as for Grafana,
    with a warning. NaN, Infinity, numbers that no float can hold and more than one document are errors.

    >>> read_json('{"a": 1}').document
    {'a': 1}
    """
    text = _decoded(text) if isinstance(text, bytes) else text.removeprefix("\ufeff")
    if not text.strip():
        raise DocumentError("the document is empty", hint="there is not one character of JSON in it")
    repeated: dict[str, None] = {}

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated.update(dict.fromkeys(key for key, count in counts.items() if count > 1))
        return found

    def constant(word: str) -> NoReturn:
        raise _at(text, _position_of_constant(text), f"{word} is not JSON")

    try:
        document = json.loads(text, object_pairs_hook=object_of, parse_constant=constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _at(text, error.pos, f"not JSON: {_plainly(error.msg)}") from error
    except RecursionError as error:
        raise DocumentError(
            "nested too deeply to be read",
            hint="no dashboard needs that; the file is damaged or was made to do harm",
        ) from error
    except ValueError as error:
        raise DocumentError(f"not JSON that can be read: {error}") from error
    warnings = tuple(f"the key {key!r} stands twice in one object; the last one counts" for key in repeated)
    return JsonText(document, _layout(text), warnings)


def write_json(document: Any, layout: Layout | None = None) -> str:
    """Return a document as JSON text, in a layout; without one compact, on one line.

    Characters are written as themselves, except where UTF-8 cannot hold them (half of a surrogate pair).
    Raise DocumentError for what JSON cannot hold.
    """
    indent = None if layout is None else layout.indent
    separators = (",", ":") if layout is None else (",", ": ") if indent is not None else (", ", ": ")
    end = "\n" if layout is not None and layout.final_newline else ""
    try:
        text = json.dumps(document, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            text = json.dumps(document, indent=indent, separators=separators, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DocumentError(f"the document cannot be written as JSON: {error}") from error
    except RecursionError as error:
        raise DocumentError("the document is nested too deeply to be written as JSON") from error
    return text + end


def _decoded(raw: bytes) -> str:
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), None)
    try:
        return raw.decode(encoding or json.detect_encoding(raw))
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"not text in {error.encoding}: byte {raw[error.start]:#04x} at offset {error.start}",
            hint="JSON is written in UTF-8",
        ) from error


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:40]} is larger than any number that a dashboard can hold")
    return number


def _position_of_constant(text: str) -> int:
    for match in _STRING_OR_CONSTANT.finditer(text):
        if match[1]:
            return match.start()
    return 0


def _at(text: str, position: int, what: str) -> DocumentError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return DocumentError(f"{what} (line {line}, column {column})")


def _plainly(message: str) -> str:
    """Say what json says, in words for somebody who looks at the file."""
    if message == "Extra data":
        return "something stands after the end of the document"
    return message[:1].lower() + message[1:]


def _layout(text: str) -> Layout:
    match = _INDENTED.match(text.lstrip())
    if match is None:
        return Layout(None, text.endswith("\n"))
    spaces = match[1]
    return Layout(len(spaces) if spaces.isspace() and "\t" not in spaces else "\t", text.endswith("\n"))
