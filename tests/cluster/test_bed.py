"""The bed itself: what it promises to the tests that stand on it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import kubernetes
import kubernetes.stream
import pytest

from tests.cluster.api import Api, ApiError, Object, eventually
from tests.cluster.bed import METRICS, Bed, ForeignCluster
from tests.cluster.exporters import Exposition

ROOT = Path(__file__).parents[2]


def deployment(name: str, *, image: str = "registry.example/app:1", **pod: object) -> Object:
    """Return a Deployment of one pod that listens on port 8000, with more of a pod spec in *pod*."""
    container: Object = {"name": "app", "image": image, "ports": [{"name": "http", "containerPort": 8000}]}
    container |= pod.pop("container", {})  # type: ignore[call-overload]  # part of a container
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **pod}},
        },
    }


def service(name: str, port: int = 8000) -> Object:
    """Return the Service in front of the Deployment *name*."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": port}]},
    }


def pod_of(bed: Bed, name: str, namespace: str = "default") -> Object:
    """Return the pod labelled `app: name` as soon as there is exactly one."""
    pods = eventually(lambda: bed.api.list("v1", "Pod", namespace, f"app={name}"))
    assert len(pods) == 1
    return pods[0]


def is_available(found: Object) -> bool:
    """Return whether a Deployment's pod is ready."""
    return bool(found.get("status", {}).get("readyReplicas"))


def waits_for(bed: Bed, name: str) -> str:
    """Return why the container of the pod labelled `app: name` waits, "" if it does not."""
    statuses = pod_of(bed, name).get("status", {}).get("containerStatuses", [{"state": {}}])
    return str(statuses[0]["state"].get("waiting", {}).get("reason", ""))


@pytest.fixture
def app(bed: Bed, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for a Deployment of the test's own, which goes with the test."""
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40]
    yield name
    for api_version, kind in (("apps/v1", "Deployment"), ("v1", "Service")):
        bed.api.delete(api_version, kind, name, "default")


def test_a_deployment_gets_ready(bed: Bed, app: str) -> None:
    """A pod is made, scheduled and run by the real controllers and the simulated kubelet, and goes when told."""
    bed.api.apply(deployment(app))

    bed.api.until("apps/v1", "Deployment", app, "default", is_available)
    assert pod_of(bed, app)["status"]["podIP"].startswith("10.1.")

    bed.api.delete("apps/v1", "Deployment", app, "default")
    eventually(lambda: not bed.api.list("v1", "Pod", "default", f"app={app}"))


def test_a_gpu_pod_lands_on_the_gpu_node(bed: Bed, app: str) -> None:
    """Who asks for nvidia.com/gpu is put where there are some."""
    bed.api.apply(deployment(app, container={"resources": {"limits": {"nvidia.com/gpu": "1"}}}))

    bed.api.until("apps/v1", "Deployment", app, "default", is_available)
    assert pod_of(bed, app)["spec"]["nodeName"] == "gpu-node"


def test_too_many_gpus_leave_a_pod_pending(bed: Bed, app: str) -> None:
    """Who asks for more than there is stays Pending, with the real scheduler's words."""
    bed.api.apply(deployment(app, container={"resources": {"limits": {"nvidia.com/gpu": "9"}}}))

    # A scheduler that has not heard of the nodes yet has other words first.
    eventually(
        lambda: "Insufficient nvidia.com/gpu" in json.dumps(pod_of(bed, app).get("status", {}).get("conditions"))
    )
    assert "nodeName" not in pod_of(bed, app)["spec"]


@pytest.mark.parametrize(
    ("reason", "phase"), [("Unready", "Running"), ("CrashLoopBackOff", "Running"), ("ImagePullBackOff", "Pending")]
)
def test_hold(bed: Bed, reason: str, phase: str) -> None:
    """A pod that a test holds is not ready for the reason the test gave, until it is released."""
    name = f"held-{reason.lower()}"
    bed.hold(f"default/{name}-*", reason)
    bed.api.apply(deployment(name))

    eventually(lambda: pod_of(bed, name)["status"].get("containerStatuses"))
    assert pod_of(bed, name)["status"]["phase"] == phase
    assert waits_for(bed, name) == ("" if reason == "Unready" else reason)
    assert not is_available(bed.api.get("apps/v1", "Deployment", name, "default"))

    bed.release(f"default/{name}-*")
    bed.api.until("apps/v1", "Deployment", name, "default", is_available)

    bed.hold(f"default/{name}-*", "Unready")
    bed.api.until("apps/v1", "Deployment", name, "default", lambda found: not is_available(found))
    bed.release(f"default/{name}-*")
    bed.api.delete("apps/v1", "Deployment", name, "default")


def test_a_missing_secret_holds_a_pod(bed: Bed, app: str) -> None:
    """A pod waits for the Secret that it mounts, and starts once it is there."""
    volumes = [{"name": "v", "secret": {"secretName": app}}]
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    bed.api.apply(deployment(app, volumes=volumes, container=mounts))

    eventually(lambda: waits_for(bed, app) == "ContainerCreating")

    bed.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": app, "namespace": "default"}})
    bed.api.until("apps/v1", "Deployment", app, "default", is_available)


def test_service_proxy(bed: Bed, app: str) -> None:
    """The API server's Service proxy reaches a pod's exposition, and its counters move with each scrape."""
    bed.expose(f"{app}-*", 8000, Exposition.of_file(METRICS / "vllm-small.txt", growth=0.5))
    bed.api.apply(deployment(app), service(app))
    bed.api.until("apps/v1", "Deployment", app, "default", is_available)
    path = f"/api/v1/namespaces/default/services/{app}:http/proxy/metrics"

    def generated() -> float:
        text = bed.api.request("GET", path)
        samples = (line.split() for line in text.splitlines() if line.startswith("vllm:generation_tokens_total{"))
        return next(float(value) for _, value in samples)

    eventually(lambda: _reaches(bed, path))
    first = generated()
    assert generated() == first + 2000


def test_nobody_listens(bed: Bed, app: str) -> None:
    """A connection to a port that nobody serves is refused at once."""
    bed.api.apply(deployment(app), service(app))
    bed.api.until("apps/v1", "Deployment", app, "default", is_available)

    start = time.monotonic()
    with pytest.raises(ApiError, match="503"):
        bed.api.request("GET", f"/api/v1/namespaces/default/services/{app}:http/proxy/")
    assert time.monotonic() - start < 20  # a server that stays silent costs half a minute


def test_logs(bed: Bed, app: str) -> None:
    """A container's log is what the test gave it, and `tailLines` is honoured."""
    bed.write_log(f"{app}-*", "one\ntwo\nthree\n")
    bed.api.apply(deployment(app))
    bed.api.until("apps/v1", "Deployment", app, "default", is_available)
    path = f"/api/v1/namespaces/default/pods/{pod_of(bed, app)['metadata']['name']}/log"

    assert bed.api.request("GET", path) == "one\ntwo\nthree\n"
    assert bed.api.request("GET", path, tailLines="1") == "three\n"


def test_port_forward(bed: Bed, app: str) -> None:
    """A pod's port can be forwarded through API server and kubelet, as `kubectl port-forward` does."""
    bed.expose(f"{app}-*", 8000, Exposition("# TYPE up gauge\nup 1\n"))
    bed.api.apply(deployment(app))
    bed.api.until("apps/v1", "Deployment", app, "default", is_available)
    client = kubernetes.config.new_client_from_config(str(bed.kubeconfig))
    core = kubernetes.client.CoreV1Api(client)

    forward = kubernetes.stream.portforward(
        core.connect_get_namespaced_pod_portforward, pod_of(bed, app)["metadata"]["name"], "default", ports="8000"
    )
    with contextlib.closing(forward.socket(8000)) as socket:
        socket.setblocking(True)
        socket.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        answer = b"".join(iter(lambda: socket.recv(4096), b""))
    eventually(lambda: not any("port forward" in thread.name for thread in threading.enumerate()))
    forward.websocket.shutdown()  # the client leaves it open when the other side ends first

    assert answer.endswith(b"\r\n\r\n# TYPE up gauge\nup 1\n")
    client.close()


def test_admission_jobs(bed: Bed) -> None:
    """The chart's admission Jobs write the Secret, and the webhook's authority from it."""
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"service": {"name": "operator", "namespace": "default"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [],
    }
    kind = "ValidatingWebhookConfiguration"
    group = "admissionregistration.k8s.io/v1"
    for flavour in ("Validating", "Mutating"):
        bed.api.apply(
            {
                "apiVersion": group,
                "kind": f"{flavour}WebhookConfiguration",
                "metadata": {"name": "admission"},
                "webhooks": [webhook],
            }
        )
    common = ["--namespace=default", "--secret-name=admission"]
    bed.api.apply(_hook("create", "--host=operator,operator.default.svc", *common))
    bed.api.until("batch/v1", "Job", "create", "default", lambda job: bool(job.get("status", {}).get("succeeded")))
    bed.api.apply(_hook("patch", "--webhook-name=admission", "--patch-failure-policy=Ignore", *common))
    bed.api.until("batch/v1", "Job", "patch", "default", lambda job: bool(job.get("status", {}).get("succeeded")))

    secret = bed.api.get("v1", "Secret", "admission", "default")
    assert set(secret["data"]) == {"ca", "cert", "key"}
    patched = bed.api.get(group, kind, "admission")["webhooks"][0]
    assert patched["clientConfig"]["caBundle"] == secret["data"]["ca"]
    assert patched["failurePolicy"] == "Ignore"


def test_a_failing_job_fails(bed: Bed) -> None:
    """A hook that cannot do its work ends in a failed Job, as it would on a cluster."""
    job = _hook("patch", "--webhook-name=nobody", "--namespace=default", "--secret-name=missing")
    job["metadata"]["name"] = "hopeless"
    job["spec"]["backoffLimit"] = 0
    bed.api.apply(job)

    bed.api.until("batch/v1", "Job", "hopeless", "default", lambda found: bool(found.get("status", {}).get("failed")))


def test_users_have_the_rights_they_were_given(bed: Bed) -> None:
    """A user may do what RBAC grants and no more; an expired credential is nobody's."""
    for kubeconfig, status in ((bed.kubeconfig_for("nobody"), 403), (bed.kubeconfig_for("old", expired=True), 401)):
        api = Api(kubeconfig)
        with pytest.raises(ApiError) as refused:
            api.request("GET", "/api/v1/secrets")
        api.close()
        assert refused.value.status == status


def test_cluster_policy(bed: Bed) -> None:
    """A ClusterPolicy brings the exporter; its ServiceMonitor comes with the labels asked for, and goes again."""
    bed.apply_crds("gpu-operator")
    bed.apply_crds("prometheus-operator")
    monitor = ("monitoring.coreos.com/v1", "ServiceMonitor", "nvidia-dcgm-exporter", "gpu-operator")
    bed.api.apply(cluster_policy({"enabled": False}))

    pods = lambda: bed.api.list("v1", "Pod", "gpu-operator", "app=nvidia-dcgm-exporter")  # noqa: E731
    assert eventually(lambda: [each["spec"]["nodeName"] for each in pods() if "nodeName" in each["spec"]]) == [
        "gpu-node"
    ]
    path = "/api/v1/namespaces/gpu-operator/services/nvidia-dcgm-exporter:gpu-metrics/proxy/metrics"
    eventually(lambda: _reaches(bed, path))
    assert "DCGM_FI_DEV_GPU_TEMP{" in bed.api.request("GET", path)
    assert bed.api.find(*monitor) is None

    bed.api.apply(cluster_policy({"enabled": True, "additionalLabels": {"release": "kps"}}))
    made = bed.api.until(*monitor, lambda _: True)
    assert made["metadata"]["labels"] == {"app": "nvidia-dcgm-exporter", "release": "kps"}

    bed.api.apply(cluster_policy({"enabled": False}))
    eventually(lambda: bed.api.find(*monitor) is None)


def test_any_other_cluster(bed: Bed) -> None:
    """A cluster that is only known by its kubeconfig gives API and Helm, and nothing simulated."""
    foreign = ForeignCluster(bed.kubeconfig)

    assert foreign.api.list("v1", "Node")
    subprocess.run(["helm", "list", "--all-namespaces"], env=foreign.environment("3"), check=True)
    assert not foreign.simulated
    foreign.api.close()


def test_two_beds_side_by_side(bed: Bed) -> None:
    """A second bed starts beside the first, and each has its own objects."""
    with Bed(gpu=False) as other:
        other.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "only-there"}})

        assert bed.api.find("v1", "Namespace", "only-there") is None
        assert [node["metadata"]["name"] for node in other.api.list("v1", "Node")] == ["cpu-node"]


def test_killed_run_leaves_nothing() -> None:
    """When the process that holds a bed is killed with SIGKILL, every process and the folder go."""
    script = textwrap.dedent(
        """
        import time
        from tests.cluster.bed import Bed
        with Bed() as bed:
            print(bed.folder, flush=True)
            time.sleep(300)
        """
    )
    run = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    try:
        folder = Path(run.stdout.readline().strip())
        assert folder.is_dir()
        assert _processes_of(folder)
    finally:
        run.kill()
        run.wait()
        run.stdout.close()

    eventually(lambda: not folder.exists() and not _processes_of(folder))


def test_a_stopped_bed_leaves_nothing() -> None:
    """After the `with`, no process, no thread and no file of the bed is left."""
    before = set(threading.enumerate())
    with Bed() as bed:
        folder = bed.folder

    assert not folder.exists()
    assert not _processes_of(folder)
    eventually(lambda: set(threading.enumerate()) <= before)


def _hook(name: str, *arguments: str) -> Object:
    container = {
        "name": name,
        "image": "registry.example/ingress-nginx/kube-webhook-certgen:1",
        "args": [name, *arguments],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "OnFailure"}}},
    }


def cluster_policy(service_monitor: Object) -> Object:
    """Return a ClusterPolicy with what the CRD requires, and the exporter's monitor as given."""
    required = ("daemonsets", "dcgm", "devicePlugin", "driver", "gfd", "nodeStatusExporter", "operator", "toolkit")
    spec: Object = {part: {} for part in required}
    spec["operator"] = {"defaultRuntime": "containerd"}
    spec["dcgmExporter"] = {"enabled": True, "serviceMonitor": service_monitor}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": spec,
    }


def _reaches(bed: Bed, path: str) -> bool:
    try:
        bed.api.request("GET", path)
    except ApiError as error:
        if error.status != 503:
            raise
        return False
    return True


def _processes_of(folder: Path) -> list[str]:
    """Return the command lines that name *folder*."""
    listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if str(folder) in line and str(os.getpid()) not in line]
