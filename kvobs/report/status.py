"""The text of `kvobs status`."""

from __future__ import annotations

from ..use_cases.status import StatusReport
from .diff import object_lines
from .lines import access, here, joined, notes, table
from .text import to_text


@to_text.register
def _(report: StatusReport, *, verbose: bool = False) -> str:
    if not report.installed:
        what = f"kvobs is not installed {here(report.elsewhere)} (Kubernetes {report.server_version})"
        return what if report.elsewhere else f"{what}; to install: kvobs install"
    lines = [
        f"kvobs on Kubernetes {report.server_version}, namespace {report.namespace}",
        *table(
            [
                ("stack", report.stack or ""),
                *([("release", report.release)] if report.release else []),
                ("Prometheus", report.prometheus or ""),
                ("Grafana", report.grafana or "none"),
                ("datasource", report.datasource or "none"),
                ("ready", "no" if report.unready else "not known" if report.unread else "yes"),
            ]
        ),
        *(f"  ! {each}" for each in report.unready),
        *(f"  ! could not be read: {each}" for each in report.unread),
        "",
        "Objects of kvobs",
        *(f"  {each}" for each in report.members),
    ]
    missing = [f"  - {each}" for each in report.missing]
    drifted = [f"  {line}" for each in report.drifted for line in object_lines(each, verbose=verbose)]
    return joined(
        lines,
        ["Missing (kvobs install brings it back)", *missing] if missing else [],
        ["Not as it was made (kvobs diff says what an install would do)", *drifted] if drifted else [],
        notes(report.notes),
        access(report.access),
    )
