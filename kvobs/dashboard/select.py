"""References by JSONPath, for `--only` and `--list`. The only place that meets jsonpath-ng."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import UsageError
from .document import unwrapped
from .elements import inlined
from .references import Key


def selection(expression: str, document: Any) -> Callable[[tuple[Key, ...]], bool]:
    """Return a predicate for places: whether a JSONPath selects that place or something around it.

    Paths start at the dashboard as it gets loaded, without API wrapper, as the paths of a report do. Filters
    (`[?(@.type == "row")]`) are understood. Raise UsageError for an expression that cannot be read,
    DocumentError for what is no dashboard.

    >>> chosen = selection("$.panels[0]", {"panels": [{"datasource": None}, {}]})
    >>> chosen(("panels", 0, "datasource")), chosen(("panels", 1, "datasource"))
    (True, False)
    """
    found = unwrapped(document)
    loaded = found.document if found.at else inlined(found.document)[0]
    path = _parsed(expression)
    try:
        places = {_keys(match) for match in path.find(loaded)}
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        # A filter that compares what cannot be compared, a slice that is none, a path of a thousand steps.
        raise UsageError(f"{expression[:80]!r} cannot be followed in this document: {error}") from error
    return lambda keys: any(keys[:length] in places for length in range(len(keys) + 1))


def check_expression(expression: str) -> None:
    """Raise UsageError for a JSONPath that cannot be read."""
    _parsed(expression)


def _parsed(expression: str) -> Any:
    # Imported late: it builds its parser tables on import, which no other command should wait for.
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    try:
        return parse(expression)
    except (JSONPathError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{expression!r} is no JSONPath: {error}",
            hint="for example '$.panels[0]', '$..datasource' or '$.templating.list[*]'",
        ) from error


def _keys(match: Any) -> tuple[Key, ...]:
    """Return the way to a match as plain keys; jsonpath-ng keeps it as a chain of contexts."""
    keys: list[Key] = []
    while match.context is not None:
        step = match.path
        if hasattr(step, "fields"):
            keys.append(step.fields[0])
        elif hasattr(step, "indices") or hasattr(step, "index"):
            index = step.indices[0] if hasattr(step, "indices") else step.index
            keys.append(index if index >= 0 else index + len(match.context.value))
        match = match.context
    return tuple(reversed(keys))
