"""The account of `kvobs render --rbac` can do all that kvobs does, and each of its rules is there for something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.stack.kinds import resource_of
from tests.cluster.api import Object
from tests.cluster.bed import Bed, until_served
from tests.cluster.charts import small_chart
from tests.cluster.commands import kvobs
from tests.cluster.lean import INSTALL, LEAN
from tests.cluster.rights import until_in_force
from tests.cluster.test_existing_kinds import put_up
from tests.cluster.workloads import gpu_operator
from tests.stack.cases import ROOT, load

GROUP = "rbac.authorization.k8s.io"
HOME = "mon"
ACCOUNT = "system:serviceaccount:monitoring:kvobs"
VERIFY = ("verify", "dcgm", "--wait", "2m")
LOADED = ("verify", "--prometheus", "http://127.0.0.1:9")
"""What is loaded, which is nothing here, asked of nobody."""
REUSE = ("install", "--no-wait", "--dcgm", "operator")

FOREIGN_KINDS = {
    "grafana.integreatly.org": ("Grafana", "GrafanaDashboard", "GrafanaDatasource"),
    "operator.victoriametrics.com": ("VMAgent", "VMCluster", "VMSingle"),
}
"""Kinds that a look reads where they are served: here they are, so that their rules are for something."""

KINDS = (
    *(("monitoring.coreos.com", "v1", kind) for kind in ("PodMonitor", "Prometheus", "ServiceMonitor")),
    ("monitoring.coreos.com", "v1alpha1", "PrometheusAgent"),
    *((group, "v1beta1", kind) for group, kinds in FOREIGN_KINDS.items() for kind in kinds),
)
"""What is served beside somebody's stack, by definitions that take anything: the real ones take ten times as long."""

THEIRS = load(ROOT / "kube-prometheus-stack")
"""Somebody's own stack, as objects without programs behind them."""


def definition(group: str, version: str, kind: str) -> Object:
    """Return a definition by which objects of a kind are served, whatever they say."""
    plural = resource_of(f"{kind}.{group}")[1]
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def account(bed: Bed, *arguments: str) -> list[Object]:
    """Return the objects of the account that kvobs says it needs."""
    return list(yaml.safe_load_all(kvobs("render", "--rbac", *arguments, env=bed.environment()).stdout))


def token_kubeconfig(bed: Bed, name: str, namespace: str) -> Path:
    """Return a kubeconfig with a token of a service account, and nothing else."""
    request: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    told = yaml.safe_load(bed.kubeconfig.read_text())
    for each in told["users"]:
        each["user"] = {"token": bed.api.request("POST", path, request)["status"]["token"]}
    made = bed.folder / f"{name}.kubeconfig"
    made.write_text(yaml.safe_dump(told))
    return made


# --- an install of our own ---


def test_a_whole_life_with_these_rights_alone() -> None:
    """With the rendered account alone a stack is installed, proved, found unchanged, looked at and taken away."""
    with Bed(gpu=False, monitoring=True) as bed:  # Without the CRDs: the account has to bring them too.
        lean = [word for value in LEAN for word in ("--set", value)]
        made = account(bed, "--chart", str(small_chart()), *lean)
        bed.api.apply(*made)
        until_in_force(bed.api, ACCOUNT, *(each for each in made if each["kind"] in ("ClusterRole", "Role")))
        own = ("--kubeconfig", token_kubeconfig(bed, "kvobs", "monitoring"))

        def run(*command: str | Path, code: int = 0) -> dict[str, Any]:
            told: dict[str, Any] = json.loads(
                kvobs(*command, *own, "-o", "json", env=bed.environment(), code=code).stdout
            )
            return told

        asked = run("check", "--chart", str(small_chart()), *lean)["checks"]
        assert [each["said"] for each in asked if each["outcome"] == "not asked"] == []
        foretold = run("install", "--dry-run", *INSTALL[1:])["steps"]
        bindings = [
            each for step in foretold for each in step["objects"] if each["ref"]["kind"].endswith(f"Binding.{GROUP}")
        ]
        assert {each["unvalidated"] for each in bindings} == {"arrives with step 2"}
        # The registry of the first run holds for the second, which is told nothing of it.
        mirror = ("--image-registry", "registry.local/mirror", "--image-pull-secret", "pull")
        first, again = run(*INSTALL, *mirror, "--wait"), run(*INSTALL, "--wait")
        assert {step["id"]: step["outcome"] for step in first["steps"]}["release"] == "changed"
        assert {step["outcome"] for step in again["steps"]} == {"unchanged"}
        for pod in (each["spec"]["template"]["spec"] for each in bed.api.list("apps/v1", "Deployment", "monitoring")):
            assert all(each["image"].startswith("registry.local/mirror/") for each in pod["containers"])
            assert pod["imagePullSecrets"] == [{"name": "pull"}]
        seen = json.loads(kvobs("status", *own, "-o", "json", env=bed.environment(), code=None).stdout)
        verified = run("verify", "--wait", "2m")
        for report in (first, again, seen, verified, first["verified"], again["verified"]):
            said = {note["id"]: note["text"] for note in report["notes"]}
            assert said.keys() & {"not-asked", "not-verified"} == set(), said
        assert first["verified"]["counts"]["unknown"] == 0
        run("uninstall", "--yes")
        assert bed.api.list("apps/v1", "Deployment", "monitoring") == []
        assert bed.api.find("v1", "ConfigMap", "kvobs", "monitoring") is None


# --- beside somebody's stack, one rule less ---


@dataclass(frozen=True)
class Without:
    """What happens without one rule: the role it stands in, a resource of it, how a command ends and what it says."""

    role: str
    resource: str
    code: int
    says: tuple[str, ...]
    command: tuple[str, ...] = REUSE


TABLE = (
    Without("kvobs-look", "configmaps", 4, ("could not be asked", "may not list configmaps")),
    Without("kvobs-look", "pods", 0, ("Namespace", "Node", "Pod", "Service")),
    Without("kvobs-look", "deployments", 4, ("could not be asked", "may not list deployments.apps")),
    Without("kvobs-look", "prometheuses", 4, ("could not be asked", "may not list prometheuses.monitoring.coreos.com")),
    Without("kvobs-look", "servicemonitors", 0, ("PodMonitor", "PrometheusAgent", "ServiceMonitor")),
    Without("kvobs-look", "clusterpolicies", 0, ("ClusterPolicy",)),
    Without("kvobs-look", "grafanas", 0, FOREIGN_KINDS["grafana.integreatly.org"]),
    Without("kvobs-look", "vmsingles", 0, FOREIGN_KINDS["operator.victoriametrics.com"]),
    Without("kvobs-look", "mutatingwebhookconfigurations", 0, ("ValidatingWebhookConfiguration",)),
    Without("kvobs-look", "events", 4, ("Event.events.k8s.io could not be read", "may not list events"), LOADED),
    Without("kvobs-prove", "services/proxy", 4, ("may not get services/proxy", "Role kvobs-prove"), VERIFY),
    Without("kvobs", "clusterpolicies", 3, ("get or patch any ClusterPolicy.nvidia.com",)),
    Without("kvobs", "configmaps", 3, ("patch or create", f"ConfigMap in namespace {HOME}")),
    Without("kvobs", "leases", 3, ("get or create or update or delete Lease.coordination.k8s.io",)),
    Without("kvobs", "podmonitors", 3, ("PodMonitor.monitoring.coreos.com", "ServiceMonitor.monitoring.coreos.com")),
)
"""One line a rule, named by one of its resources. Exit 0: it went on, and names the kinds that it could not read."""

DONE_WITHOUT = [line for line in TABLE if line.command is REUSE and not line.code]
ONE_BY_ONE = [line for line in TABLE if line not in DONE_WITHOUT]


@pytest.fixture(scope="module")
def beside() -> Iterator[Bed]:
    """A cluster with somebody's own stack and a GPU Operator, and with the kinds of two operators more."""
    with Bed() as bed:
        definitions = [definition(*each) for each in KINDS]
        bed.api.apply(*definitions)
        until_served(bed.api, *definitions)
        gpu_operator(bed)
        put_up(bed.api, THEIRS.objects)
        yield bed


@pytest.fixture(scope="module")
def roles(beside: Bed) -> list[Object]:
    """The roles of the account for a stack that is reused."""
    rendered = account(beside, "--stack", "reuse", "-n", HOME)
    return [each for each in rendered if each["kind"] in ("ClusterRole", "Role")]


def user(bed: Bed, name: str, roles: list[Object]) -> Path:
    """Return the kubeconfig of a user with these roles, once they are in force."""
    for role in roles:
        at = {**role["metadata"], "name": f"{role['metadata']['name']}-{name}"}
        bed.api.apply(
            {**role, "metadata": at},
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": f"{role['kind']}Binding",
                "metadata": {key: value for key, value in at.items() if key != "annotations"},
                "roleRef": {"apiGroup": GROUP, "kind": role["kind"], "name": at["name"]},
                "subjects": [{"kind": "User", "name": name, "apiGroup": GROUP}],
            },
        )
    until_in_force(bed.api, name, *roles)
    return bed.kubeconfig_for(name)


def less(roles: list[Object], *lines: Without) -> list[Object]:
    """Return the roles without the rules that lines of the table name, each of which names one."""
    kept = []
    removed = 0
    for role in roles:
        gone = {line.resource for line in lines if line.role == role["metadata"]["name"]}
        rules = [rule for rule in role["rules"] if not gone & set(rule["resources"])]
        removed += len(role["rules"]) - len(rules)
        kept.append({**role, "rules": rules})
    assert removed == len(lines), lines
    return [role for role in kept if role["rules"]]


def test_the_table_has_every_rule(roles: list[Object]) -> None:
    """Each rule of each role is on one line of the table."""
    rules = [(role["metadata"]["name"], rule["resources"]) for role in roles for rule in role["rules"]]

    for name, resources in rules:
        assert len([line for line in TABLE if line.role == name and line.resource in resources]) == 1, (name, resources)
    assert len(rules) == len(TABLE)


def test_beside_a_stack_with_these_rights_alone(beside: Bed, roles: list[Object]) -> None:
    """With all of the rules: installed, unchanged, looked at, taken away; only Secrets are not read, and it is said.

    Of a verify that is what dashboards may stand in, too.
    """
    own = ("--kubeconfig", user(beside, "whole", roles), "-o", "json")
    asked = json.loads(kvobs("check", *REUSE[2:], *own, env=beside.environment()).stdout)["checks"]
    first, again = (json.loads(kvobs(*REUSE, *own, env=beside.environment()).stdout) for _ in range(2))
    seen = json.loads(kvobs("status", *own, env=beside.environment(), code=None).stdout)
    verified = json.loads(kvobs(*LOADED, *own, env=beside.environment(), code=4).stdout)

    assert [each["id"] for each in asked if each["outcome"] == "not asked"] == []
    assert {step["outcome"] for step in again["steps"]} == {"unchanged"}
    for report in (first, again, seen, verified):
        (unread,) = (note["text"] for note in report["notes"] if note["id"] == "not-asked")
        assert unread.startswith("Secret could not")
    assert "may not list secrets anywhere; dashboards in Secrets, if there are any, were not looked at" in unread
    kvobs("uninstall", "--yes", *own, env=beside.environment())
    assert beside.api.find("v1", "ConfigMap", "kvobs", HOME) is None


@pytest.mark.parametrize("line", ONE_BY_ONE, ids=lambda line: f"{line.role}-{line.resource}")
def test_a_rule_less(beside: Bed, roles: list[Object], line: Without) -> None:
    """Without one rule that it needs a command ends with verb and kind, before any change."""
    config = user(beside, f"without-{line.role}-{line.resource.replace('/', '-')}", less(roles, line))
    done = kvobs(*line.command, "--kubeconfig", config, env=beside.environment(), code=line.code)

    told = done.stdout + done.stderr
    assert [word for word in line.says if word not in told] == [], told
    assert "wait for data" not in told  # which no wait would bring
    assert beside.api.find("v1", "ConfigMap", "kvobs", HOME) is None


def test_without_what_only_helps_to_look(beside: Bed, roles: list[Object]) -> None:
    """Without all of the rules that it can do without, kvobs goes on, and says of each kind that it could not read it.

    One run for all of them: what one of these kinds is missing for, no other could stand in for.
    """
    config = user(beside, "without-some", less(roles, *DONE_WITHOUT))
    report = json.loads(kvobs(*REUSE, "--kubeconfig", config, "-o", "json", env=beside.environment()).stdout)
    unread = {note["text"] for note in report["notes"] if note["id"] == "not-asked"}
    done = kvobs("check", *REUSE[2:], "--kubeconfig", config, "-o", "json", env=beside.environment(), code=4)
    asked = [each for each in json.loads(done.stdout)["checks"] if each["outcome"] == "not asked"]
    unread |= {each["said"].removeprefix("cannot list ") for each in asked}

    for kind in (kind for line in DONE_WITHOUT for kind in line.says):
        assert any(text.startswith((f"{kind} could not", f"{kind}.")) for text in unread), (kind, unread)
    assert {step["outcome"] for step in report["steps"]} >= {"changed"}
    kvobs("uninstall", "--yes", env=beside.environment())


def test_the_right_to_ask_is_not_needed_to_install(beside: Bed, roles: list[Object]) -> None:
    """Without the rights to ask Prometheus a check warns of what cannot be proved, and stops nothing; to forward a port
    of it is one."""
    (line,) = (each for each in TABLE if each.role == "kvobs-prove")
    (prove,) = (role for role in roles if role["metadata"]["name"] == "kvobs-prove")
    forward = {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]}
    config = user(beside, "without-proof", less(roles, line))
    forwarder = user(beside, "forwarder", [*less(roles, line), {**prove, "rules": [forward]}])
    checks = {
        kubeconfig: json.loads(
            kvobs("check", *REUSE[2:], "--kubeconfig", kubeconfig, "-o", "json", env=beside.environment()).stdout
        )["checks"]
        for kubeconfig in (config, forwarder, beside.kubeconfig)
    }
    proof = {key: next(each for each in told if each["id"] == "proof") for key, told in checks.items()}

    assert [each["outcome"] for each in proof.values()] == ["warning", "passed", "passed"]
    assert "can prove that data arrives" in proof[config]["said"]
    assert "create role kvobs-prove" in proof[config]["hint"]
