"""What stands around an install, from lists as the API server gives them; what may not be listed is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.errors import ClusterUnreachable, Forbidden
from kvobs.settings import Settings
from kvobs.stack.checks.evidence import Crd, Evidence, Quotas, Trouble, Webhook
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, Object
from kvobs.stack.plan import make_plan
from kvobs.use_cases.second_look import with_surroundings
from tests.stack.clusters import cluster, stack
from tests.stack.snapshots import TEMPLATES

EMPTY = cluster(kinds=frozenset(), namespaces={"monitoring": {}})
CRD_KIND = "CustomResourceDefinition.apiextensions.k8s.io"
BOARD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "monitoring"}}


@dataclass
class Lists:
    """An API server of lists; those of *denied* kinds are refused."""

    objects: Mapping[str, Sequence[Object]] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
    ) -> list[Object]:
        """Answer."""
        self.asked.append((kind, namespace, labels))
        if kind in self.denied:
            raise Forbidden(f"cannot list {kind}", status=403, hint="ask")
        return [dict(each) for each in self.objects.get(kind, ())]


def evidence(facts: Facts = EMPTY, *set_values: str) -> Evidence:
    """Return what is known before the second look."""
    settings = Settings(set_values=set_values)
    plan = make_plan(facts, choose(facts, settings), settings, dashboards=(), monitors=TEMPLATES)
    return Evidence(facts=facts, plan=plan)


def named(name: str, *, annotations: Mapping[str, str] | None = None, **other: Any) -> Object:
    """Return an object."""
    return {"metadata": {"name": name, "annotations": dict(annotations or {})}, **other}


def test_crds() -> None:
    """Of all CRDs those of the operator count, with their age and their keeper."""
    theirs = {"operator.prometheus.io/version": "0.70.0", "meta.helm.sh/release-name": "crds"}
    crds = [
        named("prometheuses.monitoring.coreos.com", annotations=theirs | {"meta.helm.sh/release-namespace": "p"}),
        named("probes.monitoring.coreos.com"),
        named("clusterpolicies.nvidia.com"),
    ]
    seen = with_surroundings(evidence(), Lists({CRD_KIND: crds}), [])

    assert seen.crds == (
        Crd(name="prometheuses.monitoring.coreos.com", operator_version="0.70.0", owner="Helm release p/crds"),
        Crd(name="probes.monitoring.coreos.com", operator_version=None, owner=None),
    )


def test_webhooks() -> None:
    """A webhook that is asked is known with whether its Service has a ready pod; each Service is asked about once."""
    rule = {"apiGroups": [""], "operations": ["*"], "resources": ["configmaps"]}
    client = {"service": {"namespace": "guard", "name": "guard"}}
    hooks = [{"name": name, "rules": [rule], "clientConfig": client} for name in ("one", "two")]
    kind = "ValidatingWebhookConfiguration"
    lists = Lists({f"{kind}.admissionregistration.k8s.io": [named("guard", kind=kind, webhooks=hooks)]})
    seen = with_surroundings(evidence(), lists, [BOARD])

    assert seen.webhooks == tuple(
        Webhook(
            configuration="validatingwebhookconfiguration/guard",
            name=name,
            service="guard/guard",
            refuses=True,
            ready=False,
        )
        for name in ("one", "two")
    )
    slices = [each for each in lists.asked if each[0].startswith("EndpointSlice")]
    assert slices == [("EndpointSlice.discovery.k8s.io", "guard", "kubernetes.io/service-name=guard")]


def test_quotas() -> None:
    """What quotas limit is known by name; whether a LimitRange is there, only where it matters."""
    quota = named("q", spec={"hard": {"limits.cpu": "4", "pods": "9"}})
    seen = with_surroundings(evidence(), Lists({"ResourceQuota": [quota]}), [])
    assert seen.quotas == Quotas(hard={"q": ("limits.cpu", "pods")}, defaults=False)

    lists = Lists({"LimitRange": [named("l")]})
    assert with_surroundings(evidence(), lists, []).quotas == Quotas(hard={}, defaults=False)
    assert "LimitRange" not in {kind for kind, _, _ in lists.asked}


def test_storage_classes() -> None:
    """StorageClasses are asked about where the values want a volume, and then with which one is the default."""
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    lists = Lists({"StorageClass.storage.k8s.io": [named("fast"), named("slow", annotations=default)]})

    assert with_surroundings(evidence(), lists, []).storage_classes is None
    wanting = evidence(EMPTY, "grafana.persistence.enabled=true")
    assert with_surroundings(wanting, lists, []).storage_classes == {"fast": False, "slow": True}


def test_what_may_not_be_listed() -> None:
    """What is refused is not known, with the reason; the rest is."""
    denied = frozenset({CRD_KIND, "ResourceQuota"})
    seen = with_surroundings(evidence(), Lists(denied=denied), [])

    assert seen.crds == Trouble(f"cannot list {CRD_KIND}", "ask", asked=False)
    assert isinstance(seen.quotas, Trouble)
    assert seen.webhooks == ()


def test_beside_a_stack_that_is_there() -> None:
    """Where somebody else's stack is used, only webhooks are asked about: the rest is theirs."""
    lists = Lists()
    seen = with_surroundings(evidence(stack()), lists, [])

    assert (seen.crds, seen.quotas, seen.storage_classes) == (None, None, None)
    assert {kind.partition("Webhook")[2] for kind, _, _ in lists.asked} == {
        "Configuration.admissionregistration.k8s.io"
    }


def test_an_api_server_that_is_gone() -> None:
    """An API server that no longer answers is no answer to any question: it is raised."""

    class Gone(Lists):
        def list(
            self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
        ) -> list[Object]:
            raise ClusterUnreachable("refuses connections")

    with pytest.raises(ClusterUnreachable):
        with_surroundings(evidence(), Gone(), [])
