"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..settings import DEFAULT_NAMESPACE


class Output(StrEnum):
    """Format of what a command prints on stdout."""

    text = "text"
    json = "json"
    yaml = "yaml"


class StackChoice(StrEnum):
    """Whether the stack is reused or installed."""

    auto = "auto"
    install = "install"
    reuse = "reuse"


class DcgmChoice(StrEnum):
    """How GPU metrics are scraped."""

    auto = "auto"
    operator = "operator"
    exporter = "exporter"
    none = "none"


Kubeconfig = Annotated[
    str | None, typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig to use (else as kubectl).")
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="Context of the kubeconfig (else its current one)."),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help=f"Where kvobs' objects go (else where they are, or the reused stack is, or {DEFAULT_NAMESPACE}).",
    ),
]
Format = Annotated[Output, typer.Option("-o", "--output", help="Format of the result on stdout.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but the result and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more: every reference that was changed.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is ready.")]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="For Helm and for the wait, each: 90s, 10m, 1h.")
]
Release = Annotated[str, typer.Option("--release", metavar="NAME", help="Name of the Helm release that kvobs makes.")]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--values",
        metavar="FILE",
        help="Helm values file, any number of times; an install without values keeps those of its release.",
    ),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Helm value, as helm --set reads it.")
]
Dashboards = Annotated[
    list[str] | None,
    typer.Option("--dashboard", metavar="FILE|DIR", help="Dashboard to load beside the shipped ones, any number."),
]
Datasources = Annotated[
    list[str] | None,
    typer.Option("--datasource", metavar="TYPE=UID[:NAME]", help="Grafana datasource for references of that type."),
]
HelmPath = Annotated[str, typer.Option("--helm", metavar="PATH", help="The helm executable (else from PATH).")]
Dcgm = Annotated[
    DcgmChoice | None,
    typer.Option(
        "--dcgm",
        help="How GPU metrics are scraped (else auto); operator takes the ClusterPolicy's field even from its owner.",
    ),
]


def expanded(path: str | None) -> str | None:
    """Return *path* with a leading `~` as the user's home: a shell leaves it alone in `--kubeconfig=~/config`."""
    return os.path.expanduser(path) if path else path


def seconds(text: str) -> int:
    """Read a duration as kubectl and Helm take it, in whole seconds, rounded up; a bare number is seconds.

    >>> [seconds(text) for text in ("90s", "10m", "1h30m", "1.5h", "1500ms", "45")]
    [90, 600, 5400, 5400, 2, 45]
    """
    import math
    import re

    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    parts = re.findall(r"(\d+(?:\.\d*)?)(h|ms|m|s)", text)
    if re.fullmatch(r"\d+", text):
        parts = [(text, "s")]
    elif not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f"--timeout {text!r} is not a duration", hint="for example 90s, 10m or 1h30m")
    return math.ceil(sum(float(number) * units[unit] for number, unit in parts))


def values_documents(paths: list[str] | None) -> list[dict[str, Any]]:
    """Read Helm values files in order; raises `UsageError` for one that is not a YAML map."""
    from ..adapters.sources import read_values

    return [read_values(path) for path in paths or ()]
