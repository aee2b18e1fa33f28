"""Grafana's answer about one of its data sources. Pure."""

from __future__ import annotations

import json


def read_health(body: bytes) -> tuple[bool, str] | None:
    """Read it: whether the source is well, and Grafana's words; None where it tells nothing (no login, no such test).

    >>> read_health(b'{"message": "connection refused", "status": "ERROR"}')
    (False, 'connection refused')
    >>> read_health(b'{"message": "Unauthorized"}')
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("status") not in ("OK", "ERROR"):
        return None
    return told["status"] == "OK", " ".join(str(told.get("message") or "").split())
