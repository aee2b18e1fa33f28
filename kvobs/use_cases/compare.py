"""Ask an API server how its objects stand to wanted ones, and whether it would take those. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..adapters.discovery import Discovery
from ..errors import ApiError, Conflict, Forbidden, Unanswered
from ..stack.changes import OTHERS_FIELDS, ObjectChange, applied
from ..stack.facts import Object, Ref
from ..stack.objects import OURS, PART_OF_LABEL, is_built_in, kind_of, ref
from ..stack.ownership import TAKE
from ..stack.secret_names import masked
from ..stack.workloads import labels_of, template_of

TEMPLATED = frozenset({"DaemonSet.apps", "Deployment.apps", "StatefulSet.apps"})
"""Kinds that make pods of a template."""


class LiveCluster(Protocol):
    """What finding live objects needs of an API server."""

    def discover(self) -> Discovery: ...

    def list(self, kind: str, *, namespace: str | None = None) -> list[Object]: ...

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None: ...


class CompareCluster(LiveCluster, Protocol):
    """What comparing needs of an API server."""

    def apply(
        self, obj: Object, *, dry_run: bool = False, force: bool = False, field_manager: str = OURS
    ) -> Object: ...

    def may(self, verb: str, kind: str, namespace: str | None = None) -> bool: ...


class Live:
    """The live objects: one list for each kind and namespace, when first asked for; a Secret by its name only."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self._served = cluster.discover()
        self._listed: dict[tuple[str, str], dict[str, Object]] = {}

    def serves(self, kind: str) -> bool:
        """Whether the cluster knows the kind."""
        return kind in self._served.resources

    def extensions(self) -> tuple[str, ...]:
        """Return what is served beside Kubernetes' own, as charts ask for it: `group/version` and, with it, `/Kind`."""
        kinds = [(each.api_version, kind) for kind, each in self._served.resources.items() if not is_built_in(kind)]
        return tuple(sorted({text for version, kind in kinds for text in _capabilities(version, kind)}))

    def find(self, at: Ref) -> Object | None:
        """Return the live object; None where there is none, or no such kind."""
        if not self.serves(at.kind):
            return None
        if at.kind in ("Secret", "Namespace"):
            # Others' Secrets are nobody's business here, and all namespaces no question of this one.
            return self._cluster.get(at.kind, at.name, at.namespace or None)
        place = (at.kind, at.namespace)
        if place not in self._listed:
            found = self._cluster.list(at.kind, namespace=at.namespace or None)
            self._listed[place] = {each["metadata"]["name"]: each for each in found}
        return self._listed[place].get(at.name)

    def place(self, obj: Object, namespace: str) -> Ref:
        """Return which object a manifest means that goes into *namespace* unless it says otherwise."""
        at = ref(obj)
        resource = self._served.resources.get(at.kind)
        if resource is None:
            return replace(at, namespace=at.namespace or namespace)
        return replace(at, namespace=(at.namespace or namespace) if resource.namespaced else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrivals:
    """What only a step of the same plan brings: what depends on it cannot be asked of the server now."""

    namespaces: Mapping[str, int]
    """Namespace -> number of the step."""
    release: int | None
    """Number of the step of our release, which brings the kinds that are not served; None: there is none."""

    def of(self, at: Ref, live: Live) -> str | None:
        """Say with which step the last of what *at* needs comes; None where all is there."""
        steps = [self.namespaces.get(at.namespace), None if live.serves(at.kind) else self.release]
        step = max((each for each in steps if each is not None), default=None)
        return None if step is None else f"arrives with step {step}"


def ask(
    cluster: CompareCluster, wanted: Object, live: Object | None, *, force: bool = False, secrets: Sequence[str] = ()
) -> ObjectChange:
    """Return what applying *wanted* under our name would do, by the server's own word.

    What the server refuses, and fields that others manage, are answers. Raises `Unanswered` where it cannot say.
    """
    try:
        after = cluster.apply(wanted, dry_run=True, force=force)
    except Conflict as error:
        if live is None or error.reason == "AlreadyExists":
            return _refused(ref(wanted), error, secrets)
        after = cluster.apply(wanted, dry_run=True, force=True)
        change = applied(wanted, live, after, conflict=True, secrets=secrets)
        return replace(change, reason=OTHERS_FIELDS, hint=TAKE if PART_OF_LABEL in labels_of(wanted) else error.hint)
    except ApiError as error:
        return _refused(ref(wanted), error, secrets)
    return applied(wanted, live, after, secrets=secrets)


def validated(
    cluster: CompareCluster,
    change: ObjectChange,
    wanted: Object,
    *,
    needs: str | None = None,
    secrets: Sequence[str] = (),
) -> ObjectChange:
    """Return *change*, which Helm would make, as refused where the server does not take *wanted*.

    *needs* says when comes what it needs and the server may not find yet; None: nothing is known of that.

    Of a workload a pod is tried too: PodSecurity and quotas look at nothing else. An install makes no pod itself, so
    that it needs no right to, and where there is none that pod is not validated.
    """
    place = {"namespace": change.ref.namespace} if change.ref.namespace else {}
    whole = {**wanted, "metadata": {**wanted["metadata"], **place}}
    for each in (whole, *_pods_of(whole)):
        try:
            # By force: Helm's fields may stand under another operation of its own, and nothing is kept anyway.
            cluster.apply(each, dry_run=True, force=True, field_manager="helm")
        except ApiError as error:
            if error.status == 404:
                # It needs something that the same step brings: a role for its binding.
                return replace(change, unvalidated=needs or masked(str(error), secrets))
            whose = "" if each is whole else "a pod of it: "
            refused = _refused(ref(each), error, secrets)
            if whose and isinstance(error, Forbidden) and not _may_apply(cluster, ref(each)):
                return replace(change, unvalidated=f"{whose}{refused.reason}")
            return replace(change, verdict="refused", reason=f"{whose}{refused.reason}", hint=refused.hint)
    return change


def _may_apply(cluster: CompareCluster, at: Ref) -> bool:
    """Whether it is no right of the credentials that an apply of *at* lacks; admission refuses by the same status."""
    return all(cluster.may(verb, at.kind, at.namespace) for verb in ("patch", "create"))


def _pods_of(workload: Object) -> Iterable[Object]:
    """Yield a pod such as the workload makes; none where it makes none."""
    if kind_of(workload) not in TEMPLATED:
        return
    template = template_of(workload)
    labelled = template.get("metadata") or {}
    at = workload["metadata"]
    name = f"{at['name'][:50].rstrip('.')}-dry-run"
    # Without its account, which comes with the same step.
    spec = {key: value for key, value in template["spec"].items() if not key.startswith("serviceAccount")}
    claims = [each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates") or ()]
    if claims:
        others = [each for each in spec.get("volumes") or () if each["name"] not in claims]
        made = [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in claims]
        spec["volumes"] = [*others, *made]
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": at["namespace"],
            "labels": labelled.get("labels") or {},
            "annotations": labelled.get("annotations") or {},
        },
        "spec": spec,
    }


def _capabilities(api_version: str, kind: str) -> tuple[str, str]:
    return api_version, f"{api_version}/{kind.partition('.')[0]}"


def _refused(at: Ref, error: ApiError, secrets: Sequence[str]) -> ObjectChange:
    if error.status in (429, 503, 504):
        raise Unanswered(str(error), hint=error.hint) from error
    said = str(error).removeprefix(f"cannot apply {at}: ")
    return ObjectChange(ref=at, verdict="refused", reason=masked(said, secrets), hint=error.hint)
