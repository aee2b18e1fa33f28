"""Pieces of text that several reports share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..stack.notes import Note
from ..use_cases.access import Access


def here(elsewhere: Sequence[str]) -> str:
    """Where an install is, in words: in *elsewhere*, the namespaces that hold one, or nowhere."""
    return f"there, but in namespace {' and '.join(elsewhere)}" if elsewhere else "on this cluster"


def access(access: Access | None) -> list[str]:
    """How to open Grafana; no line without one."""
    if access is None:
        return []
    lines = ["To open Grafana", f"  {access.port_forward}"]
    if access.password:
        lines += [f"  # user by: {access.user_command}"] if access.user_command else []
        lines.append(f"  # {f'user {access.user}, ' if access.user else ''}password by: {access.password}")
    return [
        *lines,
        *(f"  {line}" for line in table([(url, title) for title, url in access.links], indent=0)),
    ]


def notes(notes: Sequence[Note]) -> list[str]:
    """Each note on a line of its own."""
    return ["Notes", *(f"  - {note.text}" for note in notes)] if notes else []


def plain(text: str) -> str:
    r"""Return a text of somebody else's in one line, so that no character of it moves the cursor or turns the line.

    >>> plain("a\n b\x1b[2J\u202ec")
    'a b?[2J?c'
    """
    return "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))


def table(rows: Sequence[Sequence[str]], *, indent: int = 2) -> list[str]:
    """Align columns; the last one is as wide as it is."""
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = [max((len(row[i]) for row in rows if len(row) > i + 1), default=0) for i in range(columns)]
    return [(" " * indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row))).rstrip() for row in rows]


def joined(*blocks: Iterable[str]) -> str:
    """Blocks of lines with an empty line between those that hold any."""
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block)
