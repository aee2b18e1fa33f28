"""Helm's `--set`, read as Helm reads it: `a.b=1,c[0]=x,d={1,2},e=null`.

pyhelm3 takes values as documents only, so what the user says with `--set` has to be read here, with Helm's
own rules, odd ones included (`a=007` is a string, `a={}` holds one empty string, `a[0].b=` at the very end
sets nothing). The reference is `pkg/strvals` of Helm 4; a table of cases is compared with `helm template`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from .secret_names import names_a_secret

MAX_INDEX = 65536
MAX_NESTING = 30

_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
_INT64 = range(-(2**63), 2**63)
# A value with its `=`, or what stands between commas without one: the rest of a value with a bare comma.
_VALUES = re.compile(r"=(?:\{(?:\\.|[^}\\])*\}?|(?:\\.|[^,\\])*)|(?:^|(?<=,))(?:\\.|[^=,\\])+(?=,|$)", re.DOTALL)
_NOT_IN_KEYS = re.compile(r"([\\.,=\[])")

# From here on a chart prints a number of a document as 1e+06: documents hold 64-bit floats.
_SHOWN_AS_FLOAT = 10**6


class SetInteger(int):
    """An integer that came from `--set`: Helm keeps it a 64-bit integer, while a document's is a float."""


class _End(Exception):
    """The expression is read to its end, also in the middle of a part that Helm then leaves unset."""


class _Refused(Exception):
    """Helm would refuse the expression; the message is the reason."""


def parse_set(expression: str, into: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what *expression* sets, on top of *into* (which is not changed).

    Values are True, False, None, int (64 bit), str, and lists of these. None stays: it removes a default.
    Raises UsageError with the position in the expression, counted from 1, where Helm refuses it.

    >>> parse_set("a.b=1,c={x,y},d=null,e=1.5")
    {'a': {'b': 1}, 'c': ['x', 'y'], 'd': None, 'e': '1.5'}
    >>> parse_set("a[1].b=on", {"a": [{"b": "off"}]})
    {'a': [{'b': 'off'}, {'b': 'on'}]}
    """
    values = copy.deepcopy(dict(into or {}))
    _Parser(expression, int).into(values)
    return values


def set_integers(documents: Mapping[str, Any], expressions: Sequence[str]) -> tuple[str, ...]:
    """Return the `--set` arguments that have to reach Helm itself, so that a chart sees what the user said.

    Every number in a document becomes a 64-bit float in Helm, and a chart prints it as `1e+06` from a million
    on; the same number after `--set` stays an integer. Only such integers are returned, by their final paths:
    everything else, and every string, travels in the document, out of sight of the process list. So does a number
    below a name that means a secret (`adminPassword=12345678`). What that costs: a chart that prints it prints
    `1.2345678e+07`, and one that encodes it refuses a number in either form; in quotes in a values file it is text.

    >>> set_integers({}, ["limit=1000000,name=x", "small=7", "adminPassword=12345678"])
    ('limit=1000000',)
    """
    values = copy.deepcopy(dict(documents))
    for expression in expressions:
        _Parser(expression, SetInteger).into(values)
    return tuple(f"{path}={int(number)}" for path, number in _set_integers_in(values, ""))


def exact_integers(value: Any) -> Any:
    """Return values that a release stores with their whole numbers as `--set` has them.

    What a release stores no longer says how a number came; sent in a document it might be printed as `1e+06`.
    """
    if isinstance(value, Mapping):
        return {key: exact_integers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exact_integers(inner) for inner in value]
    return SetInteger(value) if type(value) is int and value in _INT64 else value


def _set_integers_in(value: Any, path: str) -> Iterator[tuple[str, int]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if names_a_secret(str(key)):
                continue
            name = _NOT_IN_KEYS.sub(r"\\\1", str(key))
            yield from _set_integers_in(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _set_integers_in(inner, f"{path}[{index}]")
    elif isinstance(value, SetInteger) and abs(value) >= _SHOWN_AS_FLOAT:
        yield path, value


class _Parser:
    """One pass over one expression; `at` is how many characters are read."""

    def __init__(self, text: str, integer: type[int]) -> None:
        self.text = text
        self.integer = integer
        self.at = 0

    def into(self, values: dict[str, Any]) -> None:
        """Set everything that the expression says in *values*."""
        try:
            while True:
                self.key(values, 0)
        except _End:
            return
        except _Refused as refused:
            raise self.error(str(refused)) from None
        except RecursionError:
            raise self.error("more levels of indexes than can be read") from None

    def error(self, reason: str) -> UsageError:
        """Return the error with expression, place and reason, and no values: they may be secrets."""
        shown = _VALUES.sub(lambda match: "=…" if match[0][:1] == "=" else "…", self.text)
        return UsageError(
            f"--set {shown!r}, position {max(self.at, 1)}: {reason}",
            hint="Helm's form is NAME=VALUE[,NAME=VALUE…]; a comma or dot that is meant is \\, or \\.",
        )

    def key(self, values: dict[str, Any], depth: int) -> None:
        """Read one NAME=VALUE (or the rest of a dotted name) and set it in *values*."""
        name, stop = self.until("=[,.")
        if stop is None:
            if name:
                raise _Refused("a name without a value")
            raise _End
        if stop == ",":
            raise _Refused("a name without a value")
        if stop == "=":
            self.assign(values, name)
        elif stop == "[":
            self.indexed(values, name, depth)
        else:
            self.nested(values, name, depth + 1)

    def assign(self, values: dict[str, Any], name: str) -> None:
        """Read the value after `=`. A name that is empty is read and dropped, as Helm does."""
        ended = self.ended
        value = self.value()
        if name:
            values[name] = value
        if ended:
            raise _End

    def indexed(self, values: dict[str, Any], name: str, depth: int) -> None:
        """Read the rest of `NAME[INDEX]…`."""
        index = self.index()
        items = values.get(name, [])
        if not isinstance(items, list):
            raise _Refused("this name is set already and is not a list")
        try:
            items = self.item(items, index, depth)
        finally:
            # A list that is named but given nothing is there all the same.
            if name:
                values[name] = items

    def nested(self, values: dict[str, Any], name: str, depth: int) -> None:
        """Read the rest of `NAME.…`."""
        if depth > MAX_NESTING:
            raise _Refused(f"more than {MAX_NESTING} levels of names")
        inner = values.get(name, {})
        if not isinstance(inner, dict):
            raise _Refused("this name is set already and is not a map")
        try:
            self.key(inner, depth)
        finally:
            if inner and name:
                values[name] = inner
        if not inner:
            raise _Refused("a dotted name without a value")

    def index(self) -> int:
        """Read `INDEX]`."""
        text, stop = self.until("]")
        if stop is None:
            raise _End
        if not _INTEGER.fullmatch(text) or int(text) not in _INT64:
            raise _Refused("this is not an index")
        if int(text) < 0:
            raise _Refused("a negative index")
        return int(text)

    def item(self, items: list[Any], index: int, depth: int) -> list[Any]:
        """Read what follows `]` and return *items* with it in place."""
        text, stop = self.until("[.=")
        if text:
            raise _Refused("only [, . or = may follow an index")
        if stop is None:
            raise _End
        held = items[index] if index < len(items) else None
        if stop == "=":
            return _with_item(items, index, self.value())
        if stop == "[":
            further = self.index()
            if held is not None and not isinstance(held, list):
                raise _Refused("this item is set already and is not a list")
            return _with_item(items, index, self.item(held or [], further, depth))
        if not isinstance(held, dict):
            held = {}
            if index < len(items):
                items[index] = held
        self.key(held, depth)
        return _with_item(items, index, held)

    def value(self) -> Any:
        """Read a value: `{…}` is a list, anything else runs up to the next comma."""
        if self.ended:
            return ""
        if self.text[self.at] != "{":
            return self.typed(self.until(",")[0])
        self.at += 1
        items: list[Any] = []
        while True:
            text, stop = self.until(",}")
            if stop is None:
                raise _Refused("a list must end with '}'")
            items.append(self.typed(text))
            if stop == "}":
                if not self.ended and self.text[self.at] == ",":
                    self.at += 1
                return items

    def typed(self, text: str) -> Any:
        """Return *text* as Helm types it: booleans and null in any case, integers without a leading 0."""
        word = text.casefold()
        if word in ("true", "false"):
            return word == "true"
        if word == "null":
            return None
        if text == "0" or (_INTEGER.fullmatch(text) and text[0] != "0" and int(text) in _INT64):
            return self.integer(text)
        return text

    def until(self, stops: str) -> tuple[str, str | None]:
        """Read up to and over the next of *stops* (None: the end); a backslash escapes any character."""
        read: list[str] = []
        while not self.ended:
            character = self.text[self.at]
            self.at += 1
            if character in stops:
                return "".join(read), character
            if character == "\\":
                if self.ended:
                    break
                character = self.text[self.at]
                self.at += 1
            read.append(character)
        return "".join(read), None

    @property
    def ended(self) -> bool:
        """Whether everything is read."""
        return self.at >= len(self.text)


def _with_item(items: list[Any], index: int, value: Any) -> list[Any]:
    if index > MAX_INDEX:
        raise _Refused(f"index {index} is larger than {MAX_INDEX}")
    items.extend([None] * (index + 1 - len(items)))
    items[index] = value
    return items
