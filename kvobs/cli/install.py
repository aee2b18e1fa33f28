"""`kvobs install`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from .options import Format, Output, Quiet, Verbose, Wait, Yes
from .streams import confirmed, errors, finish, on_terminal, progress
from .told import Told, with_told


@with_told
def install(
    told: Told,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show every step, asked of the API server, and change nothing; exit 3 where it would refuse one.",
        ),
    ] = False,
    wait: Wait = True,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify/--no-verify", help="After the wait, ask for every loaded panel until data arrives; 3 minutes."
        ),
    ] = True,
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Verbose = False,
    yes: Yes = False,
) -> None:
    """Install or reuse the stack; apply the monitors; load the patched dashboards; prove that data arrives."""
    with errors(output):
        settings = replace(told(), wait=wait, verify=verify)
        if dry_run:
            from ..use_cases.dry_run import dry_run as foretell

            with progress(quiet) as shown:
                foretold = foretell(settings, progress=shown)
            finish(foretold, output, verbose=verbose)
        from ..use_cases.install import install as run

        cluster = confirmed("Install into", settings) if not yes and on_terminal() else None
        with progress(quiet) as shown:
            report = run(settings, cluster=cluster, progress=shown)
        finish(report, output, verbose=verbose)
