"""The Helm adapter against a real API server, with both lines of Helm."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kvobs.adapters.cluster import Cluster
from kvobs.adapters.helm import Helm
from kvobs.adapters.helm_storage import stored_release
from kvobs.errors import HelmError
from kvobs.stack.values import same_values, set_integers, user_values
from tests.cluster.api import eventually
from tests.cluster.bed import Bed, ForeignCluster

CHART = str(Path(__file__).parent.parent / "data" / "helm" / "chart")
SET = ["number=1234567", "text=null", "grafana.adminPassword=hunter22", "big=9007199254740993", "on=true"]


@pytest.fixture(params=["4", "3"], scope="module")
def helm(request: pytest.FixtureRequest, cluster: Bed | ForeignCluster) -> Helm:
    """Helm 4 and Helm 3."""
    return Helm(executable=str(cluster.helm(request.param)), kubeconfig=str(cluster.kubeconfig), timeout_s=240)


@pytest.fixture
def namespace(helm: Helm, cluster: Bed | ForeignCluster) -> Iterator[str]:
    """A namespace that Helm makes; its releases are gone afterwards."""
    name = f"helm-{helm.version()[0]}"
    yield name
    helm.uninstall("small", name)
    # A pod that stays would be taken for one of the next test's, and Helm forgets what an interrupted upgrade made.
    cluster.api.delete("v1", "Pod", "small", name, grace_s=0)
    eventually(lambda: cluster.api.find("v1", "Pod", "small", name) is None)


def install(helm: Helm, namespace: str, *expressions: str, wait: bool = True, timeout_s: int | None = None) -> int:
    """Install or upgrade the small chart, and return the revision."""
    return helm.install_or_upgrade(
        "small",
        CHART,
        version=None,
        namespace=namespace,
        values=user_values([], expressions),
        set_integers=set_integers({}, expressions),
        wait=wait,
        timeout_s=timeout_s,
        create_namespace=True,
    ).revision


def texts(cluster: Bed | ForeignCluster, namespace: str) -> dict[str, str]:
    """Return what the chart wrote into its ConfigMap."""
    data: dict[str, str] = cluster.api.get("v1", "ConfigMap", "small", namespace)["data"]
    return data


def test_the_life_of_a_release(helm: Helm, namespace: str, cluster: Bed | ForeignCluster) -> None:
    """Installed, read back with the same values, upgraded to none, rolled back, uninstalled."""
    assert helm.release("small", namespace) is None

    assert install(helm, namespace, *SET) == 1
    release = helm.release("small", namespace)
    assert release is not None
    assert (release.status, release.chart_version) == ("deployed", "1.2.3")
    assert same_values(release.values, user_values([], SET))
    assert texts(cluster, namespace) == {"text": "removed", "number": "1234567"}

    assert install(helm, namespace) == 2
    release = helm.release("small", namespace)
    assert release is not None
    assert release.values == {}
    assert texts(cluster, namespace) == {"text": "default", "number": "1"}

    helm.rollback("small", namespace)
    release = helm.release("small", namespace)
    assert release is not None
    assert (release.revision, release.status) == (3, "deployed")
    assert texts(cluster, namespace)["number"] == "1234567"

    assert helm.uninstall("small", namespace) is True
    assert helm.uninstall("small", namespace) is False


def test_the_record_of_a_release(helm: Helm, namespace: str, cluster: Bed | ForeignCluster) -> None:
    """What is read where Helm keeps it is what Helm says, at every revision; its objects are what was applied."""
    api = Cluster.connect(str(cluster.kubeconfig), None)
    assert stored_release(api, "small", namespace) is None

    # Helm itself reads a larger integer back as a float.
    install(helm, namespace, *(each for each in SET if not each.startswith("big")))
    first = stored_release(api, "small", namespace)
    assert first is not None
    assert first == helm.release("small", namespace)
    assert [(each["kind"], each["data"]["number"]) for each in first.manifest] == [("ConfigMap", "1234567")]

    install(helm, namespace)
    second = stored_release(api, "small", namespace)
    assert second is not None
    assert second == helm.release("small", namespace)
    assert second.manifest == helm.template("small", CHART, version=None, namespace=namespace, values={})
    assert stored_release(api, "small", namespace, revision=1) == replace(first, status="superseded")


def test_not_ready(helm: Helm, namespace: str) -> None:
    """What is not ready in time is a HelmError that says so, and the release is left as failed."""
    with pytest.raises(HelmError) as late:
        install(helm, namespace, "never=true", timeout_s=5)

    assert "kubectl get pods" in str(late.value.hint)
    release = helm.release("small", namespace)
    assert release is not None
    assert release.status == "failed"


def test_interrupted(helm: Helm, namespace: str, cluster: Bed | ForeignCluster) -> None:
    """Ctrl-C while Helm waits leaves a release that says how it stands, and the next run goes on from there."""
    install(helm, namespace)

    def press() -> None:
        eventually(lambda: cluster.api.find("v1", "Pod", "small", namespace))
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        install(helm, namespace, "never=true")
    pressing.join()

    release = helm.release("small", namespace)
    assert release is not None
    assert release.revision == 2
    # Helm ends without waiting for its own record of the end: either word is what it leaves.
    assert release.status in ("failed", "pending-upgrade")
    if release.status == "pending-upgrade":
        with pytest.raises(HelmError, match="another operation") as pending:
            install(helm, namespace)
        assert "helm history" in str(pending.value.hint)
        helm.rollback("small", namespace)
    install(helm, namespace)
    release = helm.release("small", namespace)
    assert release is not None
    assert release.status == "deployed"


def test_no_namespace(helm: Helm) -> None:
    """A namespace that is not there is not made unless asked for, and the error says what makes it."""
    with pytest.raises(HelmError, match="not found") as missing:
        helm.install_or_upgrade("small", CHART, version=None, namespace="not-there", values={}, wait=False)

    assert missing.value.hint == "kubectl create namespace makes it"
