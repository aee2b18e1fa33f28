"""`kvobs verify`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ..errors import ActionError, UsageError
from ..settings import Reach, Settings, Verification
from .options import (
    Context,
    Format,
    Kubeconfig,
    Offline,
    Output,
    Quiet,
    RequestTimeout,
    Way,
    WayChoice,
    expanded,
    seconds,
)
from .places import folder_to_write, report_to_write
from .streams import errors, finish, print_account, progress
from .watching import unwatched, watched

if TYPE_CHECKING:
    from ..use_cases.static import StaticReport
    from ..use_cases.verify_report import VerifyReport

WATCHED_FOR = "10m"
"""How long --watch looks again where --wait does not say."""


class SeverityChoice(StrEnum):
    """How bad something is, worst first."""

    broken = "broken"
    unknown = "unknown"
    dark = "dark"
    expected = "expected"


def _said_insecure(given: bool) -> bool:
    if given:
        print_account("kvobs: no certificate is verified (--insecure-skip-tls-verify)")
    return given


def verify(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE|DIR|URL|NAME]...", help="Dashboards to verify; none: those that are loaded."),
    ] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="NS/NAME|URL",
            help="Who is asked: a Prometheus object of the cluster, or an address (with it no cluster is needed;"
            " credentials in KVOBS_PROMETHEUS_TOKEN, or KVOBS_PROMETHEUS_USER and _PASSWORD).",
        ),
    ] = None,
    way: Way = WayChoice.auto,
    grafana: Annotated[
        str | None,
        typer.Option(
            "--grafana",
            metavar="NS/NAME|URL",
            help="Whose dashboards are verified: a Grafana of the cluster, or an address (token in GRAFANA_TOKEN).",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="What now is: RFC 3339, seconds since 1970, or now-8h."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Start of the time range (else each dashboard's own).")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="End of the time range.")] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option("--var", metavar="NAME=VALUE", help="Value of a variable, any number; one name may have several."),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option("--wait", metavar="DURATION", help="How long to look again while panels are dark: 2m."),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help=f"Show each look until all is lit, or --wait (here {WATCHED_FOR}) has passed."),
    ] = False,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="FILE", help="YAML file of panels that may be dark, with reasons.")
    ] = None,
    min_severity: Annotated[
        SeverityChoice, typer.Option("--min-severity", help="The least severity that is shown.")
    ] = SeverityChoice.expected,
    fail_on: Annotated[
        SeverityChoice, typer.Option("--fail-on", help="The least severity that makes the exit code 1.")
    ] = SeverityChoice.broken,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write an HTML report there, too: one file.")
    ] = None,
    static: Annotated[
        bool,
        typer.Option(
            "--static", help="Ask nobody: say what would go dark on --vllm-version, from the history of its metrics."
        ),
    ] = False,
    vllm_version: Annotated[
        str | None, typer.Option("--vllm-version", metavar="VERSION", help="With --static: the version of vLLM.")
    ] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="With --static: put new names for old ones where they mean the same.")
    ] = False,
    directory: Annotated[
        str | None, typer.Option("--dir", metavar="DIR", help="With --rewrite: write there, not into the files.")
    ] = None,
    token_file: Annotated[
        str | None, typer.Option("--token-file", metavar="FILE", help="File with a bearer token for Prometheus.")
    ] = None,
    ca_file: Annotated[
        str | None, typer.Option("--ca-file", metavar="FILE", help="PEM file of authorities to trust at any address.")
    ] = None,
    insecure_skip_tls_verify: Annotated[
        bool,
        typer.Option(
            "--insecure-skip-tls-verify",
            help="Verify no certificate: not the API server's, not an address's; said on stderr each time.",
            callback=_said_insecure,
        ),
    ] = False,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="ID", help="X-Scope-OrgID, for a Mimir with several tenants.")
    ] = None,
    in_flight: Annotated[int, typer.Option("--in-flight", metavar="NUMBER", help="Queries asked at a time.")] = 8,
    request_timeout: RequestTimeout = "30s",
    offline: Offline = False,
    namespace: Annotated[
        str | None, typer.Option("-n", "--namespace", metavar="NAME", help="Where kvobs' objects are.")
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Format = Output.text,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say more: every panel, and what each cause was told from.")
    ] = False,
) -> None:
    """Say for every panel whether it is lit, and if not, the one cause and what mends it; changes nothing."""
    with errors(output):
        asking = {
            "--prometheus": prometheus,
            "--grafana": grafana,
            "--at": at,
            "--from": start,
            "--to": end,
            "--var": variables,
            "--wait": wait,
            "--watch": watch,
            "--reach": way is not WayChoice.auto,
            "--token-file": token_file,
            "--tenant": tenant,
        }
        _refuse_contradictions(static, vllm_version, rewrite, directory, asking=asking)
        page = report_to_write(report, "--report")
        if static:
            from ..use_cases.static import StaticSettings
            from ..use_cases.static import static as guard

            with progress(quiet) as shown:
                guarded = guard(
                    StaticSettings(
                        sources=tuple(sources or ()),
                        vllm_version=vllm_version or "",
                        rewrite=rewrite,
                        directory=folder_to_write(directory, "--dir"),
                        offline=offline,
                        ca_file=expanded(ca_file),
                        expect=expanded(expect),
                        min_severity=min_severity.value,
                        fail_on=fail_on.value,
                    ),
                    progress=shown,
                )
            _finish(guarded, page, output, verbose=verbose)
        object_name, prometheus_url = _whose(prometheus)
        grafana_name, grafana_url = _object_or_address(grafana)
        if grafana_name == "none":
            raise UsageError("--grafana none has no dashboards", hint="name files, or leave --grafana out")
        timeout_s = seconds(request_timeout, "--request-timeout")
        settings = Settings(
            kubeconfig=expanded(kubeconfig),
            context=context,
            insecure_skip_tls_verify=insecure_skip_tls_verify,
            namespace=namespace,
            prometheus=object_name,
            grafana=grafana_name,
            offline=offline,
            ca_file=expanded(ca_file),
            request_timeout_s=timeout_s,
        )
        verification = Verification(
            sources=tuple(sources or ()),
            reach=Reach(
                url=prometheus_url,
                way=way.value,
                token_file=expanded(token_file),
                ca_file=expanded(ca_file),
                insecure=insecure_skip_tls_verify,
                tenant=tenant,
                timeout_s=timeout_s,
            ),
            grafana_url=grafana_url,
            at=at,
            start=start,
            end=end,
            variables=tuple(variables or ()),
            wait_s=seconds(wait or (WATCHED_FOR if watch else "0"), "--wait"),
            until_lit=watch,
            expect=expanded(expect),
            min_severity=min_severity.value,
            fail_on=fail_on.value,
            in_flight=in_flight,
        )
        from ..use_cases.verify import verify as run

        with watched(quiet, verbose=verbose) if watch else unwatched(quiet) as (shown, on_round):
            verified = run(settings, verification, environ=os.environ, progress=shown, on_round=on_round)
        _finish(verified, page, output, verbose=verbose)


def _refuse_contradictions(
    static: bool, vllm_version: str | None, rewrite: bool, directory: str | None, *, asking: Mapping[str, object]
) -> None:
    if static:
        if vllm_version is None:
            raise UsageError("--static judges by a version of vLLM", hint="name it: --vllm-version VERSION")
        told = [option for option, value in asking.items() if value]
        if told:
            options = " and ".join(told)
            raise UsageError(f"--static asks nobody, so that {options} would say nothing", hint=f"leave {options} out")
    elif vllm_version is not None or rewrite:
        raise UsageError("--vllm-version and --rewrite belong to --static", hint="add --static")
    if directory is not None and not rewrite:
        raise UsageError("--dir is where --rewrite writes", hint="add --rewrite, or leave --dir out")


def _object_or_address(text: str | None) -> tuple[str | None, str | None]:
    """Return what was named as NAMESPACE/NAME, or as an address.

    >>> _object_or_address("monitoring/k8s"), _object_or_address("http://localhost:9090")
    (('monitoring/k8s', None), (None, 'http://localhost:9090'))
    """
    return (None, text) if text is not None and "://" in text else (text, None)


def _whose(prometheus: str | None) -> tuple[str | None, str | None]:
    """Return who is asked, as `_object_or_address` does; raise UsageError for an address without its scheme."""
    if prometheus is not None and "://" not in prometheus and ":" in prometheus:
        raise UsageError(
            f"--prometheus {prometheus} is neither NAMESPACE/NAME nor an address",
            hint=f"an address has its scheme in front: --prometheus http://{prometheus}",
        )
    return _object_or_address(prometheus)


def _finish(report: VerifyReport | StaticReport, page: str | None, output: Output, *, verbose: bool) -> NoReturn:
    """Write the HTML report, if one is wanted, print the other, whatever became of the first, and leave."""
    failed = None
    if page is not None:
        from ..adapters.sources import write_atomic
        from ..report.html import to_html
        from ..use_cases.verify_report import VerifyReport

        try:
            write_atomic(page, to_html(report if isinstance(report, VerifyReport) else report.verdicts).encode())
        except ActionError as error:
            failed = ActionError(str(error), hint="what was found is on stdout; make room, or name another file")
    finish(report, output, verbose=verbose, failed=failed)
