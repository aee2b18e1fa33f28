"""Library panels: exported beside the dashboard (`__elements`), and never created by a file or a sidecar.

Grafana then says "Unable to load library panel", so each stub gets the panel that it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .document import MAX_DEPTH, too_deep

# What the place decides and not the library: its number on the dashboard and where it stands.
_OF_THE_STUB = frozenset({"id", "gridPos", "libraryPanel"})


def inlined(dashboard: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the dashboard with its library panels in place and without `__elements`, and what was amiss.

    A stub keeps its `id`, its `gridPos` and whatever its model does not say. A stub whose model is not in the
    file stays as it is, with a warning. Untouched parts are shared with the input.
    """
    inliner = _Inliner(dashboard.get("__elements"))
    changed = inliner.inlined(dashboard)
    if "__elements" not in dashboard and all(dashboard[key] is value for key, value in changed.items()):
        return dashboard, inliner.warnings
    new = {**dashboard, **changed}
    new.pop("__elements", None)
    return new, inliner.warnings


def missing_models(dashboard: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the uids of the library panels whose models are not in the document, each once.

    >>> missing_models({"panels": [{"libraryPanel": {"uid": "a"}}, {"libraryPanel": {"uid": "b"}}],
    ...     "__elements": {"b": {"model": {}}}})
    ('a',)
    """
    inliner = _Inliner(dashboard.get("__elements"))
    inliner.inlined(dashboard)
    return tuple(dict.fromkeys(inliner.missing))


class _Inliner:
    def __init__(self, elements: Any) -> None:
        self.warnings: list[str] = []
        self.missing: list[str] = []
        self._models: dict[str, dict[str, Any]] = {}
        # An object by uid since Grafana 9, a list before.
        listed = enumerate(elements) if isinstance(elements, list) else ()
        for key, element in elements.items() if isinstance(elements, dict) else listed:
            if isinstance(element, dict) and isinstance(element.get("model"), dict):
                self._models[str(element.get("uid", key))] = element["model"]

    def inlined(self, dashboard: Mapping[str, Any]) -> dict[str, Any]:
        """Return what holds the dashboard's panels, with the models in place."""
        changed: dict[str, Any] = {}
        if isinstance(dashboard.get("panels"), list):
            changed["panels"] = self.panels(dashboard["panels"], 1)
        if isinstance(dashboard.get("rows"), list):
            changed["rows"] = self.rows(dashboard["rows"])
        return changed

    def rows(self, rows: list[Any]) -> list[Any]:
        new = [
            self._with_panels(row, 3) if isinstance(row, dict) and isinstance(row.get("panels"), list) else row
            for row in rows
        ]
        return rows if all(a is b for a, b in zip(rows, new, strict=True)) else new

    def panels(self, panels: list[Any], depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise too_deep(("panels",))
        new = [self._panel(panel, depth) if isinstance(panel, dict) else panel for panel in panels]
        return panels if all(a is b for a, b in zip(panels, new, strict=True)) else new

    def _with_panels(self, holder: dict[str, Any], depth: int) -> dict[str, Any]:
        panels = self.panels(holder["panels"], depth)
        return holder if panels is holder["panels"] else {**holder, "panels": panels}

    def _panel(self, panel: dict[str, Any], depth: int) -> dict[str, Any]:
        if isinstance(panel.get("panels"), list):
            return self._with_panels(panel, depth + 2)
        library = panel.get("libraryPanel")
        if not isinstance(library, Mapping):
            return panel
        model = self._models.get(str(library.get("uid")))
        if model is None:
            name = library.get("name") or library.get("uid")
            title = panel.get("title") or panel.get("id")
            if isinstance(library.get("uid"), str):
                self.missing.append(library["uid"])
            self.warnings.append(
                f"panel {title!r} is the library panel {name!r}, which is not in this file; "
                "it loads only where that library panel exists"
            )
            return panel
        stub = {key: value for key, value in panel.items() if key != "libraryPanel"}
        return {**stub, **{key: value for key, value in model.items() if key not in _OF_THE_STUB}}
