"""The service account that kvobs needs, with exactly the rights that it uses. Pure.

Three sets of rights, each a role of its own, so that an administrator can read and grant them one by one: to look,
to keep kvobs' own objects, and (for a stack of kvobs' own) what Helm needs to install the chart. Creating a role needs
the very rights that it grants; those of the chart's own roles are therefore among the last, rather than `escalate` and
`bind`, with which an account could give itself any right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .facts import Object, Prometheus, Ref
from .kinds import resource_of
from .objects import kind_of
from .rights import Right, rights_of_release

GROUP = "rbac.authorization.k8s.io"
PURPOSE = "kvobs.dev/purpose"
"""The annotation that says what a role is for."""

PROXY = "services/proxy"
"""The subresource by which the API server passes questions on to a Service."""

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")
"""Every verb of a rule, in the order in which they are written."""

_STORED = ("get", "list", "create", "update", "delete")
"""What Helm does with the Secrets in which it keeps its releases."""

Rule = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """A role and its binding."""

    name: str
    namespace: str
    """"" for the whole cluster."""
    purpose: str
    rules: tuple[Rule, ...]


def account(name: str, namespace: str, grants: Iterable[Grant]) -> tuple[Object, ...]:
    """Return the service account with its roles and their bindings; a grant without rules has neither."""
    objects: list[Object] = [_object("v1", "ServiceAccount", name, namespace)]
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    for each in (grant for grant in grants if grant.rules):
        kind = "Role" if each.namespace else "ClusterRole"
        role = _object(f"{GROUP}/v1", kind, each.name, each.namespace, {PURPOSE: each.purpose})
        binding = _object(f"{GROUP}/v1", f"{kind}Binding", each.name, each.namespace)
        objects.append({**role, "rules": [dict(rule) for rule in each.rules]})
        objects.append(
            {**binding, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": each.name}, "subjects": [subject]}
        )
    return tuple(objects)


def role_of(binding: Object, at: Ref) -> Ref | None:
    """Return the role that *binding*, which stands *at*, binds; None for what is no binding.

    >>> binds = {"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "reads"}}
    >>> str(role_of(binds, Ref(f"RoleBinding.{GROUP}", "mon", "b"))), role_of({}, Ref("Secret", "mon", "s"))
    ('Role mon/reads', None)
    """
    bound = binding.get("roleRef")
    if bound is None:
        return None
    return Ref(f"{bound['kind']}.{GROUP}", at.namespace if bound["kind"] == "Role" else "", bound["name"])


def grants_of(name: str, purpose: str, rights: Iterable[Right]) -> list[Grant]:
    """Return *rights* as grants: what holds in the whole cluster, then each namespace's own, without what is said."""
    places: dict[str, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    listed = tuple(rights)
    for each in listed:
        places[each.namespace][resource_of(each.kind)].add(each.verb)
    everywhere = places.pop("", {})
    found = [Grant(name=name, namespace="", purpose=purpose, rules=_rules(everywhere))]
    for namespace, resources in sorted(places.items()):
        own = {key: verbs - everywhere.get(key, set()) for key, verbs in resources.items()}
        found.append(Grant(name=name, namespace=namespace, purpose=purpose, rules=_rules(own)))
    return found


def look_rights(kinds: Iterable[str]) -> list[Right]:
    """Return what a look at the cluster lists, everywhere; never Secrets, which hold more than what is looked for."""
    return [Right("list", kind, "") for kind in sorted({*kinds, "ConfigMap"})]


def proxied(prometheus: Prometheus) -> str | None:
    """Return the name by which a rule allows to ask *prometheus* through the API server; None without a Service.

    Of `services/proxy` that is the Service with the scheme and the port that are asked for, and no other of them.
    """
    if prometheus.service is None:
        return None
    return f"{'https:' if prometheus.https else ''}{prometheus.service}:{prometheus.service_port}"


def grant_to_ask(name: str, purpose: str, namespace: str, named: str | None) -> Grant:
    """Return the right to ask a Prometheus through the API server, *named* as `proxied` does it.

    None where that is not known: then it is about every Service of the namespace. To get is enough: a question that is
    too long for an address is posted only where that is allowed too.
    """
    rule = {"apiGroups": [""], "resources": [PROXY], "verbs": ["get"]}
    narrow = {"resourceNames": [named]} if named is not None else {}
    return Grant(name=name, namespace=namespace, purpose=purpose, rules=({**rule, **narrow},))


def helm_rights(objects: Sequence[Object], namespace: str) -> list[Right]:
    """Return what Helm does with the *objects* of a chart, which have their namespaces, released in *namespace*.

    An uninstall waits until they are gone, and `kvobs status` compares them with what the release says of them.
    """
    return [
        *(Right(verb, "Secret", namespace) for verb in _STORED),
        *rights_of_release(objects),
        *(
            Right(verb, kind_of(each), each["metadata"].get("namespace", ""))
            for each in objects
            for verb in ("list", "watch", "delete")
        ),
    ]


def granted_by_chart(name: str, purpose: str, objects: Iterable[Object]) -> list[Grant]:
    """Return the rights that the chart's own roles give, in the same reach: who has them may create those roles."""
    reach: dict[str, list[Rule]] = defaultdict(list)
    for each in objects:
        if kind_of(each) in (f"ClusterRole.{GROUP}", f"Role.{GROUP}"):
            reach[each["metadata"].get("namespace", "")] += each.get("rules") or ()
    return [
        Grant(name=name, namespace=namespace, purpose=purpose, rules=_merged(rules))
        for namespace, rules in sorted(reach.items())
    ]


def _rules(resources: Mapping[tuple[str, str], set[str]]) -> tuple[Rule, ...]:
    """Rules for resources by (group, plural): those of one group with the same verbs together."""
    together: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, plural), verbs in resources.items():
        if verbs:
            together[group, _ordered(verbs)].append(plural)
    return tuple(
        {"apiGroups": [group], "resources": sorted(plurals), "verbs": list(verbs)}
        for (group, verbs), plurals in sorted(together.items())
    )


def _ordered(verbs: set[str]) -> tuple[str, ...]:
    if "*" in verbs:
        return ("*",)
    return tuple(sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


def _merged(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules in as few; what they say of paths, and of objects by name, stands as it is, each once."""
    resources: dict[tuple[str, str], set[str]] = defaultdict(set)
    special: dict[str, Rule] = {}
    for rule in rules:
        if rule.get("resourceNames") or rule.get("nonResourceURLs"):
            ordered = {key: sorted(set(words)) for key, words in sorted(rule.items()) if words}
            special[repr(ordered)] = ordered
            continue
        for group in rule.get("apiGroups") or ():
            for plural in rule.get("resources") or ():
                resources[group, plural] |= set(rule["verbs"])
    return (*_rules(resources), *(special[key] for key in sorted(special)))


def _object(
    api_version: str, kind: str, name: str, namespace: str, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
