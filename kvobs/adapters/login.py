"""Credentials that are fetched: login plugins (`exec` in a kubeconfig) and token files."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

from ..errors import KubeconfigError, Unauthenticated

_RELOGIN = {
    "aws": "aws sso login (or renew your AWS credentials)",
    "aws-iam-authenticator": "renew your AWS credentials",
    "az": "az login",
    "doctl": "doctl auth init",
    "gke-gcloud-auth-plugin": "gcloud auth login",
    "kubelogin": "kubelogin (or az login)",
    "oci": "oci session authenticate",
    "tsh": "tsh login",
}
"""Login plugins of the large providers -> the command that makes them work again."""

_SHOWN = 256
"""Characters kept of what a plugin says: enough for its first sentences."""


def relogin_hint(user: Mapping[str, Any], kubectl: str) -> str:
    """What to do when the credentials of a kubeconfig user are refused."""
    plugin = user.get("exec")
    command = os.path.basename(str(plugin.get("command", ""))) if isinstance(plugin, Mapping) else ""
    if command in _RELOGIN:
        return f"log in again: {_RELOGIN[command]}; then: {kubectl} auth whoami"
    if command:
        return f"log in again through {command}; then: {kubectl} auth whoami"
    return f"get fresh credentials from your cluster's provider; {kubectl} auth whoami says when they work"


def plugin_login(plugin: Mapping[str, Any], cluster: Mapping[str, Any], user_name: str) -> dict[str, str]:
    """Run a login plugin; its credentials as fields of a kubeconfig user (`token`, or certificate and key).

    KubeconfigError where it cannot be run, Unauthenticated where it gives nothing.
    """
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.exec_provider import ExecProvider
    from kubernetes.config.kube_config import ConfigNode

    command = str(plugin.get("command", ""))
    again = relogin_hint({"exec": plugin}, "kubectl")
    try:
        status = ExecProvider(ConfigNode("exec", dict(plugin)), None, ConfigNode("cluster", dict(cluster))).run()
    except OSError as exc:
        raise KubeconfigError(
            f"the login plugin {command!r} of kubeconfig user {user_name!r} cannot be run: {exc.strerror}",
            hint=" ".join(str(plugin.get("installHint") or "install it, so that it is on PATH").split()),
        ) from exc
    except ConfigException as exc:
        said = " ".join(str(exc).split())[:_SHOWN]
        raise Unauthenticated(
            f"the login plugin {command!r} of kubeconfig user {user_name!r} failed: {said}", hint=again
        ) from exc
    except (ValueError, TypeError, KeyError) as exc:
        raise KubeconfigError(
            f"the login plugin {command!r} of kubeconfig user {user_name!r} is not set up as kubectl has it",
            hint="kubectl cluster-info says more",
        ) from exc
    if not isinstance(status, Mapping):
        status = {}
    if status.get("token"):
        return {"token": str(status["token"]).strip()}
    if status.get("clientCertificateData") and status.get("clientKeyData"):
        return {
            "client-certificate-data": base64.b64encode(status["clientCertificateData"].encode()).decode(),
            "client-key-data": base64.b64encode(status["clientKeyData"].encode()).decode(),
        }
    raise Unauthenticated(
        f"the login plugin {command!r} of kubeconfig user {user_name!r} gave no credentials", hint=again
    )


def read_token_file(path: str) -> str:
    """The token that a file holds, without the line end that editors leave."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        raise KubeconfigError(f"the token file {path} of the kubeconfig cannot be read: {reason}") from exc
