"""Puts new names of metrics for old ones into a dashboard's queries: those that stand as a metric, and nothing else.

An old name in a title, a legend, a comment, a label's value or a longer name stays. The document is not changed; what
the new one has in common with it is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .datasources import PROMETHEUS_TYPES
from .document import MAX_DEPTH, too_deep
from .promql_tokens import metric_names
from .references import Key, jsonpath


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to become of one name."""

    now: str | None
    """The new name; None: it stays."""
    why: str
    """One sentence."""


Decide = Callable[[str], Choice | None]
"""Name of a metric, as it is written in a query -> what is to become of it; None: it is nobody's concern."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Renaming:
    """One name in one query, and what became of it."""

    keys: tuple[Key, ...]
    """The way to the query."""
    was: str
    now: str | None
    """None: it stays as it was."""
    why: str

    @property
    def path(self) -> str:
        """Where the query stands, as a JSONPath."""
        return jsonpath(self.keys)


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """A dashboard with new names."""

    document: dict[str, Any]
    """The document that was given where nothing was renamed."""
    renamed: tuple[Renaming, ...] = ()
    left: tuple[Renaming, ...] = ()


def rename_metrics(document: dict[str, Any], decide: Decide) -> Renamed:
    """Return a dashboard with the metrics in its queries renamed: targets, annotations and variables.

    Raise DocumentError for one that nests without end.
    """
    walk = _Walk(decide)
    new = walk.value(document, ())
    done = {each.was for each in walk.renamed}
    return Renamed(
        document=new,
        renamed=tuple(walk.renamed),
        left=(*walk.left, *(_mentions(new, done) if done else ())),
    )


def rename_in(query: str, decide: Decide) -> tuple[str, tuple[tuple[str, Choice], ...]]:
    """Return a query, its variables as they are written, with its metrics renamed, and what was chosen for each.

    >>> rename_in('old{a="old"} + $old', lambda name: Choice("new", "") if name == "old" else None)[0]
    'new{a="old"} + $old'
    """
    names = metric_names(query)
    here = {each.name for each in names if each.how != "partial"}
    chosen: dict[str, Choice] = {}
    parts: list[str] = []
    last = 0
    for each in names:
        if each.how == "partial":
            continue
        choice = decide(each.name)
        if choice is None:
            continue
        if choice.now is not None and choice.now in here:
            choice = Choice(None, f"the query asks {choice.now} as well")
        chosen[each.name] = choice
        if choice.now is not None:
            parts += query[last : each.start], choice.now
            last = each.end
    return "".join((*parts, query[last:])) if parts else query, tuple(chosen.items())


class _Walk:
    """One walk over a document."""

    def __init__(self, decide: Decide) -> None:
        self.renamed: list[Renaming] = []
        self.left: list[Renaming] = []
        self._decide = decide

    def value(self, value: Any, keys: tuple[Key, ...], *, promql: bool = True) -> Any:
        if len(keys) > MAX_DEPTH:
            raise too_deep(keys)
        if isinstance(value, dict):
            return self._object(value, keys, promql)
        if isinstance(value, list):
            new = [self.value(each, (*keys, index), promql=promql) for index, each in enumerate(value)]
            return value if all(a is b for a, b in zip(value, new, strict=True)) else new
        return value

    def _object(self, value: dict[str, Any], keys: tuple[Key, ...], promql: bool) -> dict[str, Any]:
        promql = _speaks_promql(value, otherwise=promql)
        variable = value.get("type") == "query" or value.get("kind") == "QueryVariable"
        changed = {}
        for key, old in value.items():
            place = (*keys, key)
            if promql and isinstance(old, str) and (key == "expr" or (variable and key in ("query", "definition"))):
                new: Any = self._query(old, place)
            elif promql and variable and key in ("query", "spec") and isinstance(old, dict):
                new = self._variable(old, place)
            elif isinstance(old, dict | list):
                new = self.value(old, place, promql=promql)
            else:
                continue
            if new is not old:
                changed[key] = new
        return {**value, **changed} if changed else value

    def _variable(self, value: dict[str, Any], keys: tuple[Key, ...]) -> dict[str, Any]:
        """Rename in a variable's query in object form; in v2 it lies some objects deeper."""
        if not _speaks_promql(value, otherwise=True):
            return value
        changed = {}
        for key, old in value.items():
            place = (*keys, key)
            if isinstance(old, dict) and key in ("query", "spec"):
                new: Any = self._variable(old, place)
            elif isinstance(old, str) and key in ("query", "definition", "expr", "__legacyStringValue"):
                new = self._query(old, place)
            else:
                continue
            if new is not old:
                changed[key] = new
        return {**value, **changed} if changed else value

    def _query(self, query: str, keys: tuple[Key, ...]) -> str:
        new, chosen = rename_in(query, self._decide)
        for name, choice in chosen:
            found = Renaming(keys=keys, was=name, now=choice.now, why=choice.why)
            (self.left if choice.now is None else self.renamed).append(found)
        return query if new == query else new


def _speaks_promql(value: Mapping[str, Any], *, otherwise: bool) -> bool:
    """Whether queries below an object go to a Prometheus; a source that names no type is taken for one."""
    group = value.get("group") if value.get("kind") == "DataQuery" else None
    source = value.get("datasource")
    plugin = group if group is not None else source.get("type") if isinstance(source, dict) else None
    if isinstance(plugin, str) and plugin and not plugin.startswith("$"):
        return plugin in PROMETHEUS_TYPES or plugin in ("datasource", "mixed")
    return otherwise


def _mentions(value: Any, names: set[str], keys: tuple[Key, ...] = ()) -> list[Renaming]:
    """Return the other texts that are exactly a name that was renamed: an override that looks for it, say."""
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in _mentions(each, names, (*keys, key))]
    if isinstance(value, list):
        return [found for index, each in enumerate(value) for found in _mentions(each, names, (*keys, index))]
    if isinstance(value, str) and value in names and keys[-1] not in ("expr", "query", "definition"):
        why = "it is no query; see whether it is to follow the new name"
        return [Renaming(keys=keys, was=value, now=None, why=why)]
    return []
