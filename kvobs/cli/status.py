"""`kvobs status`."""

from __future__ import annotations

from ..settings import Settings
from .options import Context, Format, Kubeconfig, Namespace, Output, expanded
from .streams import errors, finish


def status(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    output: Format = Output.text,
) -> None:
    """Say what kvobs installed, whether it is ready, and how to open it."""
    with errors(output):
        from ..use_cases.status import status as run

        report = run(Settings(kubeconfig=expanded(kubeconfig), context=context, namespace=namespace))
        finish(report, output)
