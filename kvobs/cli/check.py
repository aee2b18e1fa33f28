"""`kvobs check`."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Format, Output, Quiet, Verbose
from .streams import errors, finish, print_line, progress
from .told import Told, with_told


@with_told
def check(
    told: Told,
    listed: Annotated[bool, typer.Option("--list", help="List the checks and leave; nothing is asked.")] = False,
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Say what stands in the way of an install with the same options, and what to do about it; change nothing."""
    with errors(output):
        if listed:
            print_list()
            return
        from ..use_cases.check import check as run

        with progress(quiet) as shown:
            report = run(told(), progress=shown)
        finish(report, output, verbose=verbose)


def print_list() -> None:
    """Print the checks in their order: id, how grave, and what holds when all is well."""
    from ..report.lines import table
    from ..stack.checks.run import every_check

    rows = [(check.id, check.severity, f"{category.title}: {check.title}") for category, check in every_check()]
    print_line("\n".join(table(rows, indent=0)))
