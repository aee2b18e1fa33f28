"""Which process this is, in words that another run can read: `host/pid/mark`; and whether such a process still runs."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import uuid
from pathlib import Path


def own_identity() -> str:
    """Return a fresh identity of this process; no two calls give the same."""
    return f"{socket.gethostname()}/{os.getpid()}/{_place()}-{secrets.token_hex(4)}"


def has_died(identity: str) -> bool:
    """Whether *identity* is that of a process of this machine which is no more; False where that cannot be known."""
    host, _, rest = identity.partition("/")
    pid, _, mark = rest.partition("/")
    if host != socket.gethostname() or mark.partition("-")[0] != _place() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        # Somebody else's process has that number, or nobody's can.
        return False
    return False


def _place() -> str:
    """A mark of this machine, its boot and its pid namespace: host names repeat, and only here is a pid the same."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        place = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        # Not Linux, hence no containers that would share a machine.
        place = f"{uuid.getnode():x}"
    return hashlib.sha256(place.encode()).hexdigest()[:8]
