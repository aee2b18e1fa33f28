"""Dark panels that somebody has accepted, each with the reason: the file of `verify --expect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ..adapters.sources import read_bytes
from ..errors import DocumentError, UsageError
from ..health.verdict import ORDER, BoardVerdict, PanelVerdict
from .explain import known_cause

KEYS = ("dashboard", "panel", "cause", "reason")
FORM = "a YAML file: a list of entries such as {dashboard: TITLE, panel: TITLE, cause: KVO-506, reason: WHY}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """One entry: panels that may be dark."""

    dashboard: str
    """UID or title of the dashboards, or a pattern of either with `*`, `?` and `[…]`."""
    panel: str
    """Title or id of the panels, or a pattern of the title."""
    cause: str | None = None
    """The one cause that is accepted; None: any."""
    reason: str
    where: str = ""
    """File and number of the entry, for messages."""


def load_expectations(path: str) -> tuple[Expectation, ...]:
    """Read the file; raise UsageError where it cannot be read or is not what it should be."""
    try:
        text = read_bytes(path).decode()
    except DocumentError as error:
        raise UsageError(f"--expect: {error}", hint=error.hint or FORM) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--expect {path} is not UTF-8 text: offset {error.start}", hint=FORM) from error
    return parse_expectations(text, where=path)


def parse_expectations(text: str, *, where: str) -> tuple[Expectation, ...]:
    """Return the entries of a YAML text; *where* names it in errors.

    Raise UsageError with the place: line and column where it is no YAML, else the number of the entry.

    >>> parse_expectations("[{dashboard: a, panel: 7, reason: no GPU}]", where="e.yaml")[0].panel
    '7'
    """
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{where}{place}: this is not YAML: {error.problem or error.context}", hint=FORM) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{where}: this is not YAML", hint=FORM) from error
    if document is None:
        return ()
    if not isinstance(document, list):
        raise UsageError(f"{where}: this is no list", hint=FORM)
    return tuple(_entry(each, f"{where}, entry {number}") for number, each in enumerate(document, 1))


def _entry(entry: Any, where: str) -> Expectation:
    if not isinstance(entry, Mapping):
        raise UsageError(f"{where}: this is no map", hint=FORM)
    unknown = [str(key) for key in entry if key not in KEYS]
    if unknown:
        raise UsageError(f"{where}: there is no {', '.join(unknown)}", hint=f"an entry has {', '.join(KEYS)}")
    texts = {key: _text(entry, key, where) for key in KEYS if key != "cause" or entry.get(key) is not None}
    if "cause" in texts:
        try:
            texts["cause"] = known_cause(texts["cause"])
        except UsageError as error:
            raise UsageError(f"{where}, cause: {error}", hint=error.hint) from error
    return Expectation(**texts, where=where)


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if type(value) is int:
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: {key} is not a text" if key in entry else f"{where}: {key} is missing", hint=FORM)
    return value.strip()


def accepted(
    boards: Sequence[BoardVerdict], expectations: Sequence[Expectation]
) -> tuple[tuple[BoardVerdict, ...], tuple[str, ...]]:
    """Return the boards with each dark panel that is expected marked so, and a sentence for each idle entry.

    Where several entries fit a panel, the reason of the first holds, and none of them is idle.
    """
    met: set[int] = set()

    def judged(board: BoardVerdict, panel: PanelVerdict) -> PanelVerdict:
        fitting = [number for number, each in enumerate(expectations) if _fits(each, board, panel)]
        met.update(fitting)
        return replace(panel, accepted=expectations[fitting[0]].reason) if fitting else panel

    marked = tuple(replace(board, panels=tuple(judged(board, each) for each in board.panels)) for board in boards)
    idle = (each for number, each in enumerate(expectations) if number not in met)
    return marked, tuple(_idle(each, boards) for each in idle)


def _fits(expected: Expectation, board: BoardVerdict, panel: PanelVerdict) -> bool:
    if panel.state not in ORDER or not (_is_board(expected, board) and _is_panel(expected, panel)):
        return False
    return expected.cause is None or (panel.finding is not None and panel.finding.cause == expected.cause)


def _is_board(expected: Expectation, board: BoardVerdict) -> bool:
    return any(_named(expected.dashboard, each) for each in (board.uid, board.title))


def _is_panel(expected: Expectation, panel: PanelVerdict) -> bool:
    return expected.panel == str(panel.id) or _named(expected.panel, panel.title)


def _named(wanted: str, name: str | None) -> bool:
    """Whether a name is the one that is wanted, as it stands (it may hold brackets) or as a pattern."""
    return name is not None and (wanted == name.strip() or fnmatchcase(name, wanted))


def _idle(expected: Expectation, boards: Sequence[BoardVerdict]) -> str:
    """Say why nothing answers to an entry."""
    known = [each for each in boards if _is_board(expected, each)]
    if not known:
        return f"{expected.where}: no dashboard has the uid or title {expected.dashboard!r}"
    panels = [panel for board in known for panel in board.panels if _is_panel(expected, panel)]
    if not panels:
        return f"{expected.where}: no panel of {expected.dashboard!r} has the title or id {expected.panel!r}"
    dark = [each for each in panels if each.state in ORDER]
    if not dark:
        state = "lit" if any(each.state == "lit" for each in panels) else "not checked"
        return f"{expected.where}: {expected.panel!r} is {state}; the entry can go"
    causes = sorted({each.finding.cause for each in dark if each.finding is not None})
    return (
        f"{expected.where}: {expected.panel!r} is dark by {' and '.join(causes) or 'no cause'}, not by {expected.cause}"
    )
