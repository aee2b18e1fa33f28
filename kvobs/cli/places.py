"""Places that a command is told to write to: one where nothing can be written is refused before anything is asked."""

from __future__ import annotations

import os

from ..errors import UsageError
from .options import expanded


def file_to_write(path: str | None, option: str) -> str | None:
    """Return the path of a file that *option* names; raise UsageError where there can be none.

    What can be told only by trying, that a disk is full, say, is not told here.
    """
    from ..adapters.sources import not_a_file_to_write

    place = expanded(path)
    if place is None:
        return None
    why = not_a_file_to_write(place) if place else "it is no name"
    if why is not None:
        raise UsageError(f"{option} {path}: no file can be there: {why}", hint="name a file that you may write")
    return place


def folder_to_write(path: str | None, option: str) -> str | None:
    """Return the path of a folder that *option* names, which need not be there; raise UsageError as `file_to_write`."""
    from ..adapters.sources import not_a_folder_to_write

    place = expanded(path)
    if place is None:
        return None
    why = not_a_folder_to_write(place)
    if why is not None:
        raise UsageError(f"{option} {path}: no file can be there: {why}", hint="name a folder that you may write to")
    return place


def report_to_write(path: str | None, option: str) -> str | None:
    """Return the path of a report beside that on stdout, as `file_to_write`; no folder is made for it."""
    if path == "-":
        raise UsageError(f"{option} - names no file", hint=f"stdout has the other report: {option} panels.html")
    folder = os.path.dirname(expanded(path) or "") or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{option} {path}: no file can be there: {folder} is no folder", hint="make the folder first")
    return file_to_write(path, option)
