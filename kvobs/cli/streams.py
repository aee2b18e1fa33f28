"""stdout has the result, stderr everything else; the only place that writes to either, and that exits."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ..errors import ActionError, KvobsError
from ..settings import Settings
from .options import Output

if TYPE_CHECKING:
    from ..adapters.cluster import Cluster
    from ..use_cases.progress import Progress


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
    except KeyboardInterrupt as interruption:
        print_error("interrupted; what was done stands, and running the same command again finishes it")
        raise typer.Exit(130) from interruption


def finish(report: Any, output: Output, *, verbose: bool = False) -> NoReturn:
    """Print *report* on stdout and leave with its exit code."""
    from ..report import to_document, to_json, to_text, to_yaml

    if output is Output.text:
        print_line(to_text(report, verbose=verbose))
    else:
        print_line((to_json if output is Output.json else to_yaml)(to_document(report)))
    raise typer.Exit(report.exit_code)


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


def print_error(message: str, hint: str | None = None) -> None:
    """Write to stderr, where everything else goes."""
    sys.stderr.write(f"kvobs: {message}\n")
    if hint:
        sys.stderr.write(f"  what to do: {hint}\n")


def print_account(text: str) -> None:
    """Write to stderr what was done beside the result."""
    if text:
        sys.stderr.write(text + "\n")


def on_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(action: str, settings: Settings) -> Cluster:
    """Ask on the terminal whether to act on the cluster, named as the kubeconfig does; leave with 0 on a no."""
    from ..adapters.cluster import Cluster

    cluster = Cluster.connect(settings.kubeconfig, settings.context, request_timeout_s=settings.request_timeout_s)
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
