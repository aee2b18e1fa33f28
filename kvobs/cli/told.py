"""The options that make up what a run is told: an install has them, and so has whoever foretells or checks one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..settings import DEFAULT_RELEASE, Settings
from .options import (
    CaFile,
    Chart,
    ChartVersion,
    Context,
    Dashboards,
    Datasources,
    Dcgm,
    GrafanaName,
    HelmPath,
    IgnoredChecks,
    ImagePullSecrets,
    ImageRegistry,
    Insecure,
    Kubeconfig,
    Namespace,
    Offline,
    PrometheusName,
    Release,
    RequestTimeout,
    Set,
    Stack,
    StackChoice,
    TakeOwnership,
    Timeout,
    Values,
    VllmNamespace,
    VllmPort,
    VllmSelector,
    expanded,
    known_checks,
    seconds,
    values_documents,
)

Told = Callable[[], Settings]
"""Reads the options when it is called: what is wrong with them is then reported as the command reports."""


def told(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    insecure_skip_tls_verify: Insecure = False,
    namespace: Namespace = None,
    release: Release = DEFAULT_RELEASE,
    stack: Stack = StackChoice.auto,
    prometheus: PrometheusName = None,
    grafana: GrafanaName = None,
    chart: Chart = None,
    chart_version: ChartVersion = None,
    values: Values = None,
    set_values: Set = None,
    image_registry: ImageRegistry = None,
    image_pull_secret: ImagePullSecrets = None,
    dashboard: Dashboards = None,
    offline: Offline = False,
    ca_file: CaFile = None,
    datasource: Datasources = None,
    dcgm: Dcgm = None,
    vllm_namespace: VllmNamespace = None,
    vllm_selector: VllmSelector = None,
    vllm_port: VllmPort = None,
    take_ownership: TakeOwnership = False,
    helm: HelmPath = "helm",
    ignore_check: IgnoredChecks = None,
    timeout: Timeout = "10m",
    request_timeout: RequestTimeout = "30s",
) -> Settings:
    """Return what the options say. Raises `UsageError`."""
    return Settings(
        kubeconfig=expanded(kubeconfig),
        context=context,
        insecure_skip_tls_verify=insecure_skip_tls_verify,
        namespace=namespace,
        release=release,
        stack=stack.value,
        prometheus=prometheus,
        grafana=grafana,
        chart=chart,
        chart_version=chart_version,
        values=tuple(values_documents(values)),
        set_values=tuple(set_values or ()),
        image_registry=image_registry,
        image_pull_secrets=tuple(image_pull_secret or ()),
        dashboards=tuple(dashboard or ()),
        offline=offline,
        ca_file=expanded(ca_file),
        datasources=tuple(datasource or ()),
        dcgm=dcgm.value if dcgm else None,
        vllm_namespace=vllm_namespace,
        vllm_selector=vllm_selector,
        vllm_port=vllm_port,
        take_ownership=take_ownership,
        helm=helm,
        ignored_checks=known_checks(ignore_check),
        timeout_s=seconds(timeout),
        request_timeout_s=seconds(request_timeout, "--request-timeout"),
    )


def with_told(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of `told` before its own, and what they say, unread, as its first argument."""
    options = inspect.signature(told, eval_str=True).parameters
    own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])

    def run(**given: Any) -> None:
        settings = functools.partial(told, **{name: given.pop(name) for name in options})
        command(settings, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    parameters = [*options.values(), *own.values()]
    # By these two typer knows what a command takes.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
