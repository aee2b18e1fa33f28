"""PURE. The operator's Prometheus configuration, rewritten for a Prometheus that runs outside the cluster."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

RULES_IN_POD = "/etc/prometheus/rules/"
TOKEN_IN_POD = "/var/run/secrets/kubernetes.io/serviceaccount/token"

Config = dict[str, Any]


def substituted(text: str, variables: dict[str, str]) -> str:
    """Return *text* with `$(NAME)` replaced as the config reloader does from its environment.

    >>> substituted("prometheus_replica: $(POD_NAME), $(OTHER)", {"POD_NAME": "prometheus-k8s-0"})
    'prometheus_replica: prometheus-k8s-0, $(OTHER)'
    """
    return re.sub(r"\$\((\w+)\)", lambda found: variables.get(found[1], found[0]), text)


def outside(config: Config, *, kubeconfig: str, proxy_url: str, rules: str, token: str) -> Config:
    """Return *config* with what holds only inside a pod replaced; jobs, relabelling and limits stay as they are.

    Discovery asks the API server by *kubeconfig*, scrapes go through *proxy_url*, rules are read from below the
    folder *rules*, and the token of the pod's service account from the file *token*. Other credentials that are
    files in a pod go, and alerts are sent to nobody.
    """
    rewritten = {key: value for key, value in config.items() if key != "alerting"}
    rewritten["scrape_configs"] = [
        _scrape(job, kubeconfig=kubeconfig, proxy_url=proxy_url, token=token)
        for job in config.get("scrape_configs", ())
    ]
    rewritten["rule_files"] = [
        str(PurePath(rules, file.removeprefix(RULES_IN_POD))) for file in config.get("rule_files", ())
    ]
    return rewritten


def _scrape(job: Config, *, kubeconfig: str, proxy_url: str, token: str) -> Config:
    rewritten = {key: value for key, value in job.items() if not _is_pod_file(key, value)}
    if TOKEN_IN_POD in (job.get("bearer_token_file"), job.get("authorization", {}).get("credentials_file")):
        rewritten["authorization"] = {"type": "Bearer", "credentials_file": token}
    if job.get("scheme") == "https":
        # Whom the target's certificate names is not known out here.
        rewritten["tls_config"] = {"insecure_skip_verify": True}
    rewritten["proxy_url"] = proxy_url
    if "kubernetes_sd_configs" in job:
        rewritten["kubernetes_sd_configs"] = [
            {"kubeconfig_file": kubeconfig}
            | {key: value for key, value in discovery.items() if key in ("role", "namespaces", "selectors")}
            for discovery in job["kubernetes_sd_configs"]
        ]
    return rewritten


def _is_pod_file(key: str, value: object) -> bool:
    if key in ("bearer_token_file", "tls_config"):
        return True
    return key in ("authorization", "basic_auth", "oauth2") and "_file" in str(value)
