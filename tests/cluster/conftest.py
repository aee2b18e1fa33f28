"""Fixtures: a cluster for a test module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.bed import Bed, ForeignCluster

KUBECONFIG = "KVOBS_TEST_KUBECONFIG"


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
