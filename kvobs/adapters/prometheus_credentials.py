"""What lets into a Prometheus, from the environment or a file: an argument could be read by every process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import UsageError

TOKEN = "KVOBS_PROMETHEUS_TOKEN"
USER = "KVOBS_PROMETHEUS_USER"
PASSWORD = "KVOBS_PROMETHEUS_PASSWORD"


def token_reader(token_file: str | None, environ: Mapping[str, str]) -> Callable[[], str | None] | None:
    """Return what reads the bearer token anew each time, of the file, else of the environment; None without one.

    UsageError where the file cannot be read now.
    """
    if token_file is not None:
        _of_file(token_file)
        return lambda: _of_file(token_file)
    token = environ.get(TOKEN, "").strip()
    return (lambda: token) if token else None


def login(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the user and the password of the environment; None where it names no user."""
    user = environ.get(USER, "")
    return (user, environ.get(PASSWORD, "")) if user else None


def _of_file(token_file: str) -> str:
    try:
        token = Path(token_file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--token-file: {token_file} cannot be read as a token", hint=f"a file with the token alone, or {TOKEN}"
        ) from error
    if not token:
        raise UsageError(f"--token-file: {token_file} is empty", hint=f"a file with the token alone, or {TOKEN}")
    return token
