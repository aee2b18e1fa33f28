"""The command line: each command parses, calls one use case, prints its report and exits with its code.

Nothing but this module and the standard library is loaded before a command runs, so that `--help` stays quick.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from . import __version__
from .errors import ActionError, KvobsError, UsageError
from .settings import CHART, CHART_VERSION, DEFAULT_NAMESPACE, DEFAULT_RELEASE, Settings

if TYPE_CHECKING:
    from .adapters.cluster import Cluster
    from .use_cases.progress import Progress

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


@app.command()
def install(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    release: Release = DEFAULT_RELEASE,
    stack: Annotated[
        StackChoice, typer.Option("--stack", help="auto: reuse a stack that is there, else install one.")
    ] = StackChoice.auto,
    prometheus: Annotated[
        str | None,
        typer.Option("--prometheus", metavar="NS/NAME", help="Prometheus object, where there are several."),
    ] = None,
    grafana: Annotated[
        str | None,
        typer.Option(
            "--grafana", metavar="NS/NAME|none", help="Grafana, where there are several; none: no dashboards."
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option("--chart", metavar="REF|PATH", help=f"kube-prometheus-stack chart (else {CHART})."),
    ] = None,
    chart_version: Annotated[
        str | None,
        typer.Option("--chart-version", metavar="VERSION", help=f"Chart version (default {CHART_VERSION})."),
    ] = None,
    values: Values = None,
    set_values: Set = None,
    dashboard: Dashboards = None,
    datasource: Datasources = None,
    dcgm: Dcgm = None,
    vllm_namespace: Annotated[
        str | None,
        typer.Option("--vllm-namespace", metavar="NAME", help="Look for vLLM in this namespace only."),
    ] = None,
    vllm_selector: Annotated[
        str | None,
        typer.Option("--vllm-selector", metavar="LABELS", help="Services in front of vLLM, by labels."),
    ] = None,
    vllm_port: Annotated[
        str | None,
        typer.Option("--vllm-port", metavar="PORT", help="Port of vLLM's /metrics, by name or number."),
    ] = None,
    helm: HelmPath = "helm",
    wait: Wait = True,
    timeout: Timeout = "10m",
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Verbose = False,
    yes: Yes = False,
) -> None:
    """Install or reuse the stack; apply the monitors; load the patched dashboards."""
    with errors(output):
        from .use_cases.install import install as run

        settings = Settings(
            kubeconfig=expanded(kubeconfig),
            context=context,
            namespace=namespace,
            release=release,
            stack=stack.value,
            prometheus=prometheus,
            grafana=grafana,
            chart=chart,
            chart_version=chart_version,
            values=tuple(values_documents(values)),
            set_values=tuple(set_values or ()),
            dashboards=tuple(dashboard or ()),
            datasources=tuple(datasource or ()),
            dcgm=dcgm.value if dcgm else None,
            vllm_namespace=vllm_namespace,
            vllm_selector=vllm_selector,
            vllm_port=vllm_port,
            helm=helm,
            wait=wait,
            timeout_s=seconds(timeout),
        )
        cluster = confirmed("Install into", settings) if not yes and on_terminal() else None
        with progress(quiet) as shown:
            report = run(settings, cluster=cluster, progress=shown)
        finish(report, output, verbose=verbose)


@app.command()
def uninstall(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    delete_crds: Annotated[
        bool, typer.Option("--delete-crds", help="Delete the operator's CRDs too, if nothing else uses them.")
    ] = False,
    delete_pvcs: Annotated[
        bool, typer.Option("--delete-pvcs", help="Delete the volumes too: metrics and Grafana's database are lost.")
    ] = False,
    delete_namespace: Annotated[
        bool,
        typer.Option("--delete-namespace", help="Delete the namespace too, if kvobs made it and it is empty."),
    ] = False,
    helm: HelmPath = "helm",
    timeout: Timeout = "10m",
    output: Format = Output.text,
    quiet: Quiet = False,
    yes: Yes = False,
) -> None:
    """Take away what kvobs made; give foreign fields their earlier value back; list what is left, and why."""
    with errors(output):
        from .use_cases.uninstall import uninstall as run

        settings = Settings(
            kubeconfig=expanded(kubeconfig), context=context, namespace=namespace, helm=helm, timeout_s=seconds(timeout)
        )
        if not yes and not on_terminal():
            raise UsageError("this asks before it acts, and there is no terminal to ask on", hint="add --yes")
        cluster = None if yes else confirmed("Uninstall from", settings)
        with progress(quiet) as shown:
            report = run(
                settings,
                delete_crds=delete_crds,
                delete_pvcs=delete_pvcs,
                delete_namespace=delete_namespace,
                cluster=cluster,
                progress=shown,
            )
        finish(report, output)


@app.command()
def status(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = None,
    output: Format = Output.text,
) -> None:
    """Say what kvobs installed, whether it is ready, and how to open it."""
    with errors(output):
        from .use_cases.status import status as run

        report = run(Settings(kubeconfig=expanded(kubeconfig), context=context, namespace=namespace))
        finish(report, output)


@app.command()
def render(
    namespace: Annotated[
        str, typer.Option("-n", "--namespace", metavar="NAME", help="Namespace of the objects.")
    ] = DEFAULT_NAMESPACE,
    release: Release = DEFAULT_RELEASE,
    values: Values = None,
    set_values: Set = None,
    dashboard: Dashboards = None,
    datasource: Datasources = None,
    dcgm: Dcgm = None,
    directory: Annotated[
        str | None,
        typer.Option("--dir", metavar="DIR", help="Write one file an object there, not to stdout."),
    ] = None,
    output: Annotated[
        Output, typer.Option("-o", "--output", help="Format of the objects (text is yaml).")
    ] = Output.yaml,
) -> None:
    """Print the objects that install would apply; needs no cluster, no Helm, no network."""
    with errors(Output.text):
        from .use_cases.render import render as run
        from .use_cases.render import write

        settings = Settings(
            namespace=namespace,
            release=release,
            values=tuple(values_documents(values)),
            set_values=tuple(set_values or ()),
            dashboards=tuple(dashboard or ()),
            datasources=tuple(datasource or ()),
            dcgm=dcgm.value if dcgm else None,
        )
        rendered = run(settings)
        print_account("\n".join(f"! {source}: {why}" for source, why in rendered.refused))
        if directory is not None:
            finish(write(rendered, directory), Output.text if output is Output.yaml else output)
        else:
            finish(rendered, output)


@app.command()
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
        from .use_cases.patch import PatchSettings
        from .use_cases.patch import patch as run

        report = run(
            PatchSettings(
                sources=tuple(sources),
                datasources=tuple(datasource or ()),
                inputs=tuple(inputs or ()),
                remap_foreign=remap_foreign,
                only=only,
                list_only=list_path,
                in_place=in_place,
                file=file,
                directory=directory,
            )
        )
        if report.stdout is not None and output is Output.text:
            # The dashboard is the result; the account of it goes where it is in nobody's way.
            from .report import to_text

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


def main() -> NoReturn:
    """Run the command line; the only place that exits."""
    # A termination by a supervisor is an interruption too: Helm is stopped and the exit code says so.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # JSON and YAML are UTF-8 in every locale; a file name that is none is shown with escapes.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    app(prog_name="kvobs")
    sys.exit(0)


@contextmanager
def errors(output: Output) -> Iterator[None]:
    """Turn a `KvobsError` into one line on stderr, its hint into another, and its code into the exit code."""
    try:
        yield
    except KvobsError as error:
        if output is not Output.text:
            from .report import error_document, to_json, to_yaml

            print_line((to_json if output is Output.json else to_yaml)(error_document(error)))
        print_error(str(error), error.hint)
        raise typer.Exit(error.exit_code) from error
    except KeyboardInterrupt as interruption:
        print_error("interrupted; what was done stands, and running the same command again finishes it")
        raise typer.Exit(130) from interruption


def finish(report: Any, output: Output, *, verbose: bool = False) -> NoReturn:
    """Print *report* on stdout and leave with its exit code."""
    from .report import to_document, to_json, to_text, to_yaml

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
    from .adapters.cluster import Cluster

    cluster = Cluster.connect(settings.kubeconfig, settings.context, request_timeout_s=settings.request_timeout_s)
    where = f", namespace {settings.namespace}" if settings.namespace else ""
    sys.stderr.write(f"{action} the cluster at {cluster.server}{where}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        sys.stderr.write("nothing was changed\n")
        raise typer.Exit(0)
    return cluster


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
    from .adapters.sources import read_values

    return [read_values(path) for path in paths or ()]


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on stderr: a live line on a terminal, plain lines elsewhere, nothing when *quiet*."""
    from .terminal import shown

    with shown(sys.stderr, quiet=quiet) as each:
        yield each
