"""A folder that kvobs keeps among the files of others: which are its own, and away with what is not wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..errors import ActionError


def marked_files(directory: str, mark: str, *, ending: str) -> dict[str, bool]:
    """Return each name in *directory* that ends so, and whether it is a file whose first line is *mark*.

    A folder that is missing has none; a symbolic link, and what is no file, is never ours. Raises ActionError.
    """
    try:
        with os.scandir(directory) as entries:
            found = sorted((entry for entry in entries if entry.name.endswith(ending)), key=lambda entry: entry.name)
            return {entry.name: entry.is_file(follow_symlinks=False) and _begins(entry.path, mark) for entry in found}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ActionError(
            f"{directory} cannot be read: {error.strerror}",
            hint="name a folder that may be read and written with --dir",
        ) from error


def delete_files(directory: str, names: Iterable[str]) -> list[str]:
    """Delete files of a folder; return the paths of those that were there. Raises ActionError."""
    gone = []
    for path in (os.path.join(directory, name) for name in names):
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ActionError(f"{path} cannot be deleted: {error.strerror}") from error
        gone.append(path)
    return gone


def _begins(path: str, mark: str) -> bool:
    with open(path, "rb") as stream:
        return stream.read(len(mark.encode()) + 1) == f"{mark}\n".encode()
