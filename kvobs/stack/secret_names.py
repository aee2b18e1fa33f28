"""Which names hold a secret: what stands below them is on no command line, and in nothing that is repeated."""

from __future__ import annotations

import re

_SECRET = re.compile(r"pass|pwd|secret|token|credential|auth|private|apikey|api[_-]key|\bkey\b|dsn|cookie", re.I)
# Names whose values name a secret (a Secret, a key in it, a file) without being one.
_NAMES_ONE = re.compile(r"^existing|(?:Key|Name|File|Ref)$")


def names_a_secret(name: str) -> bool:
    """Whether the value of that *name* is one to hide.

    >>> [names_a_secret(name) for name in ("adminPassword", "passwordKey", "existingSecret", "replicas")]
    [True, False, False, False]
    """
    return bool(_SECRET.search(name)) and not _NAMES_ONE.search(name)
