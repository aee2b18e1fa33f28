"""`kvobs install`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..settings import CHART, CHART_VERSION, DEFAULT_RELEASE, Settings
from .options import (
    Context,
    Dashboards,
    Datasources,
    Dcgm,
    Format,
    HelmPath,
    Kubeconfig,
    Namespace,
    Output,
    Quiet,
    Release,
    Set,
    StackChoice,
    Timeout,
    Values,
    Verbose,
    Wait,
    Yes,
    expanded,
    seconds,
    values_documents,
)
from .streams import confirmed, errors, finish, on_terminal, progress


def install(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    release: Release = DEFAULT_RELEASE,
    stack: Annotated[
        StackChoice, typer.Option("--stack", help="auto: reuse a stack that is there, else install one.")
    ] = StackChoice.auto,
    prometheus: Annotated[
        str | None,
        typer.Option("--prometheus", metavar="NS/NAME", help="Prometheus object, where there are several."),
    ] = None,
    grafana: Annotated[
        str | None,
        typer.Option(
            "--grafana", metavar="NS/NAME|none", help="Grafana, where there are several; none: no dashboards."
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option("--chart", metavar="REF|PATH", help=f"kube-prometheus-stack chart (else {CHART})."),
    ] = None,
    chart_version: Annotated[
        str | None,
        typer.Option("--chart-version", metavar="VERSION", help=f"Chart version (default {CHART_VERSION})."),
    ] = None,
    values: Values = None,
    set_values: Set = None,
    dashboard: Dashboards = None,
    datasource: Datasources = None,
    dcgm: Dcgm = None,
    vllm_namespace: Annotated[
        str | None,
        typer.Option("--vllm-namespace", metavar="NAME", help="Look for vLLM in this namespace only."),
    ] = None,
    vllm_selector: Annotated[
        str | None,
        typer.Option("--vllm-selector", metavar="LABELS", help="Services in front of vLLM, by labels."),
    ] = None,
    vllm_port: Annotated[
        str | None,
        typer.Option("--vllm-port", metavar="PORT", help="Port of vLLM's /metrics, by name or number."),
    ] = None,
    helm: HelmPath = "helm",
    wait: Wait = True,
    timeout: Timeout = "10m",
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Verbose = False,
    yes: Yes = False,
) -> None:
    """Install or reuse the stack; apply the monitors; load the patched dashboards."""
    with errors(output):
        from ..use_cases.install import install as run

        settings = Settings(
            kubeconfig=expanded(kubeconfig),
            context=context,
            namespace=namespace,
            release=release,
            stack=stack.value,
            prometheus=prometheus,
            grafana=grafana,
            chart=chart,
            chart_version=chart_version,
            values=tuple(values_documents(values)),
            set_values=tuple(set_values or ()),
            dashboards=tuple(dashboard or ()),
            datasources=tuple(datasource or ()),
            dcgm=dcgm.value if dcgm else None,
            vllm_namespace=vllm_namespace,
            vllm_selector=vllm_selector,
            vllm_port=vllm_port,
            helm=helm,
            wait=wait,
            timeout_s=seconds(timeout),
        )
        cluster = confirmed("Install into", settings) if not yes and on_terminal() else None
        with progress(quiet) as shown:
            report = run(settings, cluster=cluster, progress=shown)
        finish(report, output, verbose=verbose)
