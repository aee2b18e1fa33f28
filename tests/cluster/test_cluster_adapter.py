"""The adapter against a real API server: what the tables of tests/adapters say it answers, it answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
import yaml

from kvobs.adapters.apiserver import ApiServer
from kvobs.adapters.cluster import PAGE, Cluster
from kvobs.adapters.kubeconfig import find_access
from kvobs.errors import ApiError, Conflict, Forbidden, Unauthenticated
from kvobs.stack.applyset import applyset_id, check_parent, member_selector, members, parent, widened
from kvobs.stack.manifests import to_yaml
from kvobs.stack.objects import owned, ref
from kvobs.stack.record import Record, read_record
from tests.cluster.bed import METRICS, Bed
from tests.cluster.exporters import Exposition

NAMESPACE = "adapter"


def _config_map(name, data, **metadata):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "data": data,
    }


def _workload(name, image="registry.example.com/x:1"):
    labels = {"app": name}
    container = {
        "name": "x",
        "image": image,
        "args": [],
        "env": [{"name": "EMPTY", "value": ""}, {"name": "A", "value": "1"}],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": {"limits": {"cpu": "1000m", "memory": "2048Mi"}, "requests": {"cpu": 0.5}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": {}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "nodeSelector": {},
                    "hostNetwork": False,
                    "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1024Ki"}}],
                },
            },
        },
    }


@pytest.fixture(scope="module")
def cluster(bed: Bed) -> Iterator[Cluster]:
    """The adapter as administrator, with a namespace to work in."""
    connected = Cluster.connect(str(bed.kubeconfig))
    connected.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield connected
    connected.close()


def test_what_is_served(cluster):
    """Aggregated discovery of a real server: kinds of the core, of groups and of aggregated servers."""
    found = cluster.discover()

    assert cluster.server_version().startswith("v1.")
    assert {"ConfigMap", "Deployment.apps", "APIService.apiregistration.k8s.io"} <= found.kinds
    assert found.resources["Deployment.apps"].api_version == "apps/v1"
    assert found.resources["Namespace"].namespaced is False
    assert found.unavailable == frozenset()


def test_a_second_apply_changes_nothing(cluster):
    """The same object keeps its resourceVersion; another value gets a new one."""
    first = cluster.apply(_config_map("twice", {"k": "v"}))
    second = cluster.apply(_config_map("twice", {"k": "v"}))
    third = cluster.apply(_config_map("twice", {"k": "w"}))

    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert third["metadata"]["resourceVersion"] != second["metadata"]["resourceVersion"]
    assert {one["manager"] for one in third["metadata"]["managedFields"]} == {"kvobs"}


def test_a_dry_run_leaves_nothing(cluster):
    """The server answers what would be."""
    assert cluster.apply(_config_map("dry", {"k": "v"}), dry_run=True)["data"] == {"k": "v"}
    assert cluster.get("ConfigMap", "dry", NAMESPACE) is None


def test_a_field_of_another_manager_is_a_conflict(cluster):
    """Named with its owner; force takes it."""
    cluster.apply(_config_map("fought-over", {"k": "theirs"}), field_manager="helm")

    with pytest.raises(Conflict, match=r'ConfigMap adapter/fought-over: \.data\.k belongs to field manager "helm"'):
        cluster.apply(_config_map("fought-over", {"k": "ours"}))
    assert cluster.apply(_config_map("fought-over", {"k": "ours"}), force=True)["data"] == {"k": "ours"}


@pytest.mark.parametrize(
    "wrong",
    [
        {**_config_map("wrong", {}), "dataa": {"k": "v"}},
        {**_workload("wrong"), "spec": {**_workload("wrong")["spec"], "replica": 1}},
    ],
    ids=["top level", "deep"],
)
def test_a_field_that_the_kind_does_not_know_is_refused(cluster, wrong):
    """It is named, not dropped."""
    with pytest.raises(ApiError, match=r"cannot apply .* adapter/wrong: .*(dataa|replica)"):
        cluster.apply(wrong)


def test_create_replace_delete(cluster):
    """Each meets the object that somebody else made, changed or deleted."""
    made = cluster.create(_config_map("life", {"k": "1"}))
    with pytest.raises(Conflict, match="already exists") as there:
        cluster.create(_config_map("life", {"k": "2"}))
    assert there.value.reason == "AlreadyExists"

    replaced = cluster.replace({**made, "data": {"k": "2"}})
    with pytest.raises(Conflict, match="modified"):
        cluster.replace({**made, "data": {"k": "3"}})
    assert cluster.get("ConfigMap", "life", NAMESPACE)["data"] == {"k": "2"}

    old, new = made["metadata"]["resourceVersion"], replaced["metadata"]["resourceVersion"]
    with pytest.raises(Conflict, match="cannot delete ConfigMap adapter/life"):
        cluster.delete("ConfigMap", "life", NAMESPACE, resource_version=old)
    with pytest.raises(Conflict, match="cannot delete ConfigMap adapter/life"):
        cluster.delete("ConfigMap", "life", NAMESPACE, uid="00000000-0000-0000-0000-000000000000")
    uid = made["metadata"]["uid"]
    assert cluster.delete("ConfigMap", "life", NAMESPACE, uid=uid, resource_version=new) is True
    assert cluster.delete("ConfigMap", "life", NAMESPACE) is False


def test_a_list_of_more_than_one_page(cluster):
    """Nothing is missing and nothing is there twice."""
    names = {f"page-{number:04}" for number in range(PAGE + 1)}
    for name in names:
        cluster.create(_config_map(name, {}, labels={"many": "yes"}))

    found = cluster.list("ConfigMap", namespace=NAMESPACE, labels="many=yes")

    assert len(found) == len(names)
    assert {one["metadata"]["name"] for one in found} == names
    assert {(one["apiVersion"], one["kind"]) for one in found} == {("v1", "ConfigMap")}


def test_metadata_of_secrets_without_their_content(cluster):
    """The server sends no data when only metadata is asked for."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "quiet", "namespace": NAMESPACE, "labels": {"a": "b"}},
        "stringData": {"password": "hunter2"},
    }
    cluster.apply(secret)

    found = cluster.list("Secret", namespace=NAMESPACE, labels="a=b", metadata_only=True)

    assert [one["metadata"]["name"] for one in found] == ["quiet"]
    assert found[0].keys() == {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize(
    "secret",
    [
        {"data": {"k": "hunter2!"}},
        {"stringData": {"bad key": "hunter2"}},
        {"type": "kubernetes.io/tls", "stringData": {"x": "hunter2"}},
    ],
    ids=["no base64", "a key that is none", "fields missing"],
)
def test_what_is_wrong_with_a_secret_is_said_without_it(cluster, secret):
    """The server's own words may quote the value; ours do not."""
    wrong = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "w", "namespace": NAMESPACE}, **secret}

    with pytest.raises(ApiError, match="cannot apply Secret adapter/w: ") as refused:
        cluster.apply(wrong)
    assert "hunter2" not in f"{refused.value!r} {refused.value.hint}"


def test_a_kind_that_comes_later_is_found(bed, cluster):
    """Definitions that a chart brings are seen by the connection that was there before."""
    kind = "ServiceMonitor.monitoring.coreos.com"
    assert kind not in cluster.discover().kinds
    assert cluster.list(kind) == []

    bed.apply_crds("prometheus-operator")

    assert cluster.list(kind) == []
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "m", "namespace": NAMESPACE},
        "spec": {"selector": {}, "endpoints": [{"port": "http"}]},
    }
    cluster.apply(monitor)
    assert [ref(one).name for one in cluster.list(kind)] == ["m"]
    with pytest.raises(ApiError, match="endpointz"):
        cluster.apply({**monitor, "spec": {**monitor["spec"], "endpointz": []}})


def test_a_user_without_rights(bed, cluster):
    """The right that is missing is named; what is not there is not to be told from what may not be seen."""
    viewer = Cluster.connect(str(bed.kubeconfig_for("viewer")))

    with pytest.raises(
        Forbidden, match="cannot list Secret in all namespaces: user viewer may not list secrets anywhere"
    ):
        viewer.list("Secret")
    with pytest.raises(Forbidden, match="user viewer may not patch configmaps in namespace adapter") as forbidden:
        viewer.apply(_config_map("x", {}))
    assert "auth can-i patch configmaps -n adapter" in forbidden.value.hint
    viewer.close()


def test_credentials_that_have_expired(bed):
    """An expired certificate is not accepted."""
    late = Cluster.connect(str(bed.kubeconfig_for("late", expired=True)))

    with pytest.raises(Unauthenticated, match="does not accept the credentials"):
        late.list("ConfigMap")
    late.close()


@pytest.mark.parametrize("user", [{}, {"token": "wrong"}], ids=["none", "wrong token"])
def test_credentials_that_are_none(bed, tmp_path, user):
    """Nobody, or somebody unknown."""
    document = yaml.safe_load(bed.kubeconfig.read_text())
    document["users"][0]["user"] = user
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    nobody = Cluster.connect(str(path))

    with pytest.raises(Unauthenticated, match="does not accept the credentials"):
        nobody.list("ConfigMap")
    nobody.close()


def test_impersonation_of_another_user(bed, tmp_path):
    """The rights are those of the user that the kubeconfig acts as."""
    document = yaml.safe_load(bed.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": "eve", "as-groups": ["a", "b"]}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    eve = Cluster.connect(str(path))

    with pytest.raises(Forbidden, match="user eve may not list configmaps anywhere"):
        eve.list("ConfigMap")
    eve.close()


def test_a_service_through_the_api_server(bed, cluster):
    """Its answer comes back; one without pods is the API server's refusal."""
    cluster.apply(_workload("served"))
    bed.expose(f"{NAMESPACE}/served-*", 8000, Exposition.of_file(METRICS / "vllm-small.txt"))
    for name, selector in (("served", {"app": "served"}), ("empty", {"app": "none"})):
        cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"selector": selector, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
            }
        )
    bed.api.until(
        "apps/v1", "Deployment", "served", NAMESPACE, lambda one: one.get("status", {}).get("readyReplicas") == 1
    )

    with pytest.raises(ApiError, match="cannot reach Service adapter/empty, port http: no endpoints") as nobody:
        cluster.proxy_get(NAMESPACE, "empty", "http", "/metrics")
    assert nobody.value.status == 503
    with pytest.raises(ApiError, match="not found"):
        cluster.proxy_get(NAMESPACE, "missing", "http", "/metrics")
    _until_reachable(cluster)
    code, body = cluster.proxy_get(NAMESPACE, "served", "http", "/metrics")
    assert code == 200
    assert b"vllm:num_requests_running" in body


def _until_reachable(cluster):
    from tests.cluster.api import eventually

    def reachable():
        try:
            return cluster.proxy_get(NAMESPACE, "served", "http", "/metrics")
        except ApiError:
            return None

    eventually(reachable)


def test_an_apply_set(cluster):
    """The parent's labels are valid, the members are found by them, and kubectl's way to find parents works."""
    set_id = applyset_id("kvobs", NAMESPACE)
    one = owned(_config_map("member", {"k": "v"}), applyset_id=set_id, part="dashboard")
    two = owned(_workload("member"), applyset_id=set_id)
    record = Record(settings={"dcgm": "auto"})
    old = cluster.apply(parent("kvobs", NAMESPACE, refs=[ref(two)], record=Record()))
    new = parent("kvobs", NAMESPACE, refs=[ref(one)], record=record)

    wide = cluster.apply(widened(new, old))
    cluster.apply(one)
    cluster.apply(two)
    found = {
        ref(each)
        for kind in members(wide)
        for each in cluster.list(kind, labels=member_selector(set_id), metadata_only=True)
    }
    narrow = cluster.apply(new)

    assert found == {ref(one), ref(two)}
    assert members(narrow) == ("ConfigMap",)
    assert check_parent(narrow) == set_id
    assert read_record(narrow) == record
    assert [ref(each) for each in cluster.list("ConfigMap", labels="applyset.kubernetes.io/id")] == [ref(new)]
    again = cluster.apply(new)
    assert again["metadata"]["resourceVersion"] == narrow["metadata"]["resourceVersion"]


def test_the_server_reads_our_yaml_as_we_mean_it(bed, cluster):
    """Text that looks like numbers, dates or booleans stays text; long and odd strings come through whole."""
    data = {
        **{
            f"k{n}": text
            for n, text in enumerate(["1e3", "0o17", "y", "No", "null", "~", "1_000", "12:30", "2026-11-29", "=", "<<"])
        },
        "json": '{"title":"it\'s \\"x\\" 100 %","u":"é😀"}' * 20,
        "lines": "  first\n\n\tsecond  \n",
        "blank": " " * 120,
        "empty": "",
    }
    wanted = _config_map("yaml", data, labels={"v": "1e3", "n": "y"})
    server = ApiServer(find_access(str(bed.kubeconfig)), request_timeout_s=30)

    reply = server.send(
        "PATCH",
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/yaml",
        params=[("fieldManager", "kvobs"), ("fieldValidation", "Strict")],
        headers={"Content-Type": "application/apply-patch+yaml"},
        body=to_yaml([wanted]).removeprefix("---\n").encode(),
        repeatable=False,
    )

    assert reply.status in (200, 201), reply.body
    assert cluster.get("ConfigMap", "yaml", NAMESPACE)["data"] == data
    server.close()


def test_a_shown_secret_cannot_be_applied(cluster):
    """What stands in for a value is no base64: a printed manifest is refused, it does not become the password."""
    shown = yaml.safe_load(
        to_yaml(
            [
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": "shown", "namespace": NAMESPACE},
                    "data": {"k": base64.b64encode(b"v").decode()},
                }
            ]
        )
    )

    with pytest.raises(ApiError, match="cannot apply Secret adapter/shown"):
        cluster.apply(shown)
