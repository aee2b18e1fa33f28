"""Reports as text and as documents: one file a report says exactly what a person sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.errors import Undecided
from kvobs.health.causes import Cause
from kvobs.report import error_document, to_document, to_json, to_text, to_yaml
from kvobs.stack.checks.verdict import Checked, Outcome, Severity
from kvobs.stack.notes import Note
from kvobs.use_cases.access import Access
from kvobs.use_cases.check import CheckReport
from kvobs.use_cases.dashboards import DashboardList, KnownDashboard, PulledDashboard, PullReport
from kvobs.use_cases.explain import Explanation
from kvobs.use_cases.install import DashboardResult, InstallReport, StepResult
from kvobs.use_cases.patch import PatchedFile, PatchReport, ReferenceRow
from kvobs.use_cases.render import Rendered
from kvobs.use_cases.render_stack import ImageList, StackImage
from kvobs.use_cases.status import StatusReport
from kvobs.use_cases.uninstall import Left, UninstallReport
from kvobs.use_cases.verify_report import VerifyReport
from tests import verify_reports

DATA = Path(__file__).parent / "data" / "reports"
ACCESS = Access(
    port_forward="kubectl -n monitoring port-forward service/g 3000:80",
    password="kubectl -n monitoring get secret s -o jsonpath={.data.admin-password} | base64 -d",
    links=(("vLLM serving", "http://localhost:3000/d/kvobs-vllm"), ("GPUs", "http://localhost:3000/d/kvobs-dcgm")),
)
NOTES = (Note("metrics-not-kept", "Metrics are lost when the pod restarts."),)
INPUT = "input DS_P is of type prometheus"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}}


def install_report(**other: Any) -> InstallReport:
    """Give a report of an install that changed something."""
    given: dict[str, Any] = {
        "server_version": "v1.36.3",
        "namespace": "monitoring",
        "stack": "installed by kvobs",
        "prometheus": "monitoring/p",
        "grafana": "monitoring/g",
        "datasource": "prometheus",
        "steps": (
            StepResult(
                id="release", title="Helm release monitoring/kps", outcome="changed", detail="install, revision 1"
            ),
            StepResult(id="dashboards", title="dashboards", outcome="unchanged", detail="2 as before"),
        ),
        "dashboards": (
            DashboardResult(
                uid="kvobs-vllm",
                title="vLLM serving",
                source="vllm.json",
                config_map="monitoring/kvobs-dashboard-kvobs-vllm",
                references=105,
                warnings=(),
                changes=(f"$.panels[0].datasource.uid: {INPUT}",),
                unresolved=(),
            ),
        ),
        "refused": (),
        "notes": NOTES,
        "access": ACCESS,
        "ready": True,
    }
    return InstallReport(**(given | other))


UNRESOLVED = DashboardResult(
    uid="logs",
    title="Logs",
    source="logs.json",
    config_map="monitoring/logs",
    references=7,
    warnings=("the key 'title' stands twice in one object; the last one counts",),
    changes=(),
    unresolved=("$.panels[0].datasource.uid: input DS_LOKI is of type loki, and no such source was given",),
)
UNCHANGED = (StepResult(id="dashboards", title="dashboards", outcome="unchanged", detail="2 as before"),)
ROWS = tuple(
    ReferenceRow(path=path, reference_class=kind, outcome=outcome, was=was, now=now, why=why)
    for path, kind, outcome, was, now, why in (
        ("$.panels[0].datasource.uid", "input", "resolved", "${DS_P}", "abc", INPUT),
        ("$.panels[1].datasource", "built-in", "kept", "-- Grafana --", "-- Grafana --", "built into Grafana"),
        ("$.panels[2].datasource.uid", "input", "unresolved", "${L}", "${L}", "no source of type loki was given"),
    )
)
PATCHED = PatchedFile(source="a.json", written="out/a.json", references=ROWS, unresolved=1, changed=True)
BROKEN = PatchedFile(source="b.json", error="not JSON (line 3, column 2)", hint="mend it", error_exit_code=1)

LISTED = tuple(
    KnownDashboard(
        name=name,
        topic="dcgm",
        title=title,
        source=source,
        url=None,
        revision=revision,
        licence="Apache-2.0",
        sha256=None,
        checksum=checksum,  # type: ignore[arg-type]
        cached=cached,
    )
    for name, title, source, revision, checksum, cached in (
        ("dcgm", "NVIDIA GPUs (kvobs)", "kvobs", "", "shipped", True),
        ("theirs", None, "o/r", "0123456789abcdef", "known", False),
        ("a-number", "Of Grafana.com", "grafana.com 7", "2", "pinned", True),
    )
)
PULLED = (
    PulledDashboard(name="dcgm", outcome="shipped", sha256="00ff", written="out/dcgm.json"),
    PulledDashboard(name="theirs", outcome="downloaded", sha256="11ff", warnings=("its checksum was not known",)),
    PulledDashboard(name="gone", outcome="failed", error="it is no longer there", hint="look", error_exit_code=1),
)


def checked(
    outcome: Outcome, check: str, category: str, title: str, said: str = "", hint: str | None = None
) -> Checked:
    """Give the answer of one check; only the API server is fatal."""
    severity: Severity = "fatal" if check in ("api-server", "rights") else "warning"
    return Checked(id=check, category=category, title=title, severity=severity, outcome=outcome, said=said, hint=hint)


ANSWERS = checked("passed", "api-server", "Kubernetes", "the API server answers", "v1.36.3")
KEPT = checked("warning", "metrics-kept", "Storage", "metrics outlive the pod", "Metrics are lost", "set storage")
RIGHTS = checked("failed", "rights", "Permissions", "the credentials suffice", "they may not create Pod", "ask")
AWAY = checked("not asked", "api-server", "Kubernetes", "the API server answers", "it refuses connections")
ROLE = {"kind": "ClusterRole", "metadata": {"name": "kvobs-missing"}, "rules": []}


def check_report(*checks: Checked, role: dict[str, Any] | None = None) -> CheckReport:
    """Give the report of a check."""
    return CheckReport(
        server="https://c", server_version="v1.36.3", namespace="monitoring", checks=checks, missing_role=role
    )


A_CAUSE = Cause(
    id="KVO-000",
    title="a title",
    severity="broken",
    sentence="The sentence.",
    evidence="Evidence.",
    fix="kubectl -n NAMESPACE get pods",
    explanation="A paragraph that goes on for so long that it has to be broken between two of its many words.\n\nMore.",
)


REPORTS: dict[str, tuple[Any, int]] = {
    "check": (check_report(ANSWERS, KEPT), 0),
    "check-failed": (check_report(ANSWERS, RIGHTS, KEPT, role=ROLE), 1),
    "check-not-asked": (check_report(AWAY), 4),
    "install": (install_report(), 0),
    "install-unchanged": (install_report(steps=UNCHANGED, ready=None, access=None, notes=()), 0),
    "install-refused": (install_report(refused=(("big.json", "it has 2,000,000 bytes"),), dashboards=(UNRESOLVED,)), 1),
    "status": (
        StatusReport(
            installed=True,
            server_version="v1.36.3",
            namespace="monitoring",
            stack="installed by kvobs",
            release="monitoring/kps, deployed, revision 1",
            prometheus="monitoring/p",
            grafana="monitoring/g",
            datasource="prometheus",
            members=("ConfigMap monitoring/a", "ServiceMonitor monitoring/b"),
            notes=NOTES,
            access=ACCESS,
        ),
        0,
    ),
    "status-unready": (
        StatusReport(
            installed=True,
            server_version="v1.36.3",
            namespace="monitoring",
            stack="reused",
            prometheus="monitoring/p",
            unready=("Prometheus p: Available is False: NoPodReady",),
        ),
        1,
    ),
    "status-unread": (
        StatusReport(
            installed=True,
            server_version="v1.36.3",
            namespace="monitoring",
            stack="installed by kvobs",
            release="monitoring/kps, could not be read",
            prometheus="monitoring/p",
            unread=("DaemonSet.apps: not allowed",),
        ),
        4,
    ),
    "status-absent": (StatusReport(installed=False, server_version="v1.36.3"), 1),
    "status-elsewhere": (StatusReport(installed=False, server_version="v1.36.3", elsewhere=("observability",)), 1),
    "uninstall": (
        UninstallReport(
            namespace="monitoring",
            removed=("ConfigMap monitoring/a", "Helm release monitoring/kps"),
            restored=("ClusterPolicy cluster-policy spec.x: given back",),
            left=(
                Left(what="10 CRDs", why="deleting them deletes every monitor", how="--delete-crds"),
                Left(what="Namespace monitoring", why="it was there before kvobs"),
            ),
        ),
        0,
    ),
    "uninstall-absent": (UninstallReport(namespace=None, removed=(), restored=(), left=()), 0),
    "patch": (PatchReport(files=(PATCHED, BROKEN), warnings=("--input X was given, and no dashboard uses it",)), 1),
    "dashboards-list": (DashboardList(dashboards=LISTED, cache="/home/u/.cache/kvobs/dashboards"), 0),
    "dashboards-pull": (PullReport(dashboards=PULLED, cache="/home/u/.cache/kvobs/dashboards"), 1),
    "patch-list": (PatchReport(files=(PATCHED,), listing=True), 0),
    "render": (Rendered(objects=(SECRET,), refused=()), 0),
    "render-split": (
        Rendered(objects=(SECRET,), refused=(), files=("out/secret-s.yaml",), removed=("out/secret-old.yaml",)),
        0,
    ),
    "images": (
        ImageList(
            chart="kube-prometheus-stack",
            chart_version="88.5.3",
            chart_image=StackImage(source="ghcr.io/charts/kube-prometheus-stack:88.5.3", target=None),
            images=(StackImage(source="quay.io/prometheus/prometheus:v3", target=None),),
            missed=(),
            notes=(),
        ),
        0,
    ),
    "images-mirrored": (
        ImageList(
            chart="kube-prometheus-stack",
            chart_version="88.5.3",
            chart_image=None,
            images=(
                StackImage(source="docker.io/own/tool:1", target="docker.io/own/tool:1"),
                StackImage(source="quay.io/prometheus/prometheus:v3", target="r.io/prometheus/prometheus:v3"),
            ),
            missed=("docker.io/own/tool:1",),
            notes=(),
        ),
        1,
    ),
    "explain": (Explanation(cause=A_CAUSE), 0),
    "verify": (verify_reports.everything(), 1),
    "verify-least": (verify_reports.everything(min_severity="broken", fail_on="dark", notes=(), unmet=()), 1),
    "verify-lit": (verify_reports.lit(), 0),
    "verify-nothing": (VerifyReport(prometheus="monitoring/k8s"), 4),
    "verify-static": (verify_reports.static_report(), 1),
    "verify-unknown": (
        verify_reports.everything(boards=(verify_reports.GPUS,), notes=(), unmet=(), server=None),
        4,
    ),
    "render-files": (Rendered(objects=(SECRET,), refused=(("x.json", "bad"),), files=("out/secret-s.yaml",)), 1),
}


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_report_as_text(name: str) -> None:
    """What a person reads is exactly what the file of that name says."""
    report, exit_code = REPORTS[name]
    assert to_text(report) + "\n" == (DATA / f"{name}.txt").read_text()
    assert report.exit_code == exit_code


def test_every_file_is_a_report() -> None:
    """No text lies about that nothing is compared with."""
    assert {path.stem for path in DATA.iterdir()} == set(REPORTS)


@pytest.mark.parametrize("name", sorted(set(REPORTS) - {"render"}))
def test_a_report_as_a_document_is_versioned_and_agrees_with_the_exit_code(name: str) -> None:
    """JSON and YAML hold the same document; its kind, version and exit code are where a program looks."""
    report, exit_code = REPORTS[name]
    document = to_document(report)
    assert json.loads(to_json(document)) == yaml.safe_load(to_yaml(document)) == document
    assert (document["kind"], document["version"], document["exit_code"]) == (type(report).__name__, 1, exit_code)


def test_verbose_adds_every_reference() -> None:
    """-v lists what the patch changed, for an install and for a patch."""
    assert "$.panels[0].datasource.uid" not in to_text(install_report())
    assert "$.panels[0].datasource.uid" in to_text(install_report(), verbose=True)
    report = PatchReport(files=(PATCHED,))
    assert "built into Grafana" not in to_text(report)
    assert "built into Grafana" in to_text(report, verbose=True)


@pytest.mark.parametrize("form", [to_json, to_yaml], ids=["json", "yaml"])
def test_no_form_shows_the_value_of_a_secret(form: Any) -> None:
    """A rendered Secret keeps its keys and shows no value."""
    shown = form(to_document(Rendered(objects=(SECRET,), refused=())))
    assert "password" in shown
    assert "aHVudGVyMg" not in shown


def test_an_error_as_a_document() -> None:
    """An error has the same frame as a report, with its class, message and hint."""
    assert error_document(Undecided("two are here", hint="--prometheus NS/NAME")) == {
        "kind": "Error",
        "version": 1,
        "exit_code": 3,
        "error": "Undecided",
        "message": "two are here",
        "hint": "--prometheus NS/NAME",
    }


def test_what_verify_has_worked_out_is_in_its_document() -> None:
    """A program finds the counts and the causes, each with its panels, in a report and in one within another."""
    document = to_document(verify_reports.everything())
    assert document["counts"] == {
        "lit": 4, "broken": 3, "unknown": 1, "dark": 1, "expected": 1, "not checked": 1,
    }  # fmt: skip
    first = document["causes"][0]
    assert (first["finding"]["cause"], [each["panel"] for each in first["panels"]]) == (
        "KVO-405",
        ["Requests running", "Requests waiting"],
    )
    assert document["boards"][1]["panels"][0]["accepted"] == "we draft nothing here"
    assert to_document(verify_reports.static_report())["verdicts"]["counts"]["broken"] == 1


def test_verbose_adds_every_panel_and_the_evidence() -> None:
    """-v lists lit panels with how much they show, and what each cause was told from."""
    for text in ("2 series, all 0", "3 series, 1 of 2 queries without data", "it asks nothing", "evidence: 2 pods"):
        assert text not in to_text(verify_reports.everything())
        assert text in to_text(verify_reports.everything(), verbose=True)


def test_a_hostile_title_moves_no_cursor() -> None:
    """No character of a dashboard, or of a server's answer, reaches a terminal as anything but text."""
    text = to_text(verify_reports.hostile(), verbose=True)
    assert all(each.isprintable() for line in text.splitlines() for each in line)
