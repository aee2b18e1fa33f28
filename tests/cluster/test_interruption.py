"""Stopped anywhere, kvobs leaves nothing running, and running it again ends where an uninterrupted run does."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.cluster.api import eventually
from tests.cluster.bed import Bed
from tests.cluster.commands import Running, alive, kvobs, stack_arguments
from tests.cluster.lean import (
    HOOK,
    INSTALL,
    RELEASE,
    empty_cluster,
    made,
    pending,
    releases,
    remove,
    whole_install,
)
from tests.cluster.rights import until_in_force
from tests.cluster.snapshots import Key, Snapshot, settled


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """An empty cluster."""
    with empty_cluster() as empty:
        yield empty


@pytest.fixture(scope="module")
def uninterrupted(bed: Bed) -> tuple[dict[Key, Any], Snapshot]:
    """What one whole install makes."""
    return whole_install(bed)


STEPS = ("namespace monitoring", "Grafana admin's password", "Helm release", "look at", "vLLM monitors", "dashboards")
"""What install says it does, in this order, on an empty cluster."""


def test_killed_after_each_step(bed: Bed, uninterrupted: tuple[dict[Key, Any], Snapshot]) -> None:
    """Killed as soon as it begins a step, in each in turn, the next run goes on, and the last ends as one run would."""
    whole, before = uninterrupted
    for step in STEPS:
        running = begun(bed, INSTALL, step if step != "look at" else "look at the installed", anew=lambda: remove(bed))
        helpers = running.descendants()
        running.kill()
        eventually(lambda helpers=helpers: not any(map(alive, helpers)))
    kvobs(*INSTALL, env=bed.environment())

    assert made(settled(bed.api), before) == whole
    assert [status for _, status in releases(bed)].count("deployed") == 1
    again = json.loads(kvobs(*INSTALL, "-o", "json", env=bed.environment()).stdout)
    assert {step["outcome"] for step in again["steps"]} == {"unchanged"}
    remove(bed)


def begun(bed: Bed, command: Sequence[str], step: str, *, anew: Callable[[], object]) -> Running:
    """Return a run that has just begun a step.

    What an earlier run did whole is not said again, and one that was to be killed can be faster than the blow: then all
    of it is done *anew*.
    """
    running = Running(*command, env=bed.environment())
    if not running.says(step):
        assert running.end() == 0, running.said
        anew()
        running = Running(*command, env=bed.environment())
        running.until(step)
    return running


def test_power_cut_during_the_first_install(bed: Bed, uninterrupted: tuple[dict[Key, Any], Snapshot]) -> None:
    """A release of ours that is left pending-install is done anew."""
    whole, before = uninterrupted
    bed.hold(HOOK)
    running = Running(*INSTALL, env=bed.environment())
    eventually(lambda: pending(bed, "pending-install"))
    running.cut_power()
    bed.release(HOOK)
    assert pending(bed, "pending-install")

    kvobs(*INSTALL, env=bed.environment())
    assert made(settled(bed.api), before) == whole
    assert releases(bed) == [("1", "deployed")]


def test_power_cut_during_an_upgrade(bed: Bed, uninterrupted: tuple[dict[Key, Any], Snapshot]) -> None:
    """A release of ours that is left pending-upgrade is rolled back first, and then upgraded."""
    kvobs(*INSTALL, env=bed.environment())
    bed.hold(HOOK)
    values = ("--set", "prometheus.prometheusSpec.retention=3d")
    running = Running(*INSTALL, *values, env=bed.environment())
    eventually(lambda: pending(bed, "pending-upgrade"))
    running.cut_power()
    bed.release(HOOK)
    assert pending(bed, "pending-upgrade")

    kvobs(*INSTALL, *values, env=bed.environment())
    assert pending(bed, "deployed")
    assert [status for _, status in releases(bed)].count("deployed") == 1
    live = bed.api.get("monitoring.coreos.com/v1", "Prometheus", f"{RELEASE}-prometheus", "monitoring")
    assert live["spec"]["retention"] == "3d"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupted_while_helm_works(
    number: signal.Signals, bed: Bed, uninterrupted: tuple[dict[Key, Any], Snapshot]
) -> None:
    """Ctrl-C (or a supervisor) stops Helm too, is exit 130, and the message says that running again finishes it."""
    kvobs(*INSTALL, env=bed.environment())
    bed.hold(HOOK)
    retention = f"{number.value}d"
    values = ("--set", f"prometheus.prometheusSpec.retention={retention}")
    running = Running(*INSTALL, *values, env=bed.environment())
    eventually(lambda: pending(bed, "pending-upgrade"))
    helpers = running.descendants()
    assert helpers
    running.process.send_signal(number)
    assert running.end() == 130
    # Before the hook is let go: a Helm that nobody stopped would wait for it.
    eventually(lambda: not any(map(alive, helpers)))
    bed.release(HOOK)
    assert "running the same command again finishes it" in "".join(running.said)

    kvobs(*INSTALL, *values, env=bed.environment())
    live = bed.api.get("monitoring.coreos.com/v1", "Prometheus", f"{RELEASE}-prometheus", "monitoring")
    assert live["spec"]["retention"] == retention


def test_uninstall_killed_after_each_step(bed: Bed, uninterrupted: tuple[dict[Key, Any], Snapshot]) -> None:
    """Killed in each step of an uninstall, the next one goes on, and nothing of ours stays."""
    _, before = uninterrupted
    kvobs(*INSTALL, env=bed.environment())
    everything = ("uninstall", "--yes", "--delete-namespace")

    def installed() -> None:
        eventually(lambda: bed.api.find("v1", "Namespace", "monitoring") is None)
        kvobs(*INSTALL, env=bed.environment())

    for step in ("give foreign", "delete monitors", "uninstall Helm", "delete what", "see what"):
        running = begun(bed, everything, step, anew=installed)
        helpers = running.descendants()
        running.kill()
        eventually(lambda helpers=helpers: not any(map(alive, helpers)))
    remove(bed)

    assert made(settled(bed.api), before) == {}
    assert "not installed" in kvobs(*everything, env=bed.environment()).stdout


def test_a_pending_release_that_is_not_ours(bed: Bed) -> None:
    """Somebody's release of our name that is pending is theirs: it is named, and not touched, whoever looks."""
    bed.hold(HOOK)
    helm = subprocess.Popen(
        [bed.helm(), "install", RELEASE, stack_arguments()[1], "-n", "monitoring", "--create-namespace"],
        env=bed.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    eventually(lambda: pending(bed, "pending-install"))
    helm.kill()
    helm.wait()
    before = {key: each["metadata"]["resourceVersion"] for key, each in settled(bed.api).items() if key[0] == "Secret"}

    almost = bed.kubeconfig_for("almost")
    _all_but_secrets_elsewhere(bed, "almost")
    for who in (bed.kubeconfig, almost):
        done = kvobs(*INSTALL, "--kubeconfig", str(who), env=bed.environment(), code=3)
        assert f"Helm release {RELEASE} already exists in namespace monitoring" in done.stderr
    after = {key: each["metadata"]["resourceVersion"] for key, each in settled(bed.api).items() if key[0] == "Secret"}
    assert after == before


def _all_but_secrets_elsewhere(bed: Bed, user: str) -> None:
    """Let *user* do everything, but see Secrets in namespace monitoring only."""
    group = "rbac.authorization.k8s.io"
    kinds = ["configmaps", "namespaces", "nodes", "pods", "services", "serviceaccounts", "persistentvolumeclaims"]
    groups = ["apps", "monitoring.coreos.com", "apiextensions.k8s.io", "batch", group, "admissionregistration.k8s.io"]
    rules = [
        {"apiGroups": [""], "resources": kinds, "verbs": ["*"]},
        {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]},
    ]
    subjects = [{"kind": "User", "name": user, "apiGroup": group}]
    bed.api.apply(
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
            "subjects": subjects,
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": user, "namespace": "monitoring"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": subjects,
        },
    )
    everything = {"metadata": {"namespace": "monitoring"}, "rules": [{key: ["*"] for key in rules[0]}]}
    until_in_force(bed.api, user, {"metadata": {}, "rules": rules}, everything)
