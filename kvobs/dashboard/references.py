"""What the patch says about each reference: where it stands, what it is, what became of it, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

Key = str | int

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Operators of the JSONPath dialect that `--only` reads: as keys they need quotes.
_RESERVED = frozenset({"parent", "where", "wherenot"})


class Kind(StrEnum):
    """What a reference is, decided from the declarations of its dashboard."""

    INPUT = "input"
    """A declared input of a data source type."""
    EXPRESSION = "expression input"
    """A declared input that stands for the expression engine."""
    CONSTANT = "constant input"
    """A declared input with a fixed text."""
    SHADOWED = "input and variable"
    """A declared input with a variable of the same name: the variable wins."""
    VARIABLE = "variable"
    """A variable of the dashboard that is no input."""
    UNDECLARED = "undeclared"
    """A name that nothing declares."""
    LITERAL = "literal"
    """A fixed UID or name."""
    NULL = "null"
    """No source named: the default one."""
    WITHOUT_UID = "without uid"
    """An object that names a type at most."""
    BUILTIN = "built-in"
    """A source that every Grafana has."""
    CURRENT = "current"
    """Not a reference of its own: the source that a data source variable starts with."""


class Outcome(StrEnum):
    """What became of a reference."""

    RESOLVED = "resolved"
    """It names a source now, which the caller gave."""
    KEPT = "kept"
    """It was right as it stood."""
    UNCHECKED = "unchecked"
    """It stays, and nobody said whether the cluster has what it names."""
    UNRESOLVED = "unresolved"
    """It stays, and leads nowhere: nothing was given for it."""


class Reference(NamedTuple):
    """One reference to a data source or to a declared input.

    `now` is the value at `path` in the patched document, `was` the value that stood there before.
    """

    keys: tuple[Key, ...]
    """The way to it in the patched document."""
    kind: Kind
    outcome: Outcome
    was: Any
    now: Any
    why: str
    """One sentence."""
    name: str | None = None
    """The declared name that it goes through, if it goes through one."""
    plugin: str | None = None
    """The plugin id of the source that it means, where anything says so."""
    embedded: bool = False
    """It is only a part of its text."""

    @property
    def path(self) -> str:
        """Where it stands, as a JSONPath into the patched document."""
        return jsonpath(self.keys)

    @property
    def changed(self) -> bool:
        """Whether another value stands there now."""
        return bool(self.was != self.now)


def jsonpath(keys: Sequence[Key]) -> str:
    r"""Return a JSONPath that selects exactly one place.

    >>> jsonpath(("panels", 0, "field.config", "it's"))
    "$.panels[0]['field.config']['it\\'s']"
    """
    return "$" + "".join(map(_step, keys))


def _step(key: Key) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    if _PLAIN_KEY.fullmatch(key) and key not in _RESERVED:
        return f".{key}"
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{quoted}']"
