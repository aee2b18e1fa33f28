"""`kvobs render`: the objects that an install applies, for whoever applies objects otherwise (GitOps, kubectl).

Needs no cluster; Helm, and the chart, only where the stack itself is asked for. The same input gives the same bytes.
The stack is taken for the one that the pinned chart makes under the given values. The objects carry no label of
kvobs' ownership: who applies them owns them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..adapters.helm import Helm
from ..adapters.sources import from_anywhere
from ..errors import UsageError
from ..settings import DEFAULT_NAMESPACE, Settings
from ..stack.choice import choose
from ..stack.facts import ClusterPolicy, Facts, Object, Ref
from ..stack.gitops import namespace_object, refuse_doubles, secret_notes
from ..stack.notes import Note
from ..stack.objects import MANAGED_BY, PART_OF_LABEL, apply_order
from ..stack.plan import Plan, make_plan
from .inputs import Dashboards, read_dashboards, shipped_monitors
from .render_rbac import render_rbac
from .render_stack import ImageList, Templates, list_images, refuse_without_release, stack_for_gitops

_UNSEEN_GPU_OPERATOR = ClusterPolicy(
    name="cluster-policy",
    api_version="nvidia.com/v1",
    exporter_enabled=True,
    monitor_enabled=False,
    additional_labels={},
    managers={"enabled": ("unknown",)},
    release=None,
)
"""Stands for a GPU Operator that render cannot see: one that others keep, so that our own monitor is rendered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """Objects in the order to apply them."""

    objects: tuple[Object, ...]
    refused: tuple[tuple[str, str], ...]
    """(source, why) of each dashboard that is not among them."""
    files: tuple[str, ...] = field(default=())
    """Where they were written, when they were."""
    removed: tuple[str, ...] = field(default=())
    """Files of an earlier render that were deleted, since this one has no object for them."""
    notes: tuple[Note, ...] = field(default=())
    """What has to be there beside them, and what was left out."""
    public: frozenset[Ref] = field(default=frozenset(), repr=False)
    """Secrets whose content is no secret."""

    @property
    def exit_code(self) -> int:
        """0, or 1 where a dashboard was refused."""
        return 1 if self.refused else 0


def render(settings: Settings | None = None, *, with_stack: bool = False, helm: Templates | None = None) -> Rendered:
    """Return the objects that install would apply: beside the stack, or *with_stack* those of its chart too.

    The chart's hooks are among them, its tests and its Secrets are not, but for a Secret that holds only what the
    chart tells everybody. Raises `UsageError` or `ActionError`; with the stack, also `HelmError`.
    """
    settings = _placed(settings)
    if settings.stack == "reuse":
        raise UsageError("render asks no cluster, so it cannot reuse a stack", hint="leave --stack out")
    plan, dashboards = _planned(settings)
    ours = tuple(_unowned(each) for each in plan.objects)
    refused = (*dashboards.unreadable, *plan.refused.items())
    if not with_stack:
        return Rendered(objects=ours, refused=refused)
    stack = stack_for_gitops(helm or _helm(settings), refuse_without_release(plan.target.release), settings)
    objects = (namespace_object(plan.target.namespace), *stack.objects, *ours)
    refuse_doubles(objects)
    told = tuple(each for each in plan.target.notes if each.id == "chart-newer")
    return Rendered(
        objects=tuple(apply_order(objects)),
        refused=refused,
        notes=(*told, *secret_notes(plan.target, settings.image_pull_secrets), *stack.notes),
        public=stack.public,
    )


def images(settings: Settings | None = None, *, helm: Templates | None = None) -> ImageList:
    """Return the images of the stack, and its chart, for a registry of one's own. Raises as `render` does."""
    settings = _placed(settings)
    plan, _ = _planned(settings)
    return list_images(helm or _helm(settings), refuse_without_release(plan.target.release), settings)


def rbac(settings: Settings | None = None, *, helm: Templates | None = None) -> Rendered:
    """Return the service account that kvobs needs, with its roles; for `stack="reuse"` without a Helm.

    Raises as `render` does.
    """
    settings = _placed(settings)
    reuse = settings.stack == "reuse"
    # Whose stack it is changes what is not asked for here; the rights to what kvobs itself keeps are the same.
    told = replace(settings, stack="install", prometheus=None, grafana=None) if reuse else settings
    plan, _ = _planned(told)
    return Rendered(objects=render_rbac(plan, settings, None if reuse else helm or _helm(settings)), refused=())


def _placed(settings: Settings | None) -> Settings:
    settings = settings or Settings()
    if settings.dcgm == "operator":
        raise UsageError("render asks no cluster, so it cannot take a field of its ClusterPolicy", hint="--dcgm auto")
    return replace(settings, chart=from_anywhere(settings.chart)) if settings.chart else settings


def _planned(settings: Settings) -> tuple[Plan, Dashboards]:
    dashboards = read_dashboards(settings.dashboards, offline=settings.offline, ca_file=settings.ca_file)
    namespace = settings.namespace or DEFAULT_NAMESPACE
    facts = Facts(
        server_version="", kinds=frozenset(), namespaces={namespace: {}}, cluster_policies=(_UNSEEN_GPU_OPERATOR,)
    )
    plan = make_plan(
        facts, choose(facts, settings), settings, dashboards=dashboards.documents, monitors=shipped_monitors()
    )
    return plan, dashboards


def _helm(settings: Settings) -> Helm:
    return Helm(executable=settings.helm, timeout_s=settings.timeout_s)


def _unowned(obj: Object) -> Object:
    """*obj* without the labels that say that kvobs made it and looks after it."""
    metadata: dict[str, Any] = dict(obj["metadata"])
    owners = (MANAGED_BY, PART_OF_LABEL)
    metadata["labels"] = {key: value for key, value in metadata["labels"].items() if key not in owners}
    return {**obj, "metadata": metadata}
