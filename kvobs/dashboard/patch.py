"""The patch: a dashboard in, the same dashboard out with every data source reference leading somewhere.

What a name means is decided from the dashboard's own declarations (`__inputs` with their `pluginId`, template
variables), never from its spelling: `${DS_PROMETHEUS}` is an unfilled hole in one file and a working
variable in the next. `decisions.py` holds the table of what happens to each class of reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .currents import pinned
from .datasources import BUILTIN_TYPES, Datasource, Sources
from .decisions import Judge
from .declarations import Declarations, declarations_of, variable_in
from .document import Shape, title_of, unwrapped
from .elements import inlined
from .references import Key, Kind, Outcome, Reference
from .rewrite import Only, Rewriter
from .suspicions import suspicions

__all__ = ["Datasource", "Kind", "Outcome", "PatchedDashboard", "Reference", "patch_dashboard"]

_V2_REFUSED = (
    "it is written in schema v2, which Grafana's file provisioning and its dashboard sidecar refuse; "
    "load it through the API (dashboard.grafana.app), or export it in the classic schema"
)
_NO_TITLE = "it has no title, and Grafana loads no dashboard without one"


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchedDashboard:
    """A patched dashboard, and the account of the patch."""

    document: dict[str, Any]
    """What gets loaded, without wrapper; parts that did not change are shared with the input."""
    references: tuple[Reference, ...]
    """Every reference that was looked at, in the order of the document."""
    shape: Shape = Shape.CLASSIC
    wrapping: tuple[str, ...] = ()
    """What was taken off the dashboard, in words."""
    not_loadable_because: str = ""
    """Why Grafana's sidecar would not load it; "" where it would."""
    met: tuple[str, ...] = field(default=(), repr=False)
    """The part of `warnings` that the patch itself came across."""
    sources: Sources = field(default_factory=Sources, repr=False, compare=False)
    """What the patch was told."""

    @property
    def loadable(self) -> bool:
        """Whether Grafana's dashboard sidecar loads the document."""
        return not self.not_loadable_because

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know, one sentence each; looked for when it is asked for."""
        return (*self.met, *suspicions(self.document, self.sources))

    @property
    def unresolved(self) -> tuple[Reference, ...]:
        """The references that lead nowhere: nothing was given for them."""
        return tuple(each for each in self.references if each.outcome is Outcome.UNRESOLVED)


def patch_dashboard(
    document: Any,
    *,
    datasources: Mapping[str, str | Datasource] | None = None,
    inputs: Mapping[str, str | Datasource] | None = None,
    known: Iterable[Mapping[str, Any]] | None = None,
    remap_foreign: bool = False,
) -> PatchedDashboard:
    """Return a dashboard with its data source references resolved; the input is never changed.

    `datasources` gives the source to use for each type (plugin id -> UID, or `Datasource(uid, name)`),
    `inputs` the value of single inputs by name: the UID of a source, the text of a constant, or the source
    that a variable of that name starts with. `known` lists what the Grafana holds (`uid`, `name`, `type`,
    `default`); without it a literal UID counts as neither good nor bad. `remap_foreign` points literal UIDs
    that this Grafana lacks to the given source of their type.

    Everything that is not a reference comes back equal and in order. `__inputs`, `__requires` and
    `__elements` go, `id` becomes null; only the declarations of inputs that nothing was given for stay, so
    that a second patch can resolve them. Patching the result again with the same arguments changes nothing.

    Raise DocumentError for what is no dashboard, and UsageError for a UID that no Grafana can have.

    >>> exported = {
    ...     "__inputs": [{"name": "DS_X", "type": "datasource", "pluginId": "prometheus"}],
    ...     "title": "GPUs",
    ...     "panels": [{"type": "stat", "datasource": {"type": "prometheus", "uid": "${DS_X}"}}],
    ... }
    >>> patched = patch_dashboard(exported, datasources={"prometheus": "main"})
    >>> patched.document
    {'title': 'GPUs', 'panels': [{'type': 'stat', 'datasource': {'type': 'prometheus', 'uid': 'main'}}]}
    >>> patched.references[0].path, patched.references[0].why
    ('$.panels[0].datasource.uid', 'input DS_X is of type prometheus')
    """
    sources = Sources(datasources=datasources, inputs=inputs, known=known, remap_foreign=remap_foreign)
    return patch(document, sources)


def patch(document: Any, sources: Sources, *, only: Only | None = None) -> PatchedDashboard:
    """Patch a dashboard as `patch_dashboard` does; with `only`, just the references that it selects."""
    found = unwrapped(document)
    dashboard, warnings = inlined(found.dashboard)
    declared = declarations_of(dashboard)
    judge = Judge(declared, sources, lambda: _types_in_use(dashboard, declared))
    root = _placed(found.document, found.at, dashboard)
    rewriter = Rewriter(root, judge, is_v2=found.shape is Shape.V2, only=only)
    new = _rewritten(dashboard, found.at, sources, rewriter)
    because = _V2_REFUSED if found.shape is Shape.V2 else "" if title_of(new) else _NO_TITLE
    return PatchedDashboard(
        document=_placed(found.document, found.at, new),
        references=tuple(rewriter.references),
        met=(*warnings, *rewriter.warnings),
        sources=sources,
        shape=found.shape,
        wrapping=found.wrapping,
        not_loadable_because=because,
    )


def _rewritten(dashboard: dict[str, Any], at: tuple[Key, ...], sources: Sources, rewriter: Rewriter) -> dict[str, Any]:
    """Return the dashboard's own object, rewritten, without what only Grafana's import form reads."""

    def variables(entries: Any, keys: tuple[Key, ...]) -> Any:
        if not isinstance(entries, list):
            return rewriter.rewritten(entries, keys)
        new = [variable(entry, (*keys, index)) for index, entry in enumerate(entries)]
        return entries if all(a is b for a, b in zip(entries, new, strict=True)) else new

    def variable(entry: Any, keys: tuple[Key, ...]) -> Any:
        declared = variable_in(entry) if isinstance(entry, dict) else None
        if declared is None:
            return rewriter.rewritten(entry, keys)
        first = len(rewriter.references)
        new: dict[str, Any] = rewriter.rewritten(entry, keys, own=declared.name)
        return pinned(declared, entry, new, keys, sources, rewriter, first) if declared.is_datasource else new

    new: dict[str, Any] = {}
    for key, value in dashboard.items():
        if key == "variables":
            new[key] = variables(value, (*at, key))
        elif key == "templating" and isinstance(value, dict):
            parts = {
                inner: variables(part, (*at, key, inner))
                if inner == "list"
                else rewriter.rewritten(part, (*at, key, inner))
                for inner, part in value.items()
            }
            new[key] = value if all(parts[inner] is part for inner, part in value.items()) else parts
        elif key == "datasource":
            new |= rewriter.rewritten({key: value}, at)
        elif key not in ("__inputs", "__requires"):
            new[key] = rewriter.rewritten(value, (*at, key))
    if new.get("id") is not None:
        new["id"] = None
    # What nothing was given for keeps its declaration: a later patch can resolve it then.
    inputs = dashboard["__inputs"] if isinstance(dashboard.get("__inputs"), list) else []
    kept = [entry for entry in inputs if _name_of(entry) in rewriter.left]
    if kept:
        new["__inputs"] = inputs if len(kept) == len(inputs) else kept
        new = {key: new[key] for key in dashboard if key in new}
    unchanged = len(new) == len(dashboard) and all(new[key] is value for key, value in dashboard.items())
    return dashboard if unchanged else new


def _name_of(entry: Any) -> str | None:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _placed(document: dict[str, Any], at: tuple[str, ...], dashboard: dict[str, Any]) -> dict[str, Any]:
    """Return the document with another dashboard in its place."""
    if not at:
        return dashboard
    old = document[at[0]]
    new = _placed(old, at[1:], dashboard)
    return document if new is old else {**document, at[0]: new}


def _types_in_use(dashboard: dict[str, Any], declared: Declarations) -> frozenset[str]:
    """Return the plugin ids that the dashboard names, Grafana's own aside."""
    found = {variable.plugin for variable in declared.variables.values() if variable.plugin is not None}
    stack: list[Any] = [value for key, value in dashboard.items() if key not in ("__inputs", "__requires")]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            reference = value.get("datasource")
            if isinstance(reference, dict):
                found.update(each for each in (reference.get("type"), value.get("group")) if isinstance(each, str))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return frozenset(found - BUILTIN_TYPES)
