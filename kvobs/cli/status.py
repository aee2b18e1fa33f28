"""`kvobs status`."""

from __future__ import annotations

from ..settings import Settings
from .options import Context, Format, Insecure, Kubeconfig, Namespace, Output, RequestTimeout, expanded, seconds
from .streams import errors, finish


def status(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    insecure_skip_tls_verify: Insecure = False,
    namespace: Namespace = None,
    request_timeout: RequestTimeout = "30s",
    output: Format = Output.text,
) -> None:
    """Say what kvobs installed, whether it is ready, and how to open it."""
    with errors(output):
        from ..use_cases.status import status as run

        report = run(
            Settings(
                kubeconfig=expanded(kubeconfig),
                context=context,
                insecure_skip_tls_verify=insecure_skip_tls_verify,
                namespace=namespace,
                request_timeout_s=seconds(request_timeout, "--request-timeout"),
            )
        )
        finish(report, output)
