"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..settings import CHART, CHART_VERSION, DEFAULT_NAMESPACE
from .streams import Output as Output
from .streams import print_account


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


class WayChoice(StrEnum):
    """How the cluster's Prometheus is reached."""

    auto = "auto"
    proxy = "proxy"
    port_forward = "port-forward"


Kubeconfig = Annotated[
    str | None, typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig to use (else as kubectl).")
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="Context of the kubeconfig (else its current one)."),
]


def _said_insecure(given: bool) -> bool:
    if given:
        print_account("kvobs: the API server's certificate is not verified (--insecure-skip-tls-verify)")
    return given


Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure-skip-tls-verify",
        help="Do not verify the API server's certificate; said on stderr each time.",
        callback=_said_insecure,
    ),
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
RequestTimeout = Annotated[
    str,
    typer.Option("--request-timeout", metavar="DURATION", help="For one request to the API server: 5s, 1m."),
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
    typer.Option(
        "--dashboard",
        metavar="NAME|grafana:ID@REV|URL|FILE|DIR",
        help="Dashboard to load beside the shipped ones, any number; names: kvobs dashboards list.",
    ),
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Download no dashboard: files, and what the cache holds, only.")
]
CaFile = Annotated[
    str | None,
    typer.Option("--ca-file", metavar="FILE", help="PEM file of authorities to trust in downloads of dashboards."),
]
Datasources = Annotated[
    list[str] | None,
    typer.Option("--datasource", metavar="TYPE=UID[:NAME]", help="Grafana datasource for references of that type."),
]
ImageRegistry = Annotated[
    str | None,
    typer.Option(
        "--image-registry",
        metavar="HOST[/PATH]",
        help="Registry that every image of the stack comes from; '' takes back an earlier run's.",
    ),
]
ImagePullSecrets = Annotated[
    list[str] | None,
    typer.Option(
        "--image-pull-secret",
        metavar="NAME",
        help="Secret beside the stack to pull its images with, any number; '' takes back an earlier run's.",
    ),
]
Chart = Annotated[
    str | None,
    typer.Option("--chart", metavar="REF|PATH", help=f"kube-prometheus-stack chart (else {CHART})."),
]
ChartVersion = Annotated[
    str | None,
    typer.Option("--chart-version", metavar="VERSION", help=f"Chart version (default {CHART_VERSION})."),
]
TakeOwnership = Annotated[
    bool,
    typer.Option(
        "--take-ownership",
        help="Take over objects of our names that nobody looks after, and fields of our objects that others have set;"
        " uninstall then deletes those objects. Never what Helm, Argo CD, Flux or another ApplySet looks after.",
    ),
]
HelmPath = Annotated[str, typer.Option("--helm", metavar="PATH", help="The helm executable (else from PATH).")]
Dcgm = Annotated[
    DcgmChoice | None,
    typer.Option(
        "--dcgm",
        help="How GPU metrics are scraped (else auto); operator takes the ClusterPolicy's field even from its owner.",
    ),
]

Stack = Annotated[StackChoice, typer.Option("--stack", help="auto: reuse a stack that is there, else install one.")]
PrometheusName = Annotated[
    str | None, typer.Option("--prometheus", metavar="NS/NAME", help="Prometheus object, where there are several.")
]
GrafanaName = Annotated[
    str | None,
    typer.Option("--grafana", metavar="NS/NAME|none", help="Grafana, where there are several; none: no dashboards."),
]
Way = Annotated[
    WayChoice,
    typer.Option(
        "--reach",
        help="How the cluster's Prometheus is reached: by the API server's proxy, which passes no credentials on, or by"
        " a port-forward to a pod of it. auto: by the proxy; by a port-forward where the right to that, or a Service,"
        " is missing, or where credentials are asked for and there are some.",
    ),
]
VllmNamespace = Annotated[
    str | None, typer.Option("--vllm-namespace", metavar="NAME", help="Look for vLLM in this namespace only.")
]
VllmSelector = Annotated[
    str | None, typer.Option("--vllm-selector", metavar="LABELS", help="Services in front of vLLM, by labels.")
]
VllmPort = Annotated[
    str | None, typer.Option("--vllm-port", metavar="PORT", help="Port of vLLM's /metrics, by name or number.")
]
IgnoredChecks = Annotated[
    list[str] | None,
    typer.Option("--ignore-check", metavar="ID", help="Check to leave out, any number; ids: kvobs check --list."),
]


def expanded(path: str | None) -> str | None:
    """Return *path* with a leading `~` as the user's home: a shell leaves it alone in `--kubeconfig=~/config`."""
    return os.path.expanduser(path) if path else path


def seconds(text: str, flag: str = "--timeout") -> int:
    """Read a duration as kubectl and Helm take it, in whole seconds, rounded up; a bare number is seconds.

    Raises `UsageError` that names the *flag*.

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
        raise UsageError(f"{flag} {text!r} is not a duration", hint="for example 90s, 10m or 1h30m")
    return math.ceil(sum(float(number) * units[unit] for number, unit in parts))


def known_checks(ids: list[str] | None) -> tuple[str, ...]:
    """Return the *ids*; raises `UsageError` for one that no check has."""
    if not ids:
        return ()
    from ..stack.checks.run import every_check

    known = {check.id for _, check in every_check()}
    for each in ids:
        if each not in known:
            raise UsageError(
                f"--ignore-check {each}: there is no such check", hint=f"one of {', '.join(sorted(known))}"
            )
    return tuple(ids)


def values_documents(paths: list[str] | None) -> list[dict[str, Any]]:
    """Read Helm values files in order; raises `UsageError` for one that is not a YAML map."""
    from ..adapters.sources import read_values

    return [read_values(path) for path in paths or ()]
