"""`kvobs install --dry-run`: the whole plan, each object asked of the server. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..errors import ActionError
from ..settings import Settings
from ..stack.notes import Note
from .preflight import preflight
from .prepare import Preparation
from .preview import Preview, StepPreview
from .progress import Progress, Silent


@dataclass(frozen=True, kw_only=True, slots=True)
class DryRunReport:
    """What an install would do."""

    server_version: str
    namespace: str
    stack: str
    """`installed by kvobs` or `reused`."""
    prometheus: str
    grafana: str | None
    steps: tuple[StepPreview, ...]
    """In order, with every object of each, those that stay as they are too."""
    refused: tuple[tuple[str, str], ...]
    """(source, why) of each dashboard that would not be loaded."""
    stopped: tuple[str, str | None] | None
    """(what, what to do) of the first check that would stop it before it changes anything."""
    notes: tuple[Note, ...]

    @property
    def exit_code(self) -> int:
        """3 where install would be stopped, or the server refuses an object; else 1 where a dashboard is refused."""
        if self.stopped or any(each.verdict == "refused" for step in self.steps for each in step.objects):
            return 3
        return 1 if self.refused else 0


def dry_run(
    settings: Settings | None = None,
    *,
    cluster: Cluster | None = None,
    helm: Helm | None = None,
    progress: Progress | None = None,
) -> DryRunReport:
    """Return what `install` would do with the same settings, validated by the server as far as it can be.

    An object whose namespace or kind the plan itself brings cannot be: it says with which step they arrive. Raises
    what `install` raises before it changes anything.
    """
    progress = progress or Silent()
    progress.step("look at the cluster")
    preparation = Preparation(settings or Settings(), cluster, helm)
    prepared = preparation.prepared()
    progress.step("ask the API server about each object")
    preview = Preview(preparation.cluster, preparation.helm, prepared, validate=True)
    steps: list[StepPreview] = []
    for step in preview.steps():
        progress.state(step.title)
        steps.append(step)
    stopped: tuple[str, str | None] | None = None
    checked: tuple[Note, ...] = ()
    if any(each.differs for step in steps for each in step.objects):
        try:
            checked = preflight(prepared, preparation.cluster, preparation.settings)
        except ActionError as error:
            stopped = (str(error), error.hint)
    plan = prepared.plan
    target = plan.target
    return DryRunReport(
        server_version=prepared.facts.server_version,
        namespace=target.namespace,
        stack="installed by kvobs" if target.release else "reused",
        prometheus=f"{target.prometheus.namespace}/{target.prometheus.name}",
        grafana=f"{target.grafana.namespace}/{target.grafana.name}" if target.grafana else None,
        steps=tuple(steps),
        refused=(*preparation.dashboards.unreadable, *plan.refused.items()),
        stopped=stopped,
        notes=(*prepared.notes, *checked, *plan.notes),
    )
