"""What a data source variable starts with: its `current`, set to the source that was chosen for its type.

Grafana keeps what stands there if such a source exists, and else takes the first of the type by alphabet: a
placeholder or another Grafana's UID in this place sends every panel behind the variable to the wrong source.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from .datasources import Datasource, Sources
from .declarations import Variable
from .placeholders import holds_any
from .references import Key, Kind, Outcome, Reference
from .rewrite import Rewriter

_ALL = "$__all"
_JS_REGEX = re.compile(r"/(.*)/([gimsuy]*)", re.DOTALL)


# A regex comes with a dashboard from anywhere: one that could take for ever on some name is not tried.
_QUANTIFIER = re.compile(r"[*+{]")
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_MOST_QUANTIFIERS = 4


def pinned(
    variable: Variable,
    before: dict[str, Any],
    entry: dict[str, Any],
    keys: tuple[Key, ...],
    sources: Sources,
    rewriter: Rewriter,
    first: int,
) -> dict[str, Any]:
    """Return the declaration of a data source variable with `current` at the chosen source, and report that.

    `before` is the declaration as it was, `entry` the same with its references resolved. Nothing happens
    where no source of the variable's type was given. The keys of `current` other than `text` and `value`
    stay. `first` is the number of the first reference that was found inside the declaration.
    """
    source = sources.for_input(variable.name, variable.plugin)
    in_spec = isinstance(entry.get("spec"), dict) and "kind" in entry
    place = (*keys, "spec", "current") if in_spec else (*keys, "current")
    if source is None or not rewriter.selected(place):
        return entry
    holder = entry["spec"] if in_spec else entry
    old = (before["spec"] if in_spec else before).get("current")
    new = _pointed_at(holder.get("current"), source)
    regex = holder.get("regex")
    if isinstance(regex, str) and _excludes(regex, source.name):
        rewriter.warnings[
            f"variable {variable.name} offers only sources whose name matches {regex}, which leaves out {source.name!r}"
        ] = None
    if new == old:
        new = old
    rewriter.references[first:] = _updated(rewriter.references[first:], place, new)
    outcome = Outcome.KEPT if new is old else Outcome.RESOLVED
    start = f"the {variable.plugin or 'given'} source {source.name!r}"
    why = f"variable {variable.name} {'already starts right' if new is old else f'starts with {start}'}"
    rewriter.references.append(Reference(place, Kind.CURRENT, outcome, old, new, why, variable.name, variable.plugin))
    if new is holder.get("current"):
        return entry
    changed = {**holder, "current": new}
    return {**entry, "spec": changed} if in_spec else changed


def _pointed_at(given: Any, source: Datasource) -> dict[str, Any]:
    current: dict[str, Any] = given if isinstance(given, dict) else {}
    if current.get("value") in (_ALL, [_ALL]):
        return current  # every source of the type, the chosen one among them
    several = isinstance(current.get("value"), list)
    text: Any = [source.name] if several and isinstance(current.get("text"), list) else source.name
    return {**current, "text": text, "value": [source.uid] if several else source.uid}


def _updated(references: list[Reference], place: tuple[Key, ...], current: Any) -> list[Reference]:
    """Return references with what stands there now, for those inside `current`; without those that are gone."""
    found: list[Reference] = []
    for reference in references:
        if reference.keys[: len(place)] != place:
            found.append(reference)
            continue
        now: Any = current
        try:
            for key in reference.keys[len(place) :]:
                now = now[key]
        except (KeyError, IndexError, TypeError):
            continue
        found.append(reference._replace(now=now))
    return found


def _excludes(regex: str, name: str) -> bool:
    """Whether a variable's `regex` surely leaves out a source's name.

    Grafana reads `/pattern/flags`, and anything else as a pattern for the whole name. What only Grafana can
    expand, what only JavaScript can read, and what might take for ever, excludes nothing here.

    >>> _excludes("/^Prom/", "Prometheus"), _excludes("Prom", "Prometheus"), _excludes("/(?<x>a)/", "b")
    (False, True, False)
    """
    if not regex or holds_any(regex):
        return False
    match = _JS_REGEX.fullmatch(regex)
    pattern, flags = (f"^(?:{regex})$", "") if match is None else (match[1], match[2])
    if _REPEATED_GROUP.search(pattern) or len(_QUANTIFIER.findall(pattern)) > _MOST_QUANTIFIERS:
        return False
    try:
        with warnings.catch_warnings():
            # What Python may read in another way one day is a case for JavaScript alone.
            warnings.simplefilter("error", FutureWarning)
            compiled = re.compile(pattern, re.IGNORECASE if "i" in flags else 0)
    except (re.error, FutureWarning):
        return False
    return compiled.search(name) is None
