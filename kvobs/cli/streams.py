"""stdout has the result, stderr everything else; the only place that writes to either, and that exits."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ..errors import ActionError, KvobsError
from ..terminal import say

if TYPE_CHECKING:
    from ..adapters.cluster import Cluster
    from ..settings import Settings
    from ..use_cases.progress import Progress


class Output(StrEnum):
    """Format of what a command prints on stdout."""

    text = "text"
    json = "json"
    yaml = "yaml"


@contextmanager
def errors(output: Output) -> Iterator[None]:
    """Turn a `KvobsError` into one line on stderr, its hint into another, and its code into the exit code."""
    try:
        yield
    except KvobsError as error:
        if output is not Output.text:
            from ..report import error_document, to_json, to_yaml

            print_line((to_json if output is Output.json else to_yaml)(error_document(error)))
        print_error(str(error), error.hint)
        raise typer.Exit(error.exit_code) from error


def finish(report: Any, output: Output, *, verbose: bool = False, failed: KvobsError | None = None) -> NoReturn:
    """Print *report* on stdout and leave with its exit code.

    *failed* is what went wrong after the report was there: it is told on stderr, and its exit code counts.
    """
    from ..report import to_document, to_json, to_text, to_yaml

    try:
        if output is Output.text:
            # Standard output is UTF-8 for programs; standard error still has what a terminal here can show.
            print_line(with_marks(to_text(report, verbose=verbose), sys.stderr.encoding))
        else:
            print_line((to_json if output is Output.json else to_yaml)(to_document(report, failed=failed)))
    finally:
        if failed is not None:
            print_error(str(failed), failed.hint)
    raise typer.Exit(report.exit_code if failed is None else failed.exit_code)


def print_line(text: str) -> None:
    """Write to stdout, where results go; that nobody reads it (`| head`) changes nothing of what was done."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ActionError(f"the result cannot be written to stdout: {error.strerror}") from error


PLAIN = str.maketrans({"√": "+", "‼": "!", "×": "x", "…": "..."})
"""What stands for a mark where it cannot be shown."""


def with_marks(text: str, encoding: str | None) -> str:
    """Return *text*, with plain marks where a terminal of this *encoding* cannot show the others.

    >>> with_marks("√ Grüße", "latin-1"), with_marks("√ Grüße", "utf-8")
    ('+ Grüße', '√ Grüße')
    """
    try:
        "√‼×…".encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(PLAIN)
    return text


def print_error(message: str, hint: str | None = None) -> None:
    """Write to stderr, where everything else goes."""
    say(sys.stderr, f"kvobs: {message}\n" + (f"  what to do: {hint}\n" if hint else ""))


def print_account(text: str) -> None:
    """Write to stderr what was done beside the result."""
    if text:
        say(sys.stderr, text + "\n")


def on_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(action: str, settings: Settings) -> Cluster:
    """Ask on the terminal whether to act on the cluster, named as the kubeconfig does; leave with 0 on a no."""
    from ..use_cases.connect import cluster_of

    cluster = cluster_of(settings)
    where = f", namespace {settings.namespace}" if settings.namespace else ""
    sys.stderr.write(f"{action} the cluster at {cluster.server}{where}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        sys.stderr.write("nothing was changed\n")
        raise typer.Exit(0)
    return cluster


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on stderr: a live line on a terminal, plain lines elsewhere, nothing when *quiet*."""
    from ..terminal import shown

    with shown(sys.stderr, quiet=quiet) as each:
        yield each
