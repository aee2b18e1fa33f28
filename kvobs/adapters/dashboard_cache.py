"""The dashboards that were downloaded before, kept by their content, and the checksums pinned at first download.

`files/SHA256.json` holds the bytes of that checksum, `pins/NAME.json` what an origin gave when it was first asked.
What is read is checked again: a file that was changed counts as absent. Two runs may use one cache at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..dashboard.jsontext import read_json
from ..errors import ActionError, DocumentError
from .sources import write_atomic

MAX_BYTES = 10 * 1024 * 1024
"""The largest dashboard that is downloaded, in bytes, unpacked: ten times what a ConfigMap holds."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """What an origin gave at its first download."""

    key: str
    sha256: str
    revision: str | None
    """The revision on Grafana.com, where the newest one was asked for."""
    at: str
    """When, in UTC."""


def pin_now(key: str, content: bytes, *, revision: str | None = None) -> Pin:
    """Return the pin for *content* that an origin has just given."""
    return Pin(key=key, sha256=sha256_of(content), revision=revision, at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")


def sha256_of(content: bytes) -> str:
    """Return the checksum of *content*, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def cache_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Return where this user's cache is: below `$XDG_CACHE_HOME`, else `~/.cache`."""
    environment = os.environ if environment is None else environment
    given = environment.get("XDG_CACHE_HOME", "")
    # The specification: a relative path there is invalid and ignored.
    base = Path(given) if os.path.isabs(given) else Path(environment.get("HOME") or Path.home(), ".cache")
    return base / "kvobs" / "dashboards"


class DashboardCache:
    """One folder; it need not be there, and a cache that cannot be written only costs a download."""

    def __init__(self, directory: Path | None = None) -> None:
        """Read and write below *directory*, else below the user's own."""
        self.directory = cache_directory() if directory is None else directory

    def content(self, sha256: str) -> bytes | None:
        """Return the bytes of that checksum, or None where they are not there, or no longer what they were."""
        if not _SHA256.fullmatch(sha256):
            return None
        content = _regular_file(self.directory / "files" / f"{sha256}.json")
        return content if content is not None and sha256_of(content) == sha256 else None

    def pin(self, key: str) -> Pin | None:
        """Return what was pinned for an origin; None where nothing was, or it cannot be read."""
        content = _regular_file(self._pin_path(key))
        try:
            document: Any = None if content is None else read_json(content).document
        except DocumentError:
            return None
        if not isinstance(document, dict) or document.get("version") != _VERSION or document.get("key") != key:
            return None
        sha256, revision, at = (document.get(name) for name in ("sha256", "revision", "at"))
        if not (isinstance(sha256, str) and _SHA256.fullmatch(sha256) and isinstance(at, str)):
            return None
        return Pin(key=key, sha256=sha256, revision=revision if isinstance(revision, str) else None, at=at)

    def keep(self, content: bytes, pin: Pin | None) -> None:
        """Keep *content* and, where there is one, the pin of its origin. Raise ActionError where that fails."""
        self._write(self.directory / "files" / f"{sha256_of(content)}.json", content)
        if pin is not None:
            text = json.dumps({"version": _VERSION, **asdict(pin)}, indent=2) + "\n"
            self._write(self._pin_path(pin.key), text.encode())

    def _pin_path(self, key: str) -> Path:
        return self.directory / "pins" / f"{sha256_of(key.encode('utf-8', 'surrogatepass'))}.json"

    def _write(self, path: Path, content: bytes) -> None:
        try:
            # For this user only: a pin is believed at the next run.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not stat.S_ISREG(_mode(path)):
                # A link would be written through, to wherever it leads.
                raise ActionError(f"{path} is no regular file", hint=f"delete it, or the cache: rm -r {self.directory}")
        except OSError as error:
            raise ActionError(f"{path} cannot be written: {error.strerror}") from error
        write_atomic(str(path), content)


def _mode(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return os.lstat(path).st_mode
    return stat.S_IFREG


def _regular_file(path: Path) -> bytes | None:
    """Return the bytes of a file that is one: no link, no pipe, no device, and of a size that a download has."""
    try:
        # Without NONBLOCK, opening a pipe waits for somebody to write into it.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            content = stream.read(MAX_BYTES + 1)
    except OSError:
        return None  # Absent, unreadable or a link: what is not in the cache is downloaded.
    return content if len(content) <= MAX_BYTES else None
