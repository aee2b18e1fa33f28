"""`kvobs diff`."""

from __future__ import annotations

from .options import Format, Output, Quiet, Verbose
from .streams import errors, finish, progress
from .told import Told, with_told


@with_told
def diff(
    told: Told,
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show what an install with these options would change; change nothing. Exit 1 where there is a difference."""
    with errors(output):
        from ..use_cases.diff import diff as run

        with progress(quiet) as shown:
            report = run(told(), progress=shown)
        finish(report, output, verbose=verbose)
