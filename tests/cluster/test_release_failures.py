"""A release that fails is put back; one whose objects somebody has deleted or changed is mended."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api import Object
from tests.cluster.bed import Bed
from tests.cluster.charts import small_chart
from tests.cluster.commands import kvobs
from tests.cluster.lean import LEAN, RELEASE, empty_cluster, lasting, releases, remove
from tests.cluster.snapshots import Snapshot, settled, versions

NAMESPACE = "monitoring"
MONITORING = "monitoring.coreos.com/v1"

FAILING_HOOK = """\
{{- if .Values.failingHook }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-fails
  annotations:
    helm.sh/hook: {{ .Values.failingHook }}
    helm.sh/hook-delete-policy: {{ .Values.policy | default "before-hook-creation" }}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: create
          image: none.invalid/kube-webhook-certgen
          args: [create]
{{- end }}
"""
"""A Job that lacks what it needs, and fails."""
FAILS_FIRST = ("--set", "failingHook=pre-install")
FAILS_LATER = ("--set", "failingHook=pre-upgrade", "--set", "policy=hook-failed")

REFUSED = ("--set", "prometheus.prometheusSpec.retention=forever")
"""What the API server takes for no duration, after other objects of the release were changed."""


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small stack with a hook that can be told to fail."""
    folder = shutil.copytree(small_chart(), tmp_path_factory.mktemp("charts") / "kube-prometheus-stack")
    (folder / "templates" / "failing-hook.yaml").write_text(FAILING_HOOK)
    return folder


@pytest.fixture(scope="module", params=["4", "3"])
def line(request: pytest.FixtureRequest) -> str:
    """Helm 4 and Helm 3."""
    return str(request.param)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """An empty cluster."""
    with empty_cluster() as empty:
        yield empty


@pytest.fixture(scope="module")
def before(bed: Bed) -> Snapshot:
    """What is there without kvobs."""
    return lasting(settled(bed.api))


class Installing:
    """Runs the install that these tests are about, with one Helm."""

    def __init__(self, bed: Bed, chart: Path, helm: str) -> None:
        lean = [word for value in LEAN for word in ("--set", value)]
        self.bed = bed
        self.arguments = ("install", "--chart", chart, "--no-wait", "--timeout", "240s", *lean)
        self.environment = bed.environment(helm=helm)

    def __call__(self, *more: str, code: int = 0) -> str:
        """Install, and return what it said on stderr, or as JSON where it went well."""
        done = kvobs(*self.arguments, *more, "-o", "json", env=self.environment, code=code)
        return done.stderr if code else done.stdout

    def outcome(self, *more: str) -> Object:
        """Install, and return what became of the release."""
        steps = json.loads(self(*more))["steps"]
        (found,) = (each for each in steps if each["id"] == "release")
        return dict(found)


@pytest.fixture(scope="module")
def install(bed: Bed, chart: Path, line: str) -> Installing:
    """The install with Helm 4, and with Helm 3."""
    return Installing(bed, chart, line)


def retention(bed: Bed) -> str:
    """Return what the live Prometheus object says."""
    spec = bed.api.get(MONITORING, "Prometheus", f"{RELEASE}-prometheus", NAMESPACE)["spec"]
    return str(spec["retention"])


@pytest.fixture(scope="module")
def installed(install: Installing, bed: Bed, before: Snapshot) -> Iterator[Installing]:
    """A whole install, made by the run after one that failed; all of it goes again."""
    said = install(*REFUSED, code=3)
    assert "spec.retention" in said
    assert "what this first install of the release had made is taken away again" in said
    assert install.outcome()["outcome"] == "changed"
    yield install
    remove(bed)
    assert lasting(settled(bed.api)).keys() == before.keys()


def test_a_first_install_that_fails(install: Installing, bed: Bed, before: Snapshot) -> None:
    """Nothing of the release is left, hooks included; what is left is known to kvobs, and goes with an uninstall."""
    said = install(*FAILS_FIRST, code=3)

    assert "failed" in said
    assert "what this first install of the release had made is taken away again" in said
    assert "then run the same command again" in said
    assert releases(bed) == []
    there = settled(bed.api)
    assert not [key for key in there if key[0] == "Job.batch"]
    left = {key for key in lasting(there) if key not in before}
    assert left == {
        ("ConfigMap", NAMESPACE, "kvobs"),
        ("Secret", NAMESPACE, f"{RELEASE}-grafana-admin"),
        ("Secret", NAMESPACE, f"{RELEASE}-admission"),
        ("Namespace", "", NAMESPACE),
        ("ConfigMap", NAMESPACE, "kube-root-ca.crt"),
        ("ServiceAccount", NAMESPACE, "default"),
    }
    remove(bed)
    assert lasting(settled(bed.api)).keys() == before.keys()


@pytest.mark.parametrize("values", [REFUSED, FAILS_LATER], ids=["refused", "a hook fails"])
def test_an_upgrade_that_fails(installed: Installing, bed: Bed, values: tuple[str, ...]) -> None:
    """What was in force is in force again, the error says so, and the next run finds all as it should be."""
    said = installed(*values, "--set", "prometheus.prometheusSpec.scrapeInterval=7s", code=3)

    assert "rolled back: what revision" in said
    assert "is in force again" in said
    assert "then run the same command again" in said
    spec = bed.api.get(MONITORING, "Prometheus", f"{RELEASE}-prometheus", NAMESPACE)["spec"]
    assert (spec["retention"], spec["scrapeInterval"]) == ("10d", "30s")
    assert [status for _, status in releases(bed)].count("deployed") == 1
    assert installed.outcome()["outcome"] == "unchanged"


def test_an_upgrade_that_makes_no_revision(installed: Installing, bed: Bed) -> None:
    """Helm stops before it begins, at a name that somebody else has: what the run was told holds for no later one."""
    account = {"name": f"{RELEASE}-kube-state-metrics", "namespace": NAMESPACE}
    bed.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    parent = bed.api.get("v1", "ConfigMap", "kvobs", NAMESPACE)
    before = releases(bed)

    told = ("--image-registry", "registry.local/mirror", "--set", "kubeStateMetrics.enabled=true")
    said = installed(*told, code=3)

    assert "cannot be imported into the current release" in said
    assert "is still in force" in said
    assert releases(bed) == before
    now = bed.api.get("v1", "ConfigMap", "kvobs", NAMESPACE)
    assert now["metadata"]["resourceVersion"] != parent["metadata"]["resourceVersion"]
    assert [now.get("data"), now["metadata"]["annotations"]] == [parent.get("data"), parent["metadata"]["annotations"]]
    assert installed.outcome()["outcome"] == "unchanged"
    bed.api.delete("v1", "ServiceAccount", account["name"], NAMESPACE)


def test_an_upgrade_at_a_field_of_somebody_else(installed: Installing, bed: Bed, line: str) -> None:
    """Helm 4 would stop at it, and roll back in vain: that is said before anything is changed; Helm 3 goes on."""
    at = {"name": f"{RELEASE}-prometheus", "namespace": NAMESPACE}

    def set_by_others(days: str) -> None:
        theirs = {"apiVersion": MONITORING, "kind": "Prometheus", "metadata": at, "spec": {"retention": days}}
        bed.api.apply(theirs, manager="ops")

    set_by_others("20d")
    upgrade = ("--set", "prometheus.prometheusSpec.scrapeInterval=7s")
    if line == "4":
        before = versions(settled(bed.api))
        said = " ".join(installed(*upgrade, "--image-registry", "registry.local/mirror", code=3).split())
        assert "nothing was changed, since Helm would stop at what others manage" in said
        assert f'{at["name"]} spec.retention of ops ("20d", where the release has "10d")' in said
        assert "give the release the value that they have (--set), or take the field back from them" in said
        assert "then run the same command again" in said
        assert versions(settled(bed.api)) == before
        assert installed.outcome()["outcome"] == "unchanged"
        # As the hint says.
        upgrade = (*upgrade, "--set", "prometheus.prometheusSpec.retention=20d")
    assert installed.outcome(*upgrade)["outcome"] == "changed"
    assert retention(bed) == "20d"

    # As it was, for the tests to come.
    set_by_others("10d")
    assert installed.outcome()["outcome"] == "changed"
    assert installed.outcome()["outcome"] == "unchanged"


def test_what_somebody_deleted(installed: Installing, bed: Bed) -> None:
    """Objects of the release that are missing come back, as Helm has made them, without a new revision."""
    gone = [("v1", "Service", f"{RELEASE}-grafana"), (MONITORING, "ServiceMonitor", f"{RELEASE}-operator")]
    there = {each: bed.api.get(*each, NAMESPACE) for each in gone}
    before = releases(bed)
    for each in gone:
        bed.api.delete(*each, NAMESPACE)

    assert "2 missing objects mended, revision" in installed.outcome()["detail"]

    for each in gone:
        again, once = bed.api.get(*each, NAMESPACE), there[each]
        assert [again["metadata"][key] for key in ("labels", "annotations")] == [
            once["metadata"][key] for key in ("labels", "annotations")
        ]
    assert releases(bed) == before
    assert installed.outcome()["outcome"] == "unchanged"


def test_what_somebody_changed(installed: Installing, bed: Bed) -> None:
    """A field that somebody took out comes back, of a custom resource too; one that somebody has set is theirs."""
    monitor = bed.api.get(MONITORING, "ServiceMonitor", f"{RELEASE}-operator", NAMESPACE)
    service = bed.api.get("v1", "Service", f"{RELEASE}-grafana", NAMESPACE)
    key = next(iter(service["metadata"]["labels"]))
    for each in (monitor, service):
        bed.api.merge(each, {"metadata": {"labels": {key: None}}})
    deployment = bed.api.get("apps/v1", "Deployment", f"{RELEASE}-grafana", NAMESPACE)
    bed.api.merge(deployment, {"metadata": {"labels": {key: "theirs"}}})

    report = json.loads(installed())

    (release,) = (each for each in report["steps"] if each["id"] == "release")
    assert "2 changed objects mended, revision" in release["detail"]
    for each in (monitor, service):
        now = bed.api.get(each["apiVersion"], each["kind"], each["metadata"]["name"], NAMESPACE)
        assert now["metadata"]["labels"] == each["metadata"]["labels"]
    (note,) = (each["text"] for each in report["notes"] if each["id"] == "release-fields-of-others")
    assert f"Deployment {NAMESPACE}/{RELEASE}-grafana metadata.labels.{key}" in note.replace('"', "")
    assert bed.api.get("apps/v1", "Deployment", f"{RELEASE}-grafana", NAMESPACE)["metadata"]["labels"][key] == "theirs"
    assert installed.outcome()["outcome"] == "unchanged"
