"""`kvobs uninstall`: what kvobs made goes, what it set is given back, what is left is listed with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..settings import Settings
from ..stack.choice import parent_of
from ..stack.facts import Facts, Object, Ref
from ..stack.installs import kept_to_by, only_parent_of
from ..stack.leftovers import MADE_BY_OPERATOR, MADE_KINDS, OWNER_KINDS, in_use, leftovers, orphans, stack_namespaces
from ..stack.objects import ref
from ..stack.record import Record, read_record
from ..stack.rights import rights_to_uninstall
from .act import acting, delete_members, find_members, parent_moved, require
from .connect import cluster_of, helm_of
from .foreign_fields import restore_fields
from .lease import at_work
from .look import look
from .passed_over import passed_over
from .progress import Progress, Silent
from .staying import Left, Staying


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
    cluster = cluster or cluster_of(settings)
    facts = look(cluster, settings)
    parent = only_parent_of(facts, settings.namespace)
    if parent is None:
        elsewhere = tuple(sorted(each["metadata"]["namespace"] for each in facts.parents))
        return UninstallReport(namespace=None, removed=(), restored=(), left=(), elsewhere=elsewhere)
    namespace = parent["metadata"]["namespace"]

    def prepared(facts: Facts, parent: Object) -> tuple[Record, list[Ref]]:
        nonlocal helm
        record = read_record(parent)
        if record.release is not None:
            helm = helm or helm_of(settings)
            helm.version()
        require(
            cluster,
            rights_to_uninstall(
                parent,
                record,
                served=facts.kinds,
                delete_crds=delete_crds,
                delete_pvcs=delete_pvcs,
                delete_namespace=delete_namespace,
            ),
        )
        return record, find_members(cluster, parent)

    record, members = prepared(facts, parent)
    removed: list[Ref | str] = []
    with acting(), at_work(cluster, namespace, timeout_s=settings.timeout_s, progress=progress) as turn:
        progress = turn.progress
        if turn.waited or parent_moved(cluster, namespace, parent):
            progress.step("look at what another kvobs did")
            facts = look(cluster, settings)
            parent = parent_of(facts, namespace)
            if parent is None:
                return UninstallReport(namespace=None, removed=(), restored=(), left=())
            record, members = prepared(facts, parent)
        progress.step("give foreign fields back")
        restored = [
            f"{field.ref} {'.'.join(field.path)}: {what}"
            for field, what in restore_fields(cluster, record.foreign_fields)
        ]
        progress.step("delete monitors and dashboards")
        removed += delete_members(cluster, [each for each in members if each.kind != "Secret"])
        if record.release is not None and helm is not None:
            progress.step(f"uninstall Helm release {record.release.name}")
            removed += _release(cluster, helm, record, settings.timeout_s)
            progress.step("delete what the release left behind")
            removed += _left_by_release(cluster, record)

        progress.step("see what stays")
        staying = Staying(cluster=cluster, facts=facts, record=record, settings=settings)
        left = [_kept_to(each, namespace) for each in kept_to_by(facts.parents, namespace)]
        left += staying.crds(delete=delete_crds)
        left += staying.volumes([each for each in members if each.kind == "Secret"], delete=delete_pvcs)
        left += staying.namespace(parent, progress, delete=delete_namespace)
        removed += staying.removed
        removed += delete_members(cluster, [ref(parent)])
    return UninstallReport(
        namespace=namespace,
        removed=tuple(str(each) for each in removed),
        restored=tuple(restored),
        left=tuple(left),
    )


def _kept_to(other: str, namespace: str) -> Left:
    return Left(
        what=f"kvobs in namespace {other}",
        why=f"it kept to the dashboards, the GPU metrics and the generic monitors of the one in {namespace}, which are"
        f" gone; to have them there: kvobs install --namespace {other}",
    )


def _release(cluster: Cluster, helm: Helm, record: Record, timeout_s: int) -> list[Ref | str]:
    assert record.release is not None
    name, namespace = record.release.name, record.release.namespace
    standing = helm.release(name, namespace)
    if standing is None:
        return []
    helm.uninstall(name, namespace, timeout_s=timeout_s)
    return [f"Helm release {namespace}/{name}", *passed_over(cluster, standing)]


def _left_by_release(cluster: Cluster, record: Record) -> list[Ref]:
    """Delete what the operator and the chart's hook Jobs made, which Helm does not know."""
    operators = cluster.list("Deployment.apps")
    wanted = [each for each in leftovers(record) if not in_use(each, operators)]
    made: list[Object] = []
    owners: list[Object] = []
    for namespace in stack_namespaces(record):
        for kind in MADE_KINDS:
            made += cluster.list(kind, namespace=namespace, labels=MADE_BY_OPERATOR, metadata_only=True)
        for kind in OWNER_KINDS:
            owners += cluster.list(kind, namespace=namespace, metadata_only=True)
    return delete_members(cluster, [*wanted, *orphans(record, made, owners)])
