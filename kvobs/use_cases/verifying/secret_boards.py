"""Secrets with dashboards, as the sidecars of a cluster's Grafanas see them.

Those alone are asked for, by a sidecar's label and in its namespaces: what else is in Secrets never travels.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ApiError
from ...stack.facts import Grafana, Object
from ...stack.grafana import reads
from ...stack.provisioned import Found
from ...stack.workloads import name_of, namespace_of
from ..look import ReadCluster


def secrets_with_dashboards(cluster: ReadCluster, grafanas: Sequence[Grafana], unread: Found) -> list[Object]:
    """Return the Secrets that a dashboard sidecar of *grafanas* reads; where none reads Secrets, none is asked for.

    What cannot be listed goes into *unread*, with the right that is missing.
    """
    sidecars = [each.sidecar for each in grafanas if each.sidecar and each.sidecar.looks_into("Secret")]
    questions = dict.fromkeys((each.selector, place) for each in sidecars for place in each.namespaces or (None,))
    found: dict[tuple[str, str], Object] = {}
    for selector, namespace in questions:
        if namespace is not None and (selector, None) in questions:
            continue
        try:
            listed = cluster.list("Secret", namespace=namespace, labels=selector)
        except ApiError as error:  # no right to it, or a server that fails: the ConfigMaps are judged all the same
            what = f"Secret in namespace {namespace}" if namespace else "Secret"
            unread[what] = f"{error}; dashboards in Secrets, if there are any, were not looked at"
            continue
        found |= {(namespace_of(each), name_of(each)): each for each in listed}
    return [each for each in found.values() if any(reads(sidecar, each) for sidecar in sidecars)]


def edit_secret(namespace: str, name: str, key: str) -> str:
    """Return the commands that take one file out of a Secret and put it back; what else is in it stays as it is.

    By a file and not by an argument: a dashboard may be longer than a shell takes one.
    """
    kubectl, path = f"kubectl -n {namespace}", key.replace(".", r"\.")
    return (
        f"{kubectl} get secret {name} -o jsonpath='{{.data.{path}}}' | base64 -d > {key}   # then mend {key}\n"
        f"{kubectl} create secret generic {name} --from-file={key} --dry-run=client -o json"
        f" | {kubectl} patch secret {name} --type merge --patch-file /dev/stdin"
    )
