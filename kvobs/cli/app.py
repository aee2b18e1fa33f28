"""The command line's own options, and its commands in the order of `--help`; each is a module beside this one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Annotated

import typer

from .. import __version__
from .streams import print_line

COMMANDS = {
    "check": "Say what stands in the way of an install with the same options, and what to do about it; change nothing.",
    "install": "Install or reuse the stack; apply the monitors; load the patched dashboards; prove that data arrives.",
    "diff": "Show what an install with these options would change; change nothing. Exit 1 where there is a difference.",
    "uninstall": "Take away what kvobs made; give foreign fields their earlier value back; list what is left, and why.",
    "verify": "Say for every panel whether it is lit, and if not, the one cause and what mends it; changes nothing.",
    "explain": "Say what a cause that verify names means, how it is recognised and what mends it; asks nobody.",
    "status": "Say what kvobs installed, whether it is ready, and how to open it.",
    "render": "Print the objects that install would apply; needs no cluster; Helm and the network for the stack only.",
    "patch": "Resolve a dashboard's datasource references, structurally; the result goes to stdout unless told where.",
    "dashboards": "List the dashboards that --dashboard can name, or download them before they are needed.",
}
"""What each command is for. It is the function, or the group, of that name in the module of that name."""


def command_line(typed: Sequence[str] | None = None) -> typer.Typer:
    """Return the command line; where the words *typed* are given, only the command that they name has its options.

    The others are there for their line in `--help`: to build the options of all takes longer than all else it does.
    """
    line = typer.Typer(
        name="kvobs",
        help="Prometheus, Grafana, DCGM and vLLM dashboards on Kubernetes, with every panel's datasource resolved.",
        epilog="Exit codes: 0 done; 1 found something bad; 2 wrong usage; 3 refused or failed; 4 could not ask;"
        " 130 interrupted.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    line.callback()(main_options)
    # No option that comes before a command takes a value.
    named = next((word for word in typed if not word.startswith("-")), "") if typed is not None else None
    for name, purpose in COMMANDS.items():
        if named not in (None, name):
            line.command(name, help=purpose)(_not_named)
            continue
        found = getattr(importlib.import_module(f".{name}", __package__), name)
        if isinstance(found, typer.Typer):
            line.add_typer(found, name=name)
        else:
            line.command(name)(found)
    return line


def _not_named() -> None:
    raise AssertionError("only the command that was typed is called")


def show_version(wanted: bool) -> None:
    """Print the version and leave, when it is *wanted*."""
    if wanted:
        print_line(f"kvobs {__version__}")
        raise typer.Exit


def main_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of kvobs itself."""
