"""`kvobs diff`: what an install would change, and nothing else. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..errors import ApiError, Forbidden, Unanswered
from ..settings import Settings
from ..stack.notes import Note
from .prepare import Preparation
from .preview import Preview, StepPreview
from .progress import Progress, Silent

_READ_ONLY = "kvobs status, which only reads, says what is missing or not as it was made"


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffReport:
    """The differences between what stands and what an install would make of it."""

    server_version: str
    namespace: str
    steps: tuple[StepPreview, ...]
    """Those that would change something or be refused, or that meet a field that others manage; with no other object
    in them."""
    refused: tuple[tuple[str, str], ...]
    """(source, why) of each dashboard that would not be loaded."""
    notes: tuple[Note, ...]

    @property
    def differs(self) -> bool:
        """Whether an install would do anything, or be stopped."""
        return any(each.differs for step in self.steps for each in step.objects)

    @property
    def exit_code(self) -> int:
        """1 where there is a difference, also one that an install would be stopped by, or a dashboard is refused."""
        return 1 if self.differs or self.refused else 0


def diff(
    settings: Settings | None = None,
    *,
    cluster: Cluster | None = None,
    helm: Helm | None = None,
    progress: Progress | None = None,
) -> DiffReport:
    """Return what `install` would change with the same settings.

    Raises `Unanswered` where the cluster cannot be asked (also for want of a right: what differs is asked about by a
    dry run, which takes the rights of an install), and `Undecided`, `UsageError` and `HelmError` as install does.
    """
    progress = progress or Silent()
    progress.step("look at the cluster")
    preparation = Preparation(settings or Settings(), cluster, helm)
    try:
        prepared = preparation.prepared()
        progress.step("compare")
        preview = Preview(preparation.cluster, preparation.helm, prepared, validate=False)
        steps = tuple(kept for step in preview.steps() if (kept := _differing(step)).objects)
    except ApiError as error:
        hint = f"{error.hint}; {_READ_ONLY}" if isinstance(error, Forbidden) and error.hint else error.hint
        raise Unanswered(f"what an install would change could not be asked: {error}", hint=hint) from error
    return DiffReport(
        server_version=prepared.facts.server_version,
        namespace=prepared.plan.target.namespace,
        steps=steps,
        refused=(*preparation.dashboards.unreadable, *prepared.plan.refused.items()),
        notes=(*prepared.notes, *prepared.plan.notes),
    )


def _differing(step: StepPreview) -> StepPreview:
    return replace(step, objects=tuple(each for each in step.objects if each.verdict != "unchanged"))
