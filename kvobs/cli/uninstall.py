"""`kvobs uninstall`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UsageError
from ..settings import Settings
from .options import (
    Context,
    Format,
    HelmPath,
    Insecure,
    Kubeconfig,
    Namespace,
    Output,
    Quiet,
    RequestTimeout,
    Timeout,
    Yes,
    expanded,
    seconds,
)
from .streams import confirmed, errors, finish, on_terminal, progress


def uninstall(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    insecure_skip_tls_verify: Insecure = False,
    namespace: Namespace = None,
    delete_crds: Annotated[
        bool, typer.Option("--delete-crds", help="Delete the operator's CRDs too, if nothing else uses them.")
    ] = False,
    delete_pvcs: Annotated[
        bool, typer.Option("--delete-pvcs", help="Delete the volumes too: metrics and Grafana's database are lost.")
    ] = False,
    delete_namespace: Annotated[
        bool,
        typer.Option("--delete-namespace", help="Delete the namespace too, if kvobs made it and it is empty."),
    ] = False,
    helm: HelmPath = "helm",
    timeout: Timeout = "10m",
    request_timeout: RequestTimeout = "30s",
    output: Format = Output.text,
    quiet: Quiet = False,
    yes: Yes = False,
) -> None:
    """Take away what kvobs made; give foreign fields their earlier value back; list what is left, and why."""
    with errors(output):
        from ..use_cases.uninstall import uninstall as run

        settings = Settings(
            kubeconfig=expanded(kubeconfig),
            context=context,
            insecure_skip_tls_verify=insecure_skip_tls_verify,
            namespace=namespace,
            helm=helm,
            timeout_s=seconds(timeout),
            request_timeout_s=seconds(request_timeout, "--request-timeout"),
        )
        if not yes and not on_terminal():
            raise UsageError("this asks before it acts, and there is no terminal to ask on", hint="add --yes")
        cluster = None if yes else confirmed("Uninstall from", settings)
        with progress(quiet) as shown:
            report = run(
                settings,
                delete_crds=delete_crds,
                delete_pvcs=delete_pvcs,
                delete_namespace=delete_namespace,
                cluster=cluster,
                progress=shown,
            )
        finish(report, output)
