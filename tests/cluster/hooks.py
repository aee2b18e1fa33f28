"""What the bed's Jobs really do: the two of kube-prometheus-stack's admission webhooks, as kube-webhook-certgen."""

from __future__ import annotations

import base64

from tests.cluster.api import Api, ApiError, Object
from tests.cluster.certificates import Authority

_HOOK_IMAGE = "kube-webhook-certgen"
_CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_GROUP = "admissionregistration.k8s.io/v1"


class HookError(Exception):
    """The Job's container would have failed, for this reason."""


def run(api: Api, pod: Object) -> None:
    """Do the work of a Job's pod; a pod whose work is not known does nothing, with success."""
    for container in pod["spec"]["containers"]:
        if _HOOK_IMAGE in container["image"]:
            words = [*container.get("command", ()), *container.get("args", ())]
            options = dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)
            try:
                if "create" in words:
                    _create(api, options)
                elif "patch" in words:
                    _patch(api, options)
            except (ApiError, KeyError) as error:
                raise HookError(f"{type(error).__name__}: {error}") from error


def _create(api: Api, options: dict[str, str]) -> None:
    """Write the Secret with a new authority and a server certificate from it, unless it is there already."""
    if api.find("v1", "Secret", options["secret-name"], options["namespace"]) is not None:
        return
    authority = Authority("admission")
    pair = authority.server(*options["host"].split(","))
    files = {"ca": authority.certificate, "cert": pair.certificate, "key": pair.key}
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": options["secret-name"], "namespace": options["namespace"]},
            "data": {name: base64.b64encode(text).decode() for name, text in files.items()},
        }
    )


def _patch(api: Api, options: dict[str, str]) -> None:
    """Tell the webhooks which authority to trust, and what a failure of theirs means."""
    secret = api.get("v1", "Secret", options["secret-name"], options["namespace"])
    policy = options.get("patch-failure-policy")
    for kind in _CONFIGURATIONS:
        if kind.startswith("Mutating") and options.get("patch-mutating") == "false":
            continue
        if kind.startswith("Validating") and options.get("patch-validating") == "false":
            continue
        configuration = api.get(_GROUP, kind, options["webhook-name"])
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = secret["data"]["ca"]
            if policy:
                webhook["failurePolicy"] = policy
        api.merge(configuration, {"webhooks": configuration["webhooks"]})
