"""The commands that a report ends with: they name what is really there."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.settings import Settings
from kvobs.stack.facts import Grafana
from kvobs.use_cases.access import access


def grafana(**told: Any) -> Grafana:
    """Return a Grafana behind a Service."""
    given: dict[str, Any] = {"service": "g", "service_port": 80, "admin_secret": "s"}
    empty = dict.fromkeys(("sidecar", "release", "tracked_by"))
    return Grafana(namespace="mon", name="g", kind="Deployment", **(empty | given | told))


@pytest.mark.parametrize(
    ("told", "user", "user_command", "password"),
    [
        ({}, "admin", None, "kubectl -n mon get secret s -o 'jsonpath={.data.admin-password}' | base64 -d"),
        (
            {"admin_password_key": "pw.txt", "admin_user": ("t", "name")},
            None,
            "kubectl -n mon get secret t -o 'jsonpath={.data.name}' | base64 -d",
            r"kubectl -n mon get secret s -o 'jsonpath={.data.pw\.txt}' | base64 -d",
        ),
        ({"admin_user": "root", "admin_secret": None}, "root", None, None),
    ],
    ids=["as usual", "other keys", "no Secret"],
)
def test_administrator(
    told: dict[str, Any], user: str | None, user_command: str | None, password: str | None
) -> None:  # fmt: skip
    """Name and password come from the Secrets and keys that Grafana is told of; what is known is not asked for."""
    way = access(grafana(**told), (), Settings())

    assert way is not None
    assert (way.user, way.user_command, way.password) == (user, user_command, password)


def test_same_cluster() -> None:
    """Every command goes where this run went."""
    way = access(grafana(admin_user=("s", "u")), (("u", "T"),), Settings(kubeconfig="/my kube", context="prod"))

    assert way is not None
    for command in (way.port_forward, way.password, way.user_command):
        assert str(command).startswith("kubectl --kubeconfig '/my kube' --context prod -n mon ")
    assert way.links == (("T", "http://localhost:3000/d/u"),)


def test_no_service() -> None:
    """Without a Service there is no way to tell."""
    assert access(grafana(service=None), (), Settings()) is None
