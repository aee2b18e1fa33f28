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


def access(grafana: Grafana, dashboards: tuple[tuple[str, str], ...], settings: Settings) -> Access | None:
    """Return the way to *grafana* and to the *dashboards*, given as (uid, title); None where it has no Service."""
    if grafana.service is None:
        return None
    kubectl = ["kubectl"]
    if settings.kubeconfig:
        kubectl += ["--kubeconfig", settings.kubeconfig]
    if settings.context:
        kubectl += ["--context", settings.context]
    kubectl += ["-n", grafana.namespace]
    forward = [
        *kubectl,
        "port-forward",
        f"service/{grafana.service}",
        f"{LOCAL_PORT}:{grafana.service_port or 80}",
    ]
    password = None
    if grafana.admin_secret:
        path = r"jsonpath={.data.admin-password}"
        password = shlex.join([*kubectl, "get", "secret", grafana.admin_secret, "-o", path]) + " | base64 -d"
    return Access(
        port_forward=shlex.join(forward),
        password=password,
        links=tuple((title, f"http://localhost:{LOCAL_PORT}/d/{uid}") for uid, title in dashboards),
    )
