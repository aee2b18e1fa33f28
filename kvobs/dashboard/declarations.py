"""What a dashboard declares: its inputs (`__inputs`) and its template variables.

Read once, tolerantly: a declaration that makes no sense declares nothing, and the references to it count as
undeclared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .datasources import EXPRESSION


@dataclass(frozen=True, slots=True)
class Input:
    """One entry of `__inputs`: a hole that Grafana's import form would have filled."""

    name: str
    is_constant: bool
    plugin: str | None
    """The plugin id of the source that it stands for; None for a constant."""
    default: str | None
    """The text of a constant; None where the export holds none."""

    @property
    def is_expression(self) -> bool:
        """Whether it stands for the expression engine, which the export form lists like a source."""
        return self.plugin == EXPRESSION


@dataclass(frozen=True, slots=True)
class Variable:
    """One template variable."""

    name: str
    is_datasource: bool
    plugin: str | None
    """The plugin id of the sources that a data source variable offers."""


@dataclass(frozen=True, slots=True)
class Declarations:
    """The inputs and variables of one dashboard, by name. A name that is both is the variable's."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)


def declarations_of(dashboard: Mapping[str, Any]) -> Declarations:
    """Return what an unwrapped dashboard declares, in the classic shape or in v2."""
    inputs = {entry.name: entry for entry in reversed(list(_inputs(dashboard.get("__inputs"))))}
    variables = {
        variable.name: variable
        for _, entry in variable_entries(dashboard)
        if (variable := variable_in(entry)) is not None
    }
    return Declarations(inputs, variables)


def variable_entries(dashboard: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield each variable's place and declaration, as far as it is an object."""
    templating = dashboard.get("templating")
    classic = templating.get("list") if isinstance(templating, dict) else None
    for start, entries in ((("templating", "list"), classic), (("variables",), dashboard.get("variables"))):
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield (*start, index), entry


def variable_in(entry: Mapping[str, Any]) -> Variable | None:
    """Return the variable that one declaration makes, or None where it has no name."""
    spec = entry.get("spec")
    if isinstance(spec, dict) and "kind" in entry:
        is_datasource, name, plugin = (
            entry["kind"] == "DatasourceVariable",
            spec.get("name"),
            spec.get("pluginId"),
        )
    else:
        is_datasource, name, plugin = entry.get("type") == "datasource", entry.get("name"), entry.get("query")
    if not isinstance(name, str) or not name:
        return None
    return Variable(name, is_datasource, plugin if is_datasource and isinstance(plugin, str) else None)


def _inputs(entries: Any) -> Iterator[Input]:
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        name, plugin = entry.get("name"), entry.get("pluginId")
        if not isinstance(name, str) or not name:
            continue
        if entry.get("type") == "constant":
            yield Input(name, True, None, _text_of(entry.get("value")))
        else:
            yield Input(name, False, plugin if isinstance(plugin, str) else None, None)


def _text_of(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
