"""Rights that are missing, as words and as a role to hand to the administrator."""

from __future__ import annotations

from kvobs.stack.checks.evidence import Permit
from kvobs.stack.checks.permissions import missing_role, permits
from kvobs.stack.rights import Right, named

ROLE = {
    "kind": "Role",
    "metadata": {"name": "r", "namespace": "m"},
    "rules": [
        {"apiGroups": ["", "apps"], "resources": ["pods", "nodes/metrics"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get", "post"]},
    ],
}


def test_permits() -> None:
    """A rule says as many things as it has groups, resources and verbs; a path has no group."""
    assert permits([ROLE, ROLE]) == (
        Permit("get", "", "pods", "m"),
        Permit("get", "", "nodes/metrics", "m"),
        Permit("get", "apps", "pods", "m"),
        Permit("get", "apps", "nodes/metrics", "m"),
        Permit("get", "", "/metrics", "m"),
        Permit("post", "", "/metrics", "m"),
    )


def test_missing_role() -> None:
    """The role holds what is missing and no more, each resource by its plural, a path as a path."""
    lacking = (
        Right("create", "ServiceMonitor.monitoring.coreos.com", "m"),
        Right("patch", "ServiceMonitor.monitoring.coreos.com", "m"),
        Right("create", "Namespace", ""),
    )
    role = missing_role(lacking, (Permit("get", "", "nodes/metrics", ""), Permit("get", "", "/metrics", "")))

    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "kvobs-missing")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
        {"apiGroups": ["monitoring.coreos.com"], "resources": ["servicemonitors"], "verbs": ["create", "patch"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


def test_named() -> None:
    """Verbs of one kind and place stand together."""
    rights = (Right("get", "Pod", "a"), Right("list", "Pod", "a"), Right("get", "Node", ""))
    assert named(rights) == "get or list Pod in namespace a; get any Node"
