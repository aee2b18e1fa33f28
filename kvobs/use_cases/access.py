"""How to reach what was installed: the commands and links that a report ends with. Pure text, nothing is asked."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ..settings import Settings
from ..stack.facts import Grafana

LOCAL_PORT = 3000
"""Grafana's own port, so that the links look as its documentation has them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Commands to type, and links that work while the port-forward runs."""

    port_forward: str
    password: str | None
    """The command that prints the admin's password; kvobs itself never reads it."""
    links: tuple[tuple[str, str], ...]
    """(title, URL) of each dashboard."""
    user: str | None = "admin"
    """The admin's name; None: `user_command` prints it."""
    user_command: str | None = None


def kubectl(settings: Settings) -> list[str]:
    """Return kubectl with the flags by which it reaches the same cluster."""
    words = ["kubectl"]
    if settings.kubeconfig:
        words += ["--kubeconfig", settings.kubeconfig]
    if settings.context:
        words += ["--context", settings.context]
    return words


def access(grafana: Grafana, dashboards: tuple[tuple[str, str], ...], settings: Settings) -> Access | None:
    """Return the way to *grafana* and to the *dashboards*, given as (uid, title); None where it has no Service."""
    if grafana.service is None:
        return None
    here = [*kubectl(settings), "-n", grafana.namespace]
    forward = [
        *here,
        "port-forward",
        f"service/{grafana.service}",
        f"{LOCAL_PORT}:{grafana.service_port or 80}",
    ]

    def held(secret: str, key: str) -> str:
        escaped = key.replace(".", r"\.")
        path = f"jsonpath={{.data.{escaped}}}"
        return shlex.join([*here, "get", "secret", secret, "-o", path]) + " | base64 -d"

    user = grafana.admin_user
    return Access(
        port_forward=shlex.join(forward),
        password=held(grafana.admin_secret, grafana.admin_password_key) if grafana.admin_secret else None,
        links=tuple((title, f"http://localhost:{LOCAL_PORT}/d/{uid}") for uid, title in dashboards),
        user=user if isinstance(user, str) else None,
        user_command=held(*user) if isinstance(user, tuple) else None,
    )
