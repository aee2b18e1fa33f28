"""Helm values: the user's, in Helm's order, and the few that kvobs puts under them.

What a values file and a `--set` mean is read in `values_files` and `set_expressions`, what the chart makes of
the values is foretold in `chart`; all of it can be had from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .chart import (
    StackNames,
    datasource_of,
    grafana_of,
    names_of,
    prometheus_of,
    sidecar_of,
)
from .control_plane import MANAGED_PARTS
from .merge import deep_merge, same_values, value_at
from .set_expressions import exact_integers, parse_set, set_integers
from .values_files import read_values

__all__ = [
    "ADMIN_PASSWORD_KEY",
    "ADMIN_USER_KEY",
    "FOLDER_ANNOTATION",
    "StackNames",
    "datasource_of",
    "deep_merge",
    "given_values",
    "grafana_of",
    "managed_control_plane_values",
    "names_of",
    "parse_set",
    "prometheus_of",
    "read_values",
    "same_values",
    "set_integers",
    "sidecar_of",
    "stack_values",
    "user_values",
    "value_at",
    "wants_admin_secret",
]

ADMIN_USER_KEY = "admin-user"
ADMIN_PASSWORD_KEY = "admin-password"
"""The keys of the Secret that holds Grafana's administrator; the chart's own Secret has the same."""

FOLDER_ANNOTATION = "grafana_folder"
"""The annotation by which a dashboard's ConfigMap names its folder in Grafana."""


def user_values(values: Sequence[Mapping[str, Any]], set_values: Sequence[str]) -> dict[str, Any]:
    """Return the user's values as Helm computes them: documents in their order, then each `--set` in its.

    Raises UsageError for an expression that Helm would refuse.

    >>> user_values([{"a": {"b": 1}}, {"a": {"c": None}}], ["a.b=2", "d={x}"])
    {'a': {'b': 2, 'c': None}, 'd': ['x']}
    """
    merged = deep_merge(*values)
    for expression in set_values:
        merged = parse_set(expression, merged)
    return merged


def stack_values(
    user: Mapping[str, Any], *, admin_secret: str | None, control_plane: str | None = None
) -> dict[str, Any]:
    """Return the values of a fresh kube-prometheus-stack: what kvobs needs, under what the *user* says.

    *admin_secret* names the Secret with Grafana's administrator (`ADMIN_USER_KEY`, `ADMIN_PASSWORD_KEY`);
    None, or a user who takes care of the administrator, leaves that to the chart. *control_plane* is the provider
    that runs it (`Facts.control_plane`).
    """
    ours: list[Mapping[str, Any]] = [managed_control_plane_values(control_plane)]
    if value_at(user, "grafana.enabled", True) is False:
        return deep_merge(*ours, user)
    if admin_secret is not None and wants_admin_secret(user):
        # The password that the chart makes up is another one in every render: each upgrade would restart
        # Grafana, and no two renders would be equal.
        ours.append(_administrator(admin_secret))
    provider = "grafana.sidecar.dashboards.provider"
    if not (value_at(user, f"{provider}.folder", None) or value_at(user, f"{provider}.folderUid", None)):
        # Without both of these a folder annotation does nothing: the sidecar sorts files by the annotation,
        # and Grafana makes folders of that. Dashboards without the annotation stay where they are. A provider
        # folder of the user's own is left alone: the chart drops it as soon as folders follow the files.
        ours.append(_FOLDERS)
    if _makes_claim(user):
        # The claim is an object of the release: Helm would delete Grafana's database with it.
        ours.append(_KEPT_CLAIM)
    return deep_merge(*ours, user)


def given_values(
    stored: Mapping[str, Any],
    *,
    admin_secret: str,
    control_plane: str | None = None,
    images: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what the user gave of the values that a release of ours *stored*: `stack_values` gives them back.

    What kvobs puts under the user's values is taken out, so that it is kvobs' own in a later run too; and *images*,
    what it put over them (`images.image_values`).

    >>> given_values(stack_values({"a": {"b": 1}}, admin_secret="s"), admin_secret="s")
    {'a': {'b': 1}}
    """
    given = _without(stored, images or {})

    def all_of(user: Mapping[str, Any]) -> dict[str, Any]:
        return stack_values(user, admin_secret=admin_secret, control_plane=control_plane)

    for ours in (
        _administrator(admin_secret),
        _FOLDERS,
        _KEPT_CLAIM,
        managed_control_plane_values(control_plane),
    ):
        less = _without(given, ours)
        if same_values(all_of(less), all_of(given)):
            given = less
    exact: dict[str, Any] = exact_integers(given)
    return exact


def managed_control_plane_values(provider: str | None) -> dict[str, Any]:
    """Return what switches off the parts of a control plane that *provider* runs and shows to nobody; None: nothing.

    >>> managed_control_plane_values("EKS")["kubeEtcd"], managed_control_plane_values(None)
    ({'enabled': False}, {})
    """
    return {part: {"enabled": False} for part in MANAGED_PARTS} if provider else {}


def _administrator(secret: str) -> dict[str, Any]:
    administrator = {"existingSecret": secret, "userKey": ADMIN_USER_KEY, "passwordKey": ADMIN_PASSWORD_KEY}
    return {"grafana": {"admin": administrator}}


_FOLDERS: Mapping[str, Any] = {
    "grafana": {
        "sidecar": {
            "dashboards": {"folderAnnotation": FOLDER_ANNOTATION, "provider": {"foldersFromFilesStructure": True}}
        }
    }
}

_KEPT_CLAIM: Mapping[str, Any] = {"grafana": {"persistence": {"annotations": {"helm.sh/resource-policy": "keep"}}}}


def _makes_claim(user: Mapping[str, Any]) -> bool:
    """Whether Grafana's chart makes a claim itself; those of a StatefulSet are not the release's, and stay anyway."""
    of = "grafana.persistence"
    return bool(
        value_at(user, f"{of}.enabled", False)
        and value_at(user, f"{of}.type", "pvc") == "pvc"
        and not value_at(user, f"{of}.existingClaim", None)
        and not value_at(user, "grafana.useStatefulSet", False)
    )


def _without(values: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """*values* without those of *ours* that stand there as they are, and without maps that are empty then."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        mine = ours.get(key)
        if isinstance(value, Mapping) and isinstance(mine, Mapping):
            if inner := _without(value, mine):
                kept[key] = inner
        elif key not in ours or value != mine:
            kept[key] = value
    return kept


def wants_admin_secret(user: Mapping[str, Any]) -> bool:
    """Say whether kvobs should make Grafana's administrator: Grafana is wanted, and the user names none.

    >>> wants_admin_secret({}), wants_admin_secret({"grafana": {"adminPassword": "x"}})
    (True, False)
    """
    own = (
        "adminPassword",
        "admin.existingSecret",
        "env.GF_SECURITY_ADMIN_PASSWORD",
        "env.GF_SECURITY_ADMIN_PASSWORD__FILE",
        "env.GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION",
    )
    enabled = value_at(user, "grafana.enabled", True) is not False
    return enabled and not any(value_at(user, f"grafana.{path}", None) for path in own)
