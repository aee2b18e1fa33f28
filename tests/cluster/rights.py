"""Rights of users: the API server goes by a role a moment after it was made and bound."""

from __future__ import annotations

from tests.cluster.api import Api, Object, eventually

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def until_in_force(api: Api, user: str, *roles: Object) -> None:
    """Return once *user* may what each rule of the *roles* says first; a Role is asked for in its own namespace."""
    for role in roles:
        for rule in role["rules"]:
            namespace = role["metadata"].get("namespace", "")
            eventually(lambda rule=rule, namespace=namespace: _allowed(api, user, rule, namespace))


def _allowed(api: Api, user: str, rule: Object, namespace: str) -> bool:
    review: Object = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, **_attributes(rule, namespace)},
    }
    return bool(api.request("POST", REVIEWS, review)["status"]["allowed"])


def _attributes(rule: Object, namespace: str) -> Object:
    if "nonResourceURLs" in rule:
        return {"nonResourceAttributes": {"verb": rule["verbs"][0], "path": rule["nonResourceURLs"][0]}}
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "name": rule.get("resourceNames", [""])[0],
        "namespace": namespace,
    }
    return {"resourceAttributes": attributes}
