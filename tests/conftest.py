"""Rules for every test run."""

from __future__ import annotations

import os

import pytest

STRICT = ("CI", "KVOBS_REQUIRE_ALL")
"""Environment variables that turn a skipped test into a failure of the run: `.ci/run` sets one."""


OPTIONAL = {
    "KVOBS_TEST_CHART": "the suite on the real kube-prometheus-stack, and the small chart compared with it",
    "KVOBS_TEST_SIDECAR": "the files that the real dashboard sidecar writes",
}
"""Environment variables that add tests which need what no package registry has; without them, these do not exist."""


def _skips(session: pytest.Session) -> list[pytest.TestReport | pytest.CollectReport]:
    if not any(os.environ.get(name) for name in STRICT):
        return []
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    return list(reporter.stats.get("skipped", ())) if reporter else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a strict run that has skipped something."""
    if exitstatus == pytest.ExitCode.OK and _skips(session):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what a strict run has skipped, and what every run leaves out for want of what it needs."""
    for name, what in OPTIONAL.items():
        if not os.environ.get(name):
            terminalreporter.line(f"not run without {name}: {what}")
    session = terminalreporter._session
    skips = _skips(session) if session is not None else []
    if skips:
        terminalreporter.section("a skipped test is a failure here", red=True)
        for report in skips:
            reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.line(f"{report.nodeid}: {reason}")
