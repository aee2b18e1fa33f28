"""Which webhooks stand between an install and the cluster, by their own rules."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.webhooks import asked_webhooks, is_ready, subject_of

BOARD = {"metadata": {"name": "b", "namespace": "mon", "labels": {"team": "a"}}}
NAMESPACES = {"mon": {"zone": "x"}}
SUBJECTS = [subject_of(BOARD, "configmaps", "", NAMESPACES)]


def configuration(**webhook: Any) -> dict[str, Any]:
    """Return a configuration with one webhook that is asked about ConfigMaps, but for what is said otherwise."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    told = {
        "name": "guard.example.com",
        "clientConfig": {"service": {"namespace": "guard", "name": "guard"}},
        "rules": [rule | webhook.pop("rule", {})],
    }
    return {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "guard"}, "webhooks": [told | webhook]}


ASKED = [
    ("its kind", {}, True),
    ("every kind", {"rule": {"apiGroups": ["*"], "resources": ["*"]}}, True),
    ("every kind and what is below it", {"rule": {"resources": ["*/*"]}}, True),
    ("another kind", {"rule": {"resources": ["secrets"]}}, False),
    ("another group", {"rule": {"apiGroups": ["apps"]}}, False),
    ("only deletions", {"rule": {"operations": ["DELETE", "CONNECT"]}}, False),
    ("only what is in no namespace", {"rule": {"scope": "Cluster"}}, False),
    ("labels that it has", {"objectSelector": {"matchLabels": {"team": "a"}}}, True),
    ("labels that it has not", {"objectSelector": {"matchLabels": {"team": "b"}}}, False),
    ("its namespace", {"namespaceSelector": {"matchLabels": {"zone": "x"}}}, True),
    (
        "all namespaces but its own",
        {
            "namespaceSelector": {
                "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["mon"]}]
            }
        },
        False,
    ),
    ("served from an address", {"clientConfig": {"url": "https://example.com"}}, False),
]


@pytest.mark.parametrize(("webhook", "asked"), [case[1:] for case in ASKED], ids=[case[0] for case in ASKED])
def test_who_is_asked(webhook: dict[str, Any], asked: bool) -> None:
    """A webhook is asked by its rules and both its selectors; one that no Service serves is nobody's to look for."""
    assert bool(list(asked_webhooks([configuration(**webhook)], SUBJECTS))) == asked


def test_what_is_known_of_one() -> None:
    """Configuration, Service, and whether what nobody answers about is refused: it is, unless it says otherwise."""
    (found,) = asked_webhooks([configuration()], SUBJECTS)
    assert (found.configuration, found.service) == ("validatingwebhookconfiguration/guard", ("guard", "guard"))
    assert found.refuses
    (lenient,) = asked_webhooks([configuration(failurePolicy="Ignore")], SUBJECTS)
    assert not lenient.refuses


SLICES = [
    ("none", [], False),
    ("without endpoints", [{"endpoints": None}], False),
    ("none ready", [{"endpoints": [{"conditions": {"ready": False}}]}], False),
    ("one ready", [{"endpoints": [{"conditions": {"ready": False}}, {"conditions": {"ready": True}}]}], True),
    ("one that does not say", [{"endpoints": [{}]}], True),
]


@pytest.mark.parametrize(("slices", "ready"), [case[1:] for case in SLICES], ids=[case[0] for case in SLICES])
def test_readiness(slices: list[dict[str, Any]], ready: bool) -> None:
    """A Service answers when one of its endpoints is ready."""
    assert is_ready(slices) == ready
