"""What stands around a reference and decides with it: its panel, its targets, the query that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .datasources import MIXED
from .decisions import Decision, Judge
from .references import Key, Kind, Outcome

_GRAFANA = "-- Grafana --"
_GRAFANAS_OWN = "the built-in annotations are Grafana's own"
_NAMED = (Outcome.KEPT, Outcome.RESOLVED)


class Company:
    """Answers for one document. `holder` is the object with the key `datasource`, `keys` the way to that key."""

    def __init__(self, root: Mapping[str, Any], judge: Judge, *, is_v2: bool) -> None:
        """`root` is the document that the ways start from; it is only read."""
        self._root = root
        self._judge = judge
        self.is_v2 = is_v2

    def plugin_of(self, reference: Any, holder: Mapping[str, Any]) -> str | None:
        """Return the plugin id of the source that is meant, where the reference or something beside it says so.

        v2 writes it beside the reference: as `group`, earlier as the query's kind.
        """
        if isinstance(reference, dict) and isinstance(plugin := reference.get("type"), str):
            return plugin
        if not self.is_v2:
            return None
        query = holder.get("query")
        plugin = holder.get("group") or (query.get("kind") if isinstance(query, dict) else None)
        return plugin if isinstance(plugin, str) and plugin != "DataQuery" else None

    def unnamed(self, plugin: str | None, holder: Mapping[str, Any], keys: Sequence[Key], kind: Kind) -> Decision:
        """Decide a reference that names no source: the default one is meant, unless the company says better.

        A panel follows its targets where they agree, a target asks its panel's source.
        """
        default = self._judge.default(plugin, kind)
        if self._is_builtin_entry(holder, keys):
            return default._replace(outcome=Outcome.KEPT, now=None, why=_GRAFANAS_OWN)
        if default.outcome is Outcome.KEPT:
            return default
        if isinstance(holder.get("targets"), list):
            return self._as_targets(plugin, holder["targets"], kind) or default
        if list(keys[-3:-2]) == ["targets"]:
            return self._as_panel(plugin, self._at(keys[:-3]), kind, default) or default
        return default

    def checked(self, decision: Decision, holder: Mapping[str, Any], keys: Sequence[Key]) -> Decision:
        """Return a decision as it is, but for the annotation list's own entry, which asks Grafana and no source."""
        if not self._is_builtin_entry(holder, keys) or decision.kind is Kind.BUILTIN:
            return decision
        if decision.kind in (Kind.LITERAL, Kind.VARIABLE, Kind.SHADOWED):
            warning = "the built-in annotation entry names a data source; some other tool changed it"
            return decision._replace(outcome=Outcome.KEPT, now=None, why=_GRAFANAS_OWN, warning=warning)
        return decision._replace(outcome=Outcome.RESOLVED, now=_GRAFANA, why=_GRAFANAS_OWN, warning=None, left=())

    def _as_targets(self, plugin: str | None, targets: list[Any], kind: Kind) -> Decision | None:
        asked = {
            (decision.plugin, decision.now or named_by(target["datasource"]))
            for target in targets
            if (decision := self._peek(target)) is not None and decision.kind is not Kind.BUILTIN
        }
        if len(asked) != 1:
            return None
        ((theirs, named),) = asked
        if plugin not in (None, theirs):
            return None
        why = "it names no source; set to the one that its targets ask"
        return Decision(kind, Outcome.RESOLVED, named, why, plugin=theirs)

    def _as_panel(self, plugin: str | None, panel: Any, kind: Kind, default: Decision) -> Decision | None:
        asks = self._peek(panel)
        if asks is None or asks.now in (MIXED, default.now):
            return None
        why = "it names no source, so it asks its panel's"
        if plugin is None:
            return Decision(kind, Outcome.KEPT, None, why, plugin=asks.plugin)
        if plugin != asks.plugin:
            return None
        return Decision(kind, Outcome.RESOLVED, asks.now or named_by(panel["datasource"]), why, plugin=plugin)

    def _peek(self, holder: Any) -> Decision | None:
        """Decide what a panel or target names, without changing it; None where that leads nowhere."""
        reference = holder.get("datasource") if isinstance(holder, dict) else None
        named = named_by(reference)
        if named is None:
            return None
        decision = self._judge.text(named, self.plugin_of(reference, holder))
        return decision if decision.outcome in _NAMED else None

    def _is_builtin_entry(self, holder: Mapping[str, Any], keys: Sequence[Key]) -> bool:
        if holder.get("builtIn"):
            return True
        # In v2 the mark stands beside the query that holds the reference.
        if not self.is_v2 or "annotations" not in keys:
            return False
        entry = self._at(keys[:-2])
        return isinstance(entry, dict) and bool(entry.get("builtIn"))

    def _at(self, keys: Sequence[Key]) -> Any:
        found: Any = self._root
        for key in keys:
            found = found[key]
        return found


def naming_key(reference: Mapping[str, Any], *, name_first: bool = False) -> str | None:
    """Return the key of a reference in object form that names the source: `uid`, else `name`; None if neither."""
    for key in ("name", "uid") if name_first else ("uid", "name"):
        if reference.get(key) is not None:
            return key
    return None


def named_by(reference: Any) -> str | None:
    """Return the text that names a source in a reference of any form, or None."""
    if isinstance(reference, dict):
        key = naming_key(reference)
        reference = None if key is None else reference[key]
    return reference if isinstance(reference, str) else None
