"""`kvobs dashboards`: a group of two commands."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import CaFile, Format, Offline, Output, Quiet, expanded
from .places import folder_to_write
from .streams import errors, finish, progress

dashboards = typer.Typer(
    help="List the dashboards that --dashboard can name, or download them before they are needed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dashboards.command("list")
def list_known(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="dcgm, vllm, llm-d, ...; else all.")] = None,
    output: Format = Output.text,
) -> None:
    """List the dashboards that kvobs knows, where each comes from and whose its checksum is; asks no network."""
    with errors(output):
        from ..use_cases.dashboards import list_dashboards

        finish(list_dashboards(topic), output)


@dashboards.command("pull")
def pull_named(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME|TOPIC|grafana:ID@REV|URL", help="What to download."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Download every dashboard of the catalogue.")] = False,
    directory: Annotated[
        str | None, typer.Option("--dir", metavar="DIR", help="Write each as a file there, too.")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Download again, and pin what comes now in place of what came first.")
    ] = False,
    offline: Offline = False,
    ca_file: CaFile = None,
    output: Format = Output.text,
    quiet: Quiet = False,
) -> None:
    """Download dashboards into the cache, each checked; for --offline, or to look at them as files."""
    with errors(output):
        from ..use_cases.dashboards import pull

        folder = folder_to_write(directory, "--dir")
        with progress(quiet) as shown:
            report = pull(
                tuple(names or ()),
                everything=everything,
                directory=folder,
                refresh=refresh,
                offline=offline,
                ca_file=expanded(ca_file),
                progress=shown,
            )
        finish(report, output)
