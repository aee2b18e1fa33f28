"""A values file, read as Helm reads it.

Helm reads YAML 1.1 through JSON: dates and `1:30` are strings, `1e3` is a number, `on` and `y` are booleans,
every key is a string, every number a 64-bit float, and the documents of one file are merged. PyYAML's own
reading differs in each of these, so only its syntax is used here; what a node means is decided below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import yaml

from ..errors import UsageError
from .merge import deep_merge

MAX_NODES = 1_000_000
"""More values than this in one file are aliases that multiply, not a values file."""

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]{0,400})")
_OCTAL = re.compile(r"([-+]?)0([0-7]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGERS = range(-(2**63), 2**64)
_EXACT = 2**53

_PLAIN = "!plain"
_STRING = "tag:yaml.org,2002:str"
_BINARY = "tag:yaml.org,2002:binary"
_TYPED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null")) | {_PLAIN}


def read_values(text: str, *, where: str) -> dict[str, Any]:
    r"""Return the values that *text* holds; *where* names the file in errors.

    Raises UsageError with line and column when it is not YAML, or not a map of values. No part of the text is
    repeated in an error: values files hold secrets.

    >>> read_values("a: {b: 1e3, 2: 2026-01-01}\n---\na: {c: off, d: ~}", where="values.yaml")
    {'a': {'b': 1000, '2': '2026-01-01', 'c': False, 'd': None}}
    """
    try:
        documents = [_Document().values(node) for node in yaml.compose_all(text, Loader=_Loader)]
    except yaml.MarkedYAMLError as error:
        raise _refused(where, error.problem_mark or error.context_mark, "this is not YAML") from None
    except yaml.reader.ReaderError as error:
        raise UsageError(f"values file {where}, character {error.position + 1}: {error.reason}") from None
    except _NotValues as error:
        raise _refused(where, error.mark, str(error)) from None
    except RecursionError:
        raise UsageError(f"values file {where}: nested too deeply") from None
    return deep_merge(*documents)


def _refused(where: str, mark: Any, reason: str) -> UsageError:
    place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return UsageError(f"values file {where}{place}: {reason}")


class _NotValues(Exception):
    """YAML that Helm cannot take as values: the reason, and where."""

    def __init__(self, reason: str, mark: Any) -> None:
        super().__init__(reason)
        self.mark = mark


class _Loader(yaml.SafeLoader):
    """PyYAML's syntax, without its opinion on what a plain scalar means."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the tag of a node that has none of its own."""
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _STRING
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]  # PyYAML's stubs lack it


class _Document:
    """One document of a file on its way from YAML nodes to values."""

    def __init__(self) -> None:
        self.nodes = 0
        self.open: set[int] = set()

    def values(self, root: yaml.Node | None) -> dict[str, Any]:
        """Return the document's values; an empty document holds none."""
        values = None if root is None else self.value(root)
        if values is None:
            return {}
        if not isinstance(values, dict):
            raise _NotValues("values must be a map of names to values", root.start_mark if root else None)
        return values

    def value(self, node: yaml.Node) -> Any:
        """Return what *node* means to Helm."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _NotValues(f"more than {MAX_NODES} values; its aliases multiply", node.start_mark)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if id(node) in self.open:
            raise _NotValues("an anchor that holds itself", node.start_mark)
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item) for item in node.value]
            return self.mapping(node)
        finally:
            self.open.remove(id(node))

    def scalar(self, node: yaml.ScalarNode) -> Any:
        """Return a scalar's value: typed when it is plain, or when its own tag says so."""
        if node.tag == _BINARY:
            raise _NotValues("!!binary is not read; write the text itself", node.start_mark)
        if node.tag not in _TYPED:
            return node.value
        value = _typed(node.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise _NotValues("an infinite or undefined number cannot be a value", node.start_mark)
        return value

    def mapping(self, node: yaml.Node) -> dict[str, Any]:
        """Return a map with its keys as strings; what `<<` brings in stands where it is written."""
        values: dict[str, Any] = {}
        for key, inner in node.value:
            if key.tag == _PLAIN and key.value == "<<":
                for source in reversed(inner.value) if isinstance(inner, yaml.SequenceNode) else [inner]:
                    if not isinstance(source, yaml.MappingNode):
                        raise _NotValues("<< takes a map or a list of maps", inner.start_mark)
                    values |= self.value(source)
            else:
                values[self.name(key)] = self.value(inner)
        return values

    def name(self, key: yaml.Node) -> str:
        """Return a key as a string."""
        name = self.value(key)
        if isinstance(name, bool):
            return "true" if name else "false"
        if name is None or isinstance(name, dict | list):
            raise _NotValues("a name must be a string, a number or a boolean", key.start_mark)
        return str(name)


def _typed(text: str) -> bool | int | float | str | None:
    """Return what a plain scalar means; whole numbers are int, as JSON shows them."""
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        return math.nan
    number = text.replace("_", "") if text[0] in "+-.0123456789" else text
    if _INTEGER.fullmatch(number):
        integer = int(_OCTAL.sub(r"\g<1>0o\2", number) if _OCTAL.fullmatch(number) else number, 0)
        # Helm holds a document's numbers as 64-bit floats; what a release stores is compared with this.
        if integer in _INTEGERS:
            return integer if abs(integer) <= _EXACT else _shown(float(integer))
    if _FLOAT.fullmatch(number):
        value = float(number)
        if math.isfinite(value):
            return _shown(value)
    return text


def _shown(value: float) -> int | float:
    """Return *value* as the JSON of Go shows it: a whole number below 1e21 by its shortest digits."""
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < 1e21 else value
