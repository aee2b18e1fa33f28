"""`kvobs explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Format, Output
from .streams import errors, finish


def explain(
    cause: Annotated[str | None, typer.Argument(metavar="[ID]", help="Id of a cause, KVO-405 say; else all.")] = None,
    output: Format = Output.text,
) -> None:
    """Say what a cause that verify names means, how it is recognised and what mends it; asks nobody."""
    with errors(output):
        from ..use_cases.explain import explain as run

        finish(run(cause), output)
