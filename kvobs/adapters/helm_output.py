"""What Helm said, made fit to be repeated: its last lines, without secrets and without values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..stack.secret_names import secret_texts

LINES = 8
"""How many of Helm's last lines an error repeats; the reason stands at the end."""
WIDTH = 600
"""Longest line that is repeated, in characters: Helm prints whole manifests into some errors."""

LEFT_OUT = "…"

_PATTERNS = (
    re.compile(r"-----BEGIN [^-]*-----.*?(?:-----END [^-]*-----|\Z)", re.S),
    # Go's print of a map or list: values as they were given.
    re.compile(r"map\[.*\]", re.S),
    # user:password@ in an address.
    re.compile(r"(?<=://)[^/\s@]+(?=@)"),
    re.compile(r"(?i)(?<=bearer )\S+|(?<=basic )[A-Za-z0-9+/=]{8,}"),
    re.compile(r"(?i)(?<=password[=:])\s?\S+|(?<=token[=:])\s?\S+|(?<=secret[=:])\s?\S+"),
    # A JSON web token, and anything long that only a machine writes.
    re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*"),
    re.compile(r"(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{32,}={0,2}"),
)


def repeatable(text: str, values: Mapping[str, Any] | None = None) -> str:
    """Return *text* with everything left out that looks like a secret or is one in *values*.

    Secrets in values are the texts below names such as password, token or key.

    >>> repeatable("Error: wrong type for hunter22 at https://me:pw@host", {"adminPassword": "hunter22"})
    'Error: wrong type for … at https://…@host'
    """
    for secret in secret_texts(values or {}):
        text = text.replace(secret, LEFT_OUT)
    for pattern in _PATTERNS:
        text = pattern.sub(LEFT_OUT, text)
    return text


def last_lines(stderr: str) -> str:
    """Return the last lines of what Helm said, each cut to `WIDTH`, without its own `Error: `."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    cut = [line if len(line) <= WIDTH else line[:WIDTH] + LEFT_OUT for line in lines[-LINES:]]
    return "\n".join(line.removeprefix("Error: ") for line in cut)
