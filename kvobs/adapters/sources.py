"""Files, folders and standard input: what is read, and what is written without ever being half there."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ActionError, DocumentError, KvobsError, UsageError
from ..stack.values_files import read_values as parse_values

STDIN = "-"

MAX_BYTES = 1024 * 1024 * 1024
"""The largest input that is read, in bytes; a guard against devices and mistakes."""


def found(source: str) -> list[str]:
    """Return the documents that a source names: itself, or the `.json` files under a folder, sorted."""
    path = Path(source)
    if source == STDIN or not path.is_dir():
        return [source]
    try:
        files = sorted(str(each) for each in path.rglob("*.json") if each.is_file())
    except OSError as error:
        raise DocumentError(f"{source} cannot be listed: {error.strerror}") from error
    if not files:
        raise DocumentError(f"no .json file under {source}")
    return files


def from_anywhere(place: str) -> str:
    """Return a file or folder by its absolute path, so that a later run finds it; anything else as it is."""
    return os.path.abspath(place) if os.path.exists(place) else place


def read_bytes(source: str) -> bytes:
    """Return the content of a file, or of standard input for `-`."""
    if source == STDIN:
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        try:
            with open(source, "rb") as stream:
                content = stream.read(MAX_BYTES + 1)
        except FileNotFoundError as error:
            raise DocumentError(f"{source} does not exist") from error
        except OSError as error:
            raise DocumentError(f"{source} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise DocumentError(f"{source!r} is no path: {error}") from error
    if len(content) > MAX_BYTES:
        raise DocumentError(f"{source} has more than {MAX_BYTES:,} bytes")
    return content


def read_files(source: str) -> Iterator[tuple[str, bytes | KvobsError]]:
    """Yield the content of each document that a source names with its place, or the error in its stead."""
    try:
        places = found(source)
    except KvobsError as error:
        yield source, error
        return
    for place in places:
        try:
            yield place, read_bytes(place)
        except KvobsError as error:
            yield place, error


def read_values(path: str) -> dict[str, Any]:
    """Return a Helm values file (`-` is standard input) as Helm reads it; raise UsageError for no such."""
    try:
        text = read_bytes(path).decode()
    except DocumentError as error:
        raise UsageError(f"--values: {error}", hint=error.hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--values {path} is not UTF-8 text: offset {error.start}") from error
    return parse_values(text, where=path)


def not_a_file_to_write(path: str) -> str | None:
    """Return why `write_atomic` can write no file there, as far as that is plain before it is tried; else None.

    Nothing is made by asking: that a disk is full, say, is told by trying alone.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except OSError as error:
        return str(error.strerror)
    if stat.S_ISDIR(mode):
        return "it is a folder"
    if not stat.S_ISREG(mode):  # a device or a pipe is written to as it is, whatever its folder
        return None if os.access(path, os.W_OK) else "you may not write to it"
    return not_a_folder_to_write(os.path.dirname(os.path.realpath(path)))


def not_a_folder_to_write(directory: str) -> str | None:
    """Return why no file can be written into a folder, or the folder not be made; None where nothing plain is."""
    nearest = os.path.realpath(directory)
    while not os.path.lexists(nearest) and nearest != os.path.dirname(nearest):
        nearest = os.path.dirname(nearest)
    if not os.path.isdir(nearest):
        return f"{nearest} is no folder"
    return None if os.access(nearest, os.W_OK | os.X_OK) else f"you may not write to folder {nearest}"


def write_files(directory: str, files: Mapping[str, bytes]) -> list[str]:
    """Write files into a folder, which is made if missing, each atomically; return their paths.

    A name may have folders in it, but leads nowhere else; raise ActionError, before anything is written, for one
    that does.
    """
    paths = {inside(directory, name): content for name, content in files.items()}
    for path, content in paths.items():
        write_atomic(path, content)
    return list(paths)


def write_new(directory: str, name: str, content: bytes) -> str:
    """Write a file into a folder unless it is there already; return its path.

    Raise ActionError where something else stands there: what somebody changed is not lost.
    """
    path = inside(directory, name)
    if os.path.lexists(path):
        try:
            same = read_bytes(path) == content
        except DocumentError:
            same = False
        if not same:
            raise ActionError(f"{path} is there with other content", hint="move it away, or name another folder")
    else:
        write_atomic(path, content)
    return path


def inside(directory: str, name: str) -> str:
    """Return the path of *name* in a folder; raise ActionError for a name that leads out of it, or is none.

    >>> inside("out", "a/b.json")
    'out/a/b.json'
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") or not part.isprintable() or len(os.fsencode(part)) > 255 for part in parts):
        raise ActionError(f"{name[:80]!r} cannot be the name of a file", hint="rename the object that it is made from")
    return os.path.join(directory, name)


def write_atomic(path: str, content: bytes) -> None:
    """Write a file so that whoever reads it finds the old content or the new, and never a part.

    An existing file keeps its mode, and a symbolic link stays one. A device or a pipe is written to as it is. Folders
    are made. Raise ActionError.
    """
    target = Path(os.path.realpath(path))
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            Path(path).write_bytes(content)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, content, _mode_for(target))
    except OSError as error:
        raise ActionError(f"{path} cannot be written: {error.strerror}") from error


def _replace(target: Path, content: bytes, mode: int) -> None:
    # In the same folder: only within one file system is a rename one step.
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    # The rename itself is safe on disk only once its folder is.
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _mode_for(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
