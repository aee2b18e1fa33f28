"""`kvobs uninstall`: what kvobs made goes, what it set is given back, what is left is listed with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..settings import Settings
from ..stack.applyset import Record, read_record
from ..stack.choice import parent_of
from ..stack.facts import Object, Ref
from ..stack.leftovers import (
    CRD_KIND,
    MADE_BY_OPERATOR,
    MADE_KINDS,
    OWNER_KINDS,
    kubelet_service_in_use,
    leftovers,
    operator_crds,
    orphans,
    stack_namespace,
    volumes,
)
from ..stack.objects import ref
from .act import acting, delete_members, find_members
from .foreign_fields import restore_fields
from .look import look
from .progress import Progress, Silent
from .wait import wait_gone


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """Something that stays."""

    what: str
    why: str
    how: str | None = None
    """The flag or command that removes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UninstallReport:
    """What an uninstall took away and what it left."""

    namespace: str | None
    """None: kvobs is not installed."""
    removed: tuple[str, ...]
    restored: tuple[str, ...]
    """One sentence for each field of somebody else's object."""
    left: tuple[Left, ...]
    elsewhere: tuple[str, ...] = ()
    """Where it is not installed as asked: the namespaces in which it is."""
    exit_code: int = 0


def uninstall(
    settings: Settings | None = None,
    *,
    delete_crds: bool = False,
    delete_pvcs: bool = False,
    delete_namespace: bool = False,
    cluster: Cluster | None = None,
    helm: Helm | None = None,
    progress: Progress | None = None,
) -> UninstallReport:
    """Undo an install, by the record in its ApplySet parent; safe to run again after an interruption.

    Nothing that kvobs did not make is touched. The parent goes last, so that a second run finds what is left.
    Raises `Unanswered`, `Undecided` (several installs), or an `ActionError` for what was refused or failed.
    """
    settings = settings or Settings()
    progress = progress or Silent()
    progress.step("look at the cluster")
    cluster = cluster or Cluster.connect(
        settings.kubeconfig, settings.context, request_timeout_s=settings.request_timeout_s
    )
    facts = look(cluster, settings)
    parent = parent_of(facts, settings.namespace)
    if parent is None:
        elsewhere = tuple(sorted(each["metadata"]["namespace"] for each in facts.parents))
        return UninstallReport(namespace=None, removed=(), restored=(), left=(), elsewhere=elsewhere)
    namespace = parent["metadata"]["namespace"]
    record = read_record(parent)
    if record.release is not None:
        helm = helm or Helm(
            executable=settings.helm,
            kubeconfig=settings.kubeconfig,
            context=settings.context,
            timeout_s=settings.timeout_s,
        )
        helm.version()

    removed: list[Ref | str] = []
    with acting():
        progress.step("give foreign fields back")
        restored = [
            f"{field.ref} {'.'.join(field.path)}: {what}"
            for field, what in restore_fields(cluster, record.foreign_fields)
        ]
        progress.step("delete monitors and dashboards")
        members = find_members(cluster, parent)
        removed += delete_members(cluster, [each for each in members if each.kind != "Secret"])
        if record.release is not None and helm is not None:
            progress.step(f"uninstall Helm release {record.release.name}")
            removed += _release(helm, record, settings.timeout_s)
            progress.step("delete what the release left behind")
            removed += _left_by_release(cluster, record)
        removed += delete_members(cluster, [each for each in members if each.kind == "Secret"])

        progress.step("see what stays")
        left = _crds(cluster, record, removed, delete=delete_crds)
        left += _volumes(cluster, record, removed, delete=delete_pvcs)
        left += _namespace(cluster, record, namespace, removed, progress, delete=delete_namespace)
        removed += delete_members(cluster, [ref(parent)])
    return UninstallReport(
        namespace=namespace,
        removed=tuple(str(each) for each in removed),
        restored=tuple(restored),
        left=tuple(left),
    )


def _release(helm: Helm, record: Record, timeout_s: int) -> list[str]:
    assert record.release is not None
    name, namespace = record.release.name, record.release.namespace
    if helm.release(name, namespace) is None:
        return []
    helm.uninstall(name, namespace, timeout_s=timeout_s)
    return [f"Helm release {namespace}/{name}"]


def _left_by_release(cluster: Cluster, record: Record) -> list[Ref]:
    """Delete what the operator and the chart's hook Jobs made, which Helm does not know."""
    operators = cluster.list("Deployment.apps")
    wanted = [
        each for each in leftovers(record) if each.kind == "Secret" or not kubelet_service_in_use(each, operators)
    ]
    made = [each for kind in MADE_KINDS for each in cluster.list(kind, labels=MADE_BY_OPERATOR, metadata_only=True)]
    owners = [each for kind in OWNER_KINDS for each in cluster.list(kind, metadata_only=True)]
    return delete_members(cluster, [*wanted, *orphans(record, made, owners)])


def _crds(cluster: Cluster, record: Record, removed: list[Ref | str], *, delete: bool) -> list[Left]:
    created = record.settings.get("crds_created")
    if not created and not delete:
        return []
    definitions = operator_crds(cluster.list(CRD_KIND))
    if not definitions:
        return []
    what = f"{len(definitions)} CRDs of monitoring.coreos.com"
    if not created:
        return [Left(what=what, why="they were there before kvobs", how=_DELETE_CRDS)]
    if not delete:
        why = "deleting them deletes every monitor on the cluster"
        return [Left(what=what, why=why, how=_either("--delete-crds", _DELETE_CRDS))]
    for definition in definitions:
        kind = f"{definition['spec']['names']['kind']}.{definition['spec']['group']}"
        used_by = cluster.list(kind, metadata_only=True)
        if used_by:
            return [Left(what=what, why=f"{_some(used_by)} still there")]
    removed += delete_members(cluster, [ref(each) for each in definitions])
    return []


def _volumes(cluster: Cluster, record: Record, removed: list[Ref | str], *, delete: bool) -> list[Left]:
    if record.release is None:
        return []
    claims: list[Object] = cluster.list("PersistentVolumeClaim", namespace=stack_namespace(record))
    ours = volumes(record, claims)
    if delete:
        removed += delete_members(cluster, [ref(each) for each in ours])
        return []
    return [
        Left(what=str(at), why="it holds the metrics", how=_either("--delete-pvcs", _delete("pvc", at)))
        for at in map(ref, ours)
    ]


def _namespace(
    cluster: Cluster, record: Record, namespace: str, removed: list[Ref | str], progress: Progress, *, delete: bool
) -> list[Left]:
    at = Ref("Namespace", "", namespace)
    if not record.settings.get("namespace_created"):
        return [Left(what=str(at), why="it was there before kvobs")]
    if not delete:
        how = _either("--delete-namespace", _delete("namespace", at))
        return [Left(what=str(at), why="others may have put something into it", how=how)]

    def staying() -> list[Object]:
        # Pods are somebody's work, and a claim in it would take its volume along.
        listed = [
            each
            for kind in ("Pod", "PersistentVolumeClaim")
            for each in cluster.list(kind, namespace=namespace, metadata_only=True)
        ]
        return [each for each in listed if not each["metadata"].get("deletionTimestamp")]

    stay = wait_gone(staying, progress=progress)
    if stay:
        return [Left(what=str(at), why=f"{_some(stay)} still there", how=_delete("namespace", at))]
    removed += delete_members(cluster, [at])
    return []


_DELETE_CRDS = r"kubectl get crd -o name | grep '\.monitoring\.coreos\.com$' | xargs kubectl delete"


def _delete(kind: str, at: Ref) -> str:
    return f"kubectl delete {kind} {at.name}" + (f" -n {at.namespace}" if at.namespace else "")


def _either(flag: str, command: str) -> str:
    """How to remove something: kvobs has forgotten this install by the time that anybody reads it."""
    return f"{flag} next time, or now {command}"


def _some(objects: list[Object]) -> str:
    """Name the first and count the others, up to the verb."""
    others = len(objects) - 1
    return f"{ref(objects[0])} and {others} more are" if others else f"{ref(objects[0])} is"
