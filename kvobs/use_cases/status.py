"""`kvobs status`: what is installed, whether it is ready, and how to open it. Reads only."""

from __future__ import annotations

from dataclasses import dataclass

from ..adapters.cluster import Cluster
from ..settings import Settings
from ..stack.choice import choose, parent_of
from ..stack.facts import Facts
from ..stack.notes import Note
from ..stack.plan import metrics_kept, unasked
from ..stack.readiness import not_ready
from .access import Access, access
from .act import find_members
from .look import look
from .wait import watched


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusReport:
    """One look at an install."""

    installed: bool
    server_version: str
    namespace: str | None = None
    stack: str | None = None
    release: str | None = None
    """Helm release of ours, with its status and revision."""
    prometheus: str | None = None
    grafana: str | None = None
    datasource: str | None = None
    members: tuple[str, ...] = ()
    """Every object that kvobs applied."""
    unready: tuple[str, ...] = ()
    """One sentence for each workload that is not ready."""
    notes: tuple[Note, ...] = ()
    access: Access | None = None
    elsewhere: tuple[str, ...] = ()
    """Where it is not installed as asked: the namespaces in which it is."""

    @property
    def exit_code(self) -> int:
        """0 where everything stands and is ready, else 1."""
        return 0 if self.installed and not self.unready else 1


def status(settings: Settings | None = None, *, cluster: Cluster | None = None) -> StatusReport:
    """Return what kvobs installed on the cluster, from its ApplySet and the live objects.

    Raises `Unanswered` where the cluster cannot be asked, `Undecided` where several installs could be meant.
    """
    settings = settings or Settings()
    cluster = cluster or Cluster.connect(
        settings.kubeconfig, settings.context, request_timeout_s=settings.request_timeout_s
    )
    facts = look(cluster, settings)
    parent = parent_of(facts, settings.namespace)
    if parent is None:
        return StatusReport(
            installed=False,
            server_version=facts.server_version,
            elsewhere=tuple(sorted(each["metadata"]["namespace"] for each in facts.parents)),
        )
    target = choose(facts, settings)
    workloads = watched(cluster, target)
    unready = [
        f"{each['kind']} {each['metadata']['name']}: {why}"
        for each in workloads
        if (why := not_ready(each)) is not None
    ]
    if not target.live:
        unready.append(f"Prometheus {target.prometheus.namespace}/{target.prometheus.name} is not there yet")
    dashboards = tuple((each.uid, each.title or each.uid) for each in facts.dashboards if each.ours and each.uid)
    return StatusReport(
        installed=True,
        server_version=facts.server_version,
        namespace=target.namespace,
        stack="installed by kvobs" if target.release else "reused",
        release=_release(facts, target.release.namespace, target.release.name) if target.release else None,
        prometheus=f"{target.prometheus.namespace}/{target.prometheus.name}",
        grafana=f"{target.grafana.namespace}/{target.grafana.name}" if target.grafana else None,
        datasource=target.datasources["prometheus"][0] if "prometheus" in target.datasources else None,
        members=tuple(str(each) for each in find_members(cluster, parent)),
        unready=tuple(unready),
        notes=(*target.notes, *metrics_kept(target), *unasked(facts)),
        access=access(target.grafana, dashboards, settings) if target.grafana else None,
    )


def _release(facts: Facts, namespace: str, name: str) -> str:
    for each in facts.releases:
        if (each.namespace, each.name) == (namespace, name):
            return f"{namespace}/{name}, {each.status}, revision {each.revision}"
    return f"{namespace}/{name}, not there yet"
