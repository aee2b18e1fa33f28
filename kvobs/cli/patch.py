"""`kvobs patch`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UsageError
from .options import Datasources, Format, Output, Quiet, Verbose
from .places import file_to_write, folder_to_write
from .streams import errors, finish, print_account, print_line


def patch(
    sources: Annotated[list[str], typer.Argument(metavar="FILE|DIR|-...", help="Dashboards; - is stdin.")],
    datasource: Datasources = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="Value for an input of an export."),
    ] = None,
    remap_foreign: Annotated[
        bool,
        typer.Option("--remap-foreign", help="Point literal UIDs of another Grafana at the given datasource."),
    ] = False,
    only: Annotated[
        str | None, typer.Option("--only", metavar="JSONPATH", help="Change only references under this path.")
    ] = None,
    list_path: Annotated[
        str | None,
        typer.Option("--list", metavar="JSONPATH", help="List the references under this path; change nothing."),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Write each file back, atomically.")] = False,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="Write the one result there.")] = None,
    directory: Annotated[str | None, typer.Option("--dir", metavar="DIR", help="Write each result there.")] = None,
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Resolve a dashboard's datasource references, structurally; the result goes to stdout unless told where."""
    with errors(output):
        from ..use_cases.patch import PatchSettings
        from ..use_cases.patch import patch as run

        report = run(
            PatchSettings(
                sources=tuple(sources),
                datasources=tuple(datasource or ()),
                inputs=tuple(inputs or ()),
                remap_foreign=remap_foreign,
                only=only,
                list_only=list_path,
                in_place=in_place,
                file=file_to_write(file, "--file"),
                directory=folder_to_write(directory, "--dir"),
            )
        )
        if report.stdout is not None and output is Output.text:
            # The dashboard is the result; the account of it goes where it is in nobody's way.
            from ..report import to_text

            print_line(report.stdout)
            if not quiet:
                print_account(to_text(report, verbose=verbose))
            raise typer.Exit(report.exit_code)
        if report.stdout is not None:
            raise UsageError(
                f"-o {output.value} makes the report the result, so the dashboard has to go somewhere else",
                hint="say where: --in-place, --file FILE or --dir DIR",
            )
        finish(report, output, verbose=verbose)
