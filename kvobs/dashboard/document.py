"""The shapes that a dashboard document comes in, and what stands in it.

Dashboards reach us as Grafana's classic model (with `panels`, or with the `rows` of before 2017), as schema
v2 (`elements` and `layout`), as an answer of Grafana's HTTP API (`{"dashboard": …, "meta": …}`) and as a
Kubernetes-like resource around either (`apiVersion`, `kind`, `metadata`, `spec`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..errors import DocumentError
from .references import Key

MAX_DEPTH = 100
"""How many levels of objects and lists a document may have; real dashboards stay below 30."""

_CLASSIC_MARKS = ("panels", "rows", "schemaVersion", "templating", "__inputs")

_NOT_A_DASHBOARD_HINT = (
    "a dashboard is a JSON object with panels, rows or (schema v2) elements; in Grafana: Share, Export, Save to file"
)


class Shape(StrEnum):
    """How a dashboard is written down, once unwrapped."""

    CLASSIC = "classic"
    OLD_ROWS = "rows"
    V2 = "v2"


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A dashboard without the paper it came in.

    `document` is what gets loaded: the classic model itself; for v2 the resource as it was. `at` is the way
    from there to the dashboard's own keys.
    """

    document: dict[str, Any]
    at: tuple[str, ...]
    shape: Shape
    wrapping: tuple[str, ...]
    """What was taken off, outermost first, in words."""

    @property
    def dashboard(self) -> dict[str, Any]:
        """The object that holds the dashboard's own keys."""
        found: Any = self.document
        for key in self.at:
            found = found[key]
        assert isinstance(found, dict)
        return found


def unwrapped(document: Any) -> Unwrapped:
    """Recognise a document and take off what is not the dashboard; the input is not changed.

    A classic dashboard in a resource is named by `metadata.name`: it becomes the `uid` where the model has
    none. Raise DocumentError for anything that is no dashboard.
    """
    wrapping: list[str] = []
    uid: str | None = None
    while True:
        if not isinstance(document, dict):
            raise DocumentError(f"not a dashboard: the document is {in_words(document)}", hint=_NOT_A_DASHBOARD_HINT)
        if isinstance(document.get("dashboard"), dict) and "panels" not in document:
            wrapping.append("an answer of Grafana's HTTP API")
            document = document["dashboard"]
            continue
        if "apiVersion" not in document:
            break
        spec = document.get("spec")
        if not isinstance(spec, dict) or not (_is_v2(spec) or _is_classic(spec)):
            raise _foreign_resource(document)
        if _is_v2(spec):
            return Unwrapped(document, ("spec",), Shape.V2, tuple(wrapping))
        wrapping.append(f"a resource of {document['apiVersion']}")
        metadata = document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        uid = name if isinstance(name, str) else uid
        document = spec
    if _is_v2(document):
        return Unwrapped(document, (), Shape.V2, tuple(wrapping))
    if not _is_classic(document):
        raise DocumentError(_missing(document), hint=_NOT_A_DASHBOARD_HINT)
    if uid and not document.get("uid"):
        document = {**document, "uid": uid}
    shape = Shape.OLD_ROWS if isinstance(document.get("rows"), list) and "panels" not in document else Shape.CLASSIC
    return Unwrapped(document, (), shape, tuple(wrapping))


def panels_of(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every panel of a dashboard of the classic schema, in reading order.

    Children of collapsed rows and the panels of old rows are panels too. Nesting deeper than `MAX_DEPTH` is an
    error of whoever walks the document first.
    """
    rows = dashboard.get("rows")
    lists = [row.get("panels") for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict)]
    stack: list[Any] = []
    for panels in (dashboard.get("panels"), *lists):
        stack.extend(reversed(panels) if isinstance(panels, list) else ())
        while stack:
            panel = stack.pop()
            if not isinstance(panel, dict):
                continue
            yield panel
            inner = panel.get("panels")
            if isinstance(inner, list):
                stack.extend(reversed(inner))


def too_deep(keys: tuple[Key, ...]) -> DocumentError:
    """Return the error for a document that nests without end."""
    start = ".".join(map(str, keys[:4]))
    return DocumentError(
        f"nested deeper than {MAX_DEPTH} levels, below {start}",
        hint="no dashboard needs that; the file is damaged or was made to do harm",
    )


def title_of(dashboard: Mapping[str, Any]) -> str:
    """Return the dashboard's title, or "" where it has none; Grafana's loader refuses it then."""
    title = dashboard.get("title")
    return title.strip() if isinstance(title, str) else ""


def _is_v2(dashboard: Mapping[str, Any]) -> bool:
    return isinstance(dashboard.get("elements"), dict) and "panels" not in dashboard


def _is_classic(dashboard: Mapping[str, Any]) -> bool:
    return any(mark in dashboard for mark in _CLASSIC_MARKS)


def in_words(value: Any) -> str:
    """Name the type of a JSON value as a reader of JSON would."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}.get(
        type(value), f"a Python {type(value).__name__}"
    )


def _missing(document: Mapping[str, Any]) -> str:
    if not document:
        return "not a dashboard: the document is an empty object"
    keys = ", ".join(map(str, list(document)[:5])) + (", …" if len(document) > 5 else "")
    return f"not a dashboard: no panels, rows or elements among its keys ({keys})"


def _foreign_resource(document: Mapping[str, Any]) -> DocumentError:
    kind = f"{document.get('kind', 'no kind')} ({document['apiVersion']})"
    if document.get("kind") in ("ConfigMap", "GrafanaDashboard"):
        return DocumentError(
            f"{kind} holds its dashboard as text, not as JSON",
            hint="give the dashboard itself: the text under data or under spec.json, as a file",
        )
    return DocumentError(f"{kind} holds no dashboard in its spec", hint=_NOT_A_DASHBOARD_HINT)
