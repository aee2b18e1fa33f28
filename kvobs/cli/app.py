"""The command line's own options, and its commands in the order of `--help`; each is a module beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .check import check
from .dashboards import dashboards
from .diff import diff
from .install import install
from .patch import patch
from .render import render
from .status import status
from .streams import print_line
from .uninstall import uninstall

app = typer.Typer(
    name="kvobs",
    help="Prometheus, Grafana, DCGM and vLLM dashboards on Kubernetes, with every panel's datasource resolved.",
    epilog="Exit codes: 0 done; 1 found something bad; 2 wrong usage; 3 refused or failed; 4 could not ask;"
    " 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and leave, when it is *wanted*."""
    if wanted:
        print_line(f"kvobs {__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of kvobs itself."""


for command in (check, install, diff, uninstall, status, render, patch):
    app.command()(command)
app.add_typer(dashboards, name="dashboards")
