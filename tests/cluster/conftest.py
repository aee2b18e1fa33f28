"""Fixtures: a cluster for a test module, and a line for the end of the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.bed import Bed, ForeignCluster

KUBECONFIG = "KVOBS_TEST_KUBECONFIG"
TOLD = pytest.StashKey[list[str]]()


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say something at the end of the run: how much of a whole was a sample."""
    return request.config.stash.setdefault(TOLD, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what tests had to tell."""
    for line in terminalreporter.config.stash.get(TOLD, []):
        terminalreporter.line(line)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A simulated cluster of the module's own, with real monitoring programs for what is installed on it."""
    if os.environ.get(KUBECONFIG):
        pytest.skip(f"needs simulated machines, and {KUBECONFIG} names a cluster that has its own")
    with Bed(monitoring=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Bed | ForeignCluster]:
    """A cluster for tests that only use kubeconfig, API and Helm: KVOBS_TEST_KUBECONFIG's, else a bed."""
    named = os.environ.get(KUBECONFIG)
    if named:
        foreign = ForeignCluster(Path(named))
        yield foreign
        foreign.api.close()
        return
    with Bed(monitoring=True) as simulated:
        yield simulated
