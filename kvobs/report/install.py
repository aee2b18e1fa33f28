"""The text of `kvobs install`."""

from __future__ import annotations

from ..use_cases.install import InstallReport
from .lines import access, joined, notes, table
from .text import to_text


@to_text.register
def _(report: InstallReport, *, verbose: bool = False) -> str:
    lines = [
        f"kvobs on Kubernetes {report.server_version}, namespace {report.namespace}",
        *table(
            [
                ("stack", report.stack),
                ("Prometheus", report.prometheus),
                ("Grafana", report.grafana or "none"),
                ("datasource", report.datasource or "none"),
            ]
        ),
        "",
        "Steps" if report.changed else "Steps (nothing to change)",
        *table([(step.outcome, step.title, step.detail) for step in report.steps]),
    ]
    if report.dashboards:
        lines += ["", "Dashboards"]
        lines += table(
            [(each.uid, each.title, each.config_map, f"{each.references} references") for each in report.dashboards]
        )
        if verbose:
            lines += [f"    {each.uid} {change}" for each in report.dashboards for change in each.changes]
        told = [(each.title, why) for each in report.dashboards for why in (*each.unresolved, *each.warnings)]
        lines += [f"  ! {title}: {why}" for title, why in told]
    lines += [f"  ! {source}: {why}" for source, why in report.refused]
    return joined(lines, notes(report.notes), access(report.access), _end(report, verbose=verbose))


def _end(report: InstallReport, *, verbose: bool) -> list[str]:
    """Whether everything is ready, and whether data arrives."""
    if report.verified is not None:
        return [to_text(report.verified, verbose=verbose)]
    ready = {True: "Everything is ready", None: "Not waited for"}.get(report.ready, "Not ready")
    if any(note.id == "not-verified" for note in report.notes):
        return [f"{ready}."]
    return [f"{ready}; whether data arrives was not asked: kvobs verify --wait 2m"]
