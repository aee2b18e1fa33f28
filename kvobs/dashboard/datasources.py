"""The data sources that references may name: those that the caller gave, and those that the cluster holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import UsageError

PROMETHEUS = "prometheus"
EXPRESSION = "__expr__"

PROMETHEUS_TYPES = frozenset(
    {
        PROMETHEUS,
        "grafana-amazonprometheus-datasource",
        "grafana-azureprometheus-datasource",
        "victoriametrics-metrics-datasource",
    }
)
"""Plugin ids of the sources whose queries are PromQL, written as a Prometheus source's are."""

BUILTIN_UIDS = frozenset({"-- Grafana --", "grafana", "-- Mixed --", "-- Dashboard --", EXPRESSION})
"""Sources that every Grafana has; a reference to one of them is never changed."""

BUILTIN_TYPES = frozenset({"datasource", "grafana", "mixed", "dashboard", EXPRESSION})
"""The plugin ids of those sources."""

MIXED = "-- Mixed --"

# A UID or a name that looks like a template would be read as a reference by the next patch, and by Grafana.
_TEMPLATE = re.compile(r"\$\{|\[\[|\$\w")


class Datasource(NamedTuple):
    """One data source of a Grafana. Without a name the UID stands in for it."""

    uid: str
    name: str = ""


def read_datasource(text: str) -> tuple[str, Datasource]:
    """Read TYPE=UID[:NAME], the value of `--datasource`; raises `UsageError`.

    >>> read_datasource("prometheus=abc:Main")
    ('prometheus', Datasource(uid='abc', name='Main'))
    """
    plugin, _, rest = text.partition("=")
    uid, _, name = rest.partition(":")
    if not plugin or not uid:
        raise UsageError(
            f"--datasource {text!r} is not TYPE=UID or TYPE=UID:NAME", hint="for example prometheus=prometheus"
        )
    return plugin, Datasource(uid, name)


class Sources:
    """What `patch_dashboard` was told about data sources.

    `known` is None where nobody could say what the cluster holds: a literal UID is then neither good nor bad.
    """

    def __init__(
        self,
        *,
        datasources: Mapping[str, str | Datasource] | None = None,
        inputs: Mapping[str, str | Datasource] | None = None,
        known: Iterable[Mapping[str, Any]] | None = None,
        remap_foreign: bool = False,
    ) -> None:
        """Raise UsageError for a UID that no Grafana can have."""
        self.known = None if known is None else tuple(known)
        self.remap_foreign = remap_foreign
        self._names = {source.get("uid"): source.get("name") for source in self.known or ()}
        self._given = {kind: self._checked(value, kind) for kind, value in (datasources or {}).items()}
        self._inputs = dict(inputs or {})
        self._held = {text for pair in self._names.items() for text in pair if text}
        for source in (*self._given.values(), *self._inputs.values()):
            self._held.update((source,) if isinstance(source, str) else filter(None, source))
        defaults = (source for source in self.known or () if source.get("default"))
        self.default: Mapping[str, Any] | None = next(defaults, None)

    def _checked(self, value: str | Datasource, what: str) -> Datasource:
        uid, name = (value, "") if isinstance(value, str) else value
        if not isinstance(uid, str) or not uid.strip() or _TEMPLATE.search(uid):
            raise UsageError(
                f"{uid!r} cannot be the UID of a data source (given for {what!r})",
                hint="Grafana shows a data source's UID in the address of its settings page",
            )
        return Datasource(uid, name or self._names.get(uid) or uid)

    def of_type(self, plugin: str | None) -> Datasource | None:
        """Return the source that was given for a plugin id, never that of another type."""
        return None if plugin is None else self._given.get(plugin)

    def for_input(self, name: str, plugin: str | None) -> Datasource | None:
        """Return the source of a declared input or of a variable: its own value, else its type's."""
        if name in self._inputs:
            return self._checked(self._inputs[name], name)
        return self.of_type(plugin)

    def text_for(self, name: str) -> str | None:
        """Return the text that was given for a constant, or None."""
        value = self._inputs.get(name)
        return value if value is None or isinstance(value, str) else value.uid

    @property
    def given_names(self) -> frozenset[str]:
        """The names that a value was given for, declared or not."""
        return frozenset(self._inputs)

    def holds(self, uid_or_name: str) -> bool:
        """Whether the cluster, or the caller, has a source of this UID or name; Grafana resolves both."""
        return uid_or_name in self._held

    def default_is(self, plugin: str) -> bool:
        """Whether the default source is known, and known to be of this type."""
        return self.default is not None and self.default.get("type") == plugin
