"""`kvobs render`: the objects that an install applies, for whoever applies objects otherwise (GitOps, kubectl).

Needs no cluster, no Helm and no network; the same input gives the same bytes. The stack is taken for the one that
the pinned chart makes under the given values. The objects carry no label of kvobs' ownership: who applies them owns
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..adapters.sources import write_files
from ..errors import UsageError
from ..settings import DEFAULT_NAMESPACE, Settings
from ..stack.choice import choose
from ..stack.facts import ClusterPolicy, Facts, Object
from ..stack.manifests import to_yaml
from ..stack.objects import MANAGED_BY, PART_OF_LABEL, ref
from ..stack.plan import make_plan
from .inputs import read_dashboards, shipped_monitors

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

    @property
    def exit_code(self) -> int:
        """0, or 1 where a dashboard was refused."""
        return 1 if self.refused else 0


def render(settings: Settings | None = None) -> Rendered:
    """Return the objects that install would apply beside the stack. Raises `UsageError` or `ActionError`."""
    settings = settings or Settings()
    if settings.stack == "reuse":
        raise UsageError("render asks no cluster, so it cannot reuse a stack", hint="leave --stack out")
    if settings.dcgm == "operator":
        raise UsageError("render asks no cluster, so it cannot take a field of its ClusterPolicy", hint="--dcgm auto")
    dashboards = read_dashboards(settings.dashboards)
    namespace = settings.namespace or DEFAULT_NAMESPACE
    facts = Facts(
        server_version="", kinds=frozenset(), namespaces={namespace: {}}, cluster_policies=(_UNSEEN_GPU_OPERATOR,)
    )
    plan = make_plan(
        facts, choose(facts, settings), settings, dashboards=dashboards.documents, monitors=shipped_monitors()
    )
    return Rendered(
        objects=tuple(_unowned(each) for each in plan.objects),
        refused=(*dashboards.unreadable, *plan.refused.items()),
    )


def write(rendered: Rendered, directory: str) -> Rendered:
    """Write one YAML file an object into *directory*, made if missing; return the same with the files' paths."""
    named = {f"{_file_name(each)}.yaml": to_yaml([each]) for each in rendered.objects}
    paths = write_files(directory, {name: text.encode() for name, text in named.items()})
    return Rendered(objects=rendered.objects, refused=rendered.refused, files=tuple(paths))


def _file_name(obj: Object) -> str:
    at = ref(obj)
    return f"{at.kind.partition('.')[0].lower()}-{at.name}"


def _unowned(obj: Object) -> Object:
    """*obj* without the labels that say that kvobs made it and looks after it."""
    metadata: dict[str, Any] = dict(obj["metadata"])
    owners = (MANAGED_BY, PART_OF_LABEL)
    metadata["labels"] = {key: value for key, value in metadata["labels"].items() if key not in owners}
    return {**obj, "metadata": metadata}
